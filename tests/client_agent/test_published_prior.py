"""The prior that a device uses is the one in the log that it has always followed."""

import numpy as np
import pytest

from client_agent import membership, published_prior
from fgpr import merkle
from fgpr.auditlog import checkpoint, cosignature
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import Forbidden, LocalProtocolError, RequestError, Unavailable, VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import CosignedCheckpoint
from support.agent_home import AgentHome
from support.client import SECONDS
from support.federation import Federation

VALUES = np.array([0.1, -0.9, 3.0])


@pytest.fixture
def federation():
    federation = Federation(4)
    federation.run(dict.fromkeys(federation.names, (VALUES, 5)))
    return federation


@pytest.fixture
def reader(federation, tmp_path):
    return AgentHome(federation, "client-00", tmp_path / "reader", role="reader")


def fetch(reader):
    return published_prior.fetch(reader.home, reader.connection)


def change(reader, **fields):
    reader.connection.change["priors/"] = lambda view: view.model_copy(update=fields)


def test_newest_prior(federation, reader):
    published = fetch(reader)
    assert (published.record, published.fresh) == (federation.prior, True)
    assert published.record.version == 1
    # Every client sent the same values, so that the average is these, but for the encoding.
    assert published.record.prior().theta == pytest.approx(VALUES, abs=1e-8)


def test_without_a_net_the_kept_one_serves(federation, reader):
    reader.connection.refuse["priors/"] = Unavailable("no answer")
    with pytest.raises(Unavailable):
        fetch(reader)
    reader.connection.refuse.clear()
    fetch(reader)
    reader.connection.refuse["priors/"] = Unavailable("no answer")
    published = fetch(reader)
    assert (published.record, published.fresh) == (federation.prior, False)


def test_refusal_is_no_lack_of_net(reader):
    fetch(reader)
    reader.connection.refuse["priors/"] = Forbidden("revoked")
    with pytest.raises(RequestError, match="revoked"):
        fetch(reader)


def test_signature_of_another_key(federation, reader):
    change(reader, prior=Signed[PriorRecord].make(federation.roster_key, federation.prior))
    with pytest.raises(VerificationError, match="does not hold"):
        fetch(reader)


def test_prior_of_another_federation(federation, reader):
    foreign = federation.prior.model_copy(update={"federation": "others"})
    change(reader, prior=Signed[PriorRecord].make(federation.service_key, foreign))
    with pytest.raises(VerificationError, match="of federation others"):
        fetch(reader)


def test_prior_that_the_log_does_not_hold(federation, reader):
    """Signed by the aggregator for this reader alone: the log is what everybody sees."""
    private = federation.prior.model_copy(update={"theta": tuple(VALUES + 0.1)})
    change(reader, prior=Signed[PriorRecord].make(federation.service_key, private))
    with pytest.raises(VerificationError, match="does not hold prior 1"):
        fetch(reader)


def test_leaf_at_another_place(reader):
    change(reader, index=0)
    with pytest.raises(VerificationError):
        fetch(reader)
    change(reader, index=10_000)
    with pytest.raises((VerificationError, LocalProtocolError)):
        fetch(reader)


def test_older_prior_than_before(reader):
    older = reader.connection._prior(0)
    fetch(reader)
    reader.connection.change["priors/"] = lambda _: older
    with pytest.raises(VerificationError, match="version 0, version 1 was seen before"):
        fetch(reader)


def test_rewritten_log(federation, reader):
    fetch(reader)
    federation.log.leaves[1:1] = [federation.log.leaves[1]]
    with pytest.raises(VerificationError, match=r"does not continue the one that this agent holds.*consistency"):
        fetch(reader)


def test_damaged_cache_is_named(reader):
    fetch(reader)
    (reader.home / "prior.json").write_bytes(b"{}")
    with pytest.raises(VerificationError, match=r"prior\.json is damaged"):
        fetch(reader)


@pytest.fixture
def witnessed(reader):
    """A reader whose ticket says that three members have to cosign."""
    path = reader.home / membership.FILE_NAME
    path.write_bytes(membership.load(reader.home).model_copy(update={"witnesses": 3}).encode())
    return reader


def cosigned(federation, names, *, size=None, key=None, roster_version=1):
    """What an aggregator shows: a checkpoint with cosignatures of these members."""
    leaves = [merkle.leaf_hash(leaf) for leaf in federation.log.leaves[:size]]
    name = checkpoint.name_of(federation.anchors.service_key)
    seen = Checkpoint(name, len(leaves), merkle.root(leaves))
    lines = {
        cosignature.name_of("engines", client): (
            federation.clients[client].public_key(),
            cosignature.cosign(seen, key or federation.clients[client].identity_key, SECONDS),
        )
        for client in names
    }
    note = cosignature.with_cosignatures(checkpoint.sign(seen, name, federation.service_key), lines)
    return CosignedCheckpoint(note=note, roster_version=roster_version)


def test_enough_witnesses(federation, witnessed):
    change(witnessed, cosigned=cosigned(federation, federation.names[:3]))
    assert fetch(witnessed).record == federation.prior


def test_a_prior_that_nobody_cosigned_does_not_count(witnessed):
    with pytest.raises(VerificationError, match="prior 1 does not count as published: 3 members have to cosign"):
        fetch(witnessed)


@pytest.mark.parametrize(
    ("names", "options", "reason"),
    [
        (("client-00", "client-01"), {}, "2 members cosigned a log that holds it, 3 have to"),
        (
            ("client-00", "client-01", "client-02"),
            {"size": 1},
            "what the members cosigned has 1 leaves, and it is leaf 3",
        ),
    ],
)
def test_too_few_witnesses_or_of_too_little(federation, witnessed, names, options, reason):
    change(witnessed, cosigned=cosigned(federation, names, **options))
    with pytest.raises(VerificationError, match=f"prior 1 does not count as published: {reason}"):
        fetch(witnessed)


def test_a_forged_cosignature(federation, witnessed):
    change(witnessed, cosigned=cosigned(federation, federation.names[:3], key=federation.service_key))
    with pytest.raises(VerificationError, match=r"a cosignature .* does not hold"):
        fetch(witnessed)


def test_a_revoked_member_is_no_witness(federation, witnessed):
    federation.revoked.add("client-02")
    federation.rounds[1].roster = federation.new_roster(1)
    change(witnessed, cosigned=cosigned(federation, federation.names[:3]))
    with pytest.raises(VerificationError, match="2 members cosigned"):
        fetch(witnessed)


def test_a_roster_that_the_aggregator_made_up(federation, witnessed):
    change(witnessed, cosigned=cosigned(federation, federation.names[:3]))
    honest = federation.rounds[1].roster
    federation.rounds[1].roster = type(honest).make(federation.service_key, honest.message)
    with pytest.raises(VerificationError, match="fgpr-v1/roster"):
        fetch(witnessed)
    foreign = honest.message.model_copy(update={"federation": "bridges"})
    federation.rounds[1].roster = type(honest).make(federation.roster_key, foreign)
    with pytest.raises(VerificationError, match="the roster of the witnesses is of federation bridges"):
        fetch(witnessed)


def test_another_history_that_members_cosigned(federation, witnessed):
    """The leaf is in the log that is shown, and what was cosigned is another one."""
    shown = cosigned(federation, federation.names[:3])
    federation.log.leaves[0] = federation.log.leaves[1]
    change(witnessed, cosigned=shown)
    with pytest.raises(VerificationError, match="does not continue"):
        fetch(witnessed)
