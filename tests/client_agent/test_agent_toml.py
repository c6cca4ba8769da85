"""agent.toml: what it takes, and how it refuses."""

import pytest

from client_agent import agent_toml
from fgpr.errors import DataError, EncodingError

WHOLE = """
[data]
file = "rows.csv"
unit = 7
missing = ["NA", -999]
out_of_range = "refuse"
growing = false

[columns.cycle]
from = "Flight"

[columns.T24]
from = "LPC outlet"
unit = "degC"

[floors]
gamma = 0.25
min_cohort = 5
required_peers = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
epsilon = 2

[connection]
proxy = "http://proxy.example:3128"
"""


def test_a_whole_file(tmp_path):
    (tmp_path / "agent.toml").write_text(WHOLE)
    found = agent_toml.load(tmp_path)
    assert (found.data.unit, found.data.out_of_range, found.data.growing) == (7, "refuse", False)
    assert found.data.file == str(tmp_path / "rows.csv")
    assert (found.data.holes.texts, found.data.holes.numbers) == ({"NA"}, {-999.0})
    assert (found.columns["T24"].column, found.columns["T24"].unit) == ("LPC outlet", "degC")
    assert (found.floors.gamma, found.floors.min_cohort, found.floors.epsilon) == (0.25, 5, 2.0)
    assert found.floors.required_peers == {"a" * 43}
    assert found.floors.accepted_peers is None
    assert found.connection.proxy == "http://proxy.example:3128"


def test_no_file_says_nothing_and_a_named_one_has_to_be_there(tmp_path):
    assert agent_toml.load(tmp_path) == agent_toml.AgentToml()
    with pytest.raises(DataError, match=r"mine\.toml: there is no such file"):
        agent_toml.load(tmp_path, tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[floors]\nmin_cohrt = 5", r"\[floors\] has no key 'min_cohrt'; did you mean 'min_cohort'\?; known are gamma"),
        ("[floor]\ngamma = 0.2", r"the file has no key 'floor'; did you mean 'floors'\?"),
        ("[columns.T24]\nform = 's2'", r"\[columns\.T24\] has no key 'form'; did you mean 'from'\?"),
        ("[data]\nout_of_range = 'ignore'", r"data\.out_of_range: Input should be 'drop' or 'refuse'"),
        ("[data]\nunit = 1.5", r"data\.unit: Input should be a valid integer"),
        ("[floors]\ngamma = 1.5", r"floors\.gamma: Input should be less than or equal to 1"),
        ("[floors]\ngamma = nan", r"floors\.gamma: Input should be a finite number"),
        ("[floors]\nmin_cohort = true", r"floors\.min_cohort: Input should be a valid integer"),
        ("[floors]\nsuite = 'rsa'", r"floors\.suite"),
        ("[floors]\naccepted_peers = ['client-01']", r"floors\.accepted_peers\.0: this is no key id: those have 43"),
        ("[floors]\nrequired_peers = 'x'", r"floors\.required_peers: a list of key ids is needed"),
        ("[data]\nmissing = 'n/a'", r"data\.missing: a list is needed, as in \['n/a', -999\]"),
        ("[columns]\nT24 = 'outlet'", r"columns\.T24: a section is needed"),
        ("[connection]\nproxy = 'proxy:3128'", r"connection\.proxy: .*a proxy is named as in http://HOST:PORT"),
        ("gamma = 0.2", "the file has no key 'gamma'"),
        ("[floors\n", "no TOML"),
    ],
)
def test_what_is_refused_and_how(tmp_path, text, said):
    (tmp_path / "agent.toml").write_text(text)
    with pytest.raises(EncodingError, match=rf"agent\.toml: .*{said}"):
        agent_toml.load(tmp_path)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "agent.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"agent\.toml: cannot be read"):
        agent_toml.load(tmp_path)


def test_the_mark_that_some_editors_write(tmp_path):
    (tmp_path / "agent.toml").write_text("\ufeff[data]\nunit = 7\n", encoding="utf-8")
    assert agent_toml.load(tmp_path).data.unit == 7
