"""Row 5: tickets that are reused, raced or guessed."""

from defences.defence import Defence, defence

CLIENTS = "services/aggregator/storage/clients.py"
STAFF_ROWS = "services/aggregator/storage/staff.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
STAFF = "services/aggregator/service/staff.py"
TICKET = "libs/fgpr/ticket.py"
FIRST_SCHEMA = "migrations/versions/0001_the_first_schema.py"
KEYS = "aggregator/routes/test_key_replacement.py"
ENROLMENTS = "aggregator/routes/test_enrolments.py"
OPERATOR = "aggregator/routes/test_operator.py"
SECRETS_OF_TICKETS = "aggregator/service/test_ticket_secrets.py"

DEFENCES: list[Defence] = [
    defence(
        "5",
        "256 random bits",
        ENROLMENT,
        "secret=context.random_bytes(SECRET_BYTES)",
        "secret=context.random_bytes(SECRET_BYTES // 2) * 2",
        tests=f"{SECRETS_OF_TICKETS}::test_a_ticket_is_256_bits_that_nobody_can_guess",
    ),
    defence(
        "5",
        "of an operator's ticket too",
        STAFF,
        "secret=context.random_bytes(SECRET_BYTES)",
        "secret=context.random_bytes(SECRET_BYTES // 2) * 2",
        tests=f"{SECRETS_OF_TICKETS}::test_a_ticket_is_256_bits_that_nobody_can_guess",
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
                (
                    "from datetime import timedelta; from aggregator.service.caller import Caller\n"
                    "    expires = context.clock() + timedelta(seconds=150)\n"
                    "    nonce = request.app.state.aggregator.epoch + 'n' * 22\n"
                    "    caller = Caller(signatures.key_id(key), key, nonce, expires)"
                ),
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
