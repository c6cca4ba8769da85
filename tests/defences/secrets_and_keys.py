"""Rows 23 and 24: secrets in logs and dumps, and key files."""

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
KEYS = "services/aggregator/keys.py"
KEYFILE = "services/client_agent/keyfile.py"
PRIVATE = "libs/fgpr/private_keys.py"
MESSAGE = "libs/fgpr/message.py"
TICKET = "libs/fgpr/ticket.py"

LOG_TESTS = "aggregator/test_logs.py"
OBSERVED_TESTS = "aggregator/intake/test_observed.py"
PROBLEM_TESTS = "aggregator/test_problems.py"
WHOLE_RUN = "aggregator/test_secrets.py::test_a_whole_run_leaves_no_secret"
ERASED = "aggregator/service/test_publishing.py::test_what_was_uploaded_is_gone_after_publication"
ABORTED = "aggregator/service/test_publishing.py::test_what_was_uploaded_is_gone_after_an_abort"
PURGE = "aggregator/service/test_schedule_purge.py"
KEY_TESTS = "aggregator/test_keys.py"
KEYFILES = "client_agent/test_keyfile.py"
PRIVATES = "fgpr/test_private_keys.py"

ROW_23 = [
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
        '    if path is None:\n        return NO_ROUTE',
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
        "return given if _WELL_FORMED.fullmatch(given) else secrets.token_hex(8)",
        "return given or secrets.token_hex(8)",
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
        'error=type(error).__name__, place=place',
        'error=repr(error), place=place',
        tests=f"{PROBLEM_TESTS}::test_an_unforeseen_failure_keeps_its_reason",
    ),
    defence(
        "23",
        "a refusal does not repeat the body",
        PROBLEMS,
        "return place[:1] if place[0] == \"body\" or fault[\"type\"] == \"extra_forbidden\" else place[:2]",
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
    defence("23", "of the masked vectors", CONTRIBUTIONS, ".values(masked=None, boxes=None)", ".values(boxes=None)", tests=ERASED),
    defence("23", "and of the boxes", CONTRIBUTIONS, ".values(masked=None, boxes=None)", ".values(masked=None)", tests=ERASED),
    defence(
        "23",
        "whose bytes are overwritten",
        SQLITE,
        '"secure_delete=ON"',
        '"secure_delete=OFF"',
        tests="aggregator/storage/test_engine.py::test_every_connection_is_set_up",
    ),
    defence("23", "in the write-ahead log, too", SCHEDULE, "context.database.note_erasure()", tests=PURGE),
    defence("23", "at the next tick", "services/aggregator/deadlines.py", "self._try(PURGE, self._context.database.purge)", tests=PURGE),
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

ROW_24 = [
    defence("24", "mode 0600", PRIVATE, "if stat.S_IMODE(mode) & 0o077:", tests=[f"{KEY_TESTS}::test_a_key_that_others_can_touch", PRIVATES]),
    defence("24", "owner", PRIVATE, "if owner != user:", tests=[f"{KEY_TESTS}::test_a_key_of_another_user", PRIVATES]),
    defence("24", "a regular file", PRIVATE, "if not stat.S_ISREG(mode):", tests=PRIVATES),
    defence("24", "in a folder of one's own", PRIVATE, "if owner not in (user, 0):", tests=PRIVATES),
    defence("24", "in which nobody else swaps files", PRIVATE, "if stat.S_IMODE(mode) & 0o022:", tests=PRIVATES),
    defence(
        "24",
        "the aggregator looks",
        KEYS,
        "private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())",
        tests=f"{KEY_TESTS}::test_a_key_that_others_can_touch",
    ),
    defence(
        "24",
        "at its folder, too",
        KEYS,
        "private_keys.check_folder(str(folder), status.st_mode, status.st_uid, os.geteuid())",
        tests=f"{KEY_TESTS}::test_a_folder_that_others_can_write_in",
    ),
    defence(
        "24",
        "before it serves",
        "services/aggregator/main.py",
        "    context.keys.service()\n    check_known",
        "    check_known",
        tests=f"{KEY_TESTS}::test_nothing_is_served_with_a_key_that_others_can_touch",
    ),
    defence(
        "24",
        "a TLS key, too",
        SERVING,
        "_check_key(key)",
        tests="aggregator/test_serving.py::test_a_key_that_others_can_read_is_refused",
        inside="tls_context",
    ),
    defence(
        "24",
        "no symbolic link",
        KEYS,
        "os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)",
        "os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)",
        tests=f"{KEY_TESTS}::test_a_link_is_not_followed",
    ),
    defence("24", "which nobody waits for either", KEYS, "os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC", "os.O_NOFOLLOW | os.O_CLOEXEC", tests=f"{KEY_TESTS}::test_a_pipe_is_not_waited_for"),
    defence(
        "24",
        "made for its owner alone",
        KEYS,
        "os.open(draft, flags, private_keys.FILE_MODE)",
        "os.open(draft, flags, 0o644)",
        tests=f"{KEY_TESTS}::test_keys_are_made_once_and_stay",
    ),
    defence(
        "24",
        "in a folder for its owner alone",
        KEYS,
        "folder.mkdir(mode=private_keys.FOLDER_MODE, ",
        "folder.mkdir(mode=0o755, ",
        tests=f"{KEY_TESTS}::test_keys_are_made_once_and_stay",
    ),
    defence(
        "24",
        "atomic write: on the disk first",
        KEYS,
        "                    os.fsync(file.fileno())\n                # A link",
        "                # A link",
        tests=f"{KEY_TESTS}::test_a_key_is_on_the_disk_before_it_has_its_name",
    ),
    defence(
        "24",
        "atomic write: then its name",
        KEYS,
        "os.fsync(folder)",
        tests=f"{KEY_TESTS}::test_a_key_is_on_the_disk_before_it_has_its_name",
    ),
    defence(
        "24",
        "atomic write: nothing stays of half a key",
        KEYS,
        "draft.unlink(missing_ok=True)",
        tests=f"{KEY_TESTS}::test_keys_are_made_once_and_stay",
        inside="_create",
    ),
    defence("24", "a key is never replaced", KEYS, "if not (self._folder / name).exists():", "if True:", tests=f"{KEY_TESTS}::test_what_is_no_key_is_kept_and_refused"),
    defence("24", "no key that is none", PRIVATE, "    except (ValueError, TypeError, UnsupportedAlgorithm):\n        raise CryptographicError(\n            f\"{place} holds no unencrypted", "    except ():\n        raise CryptographicError(\n            f\"{place} holds no unencrypted", tests=[f"{KEY_TESTS}::test_what_is_no_key_is_kept_and_refused"]),
    defence("24", "nor one of another kind", PRIVATE, "if not isinstance(key, Ed25519PrivateKey):", tests=PRIVATES),
    defence(
        "24",
        "the agent looks",
        KEYFILE,
        "private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())",
        tests=f"{KEYFILES}::test_a_file_that_others_can_touch_is_refused",
    ),
    defence(
        "24",
        "at its folder when it reads",
        KEYFILE,
        "_check_folder(path.parent)",
        tests=f"{KEYFILES}::test_a_folder_in_which_others_write_is_refused",
        inside="read",
    ),
    defence(
        "24",
        "and when it writes",
        KEYFILE,
        "_check_folder(path.parent)",
        tests=f"{KEYFILES}::test_a_folder_in_which_others_write_is_refused",
        inside="write",
    ),
    defence(
        "24",
        "the agent follows no link",
        KEYFILE,
        "os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)",
        "os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)",
        tests=f"{KEYFILES}::test_what_is_no_file_of_its_own_is_refused",
    ),
    defence(
        "24",
        "its keys are for their owner alone",
        KEYFILE,
        "os.open(draft, flags, private_keys.FILE_MODE)",
        "os.open(draft, flags, 0o644)",
        tests=f"{KEYFILES}::test_a_secret_is_read_back_and_only_its_owner_can",
    ),
    defence(
        "24",
        "written in one step",
        KEYFILE,
        "os.link(draft, path)",
        "draft.rename(path)",
        tests=f"{KEYFILES}::test_nothing_is_ever_overwritten",
    ),
    defence(
        "24",
        "on the disk before that",
        KEYFILE,
        "                os.fsync(file.fileno())\n",
        "",
        tests=f"{KEYFILES}::test_file_and_folder_are_on_disk_before_write_returns",
    ),
    defence(
        "24",
        "and its name after it",
        KEYFILE,
        "_sync_folder(path.parent)",
        tests=f"{KEYFILES}::test_file_and_folder_are_on_disk_before_write_returns",
        inside="write",
    ),
    defence(
        "24",
        "no part of it stays",
        KEYFILE,
        "draft.unlink(missing_ok=True)",
        tests=f"{KEYFILES}::test_a_crash_leaves_no_part_of_a_file",
    ),
    defence("24", "no file that is too large", KEYFILE, "if len(secret) > private_keys.FILE_LIMIT:", tests=f"{KEYFILES}::test_a_huge_file_is_no_key"),
]

DEFENCES: list[Defence] = [*ROW_23, *ROW_24]
