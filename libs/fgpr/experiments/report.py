"""The report: one Markdown page with every table beside the paper's figures, targets met and missed, and pictures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fgpr.experiments import paper, pictures
from fgpr.experiments.catalogue import EXPERIMENTS
from fgpr.experiments.current import check_curves, sort_out
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.hours import words_of_hours
from fgpr.experiments.judged import Entry, Judged, Table, judge, summarise
from fgpr.experiments.rates import judge_rates
from fgpr.experiments.records import Record, read_records
from fgpr.experiments.sharing import words_of_sharing

PAGE = "experiments.md"
PICTURES = "experiments"
"""Folder of the pictures, beside the page."""


class Written(NamedTuple):
    """What a report says.

    Attributes:
        targets: of the experiments that have records.
        left_out: by experiment, how many cells have only records of other settings than the present ones.
    """

    targets: list[Judged]
    left_out: Counter[str]


def write_report(files: Sequence[Path], folder: Path, command: str, introduction: str = "") -> Written:
    """Write the page and its pictures.

    Args:
        files: of records.
        folder: for the page.
        command: that made the records, for the page.
        introduction: Markdown that comes first.

    Raises:
        DataError: a file holds something else than records.
    """
    records, left_out = sort_out(read_records(files))
    check_curves(records)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    lines = [
        "# The paper's evaluation, run here",
        "",
        *introduction.splitlines(),
        "",
        *_preface(records, left_out, command),
    ]
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
        lines += words_of_sharing(experiment, table)
        failed = [record for record in own if record.error]
        if failed:
            lines += [f"{len(failed)} runs failed; the first: {failed[0].error}", ""]
        lines += pictures.words(experiment, own)
        lines += pictures.draw(experiment, own, folder / PICTURES)
    # The error of a run may name a file whose name is no text.
    (folder / PAGE).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", errors="backslashreplace")
    return Written(targets, left_out)


def _preface(records: Sequence[Record], left_out: Counter[str], command: str) -> list[str]:
    seconds = sum(record.seconds for record in records)
    versions = sorted({f"{name} {version}" for record in records for name, version in record.versions.items()})
    return [
        "## How to read the figures",
        "",
        "Means over seeds; behind +- the standard deviation over seeds (of ratios an interval),",
        "in round brackets the paper's own figure.",
        f"{len(records)} runs, {seconds / 3600:.1f} CPU hours, on {', '.join(versions)}.",
        *([f"Left out, since their settings are not the present ones: {counted(left_out)}."] if left_out else []),
        "",
        "```console",
        *(f"$ {line}" for line in command.splitlines()),
        "```",
        "",
        *words_of_hours(EXPERIMENTS.values(), records),
    ]


def counted(left_out: Counter[str]) -> str:
    """How many runs of which experiment, in words."""
    return ", ".join(f"{count} of {name}" for name, count in sorted(left_out.items()))


def _table(experiment: Experiment, table: Table) -> list[str]:
    lines: list[str] = []
    for variant in experiment.variants:
        rows = []
        most = max((entry.seeds for key, entry in table.items() if key[0] == variant), default=0)
        for system in experiment.systems:
            cells = [
                _cell(table.get((variant, item, system.name)), paper.figure(experiment.name, item, system.name), most)
                for item in experiment.items
            ]
            if any(cells):
                rows.append(f"| {system.title} | " + " | ".join(cell or "" for cell in cells) + " |")
        if rows:
            lines += [f"### {variant}", ""] if variant else []
            lines += ["| | " + " | ".join(experiment.items) + " |", "|---" * (len(experiment.items) + 1) + "|"]
            lines += [*rows, "", *_seeds(experiment, table, variant, most)]
    return lines


def _seeds(experiment: Experiment, table: Table, variant: str, most: int) -> list[str]:
    """The sentence below a table that says how many seeds its figures have."""
    own = {key: entry for key, entry in table.items() if key[0] == variant}
    told = f"{most} seed{'s' if most > 1 else ''} a figure, from {experiment.first_seed} on"
    if any(_fewer(entry, most) for entry in own.values()):
        told += "; a number in square brackets says how many a figure has that has fewer"
    fixed = [
        system.title
        for system in experiment.systems
        if any(key[2] == system.name and entry.deterministic for key, entry in own.items())
    ]
    told += f". Nothing is random in {'; '.join(fixed)}: one run stands for all seeds" if fixed else ""
    return [f"{told}.", ""]


def _fewer(entry: Entry, most: int) -> bool:
    return entry.seeds < most and not entry.deterministic


def _cell(entry: Entry | None, published: paper.Figure | None, most: int) -> str:
    if entry is None:
        return ""
    text = _number(entry.mean) + ("" if entry.sd is None else f" +- {_number(entry.sd)}")
    if entry.inner is not None:
        text += f", sd {_number(entry.inner)}"
    if _fewer(entry, most):
        text += f" [{entry.seeds}]"
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
