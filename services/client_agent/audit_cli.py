"""The command line of an auditor: `fgpr-audit`, or `python -m client_agent.audit_cli` (docs/audit-trail.md)."""

from pathlib import Path
from typing import Annotated

import typer

from client_agent import audit_report as report
from client_agent import audited_log, round_story
from client_agent.auditing import Audit, Source, audited, held_checkpoints, one_federation, opened, proof_of, telling
from client_agent.command_line import DEFAULT_HOME
from fgpr import merkle
from fgpr.auditlog.bundle import Bundle, check_key, fingerprint, open_position, verify_bundle
from fgpr.errors import DataError, UnknownResource, VerificationError

app = typer.Typer(
    help="Check what an FGPR aggregator did, from its audit log. Nothing that it says is believed; a checkpoint that "
    "you kept is all you need to hold.\n\n"
    "The log is a list of entries to which the aggregator can add, and of which it can change nothing without that "
    "showing: a checkpoint is a fingerprint of all entries so far, signed. Keep one outside, and it is found whenever "
    "one of these entries is changed later, missing, or another one in a second history or a restored backup.\n\n"
    "Exit status: 0 all of it holds, 1 something does not hold, 2 the command is mistyped, 3 it could not be checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        help="Address of the aggregator, or a bundle file (then no server is asked).",
        show_default="the aggregator of --home",
    ),
]
Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="FGPR_HOME",
        help="An agent's home: its keys and the checkpoint it keeps count as held, too.",
        show_default="~/.fgpr",
        readable=False,
    ),
]
Checkpoints = Annotated[
    list[Path] | None,
    typer.Option(
        "--checkpoint",
        help="File with a checkpoint that you kept, or a bundle of then; may be given several times.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--service-key", help="The aggregator's public key in base64, where you have it from elsewhere."),
]
Federation = Annotated[
    str | None, typer.Option("--federation", help="Which federation.", show_default="the only one in the log")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.command()
def fetch(
    file: Annotated[Path, typer.Argument(help="Bundle file; made, or continued where it is there.")],
    log: Log = None,
    home: Home = DEFAULT_HOME,
    checkpoint: Checkpoints = None,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Download the log into a bundle file, or what has come since.

    Every visit demands a proof that the log continues what the file, and every checkpoint given, holds. A log that went
    back or is another one is refused, the file stays as it is, and both sides are told.
    """
    source = Source(log, home, checkpoint or [], service_key)
    with telling():
        if log is not None and not audited_log.is_address(log):
            raise DataError("fetch asks an aggregator: give its address with --log")
        before = audited_log.read(file) if file.exists() else None
        with opened(source, None if before is None else before.service_key) as server:
            key, note, newest = server.newest()
            held = held_checkpoints(source, key)
            own = () if before is None else before.positions()
            for position in [*own, *(one.position for one in held)]:
                server.check_continues(position, newest)
            had = () if before is None else before.leaves
            leaves = (*had, *server.leaves(len(had), newest.size))
        notes = tuple(dict.fromkeys((*(() if before is None else before.notes), note)))
        bundle = Bundle(key, notes, leaves)
        trail = verify_bundle(bundle, [one.position for one in held])
        audited_log.write(file, bundle)
        report.fetched(file, Audit(bundle, trail, tuple(held)), len(leaves) - len(had), as_json=as_json)


@app.command()
def verify(
    log: Log = None,
    home: Home = DEFAULT_HOME,
    checkpoint: Checkpoints = None,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Verify the whole log from its first entry.

    Every signature, every plan drawn anew from the federation's settings, every step of every round, and every
    published prior computed again from the logged sum, bit for bit; and that the log is the one of each checkpoint that
    is held.
    """
    with telling():
        report.verified(audited(Source(log, home, checkpoint or [], service_key)), as_json=as_json)


@app.command()
def trail(
    number: Annotated[int, typer.Argument(metavar="ROUND", help="Number of the round.", min=1)],
    log: Log = None,
    home: Home = DEFAULT_HOME,
    federation: Federation = None,
    checkpoint: Checkpoints = None,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Tell the story of one round: who was invited, contributed and opened, what was published, each with its proof."""
    with telling():
        audit = audited(Source(log, home, checkpoint or [], service_key))
        name = one_federation(audit.trail, federation)
        report.story(audit, name, number, round_story.tell(audit.trail, name, number), as_json=as_json)


@app.command()
def prove(
    version: Annotated[int, typer.Argument(metavar="PRIOR", help="Version of the prior.", min=0)],
    log: Log = None,
    home: Home = DEFAULT_HOME,
    federation: Federation = None,
    checkpoint: Checkpoints = None,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Prove that a prior was published: its entry, the way from there to the signed checkpoint, and its numbers.

    With --json the proof can be handed on: leaf, place, hashes (RFC 6962) and checkpoint are all that anybody needs to
    check it.
    """
    with telling():
        audit = audited(Source(log, home, checkpoint or [], service_key))
        name = one_federation(audit.trail, federation)
        if (name, version) not in audit.trail.priors:
            newest = audit.trail.newest_prior(name)
            told = "none yet" if newest is None else f"versions 0 to {newest.version}"
            raise UnknownResource(f"the log has no prior {version} of {name}; it tells of {told}")
        _, place = audit.trail.priors[name, version]
        report.proven(audit, name, version, proof_of(audit, place), as_json=as_json)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="File with a checkpoint.")],
    second: Annotated[Path, typer.Argument(help="File with another one, perhaps somebody else's.")],
    log: Log = None,
    home: Home = DEFAULT_HOME,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Compare two checkpoints: is one log behind both, or did the aggregator show two histories?

    Of the same size they tell at once. Of different sizes a log is needed, whose proof is checked: --log, a bundle or
    the aggregator.
    """
    with telling():
        notes = [audited_log.read_checkpoint(path) for path in (first, second)]
        source = Source(log, home, [], service_key)
        key, whole = _key_behind(source, notes)
        earlier, later = sorted((open_position(note, key) for note in notes), key=lambda one: one.size)
        if earlier.size == later.size and earlier.root != later.root:
            raise VerificationError(
                f"two histories: the aggregator signed {fingerprint(earlier)} and {fingerprint(later)}. Keep both "
                "files: together they prove it"
            )
        if earlier.size != later.size:
            if isinstance(whole, Bundle):
                tree = merkle.Tree(merkle.leaf_hashes(whole.leaves))
                if tree.size < later.size:
                    raise DataError(f"the bundle has {tree.size} leaves, too few for a checkpoint of {later.size}")
                proof = merkle.consistency_proof(earlier.size, later.size, tree.node)
                merkle.verify_consistency(earlier.size, earlier.root, later.size, later.root, proof)
            else:
                with opened(source, key) as server:
                    server.check_continues(earlier, later)
        report.compared(earlier, later, as_json=as_json)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    log: Log = None,
    home: Home = DEFAULT_HOME,
    checkpoint: Checkpoints = None,
    service_key: Key = None,
    as_json: Json = False,
) -> None:
    """Write the verified log as a bundle that anybody can verify without a server.

    JSON lines: the first has the service key and the checkpoints, those that you hold among them; each further one is
    an entry, byte for byte.
    """
    with telling():
        audit = audited(Source(log, home, checkpoint or [], service_key))
        kept = [one.note for one in audit.held if one.note is not None]
        notes = tuple(dict.fromkeys([*kept, *audit.bundle.notes]))
        whole = Bundle(audit.bundle.service_key, notes, audit.bundle.leaves)
        audited_log.write(file, whole)
        report.exported(file, Audit(whole, audit.trail, audit.held), as_json=as_json)


def _key_behind(source: Source, notes: list[str]) -> tuple[bytes, Bundle | None]:
    """The service key under which checkpoints are to be read, and the bundle where that is the source."""
    if source.log is not None and not audited_log.is_address(source.log):
        bundle = audited_log.read(Path(source.log))
        check_key(notes[0], bundle.service_key)
        return bundle.service_key, bundle
    known = source.known_key()
    if known is not None:
        return known, None
    with opened(source, None) as server:
        key = server.newest()[0]
        check_key(notes[0], key)
        return key, None


if __name__ == "__main__":
    app()
