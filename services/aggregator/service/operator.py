"""What the operator does on the database directly, beside inviting and revoking."""

from typing import Any

import numpy as np

from aggregator.service import audit, round_views
from aggregator.service.context import Context
from aggregator.storage import complaints, contributions, federations
from aggregator.storage import rounds as stored
from fgpr.errors import UnknownResource
from fgpr.rest import RoundSummary
from fgpr.secagg.messages import Plan


def start_log(context: Context) -> None:
    """Sign the empty log with a service key that is made where there is none; several processes may do this at once.

    Raises:
        CryptographicError: the log was started before, with a service key that is not the one here.
    """
    with context.database.alone() as connection:
        try:
            audit.check_signer(context, connection)
        except UnknownResource:
            context.keys.ensure_service()
            audit.start(context, connection)


def list_rounds(context: Context, federation: str, limit: int) -> list[RoundSummary]:
    """The newest rounds.

    Raises:
        UnknownResource: there is no such federation.
    """
    with context.database.read() as connection:
        federations.read(connection, federation)
        return [round_views.summary(connection, row) for row in stored.read_list(connection, federation, limit=limit)]


def show_round(context: Context, federation: str, number: int) -> dict[str, Any]:
    """One round, as JSON.

    Raises:
        UnknownResource: there is none.
    """
    with context.database.read() as connection:
        row = stored.read(connection, federation, number)
        return {
            "summary": round_views.summary(connection, row).to_json(),
            "contributors": sorted(contributions.contributors(connection, federation, number)),
            "openings": sorted(stored.openers(connection, federation, number)),
            "complaints": {
                member: list(signed.message.accused())
                for member, signed in complaints.read(connection, federation, number).items()
            },
            "plan": row.plan.to_json(),
            "cohort": None if row.cohort is None else row.cohort.to_json(),
        }


def plan_of(context: Context, federation: str, number: int) -> Plan:
    """A round's plan.

    Raises:
        UnknownResource: there is no such round.
    """
    with context.database.read() as connection:
        return stored.read(connection, federation, number).plan.message


def published(context: Context, federation: str, number: int) -> tuple[np.ndarray, list[str]]:
    """The theta that a round published, shape [L], and the clients of its cohort.

    Raises:
        UnknownResource: the round published nothing.
    """
    with context.database.read() as connection:
        row = stored.read(connection, federation, number)
        for prior, _ in federations.read_priors(connection, federation):
            record = prior.message
            if record.round == number and record.reason == "averaged" and row.cohort is not None:
                return record.vector(), sorted(row.cohort.message.clients())
    raise UnknownResource(f"round {number} of {federation} published nothing")
