"""Row 4: keys that are unknown, revoked or replaced."""

from defences.defence import Defence, defence

ADMISSION = "services/aggregator/service/admission.py"
CLIENTS = "services/aggregator/storage/clients.py"
ROUNDS = "services/aggregator/service/rounds.py"
CONTRIBUTING = "services/aggregator/service/contributing.py"
ANSWERING = "services/aggregator/service/answering.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
STEERING = "services/aggregator/service/steering.py"
PUBLISHING = "services/aggregator/service/publishing.py"
ROSTERS = "services/aggregator/service/rosters.py"
REVOCATION = "aggregator/routes/test_revocation.py"
ROLES = "aggregator/routes/test_roles.py"
KEYS = "aggregator/routes/test_key_replacement.py"
SIGNATURES = "aggregator/routes/test_rounds_signatures.py"
RACES = "aggregator/service/test_races.py"

DEFENCES: list[Defence] = [
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
                "    sender = sender_of(connection, caller, federation, client, holders)\n    clients.spend_nonce",
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
        CONTRIBUTING,
        "check_key(roster, sender, number)",
        tests=f"{KEYS}::test_inside_a_running_round",
        inside="_checked",
    ),
    defence(
        "4",
        "nor opens",
        ANSWERING,
        "if known is None:\n        check_key(roster, member, number)",
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
