"""What the database says about the aggregator's work, in numbers without names."""

from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from aggregator.service.context import Context
from aggregator.storage import federations, statistics
from fgpr.secagg.stages import Stage

NEWEST = 50
"""Rounds whose length is looked at."""

PARTIES = ("client", "reader", "revoked")


@dataclass(frozen=True)
class Statistics:
    """Numbers of one moment.

    Attributes:
        rounds: rounds in each stage.
        parties: parties by state, see `PARTIES`.
        records: stored contributions, openings, complaints and leaves of the log.
        overdue_seconds: how long ago the earliest deadline of a running stage was; 0 where none has passed.
        round_seconds: median and longest time, from opening to end, of the `NEWEST` rounds that ended; empty at first.
    """

    rounds: dict[str, int]
    parties: dict[str, int]
    records: dict[str, int]
    overdue_seconds: float
    round_seconds: dict[str, float]


def read(context: Context) -> Statistics:
    """The numbers of now.

    Raises:
        Unavailable: the database does not answer.
    """
    with context.database.read() as connection:
        rounds = dict.fromkeys(map(str, Stage), 0) | statistics.count_stages(connection)
        parties = dict.fromkeys(PARTIES, 0) | statistics.count_parties(connection)
        records = statistics.count_records(connection)
        due = statistics.read_due(connection, Stage.CONTRIBUTING.value, Stage.OPENING.value)
        ends = statistics.read_ends(connection, NEWEST)
        stage = {
            name: timedelta(seconds=federations.read(connection, name).settings.rounds.contribute_seconds)
            for name in {name for name, _, _ in ends}
        }
    overdue = 0.0 if due is None else max(0.0, (context.clock() - due).total_seconds())
    lengths = [(ended - until + stage[name]).total_seconds() for name, until, ended in ends]
    shown = {"median": median(lengths), "longest": max(lengths)} if lengths else {}
    return Statistics(rounds, parties, records, overdue, shown)
