"""The vectors of replaced identity keys: of a client that declared a weight, of a reader, of an operator."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, signatures
from fgpr.auditlog.entries import KeyReplaced, StateChanged
from fgpr.message import Signed
from fgpr.rotation import RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from support.client import NAME, Client
from vectors.line import entry

HOLDERS = ((NAME, "client-00"), (NAME, "bench-1"), (None, "olga"))


def vectors() -> dict[str, Any]:
    """Each holder's old key is 32 times one byte, its new one 32 times the next."""
    keys, messages = [], []
    for place, (federation, holder) in enumerate(HOLDERS):
        old, new = (Ed25519PrivateKey.from_private_bytes(bytes([2 * place + number]) * 32) for number in (1, 2))
        keys.append({key: canonical.to_text(made.private_bytes_raw()) for key, made in (("old", old), ("new", new))})
        signed = SignedKeyChange.make(federation, holder, old, new)
        request = RotationRequest(signed=signed, opening_key=None, declared=None)
        if place == 0:
            client = Client(holder, new, lambda count: bytes(range(count)))
            weight = DeclaredWeight(federation=NAME, client=holder, weight=192)
            declared = Signed[DeclaredWeight].make(new, weight)
            request = RotationRequest(signed=signed, opening_key=client.new_key(), declared=declared)
        receipt = RotationReceipt(holder=holder, key_id=signatures.key_id(signatures.public_bytes(new)))
        messages += [entry(signed.change), entry(signed), entry(request), entry(receipt)]
        if federation is not None:
            leaf = KeyReplaced(federation=federation, client=holder, rotation=signed, declared=request.declared)
            messages.append(entry(leaf))
    messages.append(entry(StateChanged(federation=NAME, state="paused", reason="new sensors next week")))
    return {"keys": keys, "messages": messages}
