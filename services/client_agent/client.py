"""One party of a federation for programs: enrol, fetch the verified prior, predict, verify the log; in a few lines.

    client = Client.enrol(ticket, "bench-9")
    forecast = client.predict({"cycle": cycles, "s4": values}, ahead=20)

The same as the commands of `fgpr-agent` and `fgpr-audit`, and the same home: both may be used in turn. To take part in
rounds, which is a service's work, run `fgpr-agent run`.
"""

from functools import partial
from pathlib import Path
from typing import Self

from client_agent import auditing, enrolment, forecast, membership, predict, published_prior
from client_agent.auditing import Source
from client_agent.forecast import Forecast, Wishes
from client_agent.local_data import Columns
from client_agent.membership import Membership
from client_agent.published_prior import PublishedPrior
from fgpr.auditlog.trail import Trail
from fgpr.errors import DataError
from fgpr.ticket import Ticket

AHEAD = 20
"""Cycles that are predicted where nobody says where."""


class Client:
    """An enrolled party.

    Args:
        home: folder of its keys, as `fgpr-agent` has it.

    Attributes:
        home: that folder.
        membership: which party of which federation it is, at which aggregator.

    Raises:
        LocalProtocolError: the home is enrolled nowhere.
    """

    def __init__(self, home: str | Path) -> None:
        self.home = Path(home)
        self.membership: Membership = membership.load(self.home)

    @classmethod
    def enrol(cls, ticket: str, home: str | Path, rows: int | None = None) -> Self:
        """Take up a ticket with new keys in `home`.

        Args:
            ticket: the line that the operator handed over.
            home: folder that is made for the keys; only its owner can read it.
            rows: number of the party's rows; told only where the federation draws clients by it.

        Raises:
            EncodingError: this is no ticket.
            LocalProtocolError: the home is enrolled already.
            RequestError: the aggregator refuses, or cannot be reached.
        """
        enrolment.enrol(Path(home), Ticket.from_text(ticket), rows=rows)
        return cls(home)

    def prior(self, offline: bool = False) -> PublishedPrior:
        """The newest prior, verified against the audit log; the one that was kept where there is no net.

        Args:
            offline: ask nobody.

        Raises:
            VerificationError: a check fails; the prior must not be used.
            RequestError: the aggregator refuses, or cannot be reached and no prior was kept.
            LocalProtocolError: offline, and no prior was kept.
        """
        if offline:
            return published_prior.kept(self.home)
        with membership.connect(self.home, attempts=2) as api:
            return published_prior.fetch(self.home, api)

    def predict(
        self,
        rows: Columns,
        at: Columns | None = None,
        ahead: int = AHEAD,
        wishes: Wishes | None = None,
        prior: PublishedPrior | None = None,
    ) -> Forecast:
        """Condition the prior on a device's own rows, which stay here, and predict.

        Args:
            rows: features and target, by the names of the federation's model, in its units.
            at: inputs to predict at; the next cycles after the last row where None.
            ahead: how many of those, at least 1.
            wishes: fine-tuning, a local fit beside it, cycles until a threshold.
            prior: one that `prior` returned; fetched where None.

        Raises:
            DataError: rows or inputs that cannot be used; says which.
            NumericalError: a fit or a prediction has no finite value.
            VerificationError, RequestError: as `prior`.
        """
        if ahead < 1:
            raise DataError(f"{ahead} cycles ahead: at least 1 is predicted")
        published = self.prior() if prior is None else prior
        where: forecast.Where = partial(predict.ahead, count=ahead) if at is None else lambda *_: at
        return forecast.forecast(published.record.prior(), rows, where, wishes)

    def trail(self) -> Trail:
        """The whole audit log, verified from its first entry: what happened in each round, and how priors came about.

        Raises:
            VerificationError: something does not hold.
            RequestError: the aggregator refuses, or cannot be reached.
        """
        return auditing.audited(Source(None, self.home, (), None)).trail
