"""What `fgpr-audit` prints, for people and as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from client_agent import round_story
from client_agent.auditing import Audit, Proof, proof_of
from client_agent.round_story import Chapter
from fgpr import canonical, merkle
from fgpr.auditlog.bundle import fingerprint
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.stages import Stage


def verified(audit: Audit, *, as_json: bool) -> None:
    """A whole log that holds."""
    facts = _facts(audit)
    if as_json:
        _print(facts)
        return
    console = _console()
    console.print(f"All of it holds: {facts['entries']} entries of {audit.bundle.name}")
    console.print(_federations(audit))
    console.print(f"newest checkpoint: {fingerprint(_newest(audit))}")
    _tell_held(console, audit)
    if audit.trail.witnessed:
        last = audit.trail.witnessed[-1]
        members = f"{len(last.clients)} members of round {last.round[1]} of {last.round[0]}"
        console.print(f"last cosigned by {members}: {fingerprint(last.position)}")


def fetched(file: Path, audit: Audit, new: int, *, as_json: bool) -> None:
    """A bundle that was brought up to date."""
    if as_json:
        _print(_facts(audit) | {"file": str(file), "new": new})
        return
    console = _console()
    console.print(f"{file}: {new} new entries, {len(audit.bundle.leaves)} in all; the log holds, whole")
    _tell_held(console, audit)


def exported(file: Path, audit: Audit, *, as_json: bool) -> None:
    """A bundle that was written."""
    if as_json:
        _print(_facts(audit) | {"file": str(file)})
        return
    _console().print(
        f"{file}: {len(audit.bundle.leaves)} entries and {len(audit.bundle.notes)} checkpoints; "
        f"check it with fgpr-audit verify --log {file}"
    )


def compared(earlier: LogPosition, later: LogPosition, *, as_json: bool) -> None:
    """Two checkpoints of one log."""
    new = later.size - earlier.size
    if as_json:
        _print({"holds": True, "earlier": earlier.to_json(), "later": later.to_json(), "new": new})
    elif new:
        _console().print(f"One log: {fingerprint(later)} continues {fingerprint(earlier)} with {new} more entries")
    else:
        _console().print(f"One log, the same checkpoint: {fingerprint(earlier)}")


def story(audit: Audit, federation: str, number: int, chapters: Sequence[Chapter], *, as_json: bool) -> None:
    """A round, chapter by chapter, and how each is proven."""
    proofs = {chapter.entry: proof_of(audit, chapter.entry) for chapter in chapters if chapter.entry is not None}
    newest = _newest(audit)
    if as_json:
        told = [
            {
                "title": chapter.title,
                "told": list(chapter.told),
                "entry": chapter.entry,
                "proof": None if chapter.entry is None else _proof(proofs[chapter.entry]),
            }
            for chapter in chapters
        ]
        _print({"federation": federation, "round": number, "chapters": told, "checkpoint": newest.to_json()})
        return
    console = _console()
    console.print(Text(f"Round {number} of {federation}", style="bold"))
    console.print(
        "From the aggregator's log. An entry cannot be changed or left out afterwards without that showing: the "
        f"fingerprint of all {newest.size} entries together is signed, and it comes out the same when it is computed "
        "again here."
    )
    for count, chapter in enumerate(chapters, start=1):
        where = "" if chapter.entry is None else f"  [entry {chapter.entry}]"
        console.print()
        console.print(Text(f"{count}. {chapter.title}", style="bold").append(where, style="not bold dim"))
        for line in chapter.told:
            console.print(Padding(Text(line), (0, 0, 0, 3)))
    console.print()
    console.print(_proofs(proofs, newest))
    _tell_held(console, audit)


def proven(audit: Audit, federation: str, version: int, proof: Proof, *, as_json: bool) -> None:
    """A prior with the way from its entry to the checkpoint."""
    signed, _ = audit.trail.priors[federation, version]
    newest, record = _newest(audit), signed.message
    witnesses = [one for one in audit.trail.witnessed if one.position.size > proof.place and one.round[0] == federation]
    wanted = audit.trail.federations[federation].settings.witnesses
    counts = not wanted or any(len(one.clients) >= wanted for one in witnesses)
    if as_json:
        _print(
            _proof(proof)
            | {
                "federation": federation,
                "prior": version,
                "theta": list(record.theta),
                "checkpoint": audit.bundle.newest,
                "service_key": canonical.to_text(audit.bundle.service_key),
                "cosigned_by": sorted({f"{one.round[0]}/{name}" for one in witnesses for name in one.clients}),
                "witnesses": wanted,
                "counts": counts,
            }
        )
        return
    console = _console()
    made = "" if record.opened is None else f", made of {record.opened.clients} updates and computed again bit for bit"
    console.print(Text(f"Prior {version} of {federation} ({record.reason}){made}", style="bold"))
    for line in round_story.numbers(record):
        console.print(Padding(Text(line), (0, 0, 0, 3)))
    console.print(f"It is entry {proof.place} of the log of {newest.size}. The way from it to the signed fingerprint:")
    for level, value in enumerate(proof.hashes):
        console.print(Padding(Text(f"{level:2}  {canonical.to_text(value)}"), (0, 0, 0, 3)))
    console.print(f"ends at the root of the newest checkpoint: {fingerprint(newest)}")
    if witnesses:
        first = witnesses[0]
        console.print(
            f"{len(first.clients)} members of round {first.round[1]} of {first.round[0]} cosigned a log that holds it"
        )
    else:
        console.print("no member has cosigned a log that holds it yet: that comes with the openings of the next round")
    if wanted:
        does = "counts" if counts else "does not count yet"
        console.print(f"the federation asks for {wanted} witnesses: by this log the prior {does} as published")
    _tell_held(console, audit)


def _proofs(proofs: dict[int, Proof], newest: LogPosition) -> Table:
    title = f"Each entry leads to the same signed root, {canonical.to_text(newest.root)}"
    table = Table("entry", "its own fingerprint", "hashes to the root", "", title=title, title_justify="left")
    for place, proof in proofs.items():
        own = merkle.leaf_hash(proof.leaf).hex()[:16]
        table.add_row(str(place), f"{own}...", str(len(proof.hashes)), "leads there")
    return table


def _federations(audit: Audit) -> Table:
    table = Table("federation", "clients", "rounds", "published", "void", "carried", "priors", "state")
    for name in sorted(audit.trail.federations):
        stages = [stage for (federation, _), stage in audit.trail.stages.items() if federation == name]
        priors = [key for key in audit.trail.priors if key[0] == name]
        clients = [party for party, role in audit.trail.roles.items() if party[0] == name and role == "client"]
        counts = [stages.count(stage) for stage in (Stage.PUBLISHED, Stage.VOID, Stage.CARRIED)]
        state = audit.trail.states[name]
        table.add_row(name, str(len(clients)), str(len(stages)), *map(str, counts), str(len(priors)), state)
    return table


def _facts(audit: Audit) -> dict[str, Any]:
    trail = audit.trail
    return {
        "holds": True,
        "log": audit.bundle.name,
        "entries": len(audit.bundle.leaves),
        "checkpoint": _newest(audit).to_json(),
        "held": [{"where": one.where, **one.position.to_json()} for one in audit.held],
        "federations": {
            name: {
                "state": trail.states[name],
                "rounds": trail.newest_round(name),
                "priors": sum(key[0] == name for key in trail.priors),
                "recomputed": sum(
                    key[0] == name and signed.message.opened is not None for key, (signed, _) in trail.priors.items()
                ),
            }
            for name in sorted(trail.federations)
        },
        "cosigned": [
            {"size": one.position.size, "federation": one.round[0], "round": one.round[1], "clients": list(one.clients)}
            for one in trail.witnessed[-1:]
        ],
    }


def _newest(audit: Audit) -> LogPosition:
    return LogPosition(size=audit.trail.tree.size, root=audit.trail.tree.root())


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "index": proof.place,
        "leaf": canonical.to_text(proof.leaf),
        "hashes": [canonical.to_text(value) for value in proof.hashes],
    }


def _tell_held(console: Console, audit: Audit) -> None:
    for one in audit.held:
        console.print(f"continues the checkpoint held in {one.where}: {fingerprint(one.position)}")
    if not audit.held:
        console.print(
            "No checkpoint was held outside: this shows that the log is sound in itself, not that it is the one that "
            "others see. Keep a copy of the bundle, or of what /v1/log/checkpoint answers, where the aggregator's "
            "operator cannot write, and give it with --checkpoint the next time."
        )


def _console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def _print(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))
