"""Whole rounds of a real agent against a federation in memory, honest and not."""

import errno
import json
import os
from itertools import count

import numpy as np
import pytest

from client_agent.events import Kind
from client_agent.opening_keys import OpeningKeys
from client_agent.participate import participate
from fgpr.auditlog import checkpoint, entries
from fgpr.auditlog.bundle import open_position
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import (
    CohortRefused,
    CryptographicError,
    DataError,
    EncodingError,
    Forbidden,
    LocalProtocolError,
    OwnerConsentRequired,
    PlanRefused,
    TooLate,
    Unavailable,
    VerificationError,
)
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.history import Floors
from fgpr.secagg.messages import Cohort, Contribution, LogPosition, Plan
from fgpr.secagg.stages import Event, Stage
from support import agent_home
from support.agent_home import AgentHome, Killed
from support.federation import Federation

ME, *OTHERS = [f"client-{number:02d}" for number in range(5)]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}
THETA = np.array([0.1, -0.9, 3.0])


@pytest.fixture
def federation():
    return Federation(5)


@pytest.fixture
def agent(federation, tmp_path):
    return AgentHome(federation, ME, tmp_path / "home")


def contribute_others(federation, weight=10):
    for name in OTHERS:
        federation.contribute(name, THETA, weight)


def open_others(federation):
    for name in OTHERS:
        federation.open(name)


def bodies(agent, part):
    return {body for path, body in agent.connection.puts if part in path}


def test_one_honest_round(federation, agent):
    seen = []
    agent_home.plan(federation)
    assert agent.run(ROWS, observer=lambda theta, weight: seen.append((theta.copy(), weight))) == [
        Kind.CHECKED,
        Kind.CONTRIBUTED,
    ]
    contribute_others(federation)
    federation.close()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.OPENED]
    open_others(federation)
    record = federation.finish()
    assert agent.run(ROWS, rounds=1) == [Kind.ENDED]
    assert agent.served == 1
    (theta, weight), *more = seen
    assert (weight, more) == (8, [])
    # The weighted average by hand; the encoding has 30 bits over the widest bounds, log(1e5) = 11.5.
    expected = (8 * theta + 4 * 10 * THETA) / 48
    assert record.vector() == pytest.approx(expected, abs=1e-8)
    assert record.opened.total_weight == 48
    assert not np.allclose(theta, federation.priors[0].vector(), atol=1e-3)


def test_an_uninterrupted_agent_serves_two_rounds(federation, agent):
    """The others act when the agent asks where the federation stands."""

    def world(_):
        state = federation.rounds.get(1 if len(federation.priors) == 1 else 2)
        if state is None:
            agent_home.plan(federation)
        elif state.stage is Stage.CONTRIBUTING and ME in state.contributions:
            contribute_others(federation)
            federation.close()
        elif state.stage is Stage.OPENING and ME in state.openings:
            open_others(federation)
            federation.finish()

    agent.connection.before = world
    assert agent.run(ROWS, rounds=2) == [Kind.CHECKED, Kind.CONTRIBUTED, Kind.OPENED, Kind.ENDED] * 2
    assert agent.served == 2
    # The second plan named the key of the first opening: the one before it is gone, its own successor is there.
    assert OpeningKeys(agent.home).serials() == (2, 3)


def finish(federation):
    """Let everybody else do what is left of round 1."""
    state = federation.now
    if state.stage is Stage.CONTRIBUTING and ME in state.contributions:
        contribute_others(federation)
        federation.close()
    if state.stage is Stage.OPENING and ME in state.openings:
        open_others(federation)
        federation.finish()


def serve_to_the_end(federation, agent, fatal):
    """Start the agent again and again until its round has ended; how often it ended with one of these errors."""
    deaths = 0
    for _ in range(8):
        try:
            agent.run(ROWS, rounds=1)
        except fatal:
            deaths += 1
        finish(federation)
        if agent.served:
            break
    assert federation.now.stage is Stage.PUBLISHED
    # Whatever was sent in whichever life is one body a stage, and the one on disk.
    written = (agent.home / "rounds" / "000001" / "contribution.json").read_bytes()
    assert bodies(agent, "contributions") == {written}
    assert len(bodies(agent, "openings")) == 1
    return deaths


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_each_request_of_a_round(tmp_path, moment):
    for nth in count(1):
        federation = Federation(5)
        agent = AgentHome(federation, ME, tmp_path / str(nth))
        agent_home.plan(federation)

        def kill(number, nth=nth):
            if number == nth:
                raise Killed

        setattr(agent.connection, moment, kill)
        if not serve_to_the_end(federation, agent, Killed):
            break
    assert nth > 12


@pytest.mark.parametrize("call", ["fsync", "link", "replace", "mkdir"])
def test_disk_full_at_each_write_of_a_round(tmp_path, monkeypatch, call):
    real = getattr(os, call)
    for nth in count(1):
        federation = Federation(5)
        agent = AgentHome(federation, ME, tmp_path / str(nth))
        agent_home.plan(federation)
        calls = count(1)

        def fail(*args, nth=nth, calls=calls, **options):
            if next(calls) == nth:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            serve_to_the_end(federation, agent, (OSError, CryptographicError))
        if next(calls) <= nth:
            break
    assert nth > 3


def test_a_round_that_ended_unseen_is_counted_before_the_next_one(federation, agent):
    """Asked for one round, the agent takes no part in a second one that it would not see to its end."""
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    agent.run(ROWS)
    open_others(federation)
    federation.finish()
    agent_home.plan(federation)
    agent.connect()
    assert agent.run(ROWS, rounds=1) == [Kind.ENDED]
    assert agent.connection.puts == []
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_rows_that_teach_nothing_are_told_and_the_seat_is_kept(federation, agent):
    agent_home.plan(federation)
    flat = {"cycle": ROWS["cycle"], "T24": np.full(8, 642.0)}
    assert agent.run(flat) == [Kind.CHECKED, Kind.SKIPPED]
    assert isinstance(agent.events[-1].error, DataError)
    assert "constant target" in agent.events[-1].text
    contribute_others(federation)
    federation.close()
    assert agent.run(flat) == [Kind.CHECKED, Kind.OPENED]
    assert not bodies(agent, "contributions")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"cycle": ROWS["cycle"]}, "no column for the target T24"),
        ({"T24": ROWS["T24"]}, "no column for feature cycle"),
        ({"cycle": ROWS["cycle"] + 93, "T24": ROWS["T24"]}, "row 8: cycle is 101.0"),
        ({"cycle": ROWS["cycle"], "T24": np.append(ROWS["T24"][:-1], np.nan)}, "nan"),
    ],
)
def test_unusable_rows_are_told(federation, agent, rows, said):
    agent_home.plan(federation)
    assert agent.run(rows) == [Kind.CHECKED, Kind.SKIPPED]
    assert said in agent.events[-1].text
    assert agent.connection.puts == []


def test_rows_are_read_anew_and_a_missing_file_is_no_crash(federation, agent):
    def gone(_):
        raise FileNotFoundError(2, "No such file", "rows.csv")

    agent_home.plan(federation)
    assert agent.run(gone) == [Kind.CHECKED, Kind.SKIPPED]
    assert "rows.csv" in agent.events[-1].text
    agent.connect()
    assert agent.run(lambda _: ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_target_of_another_name(federation, agent):
    agent_home.plan(federation)
    renamed = {"cycle": ROWS["cycle"], "s2": ROWS["T24"]}
    assert agent.run(renamed, target="s2") == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_sgd_rate_decays_over_prior_versions(federation, agent):
    """One SGD step at prior version v has the rate rate / (1 + decay v), whatever the round's number is."""
    steps, seen = {}, []
    for decay in (0.0, 1.0):
        for _ in range(2):
            training = {"optimiser": "sgd", "learning_rate": 0.01, "decay": decay, "steps": 1, "batch_size": None}
            agent_home.plan(federation, training=training)
            start = federation.prior.vector()
            agent.connect()
            agent.run(ROWS, observer=lambda theta, _: seen.append(theta.copy()))
            steps[decay, federation.prior.version] = (start, seen[-1] - start)
            contribute_others(federation)
            federation.close()
            agent.run(ROWS)
            open_others(federation)
            federation.finish()
    for (decay, version), (start, step) in steps.items():
        gradient = _gradient(start)
        assert step == pytest.approx(-0.01 / (1 + decay * version) * gradient, rel=1e-6)


def _gradient(theta, epsilon=1e-6):
    """Of the loss per point, by central differences of the formula in Rasmussen & Williams, (2.30) p. 19."""
    y = (ROWS["T24"] - ROWS["T24"].mean()) / ROWS["T24"].std()
    x = ROWS["cycle"]

    def loss(theta):
        signal, noise, length = np.exp(theta)
        gram = signal**2 * np.exp(-0.5 * (x[:, None] - x) ** 2 / length**2) + noise**2 * np.eye(8)
        return (y @ np.linalg.solve(gram, y) + np.linalg.slogdet(gram)[1] + 8 * np.log(2 * np.pi)) / 16

    steps = epsilon * np.eye(3)
    return np.array([(loss(theta + step) - loss(theta - step)) / (2 * epsilon) for step in steps])


def test_plan_of_another_key_is_refused_and_the_right_one_taken(federation, agent):
    signed = agent_home.plan(federation)
    federation.now.plan = Signed[Plan].make(federation.roster_key, signed.message)
    assert agent.run(ROWS) == [Kind.REFUSED]
    assert isinstance(agent.events[-1].error, PlanRefused)
    assert agent.events[-1].error.check == 1
    assert agent.connection.puts == []
    federation.now.plan = signed
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_floors_of_the_owner(federation, agent):
    agent_home.plan(federation)
    assert agent.run(ROWS, floors=Floors(min_cohort=4)) == [Kind.REFUSED]
    assert agent.events[-1].error.check == 9
    assert agent.connection.puts == []


def test_second_plan_for_a_round_is_refused(federation, agent):
    signed = agent_home.plan(federation)
    agent.run(ROWS)
    federation.now.plan = federation.signed(
        signed.message.model_copy(update={"open_until": "2031-03-09T22:00:00.000Z"})
    )
    assert agent.run(ROWS) == [Kind.REFUSED]
    assert agent.events[-1].error.check == 2
    assert len(bodies(agent, "contributions")) == 1


def test_an_earlier_round_shown_again_gets_no_contribution(federation, agent):
    """Seen, left out for want of rows, overtaken: the plan of round 1 must not get the update of round 2's prior."""
    agent_home.plan(federation)
    agent.run({})
    first = federation.rounds[1]
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    first.stage = Stage.VOID
    agent_home.plan(federation)
    assert Kind.CONTRIBUTED in agent.run(ROWS)
    del federation.rounds[2]
    first.stage, first.empty = Stage.CONTRIBUTING, None
    agent.connect()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.SKIPPED]
    assert "round 2 was seen" in agent.events[-1].text
    assert agent.connection.puts == []


def test_forked_or_shortened_log_is_refused(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    agent.run(ROWS)
    open_others(federation)
    federation.finish()
    agent_home.plan(federation)
    kept = json.loads((agent.home / "checkpoint.json").read_text())
    another = entries.Revoked(federation="engines", client=OTHERS[0], by="operator")
    federation.log.leaves[1], honest = another.encode(), federation.log.leaves[1]
    agent.run(ROWS)
    (refused,) = [event for event in agent.events if event.kind is Kind.REFUSED]
    assert refused.error.check == 13
    # It says what it holds and what it was shown, and keeps both as they were signed.
    for part in (f"holds {kept['size']} leaves", f"{len(federation.log.leaves)} leaves", "refused-checkpoint.txt"):
        assert part in refused.text
    key, notes = federation.anchors.service_key, [agent.home / f"{name}checkpoint.txt" for name in ("", "refused-")]
    held, shown = (open_position(path.read_text(), key) for path in notes)
    assert held == LogPosition.from_json(kept)
    assert (shown.size, shown == federation.log.position()) == (len(federation.log.leaves), True)
    federation.log.leaves[1] = honest
    agent.connect().leaves_hidden = 5
    agent.run(ROWS)
    _, rolled_back = [event for event in agent.events if event.kind is Kind.REFUSED]
    assert isinstance(rolled_back.error, VerificationError)
    assert "it went back, as after an old backup" in rolled_back.text
    assert open_position(notes[1].read_text(), key).size == len(federation.log.leaves) - 5
    assert json.loads((agent.home / "checkpoint.json").read_text()) == kept
    agent.connect()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_checkpoint_of_another_key_is_refused(federation, agent):
    agent_home.plan(federation)
    name = checkpoint.name_of(federation.anchors.service_key)
    position = federation.log.position()
    forged = checkpoint.sign(Checkpoint(name, position.size, position.root), name, federation.roster_key)
    agent.connection.change["checkpoint"] = lambda view: view.model_copy(update={"note": forged})
    assert agent.run(ROWS) == [Kind.REFUSED]
    assert isinstance(agent.events[-1].error, VerificationError)


def test_answers_of_no_form_are_told_and_asked_for_again(federation, agent):
    agent_home.plan(federation)
    broken = [lambda view: view.model_copy(update={"note": "gibberish"})]
    agent.connection.change["checkpoint"] = lambda view: broken.pop()(view) if broken else view
    assert agent.run(ROWS) == [Kind.FAILED, Kind.CHECKED, Kind.CONTRIBUTED]
    assert isinstance(agent.events[0].error, EncodingError)


def test_aborted_round_is_proven_void_and_the_prior_serves_again(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.VOIDED, Kind.ENDED]
    open_others(federation)
    assert federation.settle() is Stage.VOID
    agent_home.plan(federation)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]
    first, second = (
        Contribution.decode(body) for _, body in agent.connection.puts if b'"masked"' in body and b'"boxes"' in body
    )
    assert first.masked != second.masked


def test_unproven_round_blocks_its_prior(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    federation.now.stage = Stage.VOID
    agent_home.plan(federation)
    assert agent.run(ROWS) == [Kind.ENDED, Kind.REFUSED]
    assert [event.error.check for event in agent.events if event.kind is Kind.REFUSED] == [4]
    assert len(bodies(agent, "contributions")) == 1


def test_member_who_was_away_proves_the_round_void(federation, agent):
    agent_home.plan(federation)
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.VOIDED]
    assert ME in federation.now.openings


def test_opened_cohort_is_never_followed_by_the_empty_one(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    agent.run(ROWS)
    federation.abort(Event.TOO_FEW_OPENINGS)
    agent.connect()
    assert agent.run(ROWS) == [Kind.ENDED]
    assert agent.connection.puts == []


def test_cohort_of_one_client_is_refused(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    federation.now.cohort = federation.cohort_of([ME])
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.REFUSED]
    assert isinstance(agent.events[-1].error, CohortRefused)
    assert agent.events[-1].error.check == 5
    assert not bodies(agent, "openings")
    assert not (agent.home / "rounds" / "000001" / "opening.json").exists()


def test_second_cohort_of_a_round_gets_the_first_answer(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    agent.run(ROWS)
    federation.now.openings.clear()
    federation.now.cohort = federation.cohort_of([ME, *OTHERS[:3]])
    agent.run(ROWS)
    assert agent.events[-1].kind is Kind.TOO_LATE
    assert len(bodies(agent, "openings")) == 1


def test_revoked_client_is_not_opened(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.revoke(OTHERS[0])
    state = federation.now
    headers = {name: made.header.message for name, made in state.contributions.items()}
    plan = state.plan.message
    cohort = opening.cohort_of(plan, plan.digest(), headers, federation.log.position())
    state.stage, state.cohort = Stage.OPENING, Signed[Cohort].make(federation.service_key, cohort)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.REFUSED]
    assert agent.events[-1].error.check == 6
    assert f"{OTHERS[0]} revoked" in agent.events[-1].text


def test_carried_theta_asks_the_owner(federation, agent):
    for _ in range(2):
        agent_home.plan(federation)
        federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
        assert federation.settle() is Stage.CARRIED
    agent_home.plan(federation)
    assert agent.run(ROWS) == [Kind.CONSENT]
    assert isinstance(agent.events[-1].error, OwnerConsentRequired)
    agent.connect()
    assert agent.run(ROWS, floors=Floors(carries=2)) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_late_contribution_is_told_once(federation, agent):
    agent_home.plan(federation)
    agent.connection.refuse["contributions"] = TooLate("the round is closed")
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.TOO_LATE]
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.TOO_LATE]


def test_revoked_agent_ends(federation, agent):
    agent_home.plan(federation)
    agent.connection.refuse["rounds/current"] = Forbidden("client-00 was revoked")
    assert agent.run(ROWS) == [Kind.REVOKED]
    assert agent.served == 0


@pytest.mark.parametrize(("state", "text"), [("paused", "until its operator resumes it"), ("closed", "for good")])
def test_a_federation_without_rounds_is_told_once(federation, agent, state, text):
    agent.connection.state = state
    assert agent.run(ROWS) == [Kind.PAUSED]
    assert text in agent.events[-1].text
    # A round that runs goes on, whatever follows it.
    agent_home.plan(federation)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]


def test_unreachable_aggregator_is_told_once_and_asked_again(federation, agent):
    agent_home.plan(federation)

    def fail_thrice(number):
        if number <= 3:
            raise Unavailable("no answer")

    agent.connection.before = fail_thrice
    assert agent.run(ROWS) == [Kind.FAILED, Kind.CHECKED, Kind.CONTRIBUTED]


def test_receipt_for_another_body_is_told(federation, agent):
    agent_home.plan(federation)
    broken = [lambda receipt: receipt.model_copy(update={"body": bytes(32)})]
    agent.connection.change["contributions"] = lambda receipt: broken.pop()(receipt) if broken else receipt
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.FAILED, Kind.CONTRIBUTED]
    assert len(agent.connection.puts) == 2
    assert len(bodies(agent, "contributions")) == 1


def test_client_that_was_not_drawn_stays_quiet(federation, agent):
    signed = agent_home.plan(federation)
    elsewhere = signed.message.model_copy(
        update={
            "invited": tuple(OTHERS),
            "seats": tuple(seat for seat in signed.message.seats if seat.client != ME),
        }
    )
    federation.now.plan = federation.signed(elsewhere)
    assert agent.run(ROWS) == [Kind.SKIPPED]
    assert agent.connection.puts == []


def test_control_characters_of_the_other_side_reach_no_terminal(federation, agent):
    agent_home.plan(federation)
    agent.connection.refuse["contributions"] = TooLate("\x1b[2Jgone\nround 7: published")
    agent.run(ROWS)
    assert "\x1b" not in agent.events[-1].text
    assert "\n" not in agent.events[-1].text


def test_lost_opening_key_keeps_the_member_silent(federation, agent):
    agent_home.plan(federation)
    agent.run(ROWS)
    contribute_others(federation)
    federation.close()
    (agent.home / "opening-keys" / "1.key").unlink()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.REFUSED]
    assert agent.events[-1].error.check == 1


def test_home_of_nobody_and_of_a_reader(federation, tmp_path):
    with pytest.raises(LocalProtocolError, match="enrolled nowhere"):
        participate(tmp_path / "nobody", ROWS, api=None)
    reader = AgentHome(federation, OTHERS[0], tmp_path / "reader", role="reader")
    with pytest.raises(LocalProtocolError, match="takes part in no round"):
        reader.run(ROWS)
    assert not (tmp_path / "reader" / "rounds").exists()
