"""The commands `backup` and `restore`, run against an aggregator that goes on with what was put back."""

from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from aggregator import main
from aggregator.cli import app
from support.aggregator import Aggregator


def run(aggregator: Aggregator, *arguments: str) -> Result:
    """A command of `fgpr-aggregator` on its database and keys."""
    options = ["--database", aggregator.settings.database, "--keys", str(aggregator.settings.keys)]
    return CliRunner().invoke(app, [*arguments, *options])


def again(aggregator: Aggregator) -> main.FastAPI:
    """The application, started anew on what the database is now."""
    aggregator.context.database.close()
    return main.create_app(aggregator.settings, aggregator.context)


def restored(aggregator: Aggregator, file: Path, *options: str) -> Result:
    """Put the backup in place; the running server goes on with what is there then, as one that was started anew."""
    aggregator.context.database.close()
    result = run(aggregator, "restore", str(file), *options)
    if result.exit_code == 0:
        aggregator.app.state.aggregator = again(aggregator).state.aggregator
    return result
