"""The prior that a command works with: the newest, or the one that was kept, whose age is then told."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from client_agent import membership, published_prior
from client_agent.agent_toml import AgentToml
from client_agent.published_prior import PublishedPrior


def fetched(home: Path, settings: AgentToml | None = None, offline: bool = False) -> PublishedPrior:
    """The newest prior, or the one that was fetched last where the aggregator is away; then the owner is told.

    Args:
        home: of an enrolled party.
        settings: of its owner; those of agent.toml in the home where None.
        offline: ask nobody.

    Raises:
        FgprError: as `published_prior.fetch` and `published_prior.kept`.
    """
    if offline:
        return published_prior.kept(home)
    # Few attempts: without a net the kept prior serves as well.
    with membership.connect(home, attempts=2, settings=settings) as api:
        published = published_prior.fetch(home, api)
    if not published.fresh:
        looked = ago(published.age(datetime.now(UTC)))
        typer.echo(
            f"the aggregator cannot be reached: using prior {published.record.version}, verified {looked}", err=True
        )
    return published


def ago(age: timedelta) -> str:
    """An age in the largest unit of which there are two."""
    seconds = age.total_seconds()
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds)} seconds ago"
