"""Bodies as OpenAPI shows them: made from the classes themselves, so that their form is right.

Digests, keys and signatures are zeros, which no aggregator takes. Plans, cohorts and priors are too long to read;
tests/vectors/protocol has them.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from aggregator.routes import operator_examples
from fgpr.message import Message, Signed
from fgpr.rest import (
    CheckpointView,
    EnrolmentReceipt,
    EnrolmentRequest,
    LogEntries,
    LogProof,
    Receipt,
    RoundList,
    RoundSummary,
    RoundView,
)
from fgpr.secagg.messages import AccusedBox, Complaint, Contribution, Header, Opening, OpeningKey
from fgpr.secagg.stages import Stage
from fgpr.signatures import SIGNATURE_BYTES

FEDERATION = "turbofan"
CLIENT = "engine-1"
ROUND = 3

_DIGEST = bytes(32)
_SIGNATURE = bytes(SIGNATURE_BYTES)
_UNTIL = "2031-03-09T12:10:00.000Z"

_who: Mapping[str, Any] = {"federation": FEDERATION, "client": CLIENT}
_where: Mapping[str, Any] = {"federation": FEDERATION, "round": ROUND}
_here: Mapping[str, Any] = {**_who, **_where}

_key = Signed[OpeningKey](
    message=OpeningKey(**_who, serial=2, suite="x25519", key=_DIGEST),
    signature=_SIGNATURE,
)
_header = Signed[Header](
    message=Header(**_here, plan=_DIGEST, masked=_DIGEST, boxes=_DIGEST),
    signature=_SIGNATURE,
)
_summary = RoundSummary(
    round=ROUND,
    stage=Stage.PUBLISHED,
    prior_version=2,
    invited=5,
    contributions=5,
    cohort=5,
    openings=5,
    threshold=4,
    contribute_until=_UNTIL,
    open_until="2031-03-09T12:20:00.000Z",
    ended_at="2031-03-09T12:11:07.250Z",
    reason=None,
)

_EXAMPLES: tuple[Message, ...] = (
    EnrolmentRequest(**_who, secret=_DIGEST, identity_key=_DIGEST, opening_key=_key, declared=None),
    EnrolmentReceipt(**_who, role="client", key_id="A" * 43, round=ROUND, prior_version=2),
    Contribution(header=_header, masked=bytes(24), boxes=(bytes(80), b"", bytes(80))),
    Signed[Opening](
        message=Opening(**_here, cohort=_DIGEST, sum=bytes(24), next_key=_key, cosignature=bytes(72)),
        signature=_SIGNATURE,
    ),
    Signed[Complaint](
        message=Complaint(
            **_here,
            plan=_DIGEST,
            cohort=_DIGEST,
            seat=1,
            boxes=(AccusedBox(header=_header, box=_DIGEST, path=(_DIGEST,)),),
        ),
        signature=_SIGNATURE,
    ),
    Receipt(**_here, body=_DIGEST, counted=True),
    RoundList(rounds=(_summary,), next=None),
    RoundView(
        **_where,
        stage=Stage.PUBLISHED,
        state="3:published",
        federation_state="open",
        plan=None,
        cohort=None,
        reason=None,
        prior_version=3,
        aborted=(),
        server_time=_UNTIL,
    ),
    CheckpointView(
        note="fgpr-log/example\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— fgpr-log/example AAAA\n",
        service_key=bytes(32),
    ),
    LogEntries(start=0, end=1, frontier=(), leaves=(b"{}",)),
    LogProof(hashes=(_DIGEST, _DIGEST)),
    *operator_examples.EXAMPLES,
)


def example_of(model: type[BaseModel]) -> dict[str, Any] | None:
    """The example of a class; None where there is none."""
    return next((example.to_json() for example in _EXAMPLES if type(example) is model), None)


def examples() -> tuple[Message, ...]:
    """All of them."""
    return _EXAMPLES
