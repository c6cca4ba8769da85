"""Row 18: replicas that do the same at once, or sleep in between."""

from defences.defence import Defence, defence

SQLITE = "services/aggregator/storage/sqlite.py"
POSTGRESQL = "services/aggregator/storage/postgresql.py"
LOG = "services/aggregator/storage/log.py"
ROUND_ROWS = "services/aggregator/storage/rounds.py"
FEDERATION_ROWS = "services/aggregator/storage/federations.py"
COPYING = "services/aggregator/storage/copying.py"
SCHEDULE = "services/aggregator/service/schedule.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"
SECOND_SCHEMA = "migrations/versions/0002_complaints.py"
ENGINES = "aggregator/storage/test_engine.py"
SET_UP = f"{ENGINES}::test_every_connection_is_set_up"
LIMITS = f"{ENGINES}::test_every_connection_has_limits"
ROUND_TESTS = "aggregator/storage/test_rounds.py"
ONE_EACH = f"{ROUND_TESTS}::test_one_contribution_and_one_opening_a_client"
HEADS = "aggregator/storage/test_log.py::test_two_writers_of_one_head_never_fork_the_log"
DOUBLED = "aggregator/test_replicas.py::test_doubled_transitions_happen_once"


def _pragma(row: str, text: str, setting: str) -> Defence:
    return defence(row, text, SQLITE, setting, '"application_id"', tests=SET_UP, inside="_configure")


DEFENCES: list[Defence] = [
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
        'sa.UniqueConstraint("federation", "number", "ended_at"),',
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
        'log_head.c.size == bindparam("before")',
        'log_head.c.size <= bindparam("before") + 99',
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
        "nor in place of its file or its epoch",
        COPYING,
        "if busy:",
        tests="aggregator/storage/test_copying.py::test_an_aggregator_that_still_serves_is_noticed",
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
