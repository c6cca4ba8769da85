"""The installed program: a prediction loads its own command, anything else all of them."""

import sys

import pytest

from client_agent import program


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["fgpr-agent", *arguments])
    with pytest.raises(SystemExit) as ended:
        program.main()
    return ended.value.code, capsys.readouterr()


def test_predict(monkeypatch, capsys):
    code, said = run(monkeypatch, capsys, "predict", "--help")
    assert code == 0
    assert "Usage: fgpr-agent predict [OPTIONS]" in said.out
    code, said = run(monkeypatch, capsys, "predict", "--home", "/nowhere", "--data", "x")
    assert (code, said.err) == (
        1,
        "fgpr-agent: /nowhere is enrolled nowhere: enrol with a ticket first, or name the home\n",
    )


@pytest.mark.parametrize("arguments", [("--help",), ("prior", "--help")])
def test_the_others(monkeypatch, capsys, arguments):
    code, said = run(monkeypatch, capsys, *arguments)
    assert code == 0
    assert "Usage: fgpr-agent" in said.out
