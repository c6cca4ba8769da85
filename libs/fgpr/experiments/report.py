"""The report: one Markdown page with every table beside the paper's figures, targets met and missed, and pictures."""

from collections.abc import Sequence
from pathlib import Path

from fgpr.experiments import paper, pictures
from fgpr.experiments.catalogue import EXPERIMENTS
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Judged, Table, judge, summarise
from fgpr.experiments.rates import judge_rates
from fgpr.experiments.records import Record, read_records

PAGE = "experiments.md"
PICTURES = "experiments"
"""Folder of the pictures, beside the page."""


def write_report(files: Sequence[Path], folder: Path, command: str, introduction: str = "") -> list[Judged]:
    """Write the page and its pictures.

    Args:
        files: of records.
        folder: for the page.
        command: that made the records, for the page.
        introduction: Markdown that comes first.

    Returns:
        All targets of the experiments that have records.

    Raises:
        DataError: a file holds something else than records.
    """
    records = read_records(files)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    lines = ["# The paper's evaluation, run here", "", *introduction.splitlines(), "", *_preface(records, command)]
    targets: list[Judged] = []
    for experiment in EXPERIMENTS.values():
        own = [record for record in records if record.cell.experiment == experiment.name]
        if not own:
            continue
        lines += [f"## {experiment.title}", ""]
        table = summarise(experiment, own)
        lines += _table(experiment, table)
        judged = [*judge(experiment, table), *judge_rates(experiment, own)]
        targets += judged
        lines += _targets(judged)
        failed = [record for record in own if record.error]
        if failed:
            lines += [f"{len(failed)} runs failed; the first: {failed[0].error}", ""]
        lines += pictures.words(experiment, own)
        lines += pictures.draw(experiment, own, folder / PICTURES)
    (folder / PAGE).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return targets


def _preface(records: Sequence[Record], command: str) -> list[str]:
    seconds = sum(record.seconds for record in records)
    versions = sorted({f"{name} {version}" for record in records for name, version in record.versions.items()})
    return [
        "## How to read the figures",
        "",
        "Means over seeds; behind +- the standard deviation over seeds, in brackets the paper's own figure.",
        f"{len(records)} runs, {seconds / 3600:.1f} CPU hours, on {', '.join(versions)}.",
        "",
        "```console",
        *(f"$ {line}" for line in command.splitlines()),
        "```",
        "",
    ]


def _table(experiment: Experiment, table: Table) -> list[str]:
    lines: list[str] = []
    for variant in experiment.variants:
        rows = []
        for system in experiment.systems:
            cells = [_cell(experiment, table, variant, item, system.name) for item in experiment.items]
            if any(cells):
                rows.append(f"| {system.title} | " + " | ".join(cell or "" for cell in cells) + " |")
        if rows:
            lines += [f"### {variant}", ""] if variant else []
            lines += ["| | " + " | ".join(experiment.items) + " |", "|---" * (len(experiment.items) + 1) + "|"]
            lines += [*rows, ""]
            counts = sorted({entry.seeds for key, entry in table.items() if key[0] == variant})
            lines += [f"Seeds a figure: {' or '.join(map(str, counts))}, from {experiment.first_seed} on.", ""]
    return lines


def _cell(experiment: Experiment, table: Table, variant: str, item: str, system: str) -> str:
    entry = table.get((variant, item, system))
    if entry is None:
        return ""
    text = _number(entry.mean) + (f" +- {_number(entry.sd)}" if entry.seeds > 1 else "")
    if entry.inner is not None:
        text += f", sd {_number(entry.inner)}"
    published = paper.figure(experiment.name, item, system)
    return text if published is None else f"{text} ({_number(published.mean)})"


def _number(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def _targets(judged: Sequence[Judged]) -> list[str]:
    if not judged:
        return []
    lines = ["| target | measured | wanted | |", "|---|---|---|---|"]
    for one in judged:
        value = "not measured" if one.value is None else f"{one.value:.4g} ({one.seeds} seeds)"
        verdict = "" if one.met is None else "met" if one.met else "**missed**"
        lines.append(f"| {one.name} | {value} | {one.target} | {verdict} |")
    return [*lines, ""]
