"""Settings in TOML: what JSON cannot say is named by its place."""

import pytest

from fgpr import canonical, toml
from fgpr.errors import EncodingError


def test_what_json_has_too() -> None:
    raw = b'\xef\xbb\xbfname = "x"\non = true\n[a]\nb = [{ c = 1.5 }, { c = -9007199254740991 }]\n'
    assert toml.parse(raw) == {"name": "x", "on": True, "a": {"b": [{"c": 1.5}, {"c": -9007199254740991}]}}


def test_what_is_read_is_canonical_json() -> None:
    for number in ("1e21", "-1e300", "9007199254740991.0", "5e-324"):
        canonical.encode(toml.parse(f"x = {number}".encode()))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[model]\nfeatures = [{ upper = 1.0 }, { upper = nan }]", "model.features.1.upper: nan is not taken, only "),
        (b"a = -inf", "a: -inf is not taken, only finite numbers"),
        (b"[training]\nsteps = 100000000000000000000000000", "training.steps: a whole number beyond 2^53 - 1"),
        (b"a.x = 1e17", "a.x: a whole number beyond 2^53 - 1"),
        (b"n = 9007199254740992", "n: a whole number beyond 2^53 - 1"),
        (b"[aggregation]\nwhen = 2031-03-09", "aggregation.when: a date or time is not taken"),
        (b"a.b = 2031-03-09T12:00:00Z", "a.b: a date or time is not taken"),
        (b"a = 12:00:00", "a: a date or time is not taken"),
        (b"a = \xff", "not UTF-8: byte 4 is 0xff"),
        (b"name = ", "no TOML: Invalid value"),
        (b"n = " + b"9" * 5000, "no TOML: "),
        (b"a." * 2000 + b"a = 1", f"{'.'.join('a' * 32)}: nested deeper than 32"),
        (b"n = " + b"[" * 100_000, "no TOML: nested too deep"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(EncodingError) as refused:
        toml.parse(raw)
    assert str(refused.value).startswith(reason)
