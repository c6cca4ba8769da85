"""Row 22: old backups."""

from defences.defence import Defence, defence

DEADLINES = "services/aggregator/deadlines.py"
MAIN = "services/aggregator/main.py"
AUTH = "services/aggregator/auth.py"
PLAIN = "services/aggregator/plain_requests.py"
COMMAND_LINE = "services/aggregator/command_line.py"
KEYS = "services/aggregator/keys.py"
RESTORING = "services/aggregator/service/restoring.py"
BACKUPS = "services/aggregator/backup_commands.py"
INSTALLATION = "services/aggregator/storage/installation.py"
API = "services/client_agent/api.py"
BACKUP_TESTS = "aggregator/test_backup_commands.py"
FILE_TESTS = "aggregator/test_backup_files.py"
WORTHLESS = f"{BACKUP_TESTS}::test_what_was_signed_or_issued_before_is_worth_nothing"
LOST = f"{BACKUP_TESTS}::test_a_log_that_lost_entries_is_not_served"
OTHER_KEY = "aggregator/test_cli.py::test_a_database_in_use_takes_no_other_service_key"
SIGNING = "aggregator/test_cli.py::test_nothing_is_signed_on_a_log_that_lost_entries"
KEPT = f"{BACKUP_TESTS}::test_a_checkpoint_that_somebody_kept"

DEFENCES: list[Defence] = [
    defence(
        "22",
        "a new epoch",
        INSTALLATION,
        "connection.execute(update(installation).values(epoch=epoch))",
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "in every signed request",
        AUTH,
        'if not str(result.parameters["nonce"]).startswith(epoch):',
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "in those of the agents' form",
        PLAIN,
        "if not self.nonce.startswith(epoch) or not",
        "if not",
        tests=["aggregator/test_plain_requests.py::test_another_epoch_key_or_signature_is_not_taken", WORTHLESS],
    ),
    defence(
        "22",
        "nor is ready who slept through a restore",
        "services/aggregator/service/readiness.py",
        "if self._epoch is not None and restoring.epoch(self._context) != self._epoch:",
        tests="aggregator/service/test_readiness.py::test_a_process_that_slept_through_a_restore",
    ),
    defence(
        "22",
        "of the database that is served",
        MAIN,
        "epoch = restoring.epoch(context)",
        'epoch = ""',
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "tickets that were not taken up are void",
        INSTALLATION,
        "connection.execute(unused.values(expires_at=now))",
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "operators' too",
        INSTALLATION,
        "for table in (tickets, staff_tickets):",
        "for table in (tickets,):",
        tests=WORTHLESS,
    ),
    *(
        defence("22", f"no other service key: {where}", file, line, tests=OTHER_KEY, inside=inside)
        for where, file, line, inside in (
            ("serve", MAIN, "restoring.check_keys(context)", "create_app"),
            ("what is looked at", RESTORING, "audit.check_signer(context, connection)", ""),
            ("restore", BACKUPS, "restoring.check_keys(context)", "_begin"),
            ("commands", COMMAND_LINE, "restoring.check_keys(context)", "context_for"),
            (
                "migrate",
                "services/aggregator/service/operator.py",
                "audit.check_signer(context, connection)",
                "start_log",
            ),
        )
    ),
    defence(
        "22",
        "a replica that was cut off meanwhile",
        "services/aggregator/storage/clients.py",
        "if not nonce.startswith(epoch):",
        tests="aggregator/storage/test_clients.py::test_a_nonce_of_the_epoch_before_is_refused_by_the_database_too",
    ),
    defence("22", "begun by restore", BACKUPS, "restoring.begin_epoch(context)", tests=WORTHLESS),
    defence(
        "22",
        "in every ticket",
        "services/aggregator/service/enrolment.py",
        "        epoch=installation.read_epoch(connection),\n",
        "",
        tests=f"{BACKUP_TESTS}::test_a_ticket_names_the_epoch",
    ),
    defence(
        "22",
        "in every ticket of an operator",
        "services/aggregator/service/staff.py",
        "            epoch=installation.read_epoch(connection),\n",
        "",
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "whoever is refused is told it",
        AUTH,
        "            epoch=epoch,\n        )\n    created",
        "        )\n    created",
        tests=f"{BACKUP_TESTS}::test_an_agent_is_told_and_goes_on",
    ),
    defence(
        "22",
        "a log shorter than a known checkpoint is not served",
        RESTORING,
        "if kept.size > size:",
        tests=LOST,
    ),
    defence(
        "22",
        "nor one that does not continue it",
        RESTORING,
        "if merkle.frontier(kept.size, log.node_reader(connection)).root() != kept.root:",
        tests=KEPT,
    ),
    defence(
        "22",
        "nor by a checkpoint that is none",
        RESTORING,
        '        raise DataError(\n            f"the known checkpoint (',
        '        return\n        raise DataError(\n            f"the known checkpoint (',
        tests=KEPT,
    ),
    defence(
        "22",
        "looked at before anything is served",
        MAIN,
        "check_known(settings, context)",
        tests=[LOST, KEPT],
        inside="create_app",
    ),
    defence(
        "22",
        "by the one beside the keys",
        MAIN,
        'restoring.check_continues(context, remembered, "beside the keys")',
        tests=LOST,
    ),
    defence(
        "22",
        "by the one that the settings name",
        MAIN,
        "restoring.check_continues(context, note, str(settings.known_checkpoint))",
        tests=KEPT,
    ),
    defence("22", "which is the newest", DEADLINES, "self._context.keys.remember(note)", tests=LOST),
    defence(
        "22",
        "and never an older one after it",
        KEYS,
        "size_of(kept) > size_of(note)",
        "False",
        tests="aggregator/test_keys.py::test_an_older_checkpoint_takes_no_newer_one_s_place",
        inside="remember",
    ),
    defence(
        "22",
        "looked at before a command signs",
        COMMAND_LINE,
        "main.check_known(settings, context)",
        tests=SIGNING,
    ),
    defence("22", "which keeps the newest itself", COMMAND_LINE, "_remember(context)", tests=SIGNING),
    defence(
        "22",
        "no second log in a new database",
        "services/aggregator/cli.py",
        "main.check_may_begin(context)",
        tests="aggregator/test_cli.py::test_a_new_database_begins_no_second_log_under_the_same_key",
    ),
    defence(
        "22",
        "restore takes none that lost entries",
        BACKUPS,
        "            if not lose_entries:\n                raise LocalProtocolError(",
        "            if False:\n                raise LocalProtocolError(",
        tests=LOST,
    ),
    defence(
        "22",
        "nor what is no backup",
        BACKUPS,
        "schema.check_schema(context.database, shown)",
        tests=f"{FILE_TESTS}::test_what_is_no_backup",
        inside="_begin",
    ),
    defence(
        "22",
        "the old write-ahead log is not played into it",
        BACKUPS,
        "    for rest in _files(target)[1:]:\n        rest.unlink(missing_ok=True)\n    draft.replace",
        "    draft.replace",
        tests=f"{BACKUP_TESTS}::test_no_old_write_ahead_log_stays_beside_a_restored_file",
    ),
    defence(
        "22",
        "whole, or none: no rows in a file beside it",
        BACKUPS,
        "if any(rest.exists() and rest.stat().st_size for rest in _files(draft)[1:]):",
        tests=f"{FILE_TESTS}::test_a_backup_whose_log_is_not_written_back_is_none",
    ),
    defence(
        "22",
        "for its owner's eyes only",
        BACKUPS,
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE",
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644",
        tests=WORTHLESS,
    ),
    defence(
        "22",
        "an agent believes another epoch once",
        API,
        "return self._try(method, path, params=params, body=body, auth=auth)",
        "return self._send(method, path, params=params, body=body, auth=auth)",
        tests=f"{BACKUP_TESTS}::test_an_epoch_that_changes_with_each_answer_is_believed_once",
        inside="_send",
        nth=2,
    ),
    defence(
        "22",
        "and no other form of it",
        API,
        "not isinstance(epoch, str) or not _EPOCH.fullmatch(epoch) or epoch == self._signature.epoch",
        "not isinstance(epoch, str) or epoch == self._signature.epoch",
        tests=f"{BACKUP_TESTS}::test_an_epoch_of_another_form_is_not_believed",
    ),
    defence(
        "22",
        "agents keep the log that they saw",
        "services/client_agent/epoch.py",
        "tell(RESTORED)",
        tests=f"{BACKUP_TESTS}::test_an_agent_is_told_and_goes_on",
    ),
]
