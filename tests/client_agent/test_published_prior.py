"""The prior that a device uses is the one in the log that it has always followed."""

import numpy as np
import pytest

from client_agent import published_prior
from fgpr.errors import Forbidden, LocalProtocolError, RequestError, Unavailable, VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from support.agent_home import AgentHome
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
    with pytest.raises(VerificationError, match="consistency"):
        fetch(reader)


def test_damaged_cache_is_named(reader):
    fetch(reader)
    (reader.home / "prior.json").write_bytes(b"{}")
    with pytest.raises(VerificationError, match=r"prior\.json is damaged"):
        fetch(reader)
