"""One party of a federation for programs: enrol, fetch the verified prior, predict, verify the log; in a few lines.

    client = Client.enrol(ticket, "bench-9")
    forecast = client.predict({"cycle": cycles, "s4": values}, ahead=20)

The same as the commands of `fgpr-agent` and `fgpr-audit`, and the same home: both may be used in turn. To take part in
rounds, which is a service's work, run `fgpr-agent run`.
"""

from functools import partial
from pathlib import Path
from typing import Self

from client_agent import (
    agent_toml,
    auditing,
    authorities,
    enrolment,
    forecast,
    membership,
    own_rows,
    predict,
    published_prior,
)
from client_agent.api import Api
from client_agent.auditing import Source
from client_agent.forecast import Forecast, Wishes
from client_agent.local_data import Columns
from client_agent.membership import Membership
from client_agent.own_data import file_of
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
            home: folder that is made for the keys; only its owner can read it. An agent.toml in it names the proxy.
            rows: number of the party's rows; told only where the federation draws clients by it.

        Raises:
            EncodingError: this is no ticket.
            LocalProtocolError: the home is enrolled already.
            RequestError: the aggregator refuses, or cannot be reached.
        """
        folder = Path(home)
        settings = agent_toml.load(folder)
        connect = partial(Api, tls=authorities.load(folder), proxy=settings.connection.proxy)
        enrolment.enrol(folder, Ticket.from_text(ticket), connect, rows)
        return cls(home)

    def rows(self, file: str | Path | None = None, prior: PublishedPrior | None = None) -> Columns:
        """The party's rows as agent.toml in the home says: its columns, units, holes and ranges (docs/agent.md).

        Args:
            file: CSV, Parquet, MATLAB or C-MAPSS text; that of agent.toml where None.
            prior: one that `prior` returned, whose model says what is needed; fetched where None.

        Returns:
            Columns for `predict`, by the names of the federation's model, in its units.

        Raises:
            DataError, EncodingError: the file or the settings cannot be used; says which.
            LocalProtocolError: neither names a file.
            VerificationError, RequestError: as `prior`.
        """
        settings = agent_toml.load(self.home)
        path = file_of(None if file is None else Path(file), settings)
        published = self.prior() if prior is None else prior
        return own_rows.read(published.record.prior().spec, path, settings)[0]

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
