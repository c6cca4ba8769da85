from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperArgument, TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from client_agent import audit_cli, auditing, cli, operator_cli

PROGRAMS = {"fgpr-agent": (cli.app, 1), "fgpr-operator": (operator_cli.app, 1), "fgpr-audit": (audit_cli.app, 3)}
"""Each with its exit status where it could not do what it was asked for."""


def commands(program: str) -> list[list[str]]:
    """Every command of a program, with what it has to be given."""
    found: list[list[str]] = []

    def walk(command: Any, words: list[str]) -> None:
        if isinstance(command, TyperGroup):
            for name, one in command.commands.items():
                walk(one, [*words, name])
        else:
            for parameter in command.params:
                if "--yes" in parameter.opts:
                    words.append("--yes")
                if parameter.required:
                    value = "GET" if parameter.name == "method" else "1"
                    words += [value] if isinstance(parameter, TyperArgument) else [parameter.opts[0], value]
            found.append(words)

    walk(get_command(PROGRAMS[program][0]), [])
    return found


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param(program, words, id=" ".join([program, *words]))
        for program in PROGRAMS
        for words in commands(program)
        # It prints a file of the package and reads no setting.
        if words != ["service-unit"]
    ],
)
def test_no_command_passes_over_a_mistyped_variable(
    program: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, status = PROGRAMS[program]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FGPR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FGPR_OPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FGPR_EPSILLON", "1.5")
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert done.stderr.startswith(f"{program}: ")
    assert "FGPR_EPSILLON is no setting; the closest one is FGPR_EPSILON" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_variable_says_nothing_about_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_HOM", "elsewhere")
    done = CliRunner().invoke(audit_cli.app, ["verify"])
    assert (done.exit_code, "DOES NOT HOLD" in done.stderr) == (auditing.CANNOT_TELL, False)
