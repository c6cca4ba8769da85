"""Faults of the database in its driver's words, for whoever runs the aggregator.

They name hosts, roles and tables, and so no REST answer has them; a password is in none.
"""

import psycopg
from sqlalchemy.exc import SQLAlchemyError as Fault
from sqlalchemy.exc import StatementError

__all__ = ["Fault", "told"]

_RIGHTS = "; name the role that ran `migrate`, or grant this one what it lacks"


def told(error: BaseException) -> str:
    """An error in one line; where a fault of the database is behind it, with the first line of the driver's reason.

    Args:
        error: that fault, one of this program's errors that it caused, or any other.
    """
    fault: BaseException | None = error
    while fault is not None and not isinstance(fault, Fault):
        fault = fault.__cause__
    if fault is None:
        return str(error)
    driver = fault.orig if isinstance(fault, StatementError) and fault.orig is not None else fault
    kind = type(driver).__name__
    reason = _first_line(driver) or kind
    if isinstance(driver, psycopg.errors.InsufficientPrivilege):
        reason += _RIGHTS
    if error is fault:
        return f"the database cannot be used: {reason}"
    # Where the words for everybody end in the bare name of the driver's class, its reason says more.
    line = _first_line(error)
    return f"{line.removesuffix(kind)}{reason}" if line.endswith(f": {kind}") else line


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].strip()
