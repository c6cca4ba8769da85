"""Row 3: requests that are too old, or of the future."""

from defences.defence import Defence, defence

AUTH = "services/aggregator/auth.py"
PLAIN = "services/aggregator/plain_requests.py"
SIGNED = "libs/fgpr/signed_requests.py"
AUTH_TESTS = "aggregator/test_auth.py"
PLAIN_TESTS = "aggregator/test_plain_requests.py"
_LATE = " or not -self._skew.total_seconds() <= age <= self._max_age.total_seconds():"
_LATE_PLAIN = "not -skew.total_seconds() <= age <= max_age.total_seconds():"

DEFENCES: list[Defence] = [
    defence(
        "3",
        "at most 120 s old",
        AUTH,
        _LATE,
        " or not -self._skew.total_seconds() <= age:",
        tests=f"{AUTH_TESTS}::test_each_limit_of_created",
    ),
    defence(
        "3",
        "at most 30 s ahead",
        AUTH,
        _LATE,
        " or not age <= self._max_age.total_seconds():",
        tests=f"{AUTH_TESTS}::test_each_limit_of_created",
    ),
    defence(
        "3",
        "at most 120 s old in the agents' form",
        PLAIN,
        _LATE_PLAIN,
        "not -skew.total_seconds() <= age:",
        tests=f"{PLAIN_TESTS}::test_in_time_only",
    ),
    defence(
        "3",
        "at most 30 s ahead in the agents' form",
        PLAIN,
        _LATE_PLAIN,
        "not age <= max_age.total_seconds():",
        tests=f"{PLAIN_TESTS}::test_in_time_only",
    ),
    defence(
        "3",
        "120 s and no more",
        AUTH,
        "MAX_AGE = timedelta(seconds=120)",
        "MAX_AGE = timedelta(seconds=3600)",
        tests=f"{AUTH_TESTS}::test_each_limit_of_created",
    ),
    defence(
        "3",
        "30 s and no more",
        AUTH,
        "SKEW = timedelta(seconds=30)",
        "SKEW = timedelta(seconds=3600)",
        tests=f"{AUTH_TESTS}::test_each_limit_of_created",
    ),
    defence("3", "expired before that", AUTH, "if expired or not", "if not", tests=AUTH_TESTS),
    defence(
        "3",
        "no missing created, and no other parameter",
        AUTH,
        "if missing:",
        tests=f"{AUTH_TESTS}::test_no_parameter_may_be_missing",
        inside="validate_created_and_expires",
    ),
    defence(
        "3",
        "created is one of them",
        SIGNED,
        'PARAMETERS = ("created", ',
        "PARAMETERS = (",
        tests=f"{AUTH_TESTS}::test_no_parameter_may_be_missing",
    ),
    defence(
        "3", "a nonce of 16 random bytes at least", AUTH, 'if not is_nonce(parameters["nonce"]):', tests=AUTH_TESTS
    ),
    defence(
        "3",
        "told the server's time",
        AUTH,
        "                server_time=server_time,\n",
        "",
        tests=f"{AUTH_TESTS}::test_a_clock_that_is_off_is_told_the_servers_time",
    ),
    defence(
        "3",
        "by the aggregator's clock",
        AUTH,
        "age = self._now.timestamp() - parameters",
        "age = datetime.now(UTC).timestamp() - parameters",
        tests=f"{AUTH_TESTS}::test_the_machines_own_clock_plays_no_part",
    ),
]
