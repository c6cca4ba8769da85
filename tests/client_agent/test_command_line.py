from pathlib import Path

import pytest
from typer.core import TyperOption
from typer.testing import CliRunner

from client_agent import audit_cli, cli, identity, operator_cli
from fgpr import environment_variables
from support.every_command import calls, commands

PROGRAMS = {"fgpr-agent": (cli.app, 1), "fgpr-operator": (operator_cli.app, 1), "fgpr-audit": (audit_cli.app, 3)}
"""Each with its exit status where it could not do what it was asked for."""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param(program, words, id=" ".join([program, *words]))
        for program, (app, _) in PROGRAMS.items()
        for words in calls(app, method="GET")
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


def test_the_known_variables_are_those_that_the_programs_read() -> None:
    read = {
        option.envvar
        for app, _ in PROGRAMS.values()
        for _, command in commands(app)
        for option in command.params
        if isinstance(option, TyperOption) and option.envvar
    }
    assert read | {identity.VARIABLE} == environment_variables.AGENT
