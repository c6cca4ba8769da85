"""The program `fgpr-agent`: it loads what the command at hand needs.

A prediction is what devices start again and again, often on small machines; what the other commands load (HTTP, the
protocol, tables) would take more time than the prediction itself. `client_agent.cli` has all commands, this one too.
"""

import sys


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["predict"]:
        from client_agent.predict_command import app

        app(sys.argv[2:], prog_name="fgpr-agent predict")
    else:
        from client_agent.cli import app as every_command

        every_command(prog_name="fgpr-agent")


if __name__ == "__main__":
    main()
