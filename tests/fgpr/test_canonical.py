import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from fgpr import canonical
from fgpr.errors import EncodingError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not 2**53 <= abs(number) < 1e21)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_the_sample_of_rfc_8785() -> None:
    # Sections 3.2.2 and 3.2.4.
    raw = rb"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical.encode(canonical.parse(raw)) == expected.encode()


def test_keys_stand_in_order_of_their_utf_16_units_as_in_rfc_8785() -> None:
    # Section 3.2.3; by code points the emoji would come last.
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    encoded = canonical.encode(dict.fromkeys(names, 0))
    assert list(json.loads(encoded)) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@given(JSON)
def test_what_was_encoded_parses_to_the_same_bytes_again(value: object) -> None:
    encoded = canonical.encode(value)
    assert canonical.encode(canonical.parse(encoded)) == encoded


@given(JSON)
def test_the_bytes_are_those_of_an_independent_implementation(value: object) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, -(2.0**53), [1e20], {1: 2}, b"bytes", {"a": {3}}, "\ud800"]
)
def test_what_is_no_canonical_json_is_not_encoded(value: object) -> None:
    with pytest.raises(EncodingError, match="not canonical JSON"):
        canonical.encode(value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":1,"a":2}', "repeated key 'a'"),
        (b'{"a":1,"\\u0061":2}', "repeated key 'a'"),
        (b'[{"x":{"b":0,"c":1,"b":0}}]', "repeated key 'b'"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "1e999 is beyond the range of floats"),
        (b"[-1e400]", "beyond the range of floats"),
        (b"\xff", "not UTF-8: byte 0 is 0xff"),
        (b"\xef\xbb\xbf1", "not JSON"),
        (b"", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"01", "not JSON"),
        (b"'a'", "not JSON"),
        (b"{} {}", "not JSON"),
        (b'"\n"', "not JSON"),
        (b"9" * 5000, "not JSON"),
        (b"[" * 33 + b"]" * 33, "nested deeper than 32"),
        (b'{"a":' * 33 + b"0" + b"}" * 33, "nested deeper than 32"),
        (b"[" * 200_000, "nested deeper than 32"),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        canonical.parse(raw)


def test_brackets_in_strings_do_not_nest_and_the_deepest_allowed_does() -> None:
    text = '"[{[{' + "[" * 100 + '\\"[[' + '"'
    assert canonical.parse(text.encode()) == json.loads(text)
    assert canonical.parse(b"[" * 32 + b"]" * 32) == json.loads("[" * 32 + "]" * 32)


@pytest.mark.parametrize("ending", [b"", b"\\", b'\\"', b'"'])
def test_the_cost_of_a_string_that_nobody_closes_grows_with_its_length_only(ending: bytes) -> None:
    # A scan that started again at each quote would look at 10^12 bytes here.
    with pytest.raises(EncodingError):
        canonical.parse(b'"' + b'\\"' * 500_000 + ending + b"[")


def test_the_cost_of_a_repeated_key_grows_with_the_number_of_keys_only() -> None:
    # Counting each key among all would take 10^10 comparisons here.
    raw = canonical.encode({str(number): 0 for number in range(100_000)})
    with pytest.raises(EncodingError, match="repeated key '7'"):
        canonical.parse(raw[:-1] + b',"7":0}')


def test_a_digest_is_sha_256_over_label_zero_byte_and_canonical_json() -> None:
    expected = hashlib.sha256(b'fgpr-v1/test\x00{"a":1,"b":[2.5]}').digest()
    assert canonical.digest("fgpr-v1/test", {"b": [2.5], "a": 1.0}) == expected
    assert canonical.digest("fgpr-v1/other", {"b": [2.5], "a": 1}) != expected


@given(st.binary(max_size=70))
def test_bytes_as_text_and_back(raw: bytes) -> None:
    assert canonical.from_text(canonical.to_text(raw)) == raw


# RFC 4648, section 10.
@pytest.mark.parametrize(
    ("raw", "text"), [(b"", ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"foobar", "Zm9vYmFy")]
)
def test_base64_of_rfc_4648(raw: bytes, text: str) -> None:
    assert canonical.to_text(raw) == text
    assert canonical.from_text(text) == raw


@pytest.mark.parametrize(
    "text", ["Zh==", "Zm9=", "Zg", "Zg=", "Zg===", "Zm9v\n", " Zm9v", "Zm-v", "Zm_v", "Zmöv", "===="]
)
def test_only_one_spelling_of_bytes_is_taken(text: str) -> None:
    with pytest.raises(EncodingError, match="base64"):
        canonical.from_text(text)
