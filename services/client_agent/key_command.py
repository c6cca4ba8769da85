"""`fgpr-agent rotate-key`: another identity key in place of the present one."""

from functools import partial

from client_agent import agent_toml, authorities, enrolment
from client_agent.api import Api
from client_agent.command_line import DEFAULT_HOME, Home, say, telling
from fgpr import signatures


def rotate(home: Home = DEFAULT_HOME) -> None:
    """Replace this client's identity key, signed by the old one.

    Stop the agent first. If this is interrupted, run it again: it goes on where it was. The old key is worth nothing
    afterwards; in a round that runs meanwhile this client finishes only what it had sent before. Where a key may have
    been stolen, have the client revoked instead.
    """
    with telling():
        proxy = agent_toml.load(home).connection.proxy
        key = enrolment.rotate_key(home, partial(Api, tls=authorities.load(home), proxy=proxy))
        say(f"the key is replaced; key id {signatures.key_id(signatures.public_bytes(key))}")
