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


def check(own: frozenset[str], environment: Iterable[str], *, any_case: bool = False) -> None:
    """Check that every variable that begins as the project's do, in capitals or not, is one of them.

    Args:
        own: settings of the program that asks.
        environment: names of the variables that are set.
        any_case: whether that program reads its own settings from names in small letters too. Those of other programs
            are taken either way.

    Raises:
        LocalProtocolError: some are not; names each with the setting whose name is closest.
    """
    known = AGENT | AGGREGATOR | OTHERS
    unread = frozenset[str]() if any_case else own
    unknown = sorted(
        name
        for name in environment
        if name.upper().startswith(PREFIX)
        and name not in known
        and (name.upper() not in known or name.upper() in unread)
    )
    if unknown:
        raise LocalProtocolError(
            f"{'; '.join(_told(name, own) for name in unknown)}. Variables that begin with {PREFIX} are settings: "
            "correct the name, or unset the variable"
        )


def _told(name: str, own: frozenset[str]) -> str:
    def alike(setting: str) -> tuple[float, str]:
        # Without what all names begin with, which would make any two alike.
        one, other = setting.removeprefix(PREFIX), name.upper().removeprefix(PREFIX)
        return difflib.SequenceMatcher(None, one, other).ratio(), setting

    closest = max(AGENT | AGGREGATOR, key=alike)
    whose = "" if closest in own else f", which another program reads (of this one's {max(own, key=alike)})"
    return f"{name} is no setting; the closest one is {closest}{whose}"
