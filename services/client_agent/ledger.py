"""The ledger of an agent: what each round that it contributed to cost its client in privacy.

    HOME/privacy.json

A charge is on disk before the contribution that it is for, so that no crash between the two leaves a contribution
uncharged; whoever then makes the contribution after all charges the same round, once. Nothing is ever given back: a
round that was aborted may have been opened in secret, and one that was proven void is charged all the same.
"""

from pathlib import Path

from client_agent import durable_file
from fgpr.errors import EncodingError
from fgpr.federated import accounting
from fgpr.federated.accounting import Budget
from fgpr.message import Message
from fgpr.secagg.messages import Round
from fgpr.secagg.privacy import PrivacyTerms

FILE_NAME = "privacy.json"


class Charge(Message):
    """What one round cost.

    Attributes:
        round: its number.
        clip, sigma, carriers: of its plan, in quanta.
        numbers: how many numbers an update has.
        rho: `fgpr.federated.accounting.rho` of these.
    """

    round: Round
    clip: int
    sigma: int
    carriers: int
    numbers: int
    rho: float

    @classmethod
    def of(cls, number: int, terms: PrivacyTerms) -> "Charge":
        """The charge of a round under these terms."""
        return cls(
            round=number,
            clip=terms.clip,
            sigma=terms.sigma,
            carriers=terms.carriers,
            numbers=len(terms.origin),
            rho=accounting.rho(terms),
        )


class Charges(Message):
    """All charges, in order of rounds."""

    charges: tuple[Charge, ...] = ()

    @property
    def rho(self) -> float:
        """What all rounds cost together."""
        return sum(charge.rho for charge in self.charges)

    def rounds(self) -> frozenset[int]:
        """Numbers of the rounds that were charged."""
        return frozenset(charge.round for charge in self.charges)


class Ledger:
    """The ledger in one home; only for whoever holds the home's lock.

    Raises:
        EncodingError: the file is damaged.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / FILE_NAME
        self._charges = read(home)

    @property
    def charges(self) -> Charges:
        """What was charged."""
        return self._charges

    def check(self, number: int, terms: PrivacyTerms | None, budget: Budget) -> None:
        """Check that a round fits the budget; one that is charged already costs nothing more.

        Raises:
            PlanRefused: check 17.
        """
        if number not in self._charges.rounds():
            accounting.check_budget(terms, self._charges.rho, budget)

    def charge(self, number: int, terms: PrivacyTerms) -> None:
        """Write down what a round costs, once; on disk when this returns."""
        if number not in self._charges.rounds():
            charged = Charges(charges=(*self._charges.charges, Charge.of(number, terms)))
            durable_file.replace(self._path, charged.encode())
            self._charges = charged


def read(home: Path) -> Charges:
    """The charges in a home; for reading beside an agent at work.

    Raises:
        EncodingError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        return Charges.decode(path.read_bytes())
    except FileNotFoundError:
        return Charges()
    except EncodingError as error:
        raise EncodingError(
            f"{path} is damaged ({error}). Without it nobody knows what privacy was spent: restore it from a backup "
            "taken since the last round, or leave and enrol anew"
        ) from error
