"""The client for programs, against a federation in memory: the same home and the same answers as the commands."""

import numpy as np
import pytest

from client_agent import identity
from client_agent.client import Client
from client_agent.forecast import Wishes
from fgpr.errors import DataError, EncodingError, LocalProtocolError, VerificationError
from fgpr.ticket import Ticket
from support import agent_home
from support.agent_home import AgentHome
from support.client import NAME
from support.federation import Federation

ME = "client-00"
ROWS = {"cycle": np.arange(1.0, 21.0), "T24": 642.0 + 0.1 * np.sin(np.arange(20.0))}


@pytest.fixture
def federation():
    return Federation(4, logs_all=True)


@pytest.fixture
def client(aggregator, tmp_path):
    return Client(AgentHome(aggregator.federation, ME, tmp_path / "home").home)


def ticket_of(federation, client):
    return Ticket(
        origin=agent_home.ORIGIN,
        federation=NAME,
        client=client,
        role="reader",
        secret=bytes(range(32)),
        expires="2031-03-09T21:30:00.000Z",
        service_key=federation.anchors.service_key,
        roster_key=federation.anchors.roster_key,
        suite="x25519",
        weight_cap=None,
    )


@pytest.mark.usefixtures("aggregator")
def test_enrol(federation, tmp_path):
    ticket = ticket_of(federation, "new-one")
    made = Client.enrol(ticket.to_text(), tmp_path / "new")
    assert (made.membership.client, made.membership.federation) == ("new-one", NAME)
    assert Client(tmp_path / "new").membership == made.membership
    assert identity.load(tmp_path / "new")
    with pytest.raises(LocalProtocolError, match="is enrolled as new-one"):
        Client.enrol(ticket.to_text(), tmp_path / "new")
    with pytest.raises(EncodingError, match="fgpr1"):
        Client.enrol("hello", tmp_path / "other")


def test_prior_and_prediction(federation, client):
    published = client.prior()
    assert published.record == federation.prior
    made = client.predict(ROWS, ahead=5, prior=published)
    assert made.predicted.inputs[:, 0].tolist() == [21.0, 22.0, 23.0, 24.0, 25.0]
    assert made.predicted.mean == pytest.approx([642.0] * 5, abs=0.3)
    assert client.predict(ROWS, at={"cycle": [3.0]}).predicted.mean == pytest.approx([642.0], abs=0.3)
    assert client.predict(ROWS, wishes=Wishes(compare_local=True)).local is not None


def test_rows_are_read_as_agent_toml_says(client, tmp_path):
    (client.home / "agent.toml").write_text(
        f"[data]\nfile = '{tmp_path / 'rows.csv'}'\n[columns.T24]\nfrom = 'outlet'\nunit = 'degF'\n"
    )
    (tmp_path / "rows.csv").write_text("cycle,outlet,note\n1,180.33,a\n2,,b\n3,182.33,c\n")
    rows = client.rows()
    # A degree Fahrenheit is one Rankine wide, and 459.67 further up.
    assert (rows["cycle"].tolist(), rows["T24"]) == ([1.0, 3.0], pytest.approx([640.0, 642.0]))
    assert client.predict(rows).device.rows.y.size == 2
    with pytest.raises(DataError, match=r"missing\.csv"):
        client.rows(tmp_path / "missing.csv")


def test_enrol_goes_by_the_owners_proxy_and_authority(federation, monkeypatch, tmp_path):
    home = tmp_path / "behind"
    home.mkdir(mode=0o700)
    (home / "agent.toml").write_text("[connection]\nproxy = 'http://proxy.example:3128'\n")
    seen = []

    def api(*_, tls, proxy):
        seen.append((tls, proxy))
        raise DataError("no net in this test")

    monkeypatch.setattr("client_agent.client.Api", api)
    with pytest.raises(DataError, match="no net"):
        Client.enrol(ticket_of(federation, "behind").to_text(), home)
    assert [proxy for _, proxy in seen] == ["http://proxy.example:3128"]


def test_offline_is_what_was_kept(aggregator, client):
    with pytest.raises(LocalProtocolError, match="holds no prior yet"):
        client.prior(offline=True)
    seen = client.prior()
    asked = aggregator.requests
    kept = client.prior(offline=True)
    assert (kept.record, kept.fresh, aggregator.requests) == (seen.record, False, asked)


def test_trail(federation, client):
    assert client.trail().federations[NAME]
    federation.log.leaves[1:2] = []
    with pytest.raises(VerificationError):
        client.trail()


def test_bad_input(client, tmp_path):
    with pytest.raises(DataError, match="at least 1"):
        client.predict(ROWS, ahead=0)
    with pytest.raises(DataError, match="no column for the target"):
        client.predict({"cycle": [1.0]})
    with pytest.raises(LocalProtocolError, match="is enrolled nowhere"):
        Client(tmp_path / "nowhere")
