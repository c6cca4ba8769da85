"""Declared weights: how many rows a client says it has, where a federation draws the invited in proportion to them.

A client declares once, when it enrols, under its identity key; the roster shows the declaration to every member. So
nobody, whoever holds the roster key, can give an honest client another weight than its own.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fgpr.errors import EncodingError
from fgpr.message import Count, Message, Name
from fgpr.secagg.weighting import Weighting

Draw = Literal["heads", "weights"]
"""How the invited are drawn: each client alike, or in proportion to declared weights."""

LARGEST = 2**32 - 1
"""No declared weight is above this; the federation's weight cap is lower."""


class DeclaredWeight(Message):
    """The rows of one client, at most the federation's weight cap; signed by its identity key."""

    label: ClassVar[str] = "fgpr-v1/declared-weight"

    federation: Name
    client: Name
    weight: Annotated[Count, Field(ge=1, le=LARGEST)]


def check_draw(draw: Draw, weighting: Weighting, invited_cap: int | None) -> None:
    """Check that a draw by weights goes with uniform weights and a cap.

    Raises:
        EncodingError: rows would count twice, or there would be nothing to draw.
    """
    if draw == "weights" and weighting != "uniform":
        raise EncodingError(
            f"draw 'weights' with weighting {weighting!r} would count rows twice, in the draw and in the average: "
            "set weighting to 'uniform'"
        )
    if draw == "weights" and invited_cap is None:
        raise EncodingError("draw 'weights' without invited_cap invites everybody and draws nobody: set invited_cap")
