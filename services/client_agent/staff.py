"""The home of an operator or auditor: its key, and which aggregator it belongs to."""

from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import durable_file, identity, keyfile, lock, rotation
from client_agent.api import Api
from fgpr import signatures
from fgpr.errors import LocalProtocolError, RemoteProtocolError
from fgpr.message import Message, Name, PublicKey
from fgpr.staff import StaffEnrolment, StaffReceipt, StaffRole, StaffTicket

FILE_NAME = "staff.json"

Connect = Callable[["Post", Ed25519PrivateKey], Api]


class Post(Message):
    """Whose home this is.

    Attributes:
        origin: the aggregator's address.
        name: the operator's or auditor's name.
        role: what it may do.
        service_key: signs the aggregator's answers, 32 bytes.
    """

    origin: str
    name: Name
    role: StaffRole
    service_key: PublicKey


def connect_to(post: Post, key: Ed25519PrivateKey) -> Api:
    """A connection that signs with this key; operators' paths begin with a slash, so no federation is named."""
    return Api(post.origin, "-", key, service_key=post.service_key)


def load(home: Path) -> Post:
    """Whose home it is.

    Raises:
        LocalProtocolError: nobody's yet.
        EncodingError: the file is damaged.
    """
    try:
        return Post.decode((home / FILE_NAME).read_bytes())
    except FileNotFoundError:
        raise LocalProtocolError(f"{home} is nobody's yet: enrol with a ticket first, or name the home") from None


def connect(home: Path) -> Api:
    """A connection with the key in `home`; raises as `load` and `identity.load` do."""
    rotation.check_settled(home)
    return connect_to(load(home), identity.load(home))


def enrol(home: Path, ticket: StaffTicket, connect_: Connect = connect_to) -> StaffReceipt:
    """Take up a ticket with a new key in `home`; where the answer was lost, the same again gets it.

    Raises:
        LocalProtocolError: the home is somebody's already.
        RequestError: the aggregator refuses the ticket.
        RemoteProtocolError: the receipt is another person's.
        CryptographicError: a key cannot be written or read.
    """
    keyfile.make_folder(home)
    with lock.held(home / lock.HOME_LOCK):
        if (home / FILE_NAME).exists():
            known = load(home)
            raise LocalProtocolError(f"{home} is {known.name}'s already; name another home")
        key = identity.load(home) if (home / identity.FILE_NAME).exists() else identity.create(home)
        post = Post(origin=ticket.origin, name=ticket.name, role=ticket.role, service_key=ticket.service_key)
        request = StaffEnrolment(name=ticket.name, secret=ticket.secret, identity_key=signatures.public_bytes(key))
        with connect_(post, key) as api:
            receipt = StaffReceipt.decode(api.post("/v1/operator/enrolments", request.encode()))
        if (receipt.name, receipt.role) != (ticket.name, ticket.role):
            raise RemoteProtocolError(f"the receipt is for {receipt.name}, {receipt.role}; report this")
        durable_file.write_once(home / FILE_NAME, post.encode())
    return receipt


def rotate_key(home: Path, connect_: Connect = connect_to) -> Ed25519PrivateKey:
    """Replace the key in `home`, or finish what an earlier run began; raises as `client_agent.rotation.rotate` does."""
    post = load(home)

    def send(key: Ed25519PrivateKey, body: bytes) -> bytes:
        with connect_(post, key) as api:
            return api.put(f"/v1/operator/staff/{post.name}/key", body)

    return rotation.rotate(home, None, post.name, send)
