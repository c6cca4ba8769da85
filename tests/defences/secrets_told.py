"""Row 23: secrets in logs, answers and dumps."""

from defences.defence import Defence, defence

LOGS = "services/aggregator/logs.py"
PROBLEMS = "services/aggregator/problems.py"
OBSERVED = "services/aggregator/intake/observed.py"
SQLITE = "services/aggregator/storage/sqlite.py"
POSTGRESQL = "services/aggregator/storage/postgresql.py"
ENGINE = "services/aggregator/storage/engine.py"
CONTRIBUTIONS = "services/aggregator/storage/contributions.py"
PUBLISHING = "services/aggregator/service/publishing.py"
SCHEDULE = "services/aggregator/service/schedule.py"
SERVING = "services/aggregator/serving.py"
MESSAGE = "libs/fgpr/message.py"
TICKET = "libs/fgpr/ticket.py"
LOG_TESTS = "aggregator/test_logs.py"
OBSERVED_TESTS = "aggregator/intake/test_observed.py"
PROBLEM_TESTS = "aggregator/test_problems.py"
ERASED = "aggregator/service/test_publishing.py::test_what_was_uploaded_is_gone_after_publication"
ABORTED = "aggregator/service/test_publishing.py::test_what_was_uploaded_is_gone_after_an_abort"
PURGE = "aggregator/service/test_schedule_purge.py"

DEFENCES: list[Defence] = [
    defence("23", "allow-listed log fields", LOGS, "            _only_allowed,\n", "", tests=LOG_TESTS),
    defence(
        "23",
        "a failure is the name of its class",
        LOGS,
        'return "" if ei[0] is None else str(ei[0].__name__)',
        'return "" if ei[0] is None else super().formatException(ei)',
        tests=LOG_TESTS,
    ),
    defence("23", "nothing below a warning", LOGS, "level=logging.WARNING", "level=logging.DEBUG", tests=LOG_TESTS),
    defence(
        "23",
        "the server logs no request of its own",
        SERVING,
        "access_log=False,",
        "access_log=True,",
        tests="aggregator/test_serving.py::test_the_server_logs_nothing_of_its_own",
    ),
    defence(
        "23",
        "a route and no path",
        OBSERVED,
        "    if path is None:\n        return NO_ROUTE",
        '    path = scope["path"]',
        tests=OBSERVED_TESTS,
    ),
    defence(
        "23",
        "a caller's digest and not its key",
        OBSERVED,
        'return None if key_id is None else hashlib.sha256(b"fgpr-log\\0" + key_id.encode()).hexdigest()[:16]',
        "return key_id",
        tests=OBSERVED_TESTS,
    ),
    defence(
        "23",
        "a method of a few letters",
        OBSERVED,
        "method=method[:16]",
        "method=method",
        tests=OBSERVED_TESTS,
    ),
    defence(
        "23",
        "request ids that nobody chose freely",
        OBSERVED,
        "return given if _WELL_FORMED.fullmatch(given) else next(fresh)",
        "return given or next(fresh)",
        tests=OBSERVED_TESTS,
    ),
    defence(
        "23",
        "generic 5xx",
        PROBLEMS,
        'detail = f"the aggregator failed; its log has more under request id {request_id}"',
        'detail = f"{request_id}: {error!r}"',
        tests=PROBLEM_TESTS,
    ),
    defence(
        "23",
        "of which the log has class and place only",
        PROBLEMS,
        "error=type(error).__name__, place=place",
        "error=repr(error), place=place",
        tests=f"{PROBLEM_TESTS}::test_an_unforeseen_failure_keeps_its_reason",
    ),
    defence(
        "23",
        "a refusal does not repeat the body",
        PROBLEMS,
        'return place[:1] if place[0] == "body" or fault["type"] == "extra_forbidden" else place[:2]',
        "return place",
        tests=f"{PROBLEM_TESTS}::test_an_invalid_body_is_refused_and_never_echoed",
    ),
    defence(
        "23",
        "nor a parameter",
        PROBLEMS,
        "{fault['type']}\" for fault in error.errors()",
        "{fault['type']} {fault['input']}\" for fault in error.errors()",
        tests=f"{PROBLEM_TESTS}::test_an_invalid_parameter_is_named_with_its_rule",
    ),
    defence(
        "23",
        "nor a message",
        MESSAGE,
        "{fault['msg']}\" for fault",
        "{fault['msg']} {fault['input']}\" for fault",
        tests="fgpr/test_message.py::test_what_was_sent_is_not_in_the_error",
    ),
    defence(
        "23",
        "nor does one that is made here",
        MESSAGE,
        ", hide_input_in_errors=True)",
        ")",
        tests="fgpr/test_message.py::test_what_was_sent_is_not_in_the_error",
    ),
    defence(
        "23",
        "errors of SQLite have no values",
        SQLITE,
        ", hide_parameters=True)",
        ")",
        tests="aggregator/storage/test_engine.py::test_errors_have_no_values",
    ),
    defence(
        "23",
        "nor those of PostgreSQL",
        POSTGRESQL,
        ", hide_parameters=True)",
        ")",
        tests="aggregator/storage/test_engine.py::test_errors_have_no_values",
        postgresql=True,
    ),
    defence(
        "23",
        "a ticket hides its secret",
        TICKET,
        ", repr=False)]",
        ")]",
        tests="fgpr/test_ticket.py::test_a_ticket_hides_its_secret",
    ),
    defence(
        "23",
        "a stored vector is not shown",
        CONTRIBUTIONS,
        "masked: bytes | None = field(repr=False)",
        "masked: bytes | None",
        tests="aggregator/storage/test_rounds.py::test_secret_parts_are_not_shown",
    ),
    defence(
        "23",
        "nor are boxes",
        CONTRIBUTIONS,
        "boxes: bytes | None = field(repr=False)",
        "boxes: bytes | None",
        tests="aggregator/storage/test_rounds.py::test_secret_parts_are_not_shown",
    ),
    defence(
        "23",
        "erasure at publication",
        PUBLISHING,
        "contributions.erase(connection, row.federation, row.number)",
        tests=ERASED,
        inside="publish",
    ),
    defence(
        "23",
        "and when a round is aborted",
        PUBLISHING,
        "contributions.erase(connection, row.federation, row.number)",
        tests=ABORTED,
        inside="abort",
    ),
    defence(
        "23",
        "of the masked vectors",
        CONTRIBUTIONS,
        ".values(masked=None, boxes=None)",
        ".values(boxes=None)",
        tests=ERASED,
    ),
    defence(
        "23",
        "and of the boxes",
        CONTRIBUTIONS,
        ".values(masked=None, boxes=None)",
        ".values(masked=None)",
        tests=ERASED,
    ),
    defence(
        "23",
        "whose bytes are overwritten",
        SQLITE,
        '"secure_delete=ON"',
        '"secure_delete=OFF"',
        tests="aggregator/storage/test_engine.py::test_every_connection_is_set_up",
    ),
    defence("23", "in the write-ahead log, too", SCHEDULE, "context.database.note_erasure()", tests=PURGE),
    defence(
        "23",
        "at the next tick",
        "services/aggregator/deadlines.py",
        "self._try(PURGE, self._context.database.purge)",
        tests=PURGE,
    ),
    defence(
        "23",
        "though readers were in the way",
        ENGINE,
        "self._unpurged or not done",
        "self._unpurged",
        tests="aggregator/storage/test_engine.py::test_a_purge_waits_for_no_reader_and_is_made_up_for",
    ),
    defence(
        "23",
        "old rows of PostgreSQL",
        POSTGRESQL,
        'connection.execute(text("VACUUM contributions"))',
        tests=f"{PURGE}::test_postgresql_gives_up_the_old_row_versions",
        postgresql=True,
    ),
    defence(
        "23",
        "updates are masked",
        "libs/fgpr/secagg/contributor.py",
        "FIELD.to_bytes(FIELD.add(encoded.vector, mask))",
        "FIELD.to_bytes(encoded.vector)",
        tests="aggregator/test_secrets.py::test_what_is_stored_of_a_contribution_tells_nothing_of_its_update",
    ),
    defence(
        "23",
        "clients log neither bodies nor keys",
        "services/client_agent/api.py",
        "                    return self._attempt(",
        "                    import logging\n\n                    logging.getLogger('x').debug('%r %r', body, path)\n"
        "                    return self._attempt(",
        tests="client_agent/test_api.py::test_neither_bodies_nor_keys_are_logged",
    ),
    defence(
        "23",
        "passwords are not shown",
        "services/aggregator/settings.py",
        "netloc=f\"{user.partition(':')[0]}{at}{host}\"",
        'netloc=f"{user}{at}{host}"',
        tests="aggregator/test_settings.py::test_what_is_shown_of_a_database_holds_no_password",
    ),
]
