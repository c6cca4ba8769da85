"""FGPR_* variables of the environment: one that nobody knows is refused, since it may be a setting that was mistyped.

A certificate under a mistyped name would leave the process on plain HTTP without a word.
"""

import difflib
import os
from collections.abc import Iterable, Mapping

from aggregator.settings import Settings
from fgpr.errors import LocalProtocolError

PREFIX = "FGPR_"

OTHERS = frozenset(
    {"FGPR_HOME", "FGPR_OPERATOR_HOME", "FGPR_EPSILON", "FGPR_DELTA"}
    | {"FGPR_PREFIX", "FGPR_HTTP", "FGPR_HTTPS", "FGPR_VERSION", "FGPR_LIVEZ"}
    | {"FGPR_DATA", "FGPR_TEST_DATABASE_URL", "FGPR_REQUIRE_POSTGRESQL", "FGPR_FUZZ_EXAMPLES", "FGPR_FUZZ_COUNTS"}
)
"""Variables of other parts of the project: agents, containers, experiments and tests."""


def settings_names() -> frozenset[str]:
    """The variables of an aggregator's settings."""
    return frozenset(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)


def check(environment: Mapping[str, str] = os.environ) -> None:
    """Check that every variable that begins as the project's do is one of them, in capitals or not.

    Raises:
        LocalProtocolError: some are not; names each with the setting whose name is closest.
    """
    known = settings_names()
    unknown = sorted(name for name in environment if name.upper().startswith(PREFIX))
    unknown = [name for name in unknown if name.upper() not in known | OTHERS]
    if unknown:
        raise LocalProtocolError(
            f"{'; '.join(_told(name, known) for name in unknown)}. Variables that begin with {PREFIX} are settings: "
            "correct the name, or unset the variable"
        )


def _told(name: str, known: Iterable[str]) -> str:
    # Without what all names begin with, which would make any two alike.
    words = [one.removeprefix(PREFIX) for one in sorted(known)]
    (closest, *_) = difflib.get_close_matches(name.upper().removeprefix(PREFIX), words, n=1, cutoff=0.0)
    return f"{name} is no setting; the closest one is {PREFIX}{closest}"
