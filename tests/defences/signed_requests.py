"""Rows 1, 2 and 3: replayed, changed and stale requests."""

from defences.defence import Defence, defence

AUTH = "services/aggregator/auth.py"
PLAIN = "services/aggregator/plain_requests.py"
CLIENTS = "services/aggregator/storage/clients.py"
ROUNDS = "services/aggregator/service/rounds.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
STAFF = "services/aggregator/service/staff.py"
STEERING = "services/aggregator/service/steering.py"
SIGNED = "libs/fgpr/signed_requests.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"

SPENT = "clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)"

REPLAYS = "aggregator/test_replays.py"
AUTH_TESTS = "aggregator/test_auth.py"
PLAIN_TESTS = "aggregator/test_plain_requests.py"

ROW_1 = [
    defence(
        "1",
        "(key id, nonce) is unique",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("key_id", "nonce", name="pk_nonces"),',
        "",
        tests="aggregator/storage/test_clients.py::test_nonces",
    ),
    defence(
        "1",
        "a nonce that is there is no second time",
        CLIENTS,
        "_SPEND = insert(nonces)",
        '_SPEND = insert(nonces).prefix_with("OR IGNORE")',
        tests="aggregator/storage/test_clients.py::test_nonces",
    ),
    defence(
        "1",
        "in the database that replicas share",
        CLIENTS,
        [
            (
                '        connection.execute(_SPEND, {"key_id": key_id, "nonce": nonce, "expires_at": expires_at})',
                "        spent = _SPENT.setdefault(id(connection.engine), set())\n"
                "        if (key_id, nonce) in spent:\n"
                '            raise IntegrityError("", {}, ValueError())\n'
                "        spent.add((key_id, nonce))",
            ),
            ("_SPEND = insert(nonces)", "_SPENT: dict[int, set[tuple[str, str]]] = {}"),
        ],
        tests=REPLAYS,
    ),
    defence("1", "spent by a contribution, an opening, a complaint", ROUNDS, SPENT, tests=REPLAYS),
    defence(
        "1",
        "in the transaction of the effect",
        ROUNDS,
        [
            (f"    {SPENT}\n", ""),
            (
                "    checked = _checked(context, caller, federation, number, client, body)\n",
                "    checked = _checked(context, caller, federation, number, client, body)\n"
                "    with context.database.write() as connection:\n"
                f"        {SPENT}\n",
            ),
        ],
        tests="aggregator/service/test_races.py::test_a_change_between_the_signature_check_and_the_commit",
    ),
    defence("1", "spent by an enrolment", ENROLMENT, SPENT, tests=REPLAYS, inside="enrol"),
    defence("1", "spent by whoever left before", ENROLMENT, SPENT, tests=REPLAYS, inside="leave", nth=1),
    defence("1", "spent by whoever leaves", ENROLMENT, SPENT, tests=REPLAYS, inside="leave", nth=2),
    defence("1", "spent by a repeated key change", ROTATION, SPENT, tests=REPLAYS, inside="replace_client_key", nth=1),
    defence("1", "spent by a key change", ROTATION, SPENT, tests=REPLAYS, inside="replace_client_key", nth=2),
    defence(
        "1",
        "spent by a repeated key change of staff",
        ROTATION,
        SPENT,
        tests=REPLAYS,
        inside="replace_staff_key",
        nth=1,
    ),
    defence("1", "spent by a key change of staff", ROTATION, SPENT, tests=REPLAYS, inside="replace_staff_key", nth=2),
    defence("1", "spent by an enrolment of staff", STAFF, SPENT, tests=REPLAYS, inside="enrol"),
    defence("1", "spent by staff that leave", STAFF, SPENT, tests=REPLAYS, inside="leave"),
    defence("1", "spent by what an operator does", STEERING, SPENT, tests=REPLAYS),
    defence(
        "1",
        "kept past the greatest age and skew",
        AUTH,
        "nonce_expires=created + max_age + skew,",
        "nonce_expires=created,",
        tests=f"{AUTH_TESTS}::test_each_limit_of_created",
    ),
    defence(
        "1",
        "kept as long where the form is the agents'",
        PLAIN,
        "expires = datetime.fromtimestamp(self.created, UTC) + max_age + skew",
        "expires = datetime.fromtimestamp(self.created, UTC)",
        tests=f"{REPLAYS}::test_as_long_as_a_signature_holds",
    ),
    defence(
        "1",
        "kept for as long as that and no shorter",
        CLIENTS,
        '_FORGET = delete(nonces).where(nonces.c.expires_at < bindparam("before"))',
        "_FORGET = delete(nonces)",
        tests=REPLAYS,
    ),
    defence(
        "1",
        "by the clock of the aggregator",
        ROUNDS,
        "clients.forget_nonces(connection, context.clock())",
        "clients.forget_nonces(connection, caller.nonce_expires)",
        tests=f"{REPLAYS}::test_as_long_as_a_signature_holds",
    ),
]


def _not_covered(name: str) -> Defence:
    return defence(
        "2",
        f"over {name}",
        AUTH,
        "missing = [name for name in covered(body) if",
        f'missing = [name for name in covered(body) if name != "{name}" and',
        tests=AUTH_TESTS,
    )


def _unread(name: str, before: str, after: str | None = None) -> Defence:
    return defence("2", f"the agents' form has {name}", PLAIN, before, after, tests=PLAIN_TESTS, inside="read")


ROW_2 = [
    *map(_not_covered, ("@method", "@authority", "@path", "@query", "content-type", "content-digest")),
    defence("2", "all of these are required", AUTH, "if missing:", tests=AUTH_TESTS, inside="verify_request"),
    defence(
        "2",
        "a component with parameters is another one",
        AUTH,
        "f'\"{name}\"' not in result.covered_components",
        "not any(one.startswith(f'\"{name}\"') for one in result.covered_components)",
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "the digest is that of the raw bytes",
        AUTH,
        "verifier.verify_body(message, [result], body)",
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "before anything is parsed",
        "services/aggregator/request_bodies.py",
        "    request.state.raw_body = bytes(body)\n    return bytes(body)",
        "    from fgpr import canonical\n    canonical.parse(bytes(body) or b'0')\n"
        "    request.state.raw_body = bytes(body)\n    return bytes(body)",
        tests=f"{REPLAYS}::test_what_is_not_signed_is_not_parsed",
    ),
    defence(
        "2",
        "unsigned requests are none",
        AUTH,
        'if "signature-input" not in headers or "signature" not in headers:',
        tests=AUTH_TESTS,
    ),
    defence("2", "of our label", AUTH, ", expect_label=LABEL)", ")", tests=AUTH_TESTS),
    defence(
        "2",
        "of our tag",
        AUTH,
        ", expect_tag=TAG, ",
        ', expect_tag="fgpr-v2" if "fgpr-v2" in str(headers.items()) else TAG, ',
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "the agents' form has our tag",
        PLAIN,
        """tag="{TAG}")'""",
        """tag="[a-z0-9-]+")'""",
        tests=PLAIN_TESTS,
    ),
    defence(
        "2",
        "at the public address, whatever Host says",
        AUTH,
        [
            (
                '    if "signature-input" not in headers or "signature" not in headers:',
                '    host = str(dict(headers.items())["host"])\n'
                '    origin = "/".join(["https:", "", host, *origin.split("/")[3:]])\n'
                '    if "signature-input" not in headers or "signature" not in headers:',
            )
        ],
        tests=f"{AUTH_TESTS}::test_the_host_header_plays_no_part",
    ),
    defence(
        "2",
        "a half signed read is no unsigned one",
        AUTH,
        'if "signature-input" not in request.headers and "signature" not in request.headers:',
        'if "signature-input" not in request.headers or "signature" not in request.headers:',
        tests="aggregator/routes/test_log.py",
    ),
    defence(
        "2",
        "the agents' form is signed",
        PLAIN,
        "if not key or not signatures.holds(key, self.base, self.signature):",
        "if not key:",
        tests=PLAIN_TESTS,
    ),
    _unread("each line once", "if lower in fields:"),
    _unread(
        "all components, in their order",
        'if parameters["names"] != " ".join(f\'"{name}"\' for name in names) or ',
        "if ",
    ),
    _unread("no port that signatures leave out", ' or default_port(address["authority"]):', ":"),
    _unread("one content type", 'if fields.get("content-type") != _TYPE or ', "if "),
    _unread("the digest of the raw bytes", ' or fields.get("content-digest") != digest:', ":"),
    _unread("no digest without a body", 'elif "content-digest" in fields:'),
    _unread("a method in capitals", " or not _METHOD.fullmatch(method):", ":"),
]

_LATE = " or not -self._skew.total_seconds() <= age <= self._max_age.total_seconds():"
_LATE_PLAIN = "not -skew.total_seconds() <= age <= max_age.total_seconds():"

ROW_3 = [
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

DEFENCES = [*ROW_1, *ROW_2, *ROW_3]
