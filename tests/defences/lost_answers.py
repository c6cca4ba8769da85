"""Row 19: answers that are lost after the commit."""

from defences.defence import Defence, defence

CONTRIBUTING = "services/aggregator/service/contributing.py"
ANSWERING = "services/aggregator/service/answering.py"
ENROLMENT = "services/aggregator/service/enrolment.py"
ROTATION = "services/aggregator/service/rotation.py"
STAFF = "services/aggregator/service/staff.py"
COMPLAINTS = "services/aggregator/service/complaints.py"
API = "services/client_agent/api.py"
RETRYING = "services/client_agent/retrying.py"
SAME = "aggregator/routes/test_rounds.py::test_the_same_body_gets_the_same_bytes_and_another_one_a_conflict"
OPENINGS = "aggregator/routes/test_rounds.py::test_openings"
COMPLAINT_TESTS = "aggregator/routes/test_complaints.py"
KEYS = "aggregator/routes/test_key_replacement.py"
ENROLMENTS = "aggregator/routes/test_enrolments.py"
APIS = "client_agent/test_api.py"
AGAIN = f"{APIS}::test_a_passing_failure_is_tried_again_over_the_same_bytes"

DEFENCES: list[Defence] = [
    defence(
        "19",
        "a contribution again gets its answer",
        CONTRIBUTING,
        "if digest is not None:",
        tests=SAME,
        inside="_store",
    ),
    defence("19", "another one a conflict", CONTRIBUTING, "if digest != sent.digest:", tests=SAME),
    defence(
        "19",
        "an opening again gets its answer",
        ANSWERING,
        "            if known is None:\n                keys.append",
        "            if True:\n                keys.append",
        tests=OPENINGS,
    ),
    defence("19", "another opening a conflict", ANSWERING, "if known is not None and known != signed:", tests=OPENINGS),
    defence(
        "19",
        "an opening's answer stays when the round has ended",
        ANSWERING,
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
