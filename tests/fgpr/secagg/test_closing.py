"""Whom a cohort counts."""

from hypothesis import given
from hypothesis import strategies as st

from fgpr.secagg import opening
from fgpr.secagg.member import check_difference
from fgpr.secagg.messages import Header
from support import samples

MADE = samples.federation()
PLAN = MADE.now.plan.message
SENT = MADE.now.contributions["client-02"]


def headers(count: int) -> dict[str, Header]:
    return {
        f"client-{number:02d}": SENT.header.message.model_copy(update={"client": f"client-{number:02d}"})
        for number in range(count)
    }


def test_a_cohort_counts_everybody_in_order_with_the_digest_of_each_header() -> None:
    given = headers(5)
    cohort = opening.close(PLAN, PLAN.digest(), dict(reversed(given.items())), PLAN.checkpoint)
    assert cohort is not None
    assert [(line.client, line.header) for line in cohort.members] == [
        (name, header.digest()) for name, header in given.items()
    ]
    assert (cohort.plan, cohort.round, cohort.checkpoint) == (PLAN.digest(), PLAN.round, PLAN.checkpoint)


def test_too_few_make_no_cohort() -> None:
    assert PLAN.min_cohort == 3
    assert opening.close(PLAN, PLAN.digest(), headers(2), PLAN.checkpoint) is None
    assert opening.close(PLAN, PLAN.digest(), headers(3), PLAN.checkpoint) is not None
    assert opening.cohort_of(PLAN, PLAN.digest(), {}, PLAN.checkpoint).members == ()


NAMES = frozenset(headers(10))


@given(
    st.frozensets(st.sampled_from(sorted(NAMES))), st.lists(st.frozensets(st.sampled_from(sorted(NAMES))), max_size=3)
)
def test_a_closed_cohort_passes_the_rule_on_differences_whatever_was_opened(
    came: frozenset[str], opened: list[frozenset[str]]
) -> None:
    given_headers = {name: header for name, header in headers(10).items() if name in came}
    cohort = opening.close(PLAN, PLAN.digest(), given_headers, PLAN.checkpoint, opened, 4)
    if cohort is not None:
        assert cohort.clients() <= came
        for earlier in opened:
            check_difference(cohort.clients(), earlier, 4)
            assert cohort.clients() <= earlier


def test_as_many_are_counted_as_the_rule_allows() -> None:
    def closed(came: int, before: int) -> int | None:
        earlier = frozenset(headers(before))
        cohort = opening.close(PLAN, PLAN.digest(), headers(came), PLAN.checkpoint, [earlier], 3)
        return None if cohort is None else len(cohort.members)

    assert closed(8, 8) == 8
    assert closed(10, 8) == 8
    assert closed(7, 8) == 5
    assert closed(6, 8) == 5
    assert closed(5, 8) == 5
    assert closed(4, 8) == 4
    assert closed(2, 8) is None
    assert closed(4, 5) is None
