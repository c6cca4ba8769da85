"""A malicious aggregator that wants two sums of one round, or one client's vector."""

from itertools import combinations

import numpy as np
import pytest

from fgpr.errors import CohortRefused, PlanRefused
from fgpr.message import Signed
from fgpr.secagg import opening, shamir
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Cohort, Opening
from support import malice
from support.federation import Federation


def contributed(size: int) -> Federation:
    made = Federation(size)
    made.plan()
    for place, name in enumerate(made.names, start=1):
        made.contribute(name, np.array([0.1, 0.2, 0.3]) * place, place)
    return made


def ask(made: Federation, name: str, cohort: Signed[Cohort]) -> Signed[Opening]:
    return made.ask(name, made.view(name, cohort))


def test_the_same_question_gets_the_same_bytes_before_and_after_a_restart() -> None:
    made = contributed(5)
    cohort = made.cohort_of(made.names)
    first = ask(made, "client-02", cohort)
    assert ask(made, "client-02", cohort).encode() == first.encode()
    made.clients["client-02"] = made.clients["client-02"].restarted()
    assert ask(made, "client-02", cohort).encode() == first.encode()


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("count", [0, 3, 4])
def test_no_subset_is_opened_after_the_whole(count: int, restart: bool) -> None:
    made = contributed(5)
    ask(made, "client-02", made.cohort_of(made.names))
    for chosen in combinations(made.names, count):
        if restart:
            made.clients["client-02"] = made.clients["client-02"].restarted()
        with pytest.raises(CohortRefused) as refused:
            ask(made, "client-02", made.cohort_of(chosen))
        assert refused.value.check == 9


def test_the_same_clients_at_another_checkpoint_are_another_cohort() -> None:
    made = contributed(5)
    first = made.cohort_of(made.names)
    ask(made, "client-02", first)
    made.revoke("client-04")
    moved = first.message.model_copy(update={"checkpoint": made.log.position()})
    with pytest.raises(CohortRefused) as refused:
        ask(made, "client-02", Signed[Cohort].make(made.service_key, moved))
    assert refused.value.check == 9


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_no_way_to_split_the_members_opens_two_cohorts_with_x_colluders(size: int) -> None:
    # The colluders answer both; honest members answer what they are asked first, and nothing after.
    made = contributed(size)
    threshold, x = made.now.plan.message.threshold, max(1, size // 5)
    colluders, honest = made.names[:x], made.names[x:]
    cohorts = [made.cohort_of(made.names), made.cohort_of(())]
    for asked_first in range(len(honest) + 1):
        journals = {name: list(client.journal) for name, client in made.clients.items()}
        answers = [len(colluders), len(colluders)]
        for place, name in enumerate(honest):
            first = 0 if place < asked_first else 1
            ask(made, name, cohorts[first])
            answers[first] += 1
            with pytest.raises(CohortRefused) as refused:
                ask(made, name, cohorts[1 - first])
            assert refused.value.check == 9
        assert min(answers) < threshold
        for name, journal in journals.items():
            made.clients[name].journal[:] = journal


def test_with_swapped_boxes_nobody_answers() -> None:
    # All boxes but the victim's hold known shares: the members' sums would be the victim's shares, and open its mask.
    made = contributed(5)
    cohort = made.cohort_of(made.names)
    victim = "client-03"
    for name in made.names:
        swapped = malice.swapped_but_one(made, name, victim)
        with pytest.raises(CohortRefused, match="expected root") as refused:
            made.ask(name, made.view(name, cohort, swapped))
        assert refused.value.check == 7
    for client in made.clients.values():
        assert client.history().rounds[-1].opened is None


def test_swapped_boxes_would_open_one_client_s_mask_if_members_did_not_look() -> None:
    # What check 7 is for, played to its end without it.
    made = contributed(5)
    plan, victim = made.now.plan.message, "client-03"
    sums = []
    for seat, name in enumerate(made.names, start=1):
        total = np.zeros(4, dtype=np.uint64)
        for sender, sent in malice.swapped_but_one(made, name, victim).items():
            key = made.clients[name].member(plan).opening_key
            assert key is not None
            total = FIELD.add(total, FIELD.from_bytes(malice.opened(plan, made.clients[sender], seat, sent, key), 4))
        sums.append(total)
    mask = shamir.interpolate(FIELD, [1, 2, 3, 4, 5], np.stack(sums), plan.threshold).values
    vector = FIELD.sub(FIELD.from_bytes(made.now.contributions[victim].masked, 4), mask)
    assert int(vector[-1]) == 4


def test_headers_signed_again_for_the_swapped_boxes_are_refused() -> None:
    made = contributed(5)
    stored = {
        name: malice.with_box(sent, 1, bytes(80), made.service_key) if name != "client-03" else sent
        for name, sent in made.now.contributions.items()
    }
    headers = {name: sent.header.message for name, sent in stored.items()}
    plan = made.now.plan.message
    forged = opening.cohort_of(plan, plan.digest(), headers, plan.checkpoint)
    with pytest.raises(CohortRefused, match="does not hold") as refused:
        made.ask("client-00", made.view("client-00", Signed[Cohort].make(made.service_key, forged), stored))
    assert refused.value.check == 6


def test_a_contribution_of_an_earlier_round_is_not_opened_in_a_later_one() -> None:
    made = contributed(5)
    old = dict(made.now.contributions)
    made.close()
    for name in made.names:
        made.open(name)
    made.finish()
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    stored = made.now.contributions | {"client-03": old["client-03"]}
    headers = {name: sent.header.message for name, sent in stored.items()}
    plan = made.now.plan.message
    replayed = Signed[Cohort].make(made.service_key, opening.cohort_of(plan, plan.digest(), headers, plan.checkpoint))
    with pytest.raises(CohortRefused) as refused:
        made.ask("client-00", made.view("client-00", replayed, stored))
    assert refused.value.check == 6


def test_no_cohort_of_an_earlier_round_is_opened_after_a_later_plan_was_seen_but_the_empty_one_is() -> None:
    made = contributed(5)
    full, empty = made.cohort_of(made.names), made.cohort_of(())
    views = {name: made.view(name, full) for name in made.names}
    earlier = made.now
    made.rounds[2] = made.now
    made.plan(prior_version=1, theta_version=1)
    made.priors.append(made.prior.model_copy(update={"version": 1, "theta_version": 1}))
    made.plan()
    made.check("client-00")
    made.rounds = {1: earlier}
    with pytest.raises(CohortRefused) as refused:
        made.ask("client-00", views["client-00"])
    assert refused.value.check == 2
    assert made.ask("client-00", made.view("client-00", empty)).message.sum == bytes(32)


def test_nobody_answers_for_a_second_plan_of_a_round() -> None:
    # Threats, row 8: another prior for other clients is another plan, in every box and signature.
    made = contributed(6)
    made.now.plan = made.signed(made.now.plan.message.model_copy(update={"prior_digest": bytes(32)}))
    cohort = made.cohort_of(made.names)
    for name in made.names:
        with pytest.raises(PlanRefused) as refused:
            ask(made, name, cohort)
        assert refused.value.check == 2
    # Nor would the boxes fit, for a client that saw only the second one.
    made.clients["client-00"].journal.clear()
    with pytest.raises(PlanRefused) as refused:
        ask(made, "client-00", cohort)
    assert refused.value.check == 5
