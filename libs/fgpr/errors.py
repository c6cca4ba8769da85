"""Every error that this project raises on purpose, in one tree.

FgprError
├── ProtocolError                 the rules of a round were broken
│   ├── LocalProtocolError        by our own caller: a bug, or a request that makes no sense here
│   │   ├── CapacityError         the sums of a round would not fit the field
│   │   ├── CommitteeError        no safe committee exists for these numbers
│   │   └── IllegalTransition     an event that the present stage does not know
│   └── RemoteProtocolError       by the other side
│       ├── PlanRefused           a plan fails one of the numbered checks of a client
│       ├── CohortRefused         a cohort fails one of the numbered checks of a member
│       ├── OwnerConsentRequired  nothing is wrong, but the owner has to allow it
│       └── SumRefused            the opened sum cannot be an honest average
│           └── OpeningsContradict  more openings may still mend it
├── RequestError                  the aggregator refuses a request; the same class on both sides of the wire
│   ├── Unauthenticated           no signature, or one that does not hold, is stale, or was used before
│   ├── Forbidden                 the key is revoked, or its role does not allow this
│   ├── UnknownResource           there is no such thing here
│   ├── Conflict                  it was done before, by another key or with another body
│   ├── TooLate                   its deadline has passed; carries the present round
│   ├── TooLarge                  the body is larger than this route takes
│   ├── QuotaExceeded             this key has stored or asked for as much as one may
│   ├── TooSlow                   the body did not come within its time
│   ├── TooMany                   more requests than this sender is allowed; carries the seconds to wait
│   └── Unavailable               not now: try again after the time that the answer names
├── VerificationError             a signature, proof or digest does not hold
├── CryptographicError            a box does not open, a key has the wrong form
├── NumericalError                a computation has no finite answer; names the cause and the remedy
├── EncodingError                 bytes, JSON or a number outside what the format allows
└── DataError                     measurements that cannot be used; names the row and the limit

Each class has a `slug`, the last word of its problem type `urn:fgpr:problem:SLUG`.
Functions called `verify_*` and `check_*` return None or raise; a result that must not be ignored is never a flag.
"""

from typing import ClassVar


class FgprError(Exception):
    """Base of every error here; catch it to catch them all."""

    slug: ClassVar[str] = "error"


class ProtocolError(FgprError):
    """The rules of a round were broken."""

    slug = "protocol"


class LocalProtocolError(ProtocolError):
    """Our own side asked for something that the rules do not allow."""

    slug = "local-protocol"


class CapacityError(LocalProtocolError):
    """A sum of the largest encodings would reach the modulus."""

    slug = "capacity"


class CommitteeError(LocalProtocolError):
    """These numbers of clients, gamma and delta allow no safe committee."""

    slug = "committee"


class IllegalTransition(LocalProtocolError):
    """The round's stage does not know this event; the stage is left as it was."""

    slug = "illegal-transition"


class RemoteProtocolError(ProtocolError):
    """The other side broke the rules."""

    slug = "remote-protocol"


class PlanRefused(RemoteProtocolError):
    """A plan fails a check; nothing was computed for it and nothing leaves this client.

    Attributes:
        check: number of the check in docs/protocol.md.
    """

    slug = "plan-refused"

    def __init__(self, check: int, reason: str) -> None:
        super().__init__(f"check {check} of a plan: {reason}")
        self.check = check


class CohortRefused(RemoteProtocolError):
    """A cohort fails a check; this member opens nothing.

    Attributes:
        check: number of the check in docs/protocol.md.
        accused: the clients whose signed boxes do not open for this member; only where check 8 failed.
    """

    slug = "cohort-refused"

    def __init__(self, check: int, reason: str, accused: tuple[str, ...] = ()) -> None:
        super().__init__(f"check {check} of a cohort: {reason}")
        self.check = check
        self.accused = accused


class OwnerConsentRequired(RemoteProtocolError):
    """The rules allow this only when the owner of the client has said yes."""

    slug = "owner-consent-required"


class SumRefused(RemoteProtocolError):
    """An opened sum is outside what honest clients can send; the old prior stays."""

    slug = "sum-refused"


class OpeningsContradict(SumRefused):
    """The openings at hand contradict each other beyond mending; further ones may mend them."""

    slug = "openings-contradict"


class RequestError(FgprError):
    """The aggregator refuses a request; nothing was changed by it.

    Attributes:
        details: further members of the problem document, JSON values.
    """

    slug = "request"

    def __init__(self, reason: str, **details: str | int | None) -> None:
        super().__init__(reason)
        self.details = details


class Unauthenticated(RequestError):
    """No signature, or one that does not hold, is stale, or was used before."""

    slug = "unauthenticated"


class Forbidden(RequestError):
    """The key is revoked, or its role does not allow this."""

    slug = "forbidden"


class UnknownResource(RequestError):
    """There is no such thing here."""

    slug = "unknown-resource"


class Conflict(RequestError):
    """It was done before, by another key or with another body; the first stands."""

    slug = "conflict"


class TooLate(RequestError):
    """Its deadline has passed; nothing of it was stored."""

    slug = "too-late"


class TooLarge(RequestError):
    """The body is larger than this route takes."""

    slug = "too-large"


class QuotaExceeded(RequestError):
    """This key has stored or asked for as much as one may; the answer names the limit."""

    slug = "quota-exceeded"


class TooSlow(RequestError):
    """The body did not come within its time; nothing of it was read."""

    slug = "too-slow"


class TooMany(RequestError):
    """More requests than this sender is allowed; the answer says when to try again."""

    slug = "too-many"


class Unavailable(RequestError):
    """Not now; the answer says when to try again."""

    slug = "unavailable"


class VerificationError(FgprError):
    """A signature, proof or digest does not hold."""

    slug = "verification"


class CryptographicError(FgprError):
    """A box does not open, or a key does not have its form."""

    slug = "cryptographic"


class NumericalError(FgprError):
    """A computation has no finite answer."""

    slug = "numerical"


class EncodingError(FgprError):
    """Input that its format does not allow."""

    slug = "encoding"


class DataError(FgprError):
    """Measurements that cannot be used as they are."""

    slug = "data"
