"""What the machine looks for."""


class Violation(AssertionError):
    """An invariant of docs/threat-model.md does not hold.

    Attributes:
        number: of the invariant, as I1 to I16 there.
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"I{number}: {reason}")
        self.number = number


def require(holds: bool, number: int, reason: str) -> None:
    """Raise unless it holds.

    Raises:
        Violation: it does not.
    """
    if not holds:
        raise Violation(number, reason)
