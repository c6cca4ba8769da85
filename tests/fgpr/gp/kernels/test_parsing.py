import pytest

from fgpr.errors import EncodingError
from fgpr.gp.kernels.catalogue import KINDS
from fgpr.gp.kernels.expression import Component, Expression, Term
from fgpr.gp.kernels.parsing import MAX_TEXT, parse
from support.kernels import EVERY


@pytest.mark.parametrize("text", EVERY)
def test_canonical_text_comes_back(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize("name", KINDS)
def test_every_kernel_of_the_catalogue_is_read(name: str) -> None:
    text = f"{name}(nu=1.5)" if name == "matern" else name
    assert parse(text).components[0].name == name


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("rbf+0.50*periodic( period = 20.0 )", "rbf + 0.5 * periodic(period=20)"),
        (" rbf ( cycle , T24 ) ", "rbf(cycle, T24)"),
        ('rbf("cycle")', "rbf(cycle)"),
        ('rbf("air flow", "a,b=\\"c\\"")', 'rbf("air flow", "a,b=\\"c\\"")'),
        ('rbf("T\\u00fcr")', 'rbf("Tür")'),
        ("rational-quadratic(alpha=1e-1,length-scale=2)", "rational-quadratic(length-scale=2, alpha=0.1)"),
        ("1e3*rbf", "1000 * rbf"),
        ("1e-7*rbf", "1e-07 * rbf"),
        ("rbf\n+\tconstant", "rbf + constant"),
        ("rbf*rbf", "rbf * rbf"),
        ("1*rbf", "1 * rbf"),
    ],
)
def test_every_spelling_has_one_canonical_text(text: str, canonical: str) -> None:
    assert parse(text).text == canonical
    assert parse(canonical).text == canonical
    assert parse(canonical) == parse(text)


def test_the_value_of_a_text() -> None:
    assert parse("rbf(cycle) * matern(nu=0.7) + 0.5 * periodic(period=20)") == Expression(
        (
            Term((Component("rbf", ("cycle",)), Component("matern", (), (("nu", 0.7),)))),
            Term((Component("periodic", (), (("period", 20.0),)),), 0.5),
        )
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", 1, "expected the name of a kernel"),
        ("rbf +", 6, "expected the name of a kernel"),
        ("rbf + + rbf", 7, "expected the name of a kernel"),
        ("rbf matern-3/2", 5, "expected '\\+', '\\*' or the end"),
        ("(rbf + rbf) * rbf", 1, "expected the name"),
        ("rbf * (rbf + rbf)", 7, "expected the name"),
        ("rbf - rbf", 5, "expected '\\+'"),
        ("rbf * 2", 7, "expected the name"),
        ("2", 2, "expected '\\*' and a kernel after a number"),
        ("0 * rbf", 1, "signal sd is 0: expected a finite number above 0"),
        ("-1 * rbf", 1, "expected the name"),
        ("1e999 * rbf", 1, "signal sd is 1e999"),
        ("nan * rbf", 1, "no kernel is named 'nan'"),
        ("gauss", 1, "no kernel is named 'gauss'; known are rbf"),
        ("rbf + matern-7/2", 7, "no kernel is named 'matern-7/2'"),
        ("matern", 1, r"matern needs a number, for instance matern\(nu=1\)"),
        ("rbf + matern(nu=0.01)", 7, "nu is 0.01: expected 0.1 to 20"),
        ("matern(nu=21)", 1, "nu is 21"),
        ("rbf()", 5, "expected a feature's name"),
        ("rbf(cycle", 10, "expected ',' or '\\)'"),
        ("rbf(cycle,)", 11, "expected a feature's name"),
        ("rbf(cycle, cycle)", 12, "'cycle' is named twice"),
        ('rbf(cycle, "cycle")', 12, "'cycle' is named twice"),
        ("rbf(length-scale=2, cycle)", 21, "features come before numbers"),
        ("rbf(length-scale=2, length-scale=2)", 21, "length-scale is given twice"),
        ("rbf(period=2)", 5, "rbf has no number named 'period'; known are length-scale"),
        ("constant(period=2)", 10, "it takes none"),
        ("constant(cycle)", 10, "constant acts on no feature"),
        ("periodic(period=)", 17, "expected a number"),
        ("periodic(period=-3)", 17, "expected a number"),
        ("periodic(period=0)", 17, "period is 0"),
        ('rbf("\\q")', 5, "not a JSON string"),
        ("constant * constant", 1, "a product of constants"),
    ],
)
def test_faults_name_their_place(text: str, place: int, says: str) -> None:
    with pytest.raises(EncodingError, match=f"character {place}: .*{says}"):
        parse(text)


def test_long_texts_are_refused_before_they_are_read() -> None:
    with pytest.raises(EncodingError, match="4097 characters: at most 4096"):
        parse("r" * (MAX_TEXT + 1))
    parse(" + ".join(["rbf"] * 16))
    with pytest.raises(EncodingError, match="17 parts: at most 16"):
        parse(" + ".join(["rbf"] * 17))
