"""Row 1: replayed requests."""

from defences.defence import Defence, defence

AUTH = "services/aggregator/auth.py"
PLAIN = "services/aggregator/plain_requests.py"
CLIENTS = "services/aggregator/storage/clients.py"
ROUNDS = "services/aggregator/service/rounds.py"
CONTRIBUTING = "services/aggregator/service/contributing.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
STAFF = "services/aggregator/service/staff.py"
STEERING = "services/aggregator/service/steering.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"
SPENT = "clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)"
REPLAYS = "aggregator/test_replays.py"
AUTH_TESTS = "aggregator/test_auth.py"

DEFENCES: list[Defence] = [
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
                (
                    "        spent = _SPENT.setdefault(id(connection.engine), set())\n"
                    "        if (key_id, nonce) in spent:\n"
                    '            raise IntegrityError("", {}, ValueError())\n'
                    "        spent.add((key_id, nonce))"
                ),
            ),
            ("_SPEND = insert(nonces)", "_SPENT: dict[int, set[tuple[str, str]]] = {}"),
        ],
        tests=REPLAYS,
    ),
    defence("1", "spent by a contribution, an opening, a complaint", ROUNDS, SPENT, tests=REPLAYS),
    defence(
        "1",
        "in the transaction of the effect",
        CONTRIBUTING,
        [
            ("admit(connection, sent.caller,", "sender_of(connection, sent.caller,"),
            ("from aggregator.storage import contributions", "from aggregator.storage import clients, contributions"),
            (
                "    checked = _checked_all(context, sent, federation, number)\n",
                (
                    "    checked = _checked_all(context, sent, federation, number)\n"
                    "    with context.database.write() as connection:\n"
                    "        for caller in [one.caller for one in sent]:\n"
                    f"            {SPENT}\n"
                ),
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
        tests="aggregator/test_plain_requests.py",
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
        "kept for an hour longer, for replicas whose clock is not that of the one that forgets",
        CLIENTS,
        'connection.execute(_FORGET, {"before": before - CLOCK_MARGIN})',
        'connection.execute(_FORGET, {"before": before})',
        tests="aggregator/storage/test_clients.py::test_nonces",
    ),
]
