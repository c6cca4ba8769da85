"""Replacing identity keys: of clients and readers, with a leaf and the next roster; of operators and auditors.

The old key is refused from the commit on. Only the very request that replaced it is answered again, since its answer
may have been lost. What the old key signed inside a running round before that stays and counts: the plan's roster
names it. What it signs later is not taken, so that its holder sits out the rounds of rosters that name it.
"""

import hashlib
from datetime import timedelta

from aggregator.service import audit, opening_keys
from aggregator.service.admission import authorise, authorise_staff
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients, federations, retired_keys, staff
from aggregator.storage.clients import ClientRow
from aggregator.storage.engine import Connection
from aggregator.storage.retired_keys import RetiredKey
from fgpr import signatures
from fgpr.auditlog.entries import KeyReplaced
from fgpr.errors import Conflict, EncodingError, Forbidden, QuotaExceeded, Unavailable
from fgpr.message import Signed
from fgpr.rotation import KeyChange, RotationReceipt, RotationRequest
from fgpr.secagg import envelope
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.suites import SuiteName

ROTATIONS_A_DAY = 10
"""Most keys that one holder replaces within a day: each is a leaf of the log and a row for good."""


def replace_client_key(context: Context, caller: Caller, federation: str, client: str, body: bytes) -> RotationReceipt:
    """Replace a party's key; the same body again gets the same answer.

    Raises:
        Unauthenticated, Forbidden: the caller may not replace this key.
        Conflict: somebody has, or once had, the new key, or the opening key was used before.
        VerificationError: a signature in the body does not hold.
        EncodingError: the body is about another party, or its opening key cannot follow the present one, or it declares
            another weight than before.
    """
    with context.database.write() as connection:
        settings = federations.read(connection, federation, lock=True).settings
        known = clients.read_client(connection, federation, client)
        repeated = _is_repeated(connection, caller, body, federation, client)
        if repeated and known is not None and known.revoked_at is None:
            clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
            return _receipt(RotationRequest.decode(body).signed.change)
        row = authorise(connection, caller, federation)
        if row.client != client:
            raise Forbidden(f"{row.client} can replace its own key only, not that of {client}")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        _check_quota(context, connection, federation, client)
        request = RotationRequest.decode(body)
        change = request.signed.change
        _check_change(connection, request, federation, row.client, row.identity_key)
        _check_opening_key(connection, request, row, settings.aggregation.suite)
        _check_declared(request, row)
        declared = None if request.declared is None else request.declared.encode()
        if not clients.replace_key(connection, row, change.new_key, signatures.key_id(change.new_key), declared):
            raise Unavailable(f"{client}'s key is being replaced by another request; try again")
        retired_keys.add(connection, _retired(context, change, body))
        leaf = KeyReplaced(federation=federation, client=client, rotation=request.signed, declared=request.declared)
        audit.record(context, connection, [leaf])
        if request.opening_key is not None:
            opening_keys.register(context, connection, request.opening_key)
            federations.mark_roster(connection, federation, stale=True)
    context.bell.ring()
    return _receipt(RotationRequest.decode(body).signed.change)


def replace_staff_key(context: Context, caller: Caller, name: str, body: bytes) -> RotationReceipt:
    """Replace an operator's or auditor's key; the same body again gets the same answer.

    Raises:
        Unauthenticated, Forbidden, Conflict, VerificationError, EncodingError: as for a party.
    """
    with context.database.write() as connection:
        known = staff.read(connection, name)
        repeated = _is_repeated(connection, caller, body, None, name)
        if repeated and known is not None and known.revoked_at is None:
            clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
            return _receipt(RotationRequest.decode(body).signed.change)
        row = authorise_staff(connection, caller, "operator", "auditor", lock=True)
        if row.name != name:
            raise Forbidden(f"{row.name} can replace its own key only, not that of {name}")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        _check_quota(context, connection, None, name)
        request = RotationRequest.decode(body)
        change = request.signed.change
        _check_change(connection, request, None, row.name, row.identity_key)
        if request.opening_key is not None:
            raise EncodingError(f"an {row.role} has no opening key")
        if request.declared is not None:
            raise EncodingError(f"an {row.role} declares no weight")
        if not staff.replace_key(connection, row, change.new_key, signatures.key_id(change.new_key)):
            raise Unavailable(f"{name}'s key is being replaced by another request; try again")
        retired_keys.add(connection, _retired(context, change, body))
    return _receipt(RotationRequest.decode(body).signed.change)


def check_unused(connection: Connection, key: bytes, holder: str) -> None:
    """Check that nobody has or had this key.

    Raises:
        Conflict: somebody does or did.
    """
    key_id = signatures.key_id(key)
    taken = (
        clients.read_key_holder(connection, key_id),
        staff.read_key_holder(connection, key_id),
        retired_keys.read(connection, key_id),
    )
    if any(row is not None for row in taken):
        raise Conflict(f"{holder} or its key is enrolled already, or the key was replaced once: make another")


def _receipt(change: KeyChange) -> RotationReceipt:
    return RotationReceipt(holder=change.holder, key_id=signatures.key_id(change.new_key))


def _retired(context: Context, change: KeyChange, body: bytes) -> RetiredKey:
    old = signatures.key_id(change.old_key)
    return RetiredKey(old, change.old_key, change.federation, change.holder, context.clock(), _digest(body))


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _check_quota(context: Context, connection: Connection, federation: str | None, holder: str) -> None:
    since = context.clock() - timedelta(days=1)
    if retired_keys.count(connection, federation, holder, since) >= ROTATIONS_A_DAY:
        raise QuotaExceeded(
            f"{holder} replaced its key {ROTATIONS_A_DAY} times within a day, the most that one may: wait",
            limit=ROTATIONS_A_DAY,
        )


def _is_repeated(connection: Connection, caller: Caller, body: bytes, federation: str | None, holder: str) -> bool:
    done = retired_keys.read(connection, caller.key_id)
    return done is not None and (done.federation, done.holder, done.body_digest) == (federation, holder, _digest(body))


def _check_change(
    connection: Connection, request: RotationRequest, federation: str | None, holder: str, present: bytes
) -> None:
    change = request.signed.change
    if (change.federation, change.holder, change.old_key) != (federation, holder, present):
        raise EncodingError(f"the change is not one of {holder}'s present key")
    request.signed.verify()
    check_unused(connection, change.new_key, holder)


def _check_opening_key(connection: Connection, request: RotationRequest, row: ClientRow, suite: SuiteName) -> None:
    key = request.opening_key
    if (key is None) != (row.role == "reader"):
        raise EncodingError("a client replaces its key with an opening key signed by the new one, a reader without")
    if key is None:
        return
    message = key.message
    if (message.federation, message.client) != (row.federation, row.client):
        raise EncodingError("the opening key names another federation or client")
    key.verify(request.signed.change.new_key)
    newest = clients.read_opening_keys(connection, row.federation).get(row.client)
    if newest is not None and message.serial <= newest.message.serial:
        raise EncodingError(f"the opening key's serial {message.serial} does not rise above {newest.message.serial}")
    if message.suite != suite:
        raise EncodingError(f"the opening key is of suite {message.suite}, this federation's is {suite}")
    envelope.check_key(message.key, suite)


def _check_declared(request: RotationRequest, row: ClientRow) -> None:
    # Rosters name key and weight together, so the new key has to sign the weight, too; there is one weight for good.
    before = None if row.declared is None else Signed[DeclaredWeight].decode(row.declared).message
    signed = request.declared
    if (None if signed is None else signed.message) != before:
        told = "no weight" if before is None else f"weight {before.weight}"
        raise EncodingError(f"{row.client} declared {told} when it enrolled, and declares the same under its new key")
    if signed is not None:
        signed.verify(request.signed.change.new_key)
