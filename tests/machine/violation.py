"""What the machine looks for."""


class Violation(AssertionError):
    """An invariant of docs/threat-model.md does not hold.

    Attributes:
        number: of the invariant, by its place in the list there.
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"invariant {number}: {reason}")
        self.number = number


def require(holds: bool, number: int, reason: str) -> None:
    """Raise unless it holds.

    Raises:
        Violation: it does not.
    """
    if not holds:
        raise Violation(number, reason)
