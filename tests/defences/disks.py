"""Row 20: disks that fail or are full."""

from defences.defence import Defence, defence

ENGINE = "services/aggregator/storage/engine.py"
SQLITE = "services/aggregator/storage/sqlite.py"
FILE = "services/aggregator/storage/database_file.py"
READINESS = "services/aggregator/service/readiness.py"
DEADLINES = "services/aggregator/deadlines.py"
KEYS = "services/aggregator/keys.py"
MAIN = "services/aggregator/main.py"
DURABLE = "services/client_agent/durable_file.py"
ENGINES = "aggregator/storage/test_engine.py"
FILES = "aggregator/storage/test_database_file.py"
READY = "aggregator/service/test_readiness.py"
FULL = "aggregator/test_full_disk.py"
DURABLE_TESTS = "client_agent/test_durable_file.py"

DEFENCES: list[Defence] = [
    defence(
        "20",
        "what a disk refuses is a 503",
        ENGINE,
        'raise Unavailable(f"the database does not answer: {sqlite.reason(error.orig)}") from error',
        "raise",
        tests=[f"{ENGINES}::test_what_the_database_cannot_do_is_unavailable", FULL],
    ),
    defence(
        "20",
        "so is a damaged database",
        ENGINE,
        'raise Unavailable(f"the database is damaged, or is none: {error.orig}") from error',
        "raise",
        tests=f"{ENGINES}::test_a_damaged_file_is_unavailable",
    ),
    defence(
        "20",
        "and one that nobody has time for",
        ENGINE,
        'raise Unavailable("every connection to the database is in use") from error',
        "raise",
        tests=f"{ENGINES}::test_more_threads_than_connections",
    ),
    defence(
        "20",
        "and one that is written to for too long",
        ENGINE,
        "if not self._writers.acquire(timeout=sqlite.WAIT_MS / 1000):",
        "if self._writers.acquire(timeout=sqlite.WAIT_MS / 1000) is None:",
        tests=f"{ENGINES}::test_writers_of_one_process_do_not_poll",
    ),
    defence(
        "20",
        "it recovers: a connection that was spoilt is made anew",
        SQLITE,
        "context.is_disconnect = True",
        tests="aggregator/storage/test_sqlite.py",
    ),
    defence(
        "20",
        "it recovers: a server that was away",
        "services/aggregator/storage/postgresql.py",
        "pool_pre_ping=True, ",
        "",
        tests=f"{ENGINES}::test_a_server_that_is_away_is_unavailable",
        postgresql=True,
    ),
    defence(
        "20",
        "a folder that this user does not get through to is named",
        FILE,
        "if above.exists() and not os.access(above, os.X_OK, effective_ids=True):",
        tests="aggregator/storage/test_database_file.py::test_a_folder_above_that_lets_nobody_through",
    ),
    defence(
        "20",
        "not ready while it cannot write",
        READINESS,
        "probe.write_and_remove(connection, secrets.token_hex(16), self._context.clock())",
        tests=[f"{READY}::test_a_database_that_takes_no_writes", FULL],
    ),
    defence(
        "20",
        "nor with another schema",
        READINESS,
        '"schema": partial(migrate.check_schema, self._context.database),',
        "",
        tests=f"{READY}::test_another_schema",
    ),
    defence(
        "20",
        "nor without its keys",
        READINESS,
        '"keys": self._context.keys.check,',
        "",
        tests=f"{READY}::test_a_key_that_is_gone_or_open_to_others",
    ),
    defence("20", "each look looks", READINESS, "                check()\n", "                pass\n", tests=READY),
    defence(
        "20",
        "whatever the look finds",
        READINESS,
        "except Exception as error:",
        "except ArithmeticError as error:",
        tests=f"{READY}::test_what_nobody_foresaw_is_a_fault_too",
    ),
    defence(
        "20",
        "and says so",
        "services/aggregator/routes/health.py",
        "if not readiness.ready:",
        tests=["aggregator/routes/test_health.py::test_what_cannot_work_is_alive_and_not_ready", FULL],
    ),
    defence(
        "20",
        "one look for all who ask",
        READINESS,
        "return self._clock() - self._at >= KEPT_SECONDS",
        "return True",
        tests=f"{READY}::test_one_look_serves_all_who_ask_within_a_second",
    ),
    defence(
        "20",
        "a fault keeps no other federation from its deadline",
        DEADLINES,
        "except FgprError as error:",
        "except ArithmeticError as error:",
        tests="aggregator/test_deadlines.py",
    ),
    defence(
        "20",
        "nor does one that nobody foresaw",
        DEADLINES,
        "except Exception as error:",
        "except ArithmeticError as error:",
        tests="aggregator/test_deadlines.py::test_what_nobody_foresaw_does_not_end_the_thread",
    ),
    defence(
        "20",
        "what is stored is acknowledged though the next step fails",
        "services/aggregator/routes/rounds.py",
        "with suppress(FgprError):",
        "with suppress():",
        tests="aggregator/service/test_schedule.py::test_an_unsafe_next_round_refuses_no_opening",
    ),
    defence(
        "20",
        "no start without a folder",
        FILE,
        "if not folder.is_dir():",
        tests=f"{FILES}::test_a_place_that_is_no_folder",
    ),
    defence(
        "20",
        "nor where it is not this user's",
        FILE,
        '_check_access(folder, os.R_OK | os.W_OK | os.X_OK, "in")',
        tests=f"{FILES}::test_what_is_not_this_users",
    ),
    defence(
        "20",
        "nor where a file of it is not",
        FILE,
        '_check_access(folder / name, os.R_OK | os.W_OK, "to")',
        tests=f"{FILES}::test_what_is_not_this_users",
    ),
    defence(
        "20",
        "nor on a disk for reading only, and says so",
        FILE,
        "if os.statvfs(path).f_flag & os.ST_RDONLY:",
        tests=f"{FILES}::test_what_is_not_this_users",
    ),
    defence(
        "20",
        "nor on a full disk",
        FILE,
        "if room.f_blocks and room.f_bavail * room.f_frsize < LEAST_ROOM:",
        tests=f"{FILES}::test_a_full_disk",
    ),
    defence(
        "20",
        "nor where the newest writes would be lost",
        FILE,
        "if MOUNTS.exists() and is_mounted_alone(path, ",
        "if False and is_mounted_alone(path, ",
        tests=f"{FILES}::test_a_file_that_is_mounted_alone_is_refused",
    ),
    defence(
        "20",
        "nor where links lead back to themselves",
        FILE,
        "if error.errno == errno.ELOOP:",
        tests=f"{FILES}::test_links_that_lead_back_to_themselves",
    ),
    defence(
        "20",
        "which is looked at before the database is opened",
        MAIN,
        "database_file.check(settings.database)",
        tests="aggregator/test_main.py",
    ),
    defence(
        "20",
        "a checkpoint is kept whole or not at all",
        KEYS,
        "file.flush()\n                    os.fsync(file.fileno())\n                draft.replace(path)",
        "pass\n                path.write_text(note)",
        tests="aggregator/test_keys.py::test_a_checkpoint_that_cannot_be_written",
    ),
    defence(
        "20",
        "and a draft of it is taken away",
        KEYS,
        "draft.unlink(missing_ok=True)",
        tests="aggregator/test_keys.py::test_a_checkpoint_that_cannot_be_written",
        inside="remember",
    ),
    defence(
        "20",
        "an agent's file is on the disk before it has its name",
        DURABLE,
        "os.fsync(file.fileno())",
        tests=DURABLE_TESTS,
    ),
    defence("20", "and its name, too", DURABLE, "os.fsync(descriptor)", tests=DURABLE_TESTS),
    defence(
        "20",
        "what an agent could not write it does not send",
        DURABLE,
        "        draft.unlink(missing_ok=True)\n        raise\n    return draft",
        "        pass\n    return draft",
        tests=DURABLE_TESTS,
    ),
]
