"""`fgpr-audit`, from a bundle without a server and from an aggregator; what it says, and with which exit status."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from fgpr import canonical, merkle
from fgpr.auditlog import entries
from fgpr.auditlog.bundle import Bundle, open_position
from support.audited import bundle_of, note_of
from support.client import NAME
from support.federation import Federation
from support.forged_log import ForgedLog, played, state
from support.malice import with_box


def test_a_bundle_is_the_log_line_by_line(made: Federation, file: Path) -> None:
    head, *lines = file.read_bytes().splitlines()
    assert json.loads(head)["format"] == "fgpr-audit-1"
    assert lines == made.log.leaves
    assert json.loads(lines[12])["kind"] == entries.decode(made.log.leaves[12]).kind
    with file.open("rb") as raw:
        assert Bundle.read(raw) == bundle_of(made)


def test_verify_says_what_holds(audit: Callable[..., Result], file: Path, kept: Path, made: Federation) -> None:
    done = audit("verify", "--log", file, "--checkpoint", kept)
    assert done.exit_code == 0
    assert f"All of it holds: {len(made.log.leaves)} entries" in done.output
    assert f"continues the checkpoint held in {kept}: 20 leaves" in done.output
    told = json.loads(audit("verify", "--log", file, "--checkpoint", kept, "--json").output)
    assert (told["holds"], told["entries"], told["federations"][NAME]["recomputed"]) == (True, len(made.log.leaves), 2)
    assert [held["size"] for held in told["held"]] == [20]
    assert "No checkpoint was held outside" in audit("verify", "--log", file).output


def test_what_does_not_hold_has_status_1(
    audit: Callable[..., Result], made: Federation, kept: Path, tmp_path: Path
) -> None:
    log, path = ForgedLog(made), tmp_path / "forged.jsonl"
    log.change("prior", 1, spare=0)
    bundle_of(made, [leaf.encode() for leaf in log.leaves], path)
    done = audit("verify", "--log", path)
    assert (done.exit_code, "DOES NOT HOLD: leaf 25: 0 openings are called spare" in done.output) == (1, True)
    # Sound in itself, but another one than was kept.
    epoch = entries.EpochBegun(epoch="f" * 22).encode()
    bundle_of(made, [*made.log.leaves[:19], epoch], path)
    assert audit("verify", "--log", path).exit_code == 0
    done = audit("verify", "--log", path, "--checkpoint", kept)
    assert (done.exit_code, "the first 20 leaves are not those of the checkpoint" in done.output) == (1, True)


def test_a_bundle_from_before_a_checkpoint_accuses_nobody(
    audit: Callable[..., Result], made: Federation, kept: Path, tmp_path: Path
) -> None:
    path = tmp_path / "early.jsonl"
    bundle_of(made, made.log.leaves[:16], path)
    done = audit("verify", "--log", path, "--checkpoint", kept)
    assert (done.exit_code, "DOES NOT HOLD" in done.output) == (3, False)
    assert f"ends after 16 entries; the checkpoint held in {kept} counts 20" in done.output
    assert f"fgpr-audit fetch {path}" in done.output


def test_an_old_bundle_serves_as_a_checkpoint(
    audit: Callable[..., Result], made: Federation, file: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.jsonl"
    bundle_of(made, made.log.leaves[:18], old)
    done = audit("verify", "--log", file, "--checkpoint", old)
    assert (done.exit_code, f"continues the checkpoint held in {old}: 18 leaves" in done.output) == (0, True)
    bundle_of(made, [*made.log.leaves[:17], entries.EpochBegun(epoch="f" * 22).encode()], old)
    for command in (("verify", "--checkpoint", old), ("compare", old, file)):
        assert audit(*command, "--log", file).exit_code == 1


def test_a_log_has_to_be_named(audit: Callable[..., Result], kept: Path) -> None:
    for command in (("verify",), ("trail", "1"), ("compare", kept, kept)):
        done = audit(*command)
        assert (done.exit_code, "or a bundle file with --log" in done.output) == (3, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--log", "nowhere.jsonl"),
        ("verify", "--log", __file__),
        ("verify",),
        ("trail", "9", "--log", "FILE"),
        ("trail", "1", "--log", "FILE", "--federation", "bridges"),
        ("prove", "9", "--log", "FILE"),
        ("verify", "--log", "FILE", "--checkpoint", __file__),
        ("verify", "--log", "FILE", "--checkpoint", "nowhere.txt"),
        ("verify", "--log", "FILE", "--service-key", "AAAA"),
        ("compare", "nowhere.txt", "nowhere.txt", "--log", "FILE"),
        ("fetch", "new.jsonl", "--log", "FILE"),
    ],
)
def test_what_cannot_be_checked_has_status_3(
    audit: Callable[..., Result], file: Path, arguments: tuple[str, ...]
) -> None:
    done = audit(*(str(file) if one == "FILE" else one for one in arguments))
    assert done.exit_code == 3, done.output
    assert "cannot be checked" in done.output


def test_a_mistyped_command_has_status_2(audit: Callable[..., Result], file: Path) -> None:
    assert audit("trail", "--log", file).exit_code == 2
    assert audit("trail", "0", "--log", file).exit_code == 2
    assert audit("verify", "--colour", "blue").exit_code == 2


def test_another_key_than_the_known_one(audit: Callable[..., Result], file: Path, made: Federation) -> None:
    own, other = (canonical.to_text(key) for key in (made.anchors.service_key, made.anchors.roster_key))
    assert audit("verify", "--log", file, "--service-key", own).exit_code == 0
    assert audit("verify", "--log", file, "--service-key", other).exit_code == 1


def test_the_story_of_a_published_round(audit: Callable[..., Result], file: Path, kept: Path) -> None:
    done = audit("trail", "4", "--log", file, "--checkpoint", kept)
    assert done.exit_code == 0
    for part in (
        "Round 4 of engines",
        "1. The round was announced  [entry 40]",
        "It starts from prior 2, whose numbers are those of prior 1.",
        "by 4 members of a committee of 5 together; fewer cannot.",
        "2. 4 of 5 invited clients contributed  [entry 41]",
        "Not counted: client-04, revoked by entry 39.",
        "3. 4 members opened the sum, 4 were needed  [entry 46]",
        "a single wrong opening would not have shown.",
        "signed that it follows this log and no other one, at 2031-02-27 23:06:40 UTC by its own clock.",
        "4. Prior 3 was published  [entry 46]",
        "Averaged again from it, bit for bit: the numbers that were published.",
        "signal sd = 1.2214",
        "leads there",
        f"continues the checkpoint held in {kept}",
    ):
        assert part in done.output, part


def test_the_stories_of_other_ends(audit: Callable[..., Result], file: Path) -> None:
    void, carried = audit("trail", "2", "--log", file).output, audit("trail", "3", "--log", file).output
    assert "The round was given up" in void
    assert "5 members proved that nothing was opened" in void
    assert "It takes the place of round 2, of which members proved that nothing was opened." in carried
    assert "Nobody proved the round unopened, so that its old numbers count as a new version." in carried


def test_what_the_aggregator_wrote_cannot_rewrite_the_story(
    audit: Callable[..., Result], made: Federation, tmp_path: Path
) -> None:
    log, path = ForgedLog(made), tmp_path / "painted.jsonl"
    log.change("aborted", 0, reason="\x1b[2J\x1b[HAll of it holds\n\x07")
    bundle_of(made, [leaf.encode() for leaf in log.leaves[: log.find("aborted") + 1]], path)
    done = audit("trail", "2", "--log", path)
    assert done.exit_code == 0
    assert "The reason:  [2J [HAll of it holds" in done.output
    assert not {"\x1b", "\x07"} & set(done.output)


def test_the_story_as_json_has_proofs_that_verify(audit: Callable[..., Result], file: Path) -> None:
    told = json.loads(audit("trail", "1", "--log", file, "--json").output)
    size, root = told["checkpoint"]["size"], canonical.from_text(told["checkpoint"]["root"])
    assert [chapter["entry"] for chapter in told["chapters"]] == [18, 19, 25, 25]
    for chapter in told["chapters"]:
        proof = chapter["proof"]
        leaf = merkle.leaf_hash(canonical.from_text(proof["leaf"]))
        hashes = [canonical.from_text(value) for value in proof["hashes"]]
        merkle.verify_inclusion(leaf, proof["index"], size, hashes, root)


def test_a_round_that_runs_and_one_with_complaints(
    audit: Callable[..., Result], tmp_path: Path, made: Federation
) -> None:
    path = tmp_path / "running.jsonl"
    bundle_of(made, made.log.leaves[:19], path)
    assert "The round still runs: it waits for updates" in audit("trail", "1", "--log", path).output
    bundle_of(made, made.log.leaves[:20], path)
    assert "waits for the committee to open their sum" in audit("trail", "1", "--log", path).output
    liars = Federation(5, logs_all=True)
    liars.plan()
    for name in liars.names:
        liars.contribute(name, np.zeros(3))
    for seat in (1, 2):
        sent, liar = liars.now.contributions["client-02"], liars.clients["client-02"]
        liars.receive(with_box(sent, seat, bytes(len(sent.boxes[seat - 1])), liar.identity_key))
    liars.close()
    for name in liars.names[:2]:
        liars.complain(name)
    bundle_of(liars, path=path)
    told = audit("trail", "1", "--log", path).output
    assert "3. client-00 complained" in told
    assert "What was sealed for it by client-02 does not open." in told
    assert "5. client-02 was convicted" in told


def test_a_proof_can_be_handed_on(audit: Callable[..., Result], file: Path, made: Federation) -> None:
    done = audit("prove", "1", "--log", file)
    assert "Prior 1 of engines (averaged), made of 5 updates and computed again bit for bit" in done.output
    assert "4 members of round 4 of engines cosigned a log that holds it" in done.output
    assert "no member has cosigned a log that holds it yet" in audit("prove", "3", "--log", file).output
    proof = json.loads(audit("prove", "1", "--log", file, "--json").output)
    key = canonical.from_text(proof["service_key"])
    seen = open_position(proof["checkpoint"], key)
    hashes = [canonical.from_text(value) for value in proof["hashes"]]
    raw = canonical.from_text(proof["leaf"])
    merkle.verify_inclusion(merkle.leaf_hash(raw), proof["index"], seen.size, hashes, seen.root)
    leaf = entries.decode(raw)
    assert isinstance(leaf, entries.PriorPublished)
    assert list(leaf.prior.message.theta) == proof["theta"] == list(made.priors[1].theta)
    # Whatever the order of checkpoints in a bundle, the proof leads to the one that it names.
    whole = Bundle(
        made.anchors.service_key, (note_of(made, made.log.leaves[:20]), proof["checkpoint"]), bundle_of(made).leaves
    )
    file.write_bytes(b"".join(Bundle(whole.service_key, whole.notes[::-1], whole.leaves).lines()))
    assert json.loads(audit("prove", "1", "--log", file, "--json").output) == proof
    assert proof["cosigned_by"] == [f"engines/client-0{number}" for number in range(4)]


def test_a_prior_that_waits_for_its_witnesses_is_told_apart(audit: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "asking.jsonl"
    # Four of five opened in the round after prior 1, and none in one after prior 3.
    for wanted, version, counts in ((4, 1, True), (4, 3, False), (5, 1, False), (0, 3, True)):
        bundle_of(_asking(wanted), path=path)
        told = json.loads(audit("prove", str(version), "--log", path, "--json").output)
        assert (told["witnesses"], told["counts"]) == (wanted, counts)
        output = audit("prove", str(version), "--log", path).output
        assert (f"asks for {wanted} witnesses: by this log the prior counts as published" in output) == (
            counts and wanted > 0
        )
        assert ("the prior does not count yet as published" in output) == (not counts)


@cache
def _asking(witnesses: int) -> Federation:
    return played(witnesses=witnesses)


def test_two_checkpoints(
    audit: Callable[..., Result], made: Federation, file: Path, kept: Path, tmp_path: Path
) -> None:
    raw, other = made.log.leaves, tmp_path / "other.txt"
    other.write_text(note_of(made, raw[:30]), encoding="utf-8")
    done = audit("compare", other, kept, "--log", file)
    assert (done.exit_code, "with 10 more entries" in done.output) == (0, True)
    assert "the same checkpoint" in audit("compare", kept, kept, "--log", file).output
    # A fork of the same size tells by itself, of another size by the log.
    fork = [*raw[:10], state("resumed").encode(), *raw[11:]]
    other.write_text(note_of(made, fork[:20]), encoding="utf-8")
    done = audit("compare", other, kept, "--log", file)
    assert (done.exit_code, "two histories: the aggregator signed 20 leaves" in done.output) == (1, True)
    other.write_text(note_of(made, fork[:30]), encoding="utf-8")
    assert audit("compare", other, kept, "--log", file).exit_code == 1
    # A bundle that is too short tells nothing.
    other.write_text(note_of(made, [*raw, raw[0]]), encoding="utf-8")
    assert audit("compare", other, kept, "--log", file).exit_code == 3


def test_a_checkpoint_of_another_aggregator(audit: Callable[..., Result], file: Path, tmp_path: Path) -> None:
    stranger, path = Federation(4), tmp_path / "stranger.txt"
    path.write_text(note_of(Federation(4, seed=2), stranger.log.leaves), encoding="utf-8")
    for command in (("verify", "--checkpoint", path), ("compare", path, path)):
        done = audit(*command, "--log", file)
        assert (done.exit_code, "that is another log" in done.output) == (1, True)


def test_an_export_carries_the_checkpoints_that_were_held(
    audit: Callable[..., Result], file: Path, kept: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    done = audit("export", out, "--log", file, "--checkpoint", kept)
    assert (done.exit_code, "2 checkpoints" in done.output) == (0, True)
    with out.open("rb") as raw:
        assert Bundle.read(raw).positions()[0].size == 20
    assert audit("verify", "--log", out).exit_code == 0


@pytest.mark.parametrize("command", ["", "fetch", "verify", "trail", "prove", "compare", "export"])
def test_every_command_explains_itself(audit: Callable[..., Result], command: str) -> None:
    done = audit(*([command] if command else []), "--help")
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 8
