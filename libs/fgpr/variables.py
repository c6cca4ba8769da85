"""Names of FGPR_* environment variables: one that nobody knows is refused, since it may be a setting that was mistyped.

A certificate under a mistyped name would leave an aggregator on plain HTTP without a word, a mistyped FGPR_EPSILON an
agent without its budget, a mistyped FGPR_KEY_PASSPHRASE_FILE its key unencrypted.
"""

import difflib
from collections.abc import Iterable

from fgpr.errors import LocalProtocolError

PREFIX = "FGPR_"

AGENT = frozenset({"FGPR_HOME", "FGPR_OPERATOR_HOME", "FGPR_EPSILON", "FGPR_DELTA", "FGPR_KEY_PASSPHRASE_FILE"})
"""Settings of an agent, an operator and an auditor."""

AGGREGATOR = frozenset(
    {"FGPR_DATABASE", "FGPR_DATABASE_PASSWORD_FILE", "FGPR_KEYS", "FGPR_KEY_PASSPHRASE_FILE", "FGPR_ORIGIN"}
    | {"FGPR_KNOWN_CHECKPOINT", "FGPR_TICK_SECONDS", "FGPR_WAITERS", "FGPR_HEAD_SECONDS", "FGPR_HEAD_BYTES"}
    | {"FGPR_BODY_SECONDS", "FGPR_BODY_RATE", "FGPR_BODIES_BYTES", "FGPR_WRITE_SECONDS", "FGPR_CONNECTIONS"}
    | {"FGPR_CONNECTIONS_EACH", "FGPR_ADDRESS_RATE", "FGPR_ADDRESS_BURST", "FGPR_IDENTITY_RATE"}
    | {"FGPR_IDENTITY_BURST", "FGPR_PROXIES", "FGPR_LOG_REQUESTS", "FGPR_METRICS", "FGPR_TLS_CERTIFICATE"}
    | {"FGPR_TLS_KEY"}
)
"""Settings of an aggregator."""

OTHERS = frozenset(
    {"FGPR_PREFIX", "FGPR_HTTP", "FGPR_HTTPS", "FGPR_VERSION", "FGPR_LIVEZ"}
    | {"FGPR_DATA", "FGPR_TEST_DATABASE_URL", "FGPR_REQUIRE_POSTGRESQL", "FGPR_FUZZ_EXAMPLES", "FGPR_FUZZ_COUNTS"}
)
"""Variables of containers, experiments and tests."""


def check(own: Iterable[str], environment: Iterable[str], *, any_case: bool = False) -> None:
    """Check that every variable that begins as the project's do, in capitals or not, is one of them.

    Args:
        own: settings of the program that asks, one of which is proposed.
        environment: names of the variables that are set.
        any_case: whether that program reads its settings from names in small letters too.

    Raises:
        LocalProtocolError: some are not; names each with the setting whose name is closest.
    """
    known = AGENT | AGGREGATOR | OTHERS
    unknown = sorted(name for name in environment if name.upper().startswith(PREFIX) and name not in known)
    if any_case:
        unknown = [name for name in unknown if name.upper() not in known]
    if unknown:
        words = [one.removeprefix(PREFIX) for one in sorted(own)]
        raise LocalProtocolError(
            f"{'; '.join(_told(name, words) for name in unknown)}. Variables that begin with {PREFIX} are settings: "
            "correct the name, or unset the variable"
        )


def _told(name: str, words: list[str]) -> str:
    # Without what all names begin with, which would make any two alike.
    (closest, *_) = difflib.get_close_matches(name.upper().removeprefix(PREFIX), words, n=1, cutoff=0.0)
    return f"{name} is no setting; the closest one is {PREFIX}{closest}"
