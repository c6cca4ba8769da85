from dataclasses import dataclass

import pytest

from fgpr.errors import EncodingError
from fgpr.gp.record import Record


@dataclass(frozen=True, slots=True)
class Inner(Record):
    name: str
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Outer(Record):
    count: int
    inner: Inner
    size: int | None = None

    def __post_init__(self) -> None:
        if self.count < 0:
            raise EncodingError("count is below 0")


VALUE = Outer(3, Inner("a", (1.5, 2.0)))
RAW = b'{"count":3,"inner":{"name":"a","numbers":[1.5,2]},"size":null}'


def test_bytes_are_canonical_and_both_ways_agree() -> None:
    assert VALUE.encode() == RAW
    assert Outer.decode(RAW) == VALUE
    assert Outer.from_json(VALUE.to_json()) == VALUE


@pytest.mark.parametrize(
    "raw",
    [
        b'{"count":3}',
        b'{"count":"3","inner":{"name":"a","numbers":[]}}',
        b'{"count":3.5,"inner":{"name":"a","numbers":[]}}',
        b'{"count":true,"inner":{"name":"a","numbers":[]}}',
        b'{"count":3,"inner":{"name":"a","numbers":["1"]}}',
        b'{"count":3,"inner":{"name":"a","numbers":[NaN]}}',
        b'{"count":3,"inner":{"name":"a","numbers":[1e999]}}',
        b'{"count":3,"inner":{"name":"a","numbers":[],"more":1}}',
        b'{"count":3,"inner":{"name":"a","numbers":[]},"more":1}',
        b'{"count":3,"count":3,"inner":{"name":"a","numbers":[]}}',
        b'{"count":-1,"inner":{"name":"a","numbers":[]}}',
        b"[]",
        b"3",
        b"",
        b"\xff",
    ],
)
def test_what_is_not_its_form_is_refused(raw: bytes) -> None:
    with pytest.raises(EncodingError):
        Outer.decode(raw)


def test_the_message_names_the_field() -> None:
    with pytest.raises(EncodingError, match=r"Outer: inner.numbers.0: "):
        Outer.from_json({"count": 1, "inner": {"name": "a", "numbers": ["x"]}})
