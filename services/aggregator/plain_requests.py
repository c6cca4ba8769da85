"""Signed requests in the one form that agents write, read without a parser of structured fields.

`auth` asks here first and takes what holds; whatever is of another form, or does not hold, is judged by the library
alone. So nothing is refused here, and what is taken is what the library would take (RFC 9421, 2.5: lines of component
identifiers and values), in a third of the time.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aggregator.service.caller import Caller
from fgpr import canonical, signatures
from fgpr.signed_requests import LABEL, TAG, covered

URL = re.compile(
    r"https?://(?P<authority>[a-z0-9.-]+(?::[1-9][0-9]*)?)(?P<path>(?:/[A-Za-z0-9_-]+)+)(?P<query>\?[A-Za-z0-9=&._-]+)?"
)
"""An address in which nothing is to be normalised: without a default port, escapes, dots in the path, or fragment."""

SIGNATURE = re.compile(rf"{LABEL}=(:[A-Za-z0-9+/]{{85}}[AQgw]==:)")
"""The field with our signature alone, in the one spelling of its 64 bytes."""

_INPUT = re.compile(
    rf'{LABEL}=(?P<all>\((?P<names>[a-z@" -]*)\);'
    rf'created=(?P<created>[0-9]{{1,11}});keyid="(?P<key>[A-Za-z0-9_-]{{43}})";'
    rf'alg="ed25519";nonce="(?P<nonce>[A-Za-z0-9_-]{{22,86}})";tag="{TAG}")'
)
_METHOD = re.compile("[A-Z]+")
_FIELDS = ("signature-input", "signature", "content-type", "content-digest")
_TYPE = "application/json"


@dataclass(frozen=True)
class PlainRequest:
    """A request whose body has the digest that it names.

    Attributes:
        base: what is signed.
        signature: 64 bytes.
        key_id: of the key that is said to have signed it.
        created: when, in seconds.
        nonce: fresh or not.
    """

    base: bytes
    signature: bytes
    key_id: str
    created: int
    nonce: str

    def holder(
        self,
        find_key: Callable[[str], bytes | None],
        now: datetime,
        epoch: str,
        max_age: timedelta,
        skew: timedelta,
    ) -> Caller | None:
        """The holder of the key that signed it, if it did, in time and for this epoch; see `auth.verify_request`."""
        age = now.timestamp() - self.created
        if not self.nonce.startswith(epoch) or not -skew.total_seconds() <= age <= max_age.total_seconds():
            return None
        key = find_key(self.key_id)
        if not key or not signatures.holds(key, self.base, self.signature):
            return None
        expires = datetime.fromtimestamp(self.created, UTC) + max_age + skew
        return Caller(self.key_id, key, self.nonce, expires)


def default_port(authority: str) -> bool:
    """Whether an authority names a port that is left out of signatures."""
    return authority.endswith((":80", ":443"))


def read(method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> PlainRequest | None:
    """A request of that form; None for any other, and for one whose body has another digest.

    Args:
        method: as sent.
        url: the public one.
        headers: every line, as often as it was sent.
        body: the raw bytes.
    """
    fields: dict[str, str] = {}
    for name, value in headers:
        if (lower := name.lower()) in _FIELDS:
            if lower in fields:
                return None
            fields[lower] = value
    names = covered(body)
    parameters = _INPUT.fullmatch(fields.get("signature-input", ""))
    signature = SIGNATURE.fullmatch(fields.get("signature", ""))
    address = URL.fullmatch(url)
    if parameters is None or signature is None or address is None or not _METHOD.fullmatch(method):
        return None
    if parameters["names"] != " ".join(f'"{name}"' for name in names) or default_port(address["authority"]):
        return None
    values = [method, address["authority"], address["path"], address["query"] or "?"]
    if body:
        digest = f"sha-256=:{canonical.to_text(hashlib.sha256(body).digest())}:"
        if fields.get("content-type") != _TYPE or fields.get("content-digest") != digest:
            return None
        values += [_TYPE, digest]
    elif "content-digest" in fields:
        return None
    lines = [f'"{name}": {value}' for name, value in zip(names, values, strict=True)]
    base = "\n".join([*lines, f'"@signature-params": {parameters["all"]}']).encode("ascii")
    return PlainRequest(
        base=base,
        signature=canonical.from_text(signature[1].strip(":")),
        key_id=parameters["key"],
        created=int(parameters["created"]),
        nonce=parameters["nonce"],
    )
