"""Rows 4 and 5: keys that are unknown or revoked, and tickets."""

from defences.defence import Defence, defence

ADMISSION = "services/aggregator/service/admission.py"
CLIENTS = "services/aggregator/storage/clients.py"
STAFF_ROWS = "services/aggregator/storage/staff.py"
ROUNDS = "services/aggregator/service/rounds.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
STAFF = "services/aggregator/service/staff.py"
STEERING = "services/aggregator/service/steering.py"
PUBLISHING = "services/aggregator/service/publishing.py"
ROSTERS = "services/aggregator/service/rosters.py"
TICKET = "libs/fgpr/ticket.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"

REVOCATION = "aggregator/routes/test_revocation.py"
ROLES = "aggregator/routes/test_roles.py"
KEYS = "aggregator/routes/test_key_replacement.py"
ENROLMENTS = "aggregator/routes/test_enrolments.py"
OPERATOR = "aggregator/routes/test_operator.py"
SIGNATURES = "aggregator/routes/test_rounds_signatures.py"
RACES = "aggregator/service/test_races.py"

ROW_4 = [
    defence(
        "4",
        "a revoked party acts no more",
        ADMISSION,
        "_check_current(row.client, row.revoked_at)",
        tests=f"{REVOCATION}::test_no_effect_of_a_party",
        inside="authorise",
    ),
    defence(
        "4",
        "nor an operator",
        ADMISSION,
        "_check_current(row.name, row.revoked_at)",
        tests=f"{REVOCATION}::test_no_effect_of_an_operator",
        inside="authorise_staff",
    ),
    defence(
        "4",
        "nor does it read a closed log",
        ADMISSION,
        "_check_current(row.client, row.revoked_at)",
        tests="aggregator/routes/test_closed_log.py",
        inside="authorise_anybody",
    ),
    defence(
        "4",
        "judged in the transaction of the effect",
        ROUNDS,
        [
            (
                "    sender = _sender(connection, caller, federation, client)\n    clients.spend_nonce",
                "    sender = clients.read_client(connection, federation, client)\n    clients.spend_nonce",
            )
        ],
        tests=[
            f"{RACES}::test_a_change_between_the_signature_check_and_the_commit",
            f"{REVOCATION}::test_a_replacement_in_between",
        ],
    ),
    defence(
        "4",
        "where revocations wait for it",
        ROUNDS,
        "federations.lock(connection, federation)",
        tests=f"{REVOCATION}::test_a_revocation_waits_for_an_effect_under_way",
        postgresql=True,
    ),
    defence(
        "4",
        "an operator's where its revocation waits",
        STEERING,
        'authorise_staff(connection, caller, "operator", lock=True)',
        'authorise_staff(connection, caller, "operator")',
        tests=f"{REVOCATION}::test_a_revocation_waits_for_an_operator_s_effect_under_way",
        postgresql=True,
    ),
    defence(
        "4",
        "revocations wait for the federation",
        ENROLMENT,
        "federations.read(connection, federation, lock=True)",
        "federations.read(connection, federation)",
        tests=f"{REVOCATION}::test_a_reader_s_revocation_waits_for_its_federation_too",
        inside="revoke_in",
        postgresql=True,
    ),
    defence(
        "4",
        "a revoked key is not replaced",
        CLIENTS,
        "                clients.c.revoked_at.is_(None),\n",
        "",
        tests="aggregator/storage/test_clients.py::test_a_row_that_is_revoked_meanwhile_gets_no_other_key",
        inside="replace_key",
    ),
    defence(
        "4",
        "a revocation is for good",
        CLIENTS,
        ", clients.c.revoked_at.is_(None))\n        .values(revoked_at=now)",
        ")\n        .values(revoked_at=now)",
        tests="aggregator/storage/test_clients.py",
    ),
    defence(
        "4",
        "a replaced key is told so and does nothing",
        ADMISSION,
        "if replaced is not None:",
        tests=f"{KEYS}::test_the_new_key_speaks_and_the_old_one_no_more",
    ),
    defence(
        "4",
        "who was replaced contributes to no running round",
        ROUNDS,
        "check_key(roster, sender, number)",
        tests=f"{KEYS}::test_inside_a_running_round",
        inside="_checked",
    ),
    defence(
        "4",
        "nor opens",
        ROUNDS,
        "if known is None:\n            check_key(roster, member, number)",
        "pass",
        tests=f"{KEYS}::test_inside_a_running_round",
    ),
    defence(
        "4",
        "nor complains",
        "services/aggregator/service/complaints.py",
        "check_key(roster_of(connection, row), member, number)",
        tests="aggregator/routes/test_complaints.py",
    ),
    defence(
        "4",
        "no cohort counts who is revoked",
        PUBLISHING,
        "barred = revoked | _opened_elsewhere(connection, row)",
        "barred = _opened_elsewhere(connection, row)",
        tests=f"{REVOCATION}::test_a_cohort_without_who_was_revoked",
    ),
    defence(
        "4",
        "members judge it at the cohort's checkpoint",
        "libs/fgpr/secagg/member.py",
        "_require(6, not gone, f\"{', '.join(gone)} revoked before the cohort's checkpoint\")",
        tests="protocol/test_revocations.py",
    ),
    defence(
        "4",
        "a round does not wait for who is revoked",
        ROSTERS,
        "        if row.revoked_at is None\n",
        "",
        tests=f"{REVOCATION}::test_a_cohort_without_who_was_revoked",
        inside="unheard",
    ),
    defence(
        "4",
        "an unknown key looks like a bad signature",
        "services/aggregator/auth.py",
        "return signatures.load_public(self.found) if self.found else None",
        "if not self.found:\n                raise LookupError\n            return signatures.load_public(self.found)",
        tests=f"{SIGNATURES}::test_a_key_that_was_never_enrolled_looks_like_a_bad_signature",
    ),
    defence(
        "4",
        "a look-up that failed does not",
        "services/aggregator/auth.py",
        "if keys.fault is not None:",
        tests="aggregator/test_auth.py::test_a_failed_look_up_is_no_bad_signature",
    ),
    defence(
        "4",
        "a key that nobody holds acts for nobody",
        ADMISSION,
        "        raise _stranger(connection, caller)\n    _check_current(row.client",
        "        row = clients.read_client(connection, federation, 'client-00')\n    _check_current(row.client",
        tests=[KEYS, ROLES],
    ),
]

_RACE = f"{ENROLMENTS}::test_fifty_keys_race_for_one_ticket"

ROW_5 = [
    defence(
        "5",
        "256 random bits",
        TICKET,
        "SECRET_BYTES = 32",
        "SECRET_BYTES = 16",
        tests=f"{OPERATOR}::test_tickets_of_one_kind_are_none_of_the_other",
    ),
    defence(
        "5",
        "stored hashed",
        TICKET,
        'return hashlib.sha256(b"fgpr-v1/ticket\\0" + secret).digest()',
        "return secret",
        tests=["fgpr/test_ticket.py", "aggregator/test_secrets.py::test_a_whole_run_leaves_no_secret"],
    ),
    defence("5", "a secret that was not issued is none", ENROLMENT, "if ticket is None or (", "if (", tests=ENROLMENTS),
    defence(
        "5",
        "expires",
        ENROLMENT,
        "if ticket.expires_at <= context.clock():",
        tests=f"{ENROLMENTS}::test_tickets_that_are_none",
    ),
    defence(
        "5",
        "to the second",
        ENROLMENT,
        "if ticket.expires_at <= context.clock():",
        "if ticket.expires_at < context.clock():",
        tests=f"{ENROLMENTS}::test_tickets_that_are_none",
    ),
    defence(
        "5",
        "compare-and-set",
        CLIENTS,
        ", tickets.c.used_by.is_(None)).values",
        ").values",
        tests="aggregator/storage/test_clients.py::test_a_ticket_is_taken_once",
    ),
    defence(
        "5",
        "whoever set it second is told",
        CLIENTS,
        "return taken.rowcount == 1",
        "return True",
        tests="aggregator/storage/test_clients.py::test_a_ticket_is_taken_once",
    ),
    defence(
        "5",
        "the second of two stops",
        ENROLMENT,
        "if not clients.take_ticket(connection, ticket.secret_hash, caller.public_key):",
        tests=f"{ENROLMENTS}::test_who_read_a_ticket_before_another_took_it",
    ),
    defence(
        "5",
        "once",
        ENROLMENT,
        "if ticket.used_by is not None:",
        tests=f"{ENROLMENTS}::test_a_ticket_makes_one_identity",
    ),
    defence(
        "5",
        "again from the same key only",
        ENROLMENT,
        'if not hmac.compare_digest(ticket.used_by or b"", caller.public_key):',
        tests=f"{ENROLMENTS}::test_a_ticket_that_another_key_took_up",
    ),
    defence(
        "5",
        "proof of possession by the new key",
        "services/aggregator/routes/enrolments.py",
        "lambda key_id: key if key_id == signatures.key_id(key) else None",
        "lambda _: key",
        tests=f"{ENROLMENTS}::test_the_request_names_the_key_that_it_enrols",
    ),
    defence(
        "5",
        "a signature at all",
        "services/aggregator/routes/enrolments.py",
        [
            (
                "caller = signed_with(request, body, lambda key_id: key if key_id == signatures.key_id(key) else None)",
                "from datetime import timedelta; from aggregator.service.caller import Caller\n"
                "    caller = Caller(signatures.key_id(key), key, 'n' * 30, context.clock() + timedelta(seconds=150))",
            )
        ],
        tests=f"{ENROLMENTS}::test_the_request_is_signed_by_the_key_that_it_enrols",
    ),
    defence(
        "5",
        "by a key that only its holder can use",
        ENROLMENT,
        "signatures.check_key(caller.public_key)",
        tests=f"{ENROLMENTS}::test_a_key_by_which_anybody_could_sign",
    ),
    defence(
        "5",
        "bound to its party",
        ENROLMENT,
        "(ticket.federation, ticket.client) != (request.federation, request.client):",
        "ticket.federation != request.federation:",
        tests=f"{ENROLMENTS}::test_tickets_that_are_none",
    ),
    defence(
        "5",
        "and to its federation",
        ENROLMENT,
        "(ticket.federation, ticket.client) != (request.federation, request.client):",
        "ticket.client != request.client:",
        tests=f"{ENROLMENTS}::test_tickets_that_are_none",
    ),
    defence(
        "5",
        "one party a name",
        FIRST_SCHEMA,
        'sa.PrimaryKeyConstraint("federation", "client", name="pk_clients"),',
        "",
        tests="aggregator/storage/test_clients.py::test_ids_and_keys_are_unique",
    ),
    defence(
        "5",
        "one party a key",
        FIRST_SCHEMA,
        'sa.UniqueConstraint("key_id", name="uq_clients_key_id"),',
        "",
        tests="aggregator/storage/test_clients.py::test_ids_and_keys_are_unique",
    ),
    defence(
        "5",
        "of a key that nobody has or had",
        ENROLMENT,
        "check_unused(connection, caller.public_key, ticket.client)",
        tests=f"{KEYS}::test_a_key_that_was_replaced_is_nobody_s_again",
    ),
    defence(
        "5",
        "the first opening key is signed by the new key",
        ENROLMENT,
        "key.verify(request.identity_key)",
        tests=f"{ENROLMENTS}::test_the_first_opening_key",
    ),
    defence(
        "5",
        "and names the party",
        ENROLMENT,
        "if named != (request.federation, request.client, 1):",
        tests=f"{ENROLMENTS}::test_the_first_opening_key",
    ),
    defence(
        "5",
        "the declared weight is signed by the new key",
        ENROLMENT,
        "signed.verify(request.identity_key)",
        tests="aggregator/service/test_weighted_draws.py",
    ),
    defence(
        "5",
        "an operator's: not issued is none",
        STAFF,
        "if ticket is None or ticket.name != request.name:",
        "if ticket is None:",
        tests=OPERATOR,
    ),
    defence(
        "5",
        "an operator's: expires",
        STAFF,
        "if ticket.expires_at <= context.clock():",
        tests=f"{OPERATOR}::test_a_ticket_expires",
    ),
    defence(
        "5",
        "an operator's: once",
        STAFF,
        "if ticket.used_by is not None:",
        tests=OPERATOR,
    ),
    defence(
        "5",
        "an operator's: again from the same key only",
        STAFF,
        "if not hmac.compare_digest(ticket.used_by, caller.public_key):",
        tests=OPERATOR,
    ),
    defence(
        "5",
        "an operator's: compare-and-set",
        STAFF_ROWS,
        ", staff_tickets.c.used_by.is_(None))",
        ")",
        tests="aggregator/storage/test_staff.py",
    ),
    defence(
        "5",
        "an operator's: whoever set it second is told",
        STAFF_ROWS,
        "return taken.rowcount == 1",
        "return True",
        tests="aggregator/storage/test_staff.py",
    ),
    defence(
        "5",
        "an operator's: the second of two stops",
        STAFF,
        "if not staff.take_ticket(connection, ticket.secret_hash, caller.public_key):",
        tests=f"{OPERATOR}::test_who_read_a_ticket_before_another_took_it",
    ),
    defence(
        "5",
        "an operator's: by the new key",
        "services/aggregator/routes/operator.py",
        "lambda key_id: key if key_id == signatures.key_id(key) else None",
        "lambda _: key",
        tests=f"{OPERATOR}::test_the_request_names_the_key_that_it_enrols",
    ),
    defence(
        "5",
        "an operator's: by a key that only its holder can use",
        STAFF,
        "signatures.check_key(caller.public_key)",
        tests=f"{OPERATOR}::test_a_key_by_which_anybody_could_sign_is_no_operator_s",
    ),
    defence(
        "5",
        "an operator's: of a key that nobody has or had",
        STAFF,
        "check_unused(connection, caller.public_key, ticket.name)",
        tests=[KEYS, OPERATOR],
    ),
]

DEFENCES: list[Defence] = [*ROW_4, *ROW_5]
