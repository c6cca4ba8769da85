"""Rows 17, 18 and 19: processes that are killed, doubled or paused, and answers that are lost."""

from defences.defence import Defence, defence

ENGINE = "services/aggregator/storage/engine.py"
SQLITE = "services/aggregator/storage/sqlite.py"
POSTGRESQL = "services/aggregator/storage/postgresql.py"
LOG = "services/aggregator/storage/log.py"
ROUND_ROWS = "services/aggregator/storage/rounds.py"
FEDERATION_ROWS = "services/aggregator/storage/federations.py"
MIGRATE = "services/aggregator/storage/migrate.py"
COPYING = "services/aggregator/storage/copying.py"
PUBLISHING = "services/aggregator/service/publishing.py"
SCHEDULE = "services/aggregator/service/schedule.py"
ROUNDS = "services/aggregator/service/rounds.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
STAFF = "services/aggregator/service/staff.py"
COMPLAINTS = "services/aggregator/service/complaints.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"
SECOND_SCHEMA = "migrations/versions/0002_complaints.py"
API = "services/client_agent/api.py"
RETRYING = "services/client_agent/retrying.py"

ENGINES = "aggregator/storage/test_engine.py"
SET_UP = f"{ENGINES}::test_every_connection_is_set_up"
LIMITS = f"{ENGINES}::test_every_connection_has_limits"
TOGETHER = "aggregator/service/test_publishing.py::test_a_transition_and_its_leaf_stand_or_fall_together"
ONE_LEAF = "aggregator/service/test_audit.py::test_each_transition_has_exactly_one_leaf"
ROUND_TESTS = "aggregator/storage/test_rounds.py"
ONE_EACH = f"{ROUND_TESTS}::test_one_contribution_and_one_opening_a_client"
HEADS = "aggregator/storage/test_log.py::test_two_writers_of_one_head_never_fork_the_log"
SAME = "aggregator/routes/test_rounds.py::test_the_same_body_gets_the_same_bytes_and_another_one_a_conflict"
OPENINGS = "aggregator/routes/test_rounds.py::test_openings"
COMPLAINT_TESTS = "aggregator/routes/test_complaints.py"
KEYS = "aggregator/routes/test_key_replacement.py"
ENROLMENTS = "aggregator/routes/test_enrolments.py"
APIS = "client_agent/test_api.py"
AGAIN = f"{APIS}::test_a_passing_failure_is_tried_again_over_the_same_bytes"
DOUBLED = "aggregator/test_replicas.py::test_doubled_transitions_happen_once"


def _pragma(row: str, text: str, setting: str) -> Defence:
    return defence(row, text, SQLITE, setting, '"application_id"', tests=SET_UP, inside="_configure")


def _leaf(clause: str, file: str, statement: str, inside: str, tests: str = ONE_LEAF) -> Defence:
    return defence("17", f"an audit entry in the transaction of {clause}", file, statement, tests=tests, inside=inside)


ROW_17 = [
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
        TOGETHER,
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
        "the driver begins no transaction of its own",
        SQLITE,
        "connection.isolation_level = None",
        tests=[ENGINES, "aggregator/storage/test_migrate.py"],
    ),
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
        "if present != head:",
        tests="aggregator/storage/test_migrate.py::test_a_schema_is_checked_exactly",
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
        "what is due is done before any request",
        "services/aggregator/main.py",
        "deadlines.start()",
        tests="aggregator/test_deadlines.py::test_what_became_due_while_no_process_ran_is_done_at_once",
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

ROW_18 = [
    defence(
        "18",
        "one prior a version",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "version", name="pk_priors"),',
        "",
        tests="aggregator/service/test_publishing.py::test_no_two_priors_of_one_version",
    ),
    defence(
        "18",
        "the second of two is told",
        FEDERATION_ROWS,
        "connection.execute(insert(priors).values(values))",
        'connection.execute(insert(priors).prefix_with("OR IGNORE").values(values))',
        tests="aggregator/service/test_publishing.py::test_no_two_priors_of_one_version",
    ),
    defence(
        "18",
        "one round a number",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "number", name="pk_rounds"),',
        'sa.UniqueConstraint("federation", "number", "stage"),',
        tests=f"{ROUND_TESTS}::test_one_round_a_number",
    ),
    defence(
        "18",
        "one contribution a client and round",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_contributions"),',
        "",
        tests=ONE_EACH,
    ),
    defence(
        "18",
        "one opening a member and round",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_openings"),',
        "",
        tests=ONE_EACH,
    ),
    defence(
        "18",
        "one complaint a member and round",
        SECOND_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_complaints"),',
        "",
        tests="aggregator/storage/test_complaints.py",
    ),
    defence(
        "18",
        "the stage in the WHERE clause",
        ROUND_ROWS,
        ", rounds.c.stage == row.stage.value)\n        .values(stage=stage.value",
        ")\n        .values(stage=stage.value",
        tests=f"{ROUND_TESTS}::test_a_round_moves_from_the_stage_that_was_read_only",
    ),
    defence(
        "18",
        "which has to change one row",
        ROUND_ROWS,
        "if moved.rowcount != 1:",
        tests=f"{ROUND_TESTS}::test_a_round_moves_from_the_stage_that_was_read_only",
    ),
    defence(
        "18",
        "the size of the log in the WHERE clause",
        LOG,
        "log_head.c.id == HEAD, log_head.c.size == before.size",
        "log_head.c.id == HEAD",
        tests=HEADS,
    ),
    defence("18", "which has to change one head", LOG, "if moved.rowcount != 1:", tests=HEADS),
    defence(
        "18",
        "one leaf a place",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("index", name="pk_log_leaves"),',
        "",
        tests="aggregator/storage/test_log.py::test_one_leaf_a_place",
    ),
    defence(
        "18",
        "a transition locks the federation",
        SCHEDULE,
        "federations.read(connection, federation, lock=True))\n        if transition",
        "federations.read(connection, federation))\n        if transition",
        tests=DOUBLED,
        postgresql=True,
    ),
    defence(
        "18",
        "and is judged under that lock",
        FEDERATION_ROWS,
        "_LOCKED = _FEDERATION.with_for_update()",
        "_LOCKED = _FEDERATION",
        tests=DOUBLED,
        postgresql=True,
    ),
    defence(
        "18",
        "writers of the log wait for each other",
        LOG,
        "_LOCKED_HEAD = _HEAD.with_for_update()",
        "_LOCKED_HEAD = _HEAD",
        tests="aggregator/storage/test_log.py::test_a_writer_waits_for_the_one_before",
        postgresql=True,
    ),
    defence(
        "18",
        "a paused process loses its transaction",
        POSTGRESQL,
        'connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")',
        tests=LIMITS,
        postgresql=True,
    ),
    defence(
        "18",
        "nobody waits for a lock for ever",
        POSTGRESQL,
        'connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")',
        tests=LIMITS,
        postgresql=True,
    ),
    _pragma("18", "nor is a writer of another process refused at once", 'f"busy_timeout={WAIT_MS}"'),
    defence(
        "18",
        "processes that start wait for each other",
        POSTGRESQL,
        'connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})',
        tests="aggregator/storage/test_migrate.py::test_processes_may_migrate_at_once",
        postgresql=True,
    ),
    defence(
        "18",
        "nothing is restored below a replica that serves",
        COPYING,
        "if postgresql.others_listen(connection):",
        tests="aggregator/storage/test_copying.py::test_an_aggregator_that_still_serves_is_noticed",
        postgresql=True,
    ),
    defence(
        "18",
        "whose keys are one",
        "services/aggregator/keys.py",
        "os.link(draft, path)",
        "draft.rename(path)",
        tests="aggregator/test_keys.py::test_processes_that_start_at_once_agree_on_one_key",
    ),
]

ROW_19 = [
    defence(
        "19", "a contribution again gets its answer", ROUNDS, "if known is not None:", tests=SAME, inside="contribute"
    ),
    defence("19", "another one a conflict", ROUNDS, "if known != digest:", tests=SAME),
    defence(
        "19",
        "an opening again gets its answer",
        ROUNDS,
        "        if known is None:\n            clients.add_opening_key",
        "        if True:\n            clients.add_opening_key",
        tests=OPENINGS,
    ),
    defence("19", "another opening a conflict", ROUNDS, "if known is not None and known != signed:", tests=OPENINGS),
    defence(
        "19",
        "an opening's answer stays when the round has ended",
        ROUNDS,
        "counted=counted or known is not None",
        "counted=counted",
        tests=f"{OPENINGS}_are_acknowledged_alike_when_the_round_has_ended",
    ),
    defence(
        "19",
        "a complaint again gets its answer",
        COMPLAINTS,
        "if known is not None:",
        tests=f"{COMPLAINT_TESTS}::test_one_complaint_convicts_nobody_and_is_kept",
    ),
    defence("19", "another complaint a conflict", COMPLAINTS, "if known != signed:", tests=COMPLAINT_TESTS),
    defence(
        "19",
        "an enrolment again gets its first answer",
        ENROLMENT,
        "return EnrolmentReceipt.decode(row.receipt)",
        "return _receipt(connection, ticket, caller)",
        tests=f"{ENROLMENTS}::test_a_ticket_makes_one_identity",
    ),
    defence(
        "19",
        "whoever left is told so again",
        ENROLMENT,
        "            known is not None\n            and known.revoked_at is not None",
        "            known is None\n            and known.revoked_at is not None",
        tests=f"{ENROLMENTS}::test_leaving",
    ),
    defence(
        "19",
        "a key change again gets its answer",
        ROTATION,
        "if repeated and known is not None and known.revoked_at is None:",
        tests=KEYS,
        inside="replace_client_key",
    ),
    defence(
        "19",
        "an operator's, too",
        ROTATION,
        "if repeated and known is not None and known.revoked_at is None:",
        tests=KEYS,
        inside="replace_staff_key",
    ),
    defence(
        "19",
        "an operator's enrolment again gets its answer",
        STAFF,
        "authorise_staff(connection, caller, ticket.role)\n            return receipt",
        "raise Conflict('taken up')",
        tests="aggregator/routes/test_operator.py::test_a_ticket_makes_one_operator",
    ),
    defence(
        "19",
        "clients ask again where there was no answer",
        API,
        "        except httpx.TransportError as error:\n",
        "        except httpx.StreamError as error:\n",
        tests=AGAIN,
    ),
    defence(
        "19",
        "and where it was none of a moment's",
        RETRYING,
        "PASSING = {408, 429, 502, 503, 504}",
        "PASSING = {429}",
        tests=AGAIN,
    ),
    defence(
        "19",
        "with a fresh nonce",
        API,
        "nonce=self.epoch + secrets.token_urlsafe(NONCE_BYTES)",
        'nonce=self.epoch + "n" * 24',
        tests=AGAIN,
    ),
    defence(
        "19",
        "and the same identity",
        "services/client_agent/enrolment.py",
        "identity.load(home) if",
        "identity.create(home) if",
        tests="client_agent/test_cli.py::test_enrol_again_after_a_lost_answer",
    ),
]

DEFENCES: list[Defence] = [*ROW_17, *ROW_18, *ROW_19]
