"""`fgpr-aggregator roster`: from the signer's machine to the aggregator and back, through files."""

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from aggregator import logs
from aggregator.cli import app
from fgpr.message import Signed
from fgpr.private_keys import public_from_pem
from fgpr.secagg.roster import Roster, RosterDraft
from support.aggregator import served

TOML = """
name = "engines"

[model]
kernel = "rbf"
features = [{ name = "cycle", unit = "1", lower = 0.0, upper = 300.0 }]
target = { name = "T24", unit = "degR", scaling = "standardise" }
"""


def run(*arguments: object, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=answer)


def done(*arguments: object, answer: str | None = None) -> str:
    result = run(*arguments, answer=answer)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    return line.removeprefix("fgpr-aggregator: ")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE", "KEYS", "ORIGIN"):
        monkeypatch.delenv(f"FGPR_{name}", raising=False)
    monkeypatch.setattr(logs, "configure", lambda: None)


def test_the_round_trip(tmp_path: Path) -> None:
    away, here = tmp_path / "away", tmp_path / "here"
    here.mkdir()
    assert "hand" in done("roster", "create-key", "--federation", "engines", "--folder", away)
    key, public = away / "roster-engines.pem", away / "roster-engines.pub.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    options = ["--database", f"sqlite:///{here / 'x.db'}", "--keys", here / "keys"]
    done("migrate", *options)
    (here / "f.toml").write_text(TOML, encoding="utf-8")
    done("federation", "create", here / "f.toml", "--roster-key", public, *options)
    assert sorted(path.name for path in (here / "keys").iterdir()) == ["checkpoint.note", "service.pem"]
    assert "no clients" in refused("roster", "export", "--federation", "engines", "--out", here / "draft", *options)


@pytest.mark.parametrize("name", ["../x", "a/b", "En gines", "", "x" * 65])
def test_a_roster_key_of_a_name_that_no_federation_has(tmp_path: Path, name: str) -> None:
    result = run("roster", "create-key", "--federation", name, "--folder", tmp_path / "away")
    assert result.exit_code == 2, result.output
    assert "a-z, 0-9 and -, at most 64" in " ".join(result.stderr.split())
    assert not (tmp_path / "away").exists()


def test_export_sign_and_import(tmp_path: Path) -> None:
    away = tmp_path / "away"
    done("roster", "create-key", "--federation", "engines", "--folder", away)
    key = away / "roster-engines.pem"
    public = public_from_pem((away / "roster-engines.pub.pem").read_bytes(), "here")
    with served(tmp_path, keeps_deadlines=False, roster_key=public) as aggregator:
        aggregator.enrol(4)
        options = ["--database", aggregator.settings.database, "--keys", aggregator.settings.keys]
        draft, signed = tmp_path / "draft.json", tmp_path / "signed.json"
        done("roster", "export", "--federation", "engines", "--out", draft, *options)
        assert RosterDraft.decode(draft.read_bytes()).active() == tuple(f"client-0{n}" for n in range(4))
        # Shown, and not signed without a yes.
        result = run("roster", "sign", draft, "--key", key, "--out", signed, answer="n\n")
        assert result.exit_code == 1
        assert "client-02 is admitted with key" in result.output
        assert not signed.exists()
        assert "is signed" in done("roster", "sign", draft, "--key", key, "--out", signed, answer="y\n")
        first = signed.read_bytes()
        done("roster", "sign", draft, "--key", key, "--out", signed)
        assert signed.read_bytes() == first
        assert "is in force" in done("roster", "import", signed, *options)
        aggregator.advance()
        assert aggregator.last_round() == 1
        # Another draft of the same version is not signed a second time.
        other = RosterDraft.decode(draft.read_bytes())
        draft.write_bytes(other.model_copy(update={"clients": other.clients[:3]}).encode())
        assert "1 was signed last" in refused("roster", "sign", draft, "--key", key, "--out", signed, "--yes")
        aggregator.enrol(1, first=4)
        done("roster", "export", "--federation", "engines", "--out", draft, *options)
        output = done("roster", "sign", draft, "--key", key, "--out", signed, "--yes")
        assert output.splitlines()[0].startswith("client-04 is admitted")
        aggregator.enrol(1, first=5)
        assert "export again" in done("roster", "import", signed, *options)
        assert Signed[Roster].decode(signed.read_bytes()).message.version == 2
        assert "version 3 comes next" in refused("roster", "import", _first(tmp_path, first), *options)


def _first(folder: Path, content: bytes) -> Path:
    path = folder / "first.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff"])
def test_a_file_that_is_no_roster_is_named(tmp_path: Path, content: bytes) -> None:
    options = ["--database", f"sqlite:///{tmp_path / 'x.db'}", "--keys", tmp_path / "keys"]
    done("migrate", *options)
    (tmp_path / "roster").write_bytes(content)
    key, out = tmp_path / "keys" / "service.pem", tmp_path / "out"
    signing = ["roster", "sign", tmp_path / "roster", "--key", key, "--out", out, "--yes"]
    for command in (["roster", "import", tmp_path / "roster", *options], signing):
        assert refused(*command).startswith(f"{tmp_path / 'roster'}: ")
    assert refused("roster", "import", tmp_path, *options) == f"{tmp_path}: Is a directory"


def test_what_is_no_public_key_is_refused(tmp_path: Path) -> None:
    options = ["--database", f"sqlite:///{tmp_path / 'x.db'}", "--keys", tmp_path / "keys"]
    done("migrate", *options)
    (tmp_path / "f.toml").write_text(TOML, encoding="utf-8")
    private = tmp_path / "keys" / "service.pem"
    reason = refused("federation", "create", tmp_path / "f.toml", "--roster-key", private, *options)
    assert "holds no public key in PEM" in reason
    assert "no federation 'bridges'" in refused(
        "roster", "export", "--federation", "bridges", "--out", tmp_path / "x", *options
    )
