"""Row 17: processes and databases that are killed."""

from defences.defence import Defence, defence

ENGINE = "services/aggregator/storage/engine.py"
SQLITE = "services/aggregator/storage/sqlite.py"
MIGRATE = "services/aggregator/storage/migrate.py"
PUBLISHING = "services/aggregator/service/publishing.py"
SCHEDULE = "services/aggregator/service/schedule.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
COMPLAINTS = "services/aggregator/service/complaints.py"
ENGINES = "aggregator/storage/test_engine.py"
SET_UP = f"{ENGINES}::test_every_connection_is_set_up"
TOGETHER = "aggregator/service/test_publishing.py::test_a_transition_and_its_leaf_stand_or_fall_together"
ONE_LEAF = "aggregator/service/test_audit.py::test_each_transition_has_exactly_one_leaf"
COMPLAINT_TESTS = "aggregator/routes/test_complaints.py"
KEYS = "aggregator/routes/test_key_replacement.py"
ENROLMENTS = "aggregator/routes/test_enrolments.py"


def _pragma(row: str, text: str, setting: str) -> Defence:
    return defence(row, text, SQLITE, setting, '"application_id"', tests=SET_UP, inside="_configure")


def _leaf(clause: str, file: str, statement: str, inside: str, tests: str = ONE_LEAF) -> Defence:
    return defence("17", f"an audit entry in the transaction of {clause}", file, statement, tests=tests, inside=inside)


DEFENCES: list[Defence] = [
    defence(
        "17",
        "all of a transaction or nothing",
        ENGINE,
        "as connection, connection.begin():\n                yield connection",
        "as connection:\n                try:\n                    yield connection\n"
        "                finally:\n                    connection.commit()",
        tests=f"{ENGINES}::test_a_failed_transaction_leaves_nothing",
    ),
    _leaf(
        "a close",
        PUBLISHING,
        "audit.record(context, connection, [CohortClosed(federation=row.federation, cohort=signed)])",
        "close",
        TOGETHER,
    ),
    _leaf("an abort", PUBLISHING, "audit.record(context, connection, [leaf])", "abort", TOGETHER),
    _leaf("a void proof", PUBLISHING, "audit.record(context, connection, [leaf])", "settle_void", TOGETHER),
    _leaf(
        "a plan",
        SCHEDULE,
        "audit.record(context, connection, [RoundPlanned(federation=name, plan=signed)])",
        "_open",
        ONE_LEAF,
    ),
    _leaf(
        "a revocation", ENROLMENT, "audit.record(context, connection, [leaf])", "_revoke", f"{ENROLMENTS}::test_leaving"
    ),
    _leaf("a key change", ROTATION, "audit.record(context, connection, [leaf])", "replace_client_key", KEYS),
    _leaf(
        "a complaint",
        COMPLAINTS,
        "audit.record(context, connection, [ComplaintFiled(federation=federation, complaint=signed)])",
        "complain",
        COMPLAINT_TESTS,
    ),
    _leaf("a conviction", COMPLAINTS, "audit.record(context, connection, [leaf])", "_convict", COMPLAINT_TESTS),
    defence(
        "17",
        "acknowledged is on the disk",
        SQLITE,
        '"synchronous=FULL"',
        '"synchronous=OFF"',
        tests=SET_UP,
    ),
    defence(
        "17",
        "in the write-ahead log",
        SQLITE,
        "PRAGMA journal_mode=WAL",
        "PRAGMA journal_mode=DELETE",
        tests=SET_UP,
    ),
    _pragma("17", "no row without the one it belongs to", '"foreign_keys=ON"'),
    defence(
        "17",
        "who writes holds the lock from the start",
        SQLITE,
        '"BEGIN IMMEDIATE" if writes else "BEGIN"',
        '"BEGIN"',
        tests=f"{ENGINES}::test_what_the_database_cannot_do_is_unavailable",
    ),
    defence(
        "17",
        "who reads sees one moment",
        ENGINE,
        'options["isolation_level"] = "REPEATABLE READ"',
        tests=f"{ENGINES}::test_a_reader_sees_one_moment",
        postgresql=True,
    ),
    defence(
        "17",
        "an upgrade is one transaction",
        MIGRATE,
        "command.downgrade(_config(connection), revision)",
        'connection.exec_driver_sql("COMMIT")\n        command.downgrade(_config(connection), revision)',
        tests="aggregator/storage/test_migrate.py::test_a_failed_step_leaves_the_old_schema",
    ),
    defence(
        "17",
        "an older schema is not served",
        MIGRATE,
        "if present == head:",
        "if present is not None:",
        tests="aggregator/storage/test_migrate.py::test_what_has_to_be_run_is_told_in_full",
    ),
    defence(
        "17",
        "a key change that lost its row stops",
        ROTATION,
        "if not clients.replace_key(connection, row, change.new_key, signatures.key_id(change.new_key), declared):",
        "clients.replace_key(connection, row, change.new_key, signatures.key_id(change.new_key), declared)\n"
        "        if False:",
        tests=f"{KEYS}::test_a_row_that_changed_meanwhile",
    ),
    defence(
        "17",
        "what became due while no process ran is done",
        "services/aggregator/main.py",
        "deadlines.start()",
        tests="aggregator/test_main.py::test_the_application_keeps_deadlines_while_it_lives",
    ),
    defence(
        "17",
        "a purge that was cut off is made up for",
        ENGINE,
        "self._unpurged = True\n        self._purge_wait_ms",
        "self._unpurged = False\n        self._purge_wait_ms",
        tests=f"{ENGINES}::test_a_purge_empties_the_write_ahead_log",
    ),
]
