from collections.abc import Iterator

import pytest

from fgpr import errors
from fgpr.errors import CohortRefused, FgprError, PlanRefused, RequestError, TooLate


def tree(kind: type[FgprError] = FgprError) -> Iterator[type[FgprError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


def test_each_class_has_a_slug_of_its_own_that_fits_a_urn() -> None:
    slugs = [kind.slug for kind in tree()]
    assert len(set(slugs)) == len(slugs)
    assert all(slug and set(slug) <= set("abcdefghijklmnopqrstuvwxyz-") for slug in slugs)


def test_the_drawing_in_the_docstring_is_the_tree() -> None:
    drawn: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        bare = line.lstrip("│├└─ ")
        name = bare.split(" ")[0]
        if name in vars(errors):
            drawn.append((line.index(name) // 4, name))
    assert [name for _, name in drawn] == [kind.__name__ for kind in tree()]
    assert [depth for depth, _ in drawn] == [kind.__mro__.index(FgprError) for kind in tree()]


@pytest.mark.parametrize("kind", [PlanRefused, CohortRefused])
def test_a_refusal_carries_the_number_of_its_check(kind: type[PlanRefused | CohortRefused]) -> None:
    error = kind(7, "the roster is stale")
    assert error.check == 7
    assert "check 7 of a" in str(error)
    assert "the roster is stale" in str(error)


def test_a_request_error_carries_what_its_problem_document_tells() -> None:
    error = TooLate("round 3 is closed", current_round=4)
    assert isinstance(error, RequestError)
    assert (str(error), error.details) == ("round 3 is closed", {"current_round": 4})
