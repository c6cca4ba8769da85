"""The suite against mutants: each runs in a copy of the tree, and the part of the suite that it concerns turns red."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.mutant import Mutant, mutants
from mutants.tree import ROOT, Tree

PACKAGE = Path("libs/fgpr/secagg")
LOG = Path("libs/fgpr/auditlog")
ELSEWHERE = {
    "merkle": Path("libs/fgpr/merkle.py"),
    "publication": Path("libs/fgpr/federated/publication.py"),
    **{
        name: LOG / f"{name}.py"
        for name in (
            "note",
            "checkpoint",
            "cosignature",
            "entries",
            "trail",
            "verification",
            "bundle",
            "positions",
            "membership_leaves",
            "round_leaves",
            "planned",
            "prior_leaves",
        )
    },
    "rotation": Path("libs/fgpr/rotation.py"),
    "admission": Path("services/aggregator/service/admission.py"),
    "replacing": Path("services/aggregator/service/rotation.py"),
}
"""Modules with checks that lie outside of PACKAGE."""

TESTS: dict[str, tuple[str, ...]] = {
    "committee": ("tests/fgpr/secagg/test_committee.py",),
    "planning": ("tests/fgpr/secagg/test_planning.py",),
    "encoding": ("tests/fgpr/secagg/test_encoding.py",),
    "shamir": ("tests/fgpr/secagg/test_shamir.py",),
    "envelope": ("tests/fgpr/secagg/test_envelope.py",),
    "contributor": ("tests/fgpr/secagg/test_contributor.py",),
    "checked_plan": (
        "tests/fgpr/secagg/test_checked_plan_refusals.py",
        "tests/fgpr/secagg/test_checked_plan.py",
        "tests/fgpr/secagg/test_checked_draws.py",
        "tests/fgpr/secagg/test_privacy_checks.py",
        "tests/fgpr/secagg/test_suites.py",
        "tests/fgpr/secagg/test_group_refusals.py",
        "tests/protocol/test_one_sum_a_version.py",
        "tests/fgpr/secagg/test_pinned_peers.py",
    ),
    "floor_checks": (
        "tests/fgpr/secagg/test_floor_checks.py",
        "tests/fgpr/secagg/test_checked_plan_refusals.py",
        "tests/fgpr/secagg/test_group_refusals.py",
    ),
    "pinned_peers": ("tests/fgpr/secagg/test_pinned_peers.py",),
    "checked_draws": (
        "tests/fgpr/secagg/test_checked_draws.py",
        "tests/fgpr/secagg/test_checked_plan_refusals.py",
        "tests/fgpr/secagg/test_group_refusals.py",
    ),
    "declared_weight": ("tests/fgpr/secagg/test_declared_weight.py",),
    "weighted_draw": ("tests/fgpr/secagg/test_weighted_draw.py", "tests/fgpr/secagg/test_weighted_corrupt.py"),
    "weighting": ("tests/fgpr/secagg/test_weighting.py",),
    "roster": ("tests/fgpr/secagg/test_roster.py",),
    "member": (
        "tests/fgpr/secagg/test_member_refusals.py",
        "tests/fgpr/secagg/test_member.py",
        "tests/protocol/test_two_cohorts.py",
        "tests/protocol/test_opened_and_void.py",
        "tests/fgpr/secagg/test_group_refusals.py",
    ),
    "seat_keys": ("tests/fgpr/secagg/test_checked_plan_refusals.py", "tests/fgpr/secagg/test_suites.py"),
    "privacy_checks": ("tests/fgpr/secagg/test_privacy_checks.py",),
    "privacy": ("tests/fgpr/secagg/test_privacy.py",),
    "differences": ("tests/fgpr/secagg/test_differences.py",),
    "discrete_gaussian": ("tests/fgpr/secagg/test_discrete_gaussian.py",),
    "log_span": ("tests/fgpr/secagg/test_member_refusals.py", "tests/protocol/test_revocations.py"),
    "void_proof": ("tests/fgpr/secagg/test_void_proof.py", "tests/protocol/test_opened_and_void.py"),
    "complaint": ("tests/fgpr/secagg/test_complaint.py",),
    "opening": (
        "tests/fgpr/secagg/test_opening.py",
        "tests/fgpr/secagg/test_closing.py",
        "tests/fgpr/secagg/test_suites.py",
        "tests/fgpr/secagg/test_group_openings.py",
    ),
    "groups": ("tests/fgpr/secagg/test_groups.py",),
    "combination": ("tests/fgpr/secagg/test_combination.py",),
    "witnessing": ("tests/fgpr/secagg/test_witnessing.py",),
    "merkle": ("tests/fgpr/test_merkle.py",),
    "publication": (
        "tests/fgpr/federated/test_publication.py",
        "tests/protocol/test_trust_region.py",
        "tests/protocol/test_differential_privacy.py",
    ),
    "note": ("tests/fgpr/auditlog/test_note.py",),
    "checkpoint": ("tests/fgpr/auditlog/test_checkpoint.py",),
    "cosignature": ("tests/fgpr/auditlog/test_cosignature.py",),
    "entries": ("tests/fgpr/auditlog/test_entries.py",),
    "trail": ("tests/fgpr/auditlog/test_membership_leaves.py",),
    "verification": ("tests/fgpr/auditlog/test_verification.py",),
    "bundle": ("tests/fgpr/auditlog/test_bundle.py",),
    "positions": ("tests/fgpr/auditlog/test_planned.py",),
    "membership_leaves": ("tests/fgpr/auditlog/test_membership_leaves.py", "tests/fgpr/auditlog/test_planned.py"),
    "round_leaves": ("tests/fgpr/auditlog/test_round_leaves.py", "tests/fgpr/auditlog/test_planned.py"),
    "planned": ("tests/fgpr/auditlog/test_planned.py",),
    "prior_leaves": ("tests/fgpr/auditlog/test_prior_leaves.py",),
    "rotation": ("tests/fgpr/auditlog/test_membership_leaves.py",),
    "admission": (
        "tests/aggregator/routes/test_roles.py",
        "tests/aggregator/routes/test_key_replacement.py",
        "tests/aggregator/routes/test_closed_log.py",
    ),
    "replacing": (
        "tests/aggregator/routes/test_key_replacement.py",
        "tests/aggregator/routes/test_declared_weight_of_a_new_key.py",
    ),
}
"""The part of the suite that has to notice, for each module with checks."""


def place_of(module: str) -> Path:
    """Where a module lies in the tree."""
    return ELSEWHERE.get(module, PACKAGE / f"{module}.py")


@dataclass(frozen=True)
class Verdict:
    """What the suite said to one mutant."""

    mutant: Mutant
    killed: bool


class Memory:
    """Verdicts of earlier runs, by what they depend on: a campaign that was broken off goes on where it was."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, bool] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._sources = _sources("libs/fgpr", "tests/support", "tests/fgpr", "tests/protocol")
        self._services = _sources("services", "migrations", "tests/aggregator")

    def key(self, mutant: Mutant) -> str:
        """What a verdict depends on: all the code and tests, and the mutant."""
        services = self._services if any("aggregator" in test for test in TESTS[mutant.module]) else ""
        return _digest([self._sources, services, mutant.module, mutant.source, *TESTS[mutant.module]])

    def recall(self, mutant: Mutant) -> bool | None:
        """The verdict, where it is known."""
        return self._known.get(self.key(mutant))

    def note(self, mutant: Mutant, killed: bool) -> None:
        """Write a verdict down."""
        with self._lock:
            self._known[self.key(mutant)] = killed
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._known, indent=1), encoding="utf-8")


def all_mutants(modules: Iterable[str]) -> list[Mutant]:
    """Every mutant of these modules."""
    return [
        mutant
        for module in modules
        for mutant in mutants(module, (ROOT / place_of(module)).read_text(encoding="utf-8"))
    ]


def run(
    chosen: list[Mutant], memory: Memory, folder: Path, processes: int, on_verdict: Callable[[Verdict], None]
) -> list[Verdict]:
    """Try every mutant.

    Raises:
        RuntimeError: the suite is red without a mutant, or pytest broke off.
    """
    made = [Tree(folder / str(number)) for number in range(processes)]
    trees: SimpleQueue[Tree] = SimpleQueue()
    for tree in made:
        trees.put(tree)

    def judge(module: str, source: str) -> bool:
        tree = trees.get()
        try:
            return tree.run(place_of(module), source, TESTS[module]).red
        finally:
            trees.put(tree)

    def green(module: str) -> None:
        if judge(module, (ROOT / place_of(module)).read_text(encoding="utf-8")):
            raise RuntimeError(f"the tests of {module} are red without a mutant: {', '.join(TESTS[module])}")

    def verdict(mutant: Mutant) -> Verdict:
        known = memory.recall(mutant)
        if known is None:
            known = judge(mutant.module, mutant.source)
            memory.note(mutant, known)
        found = Verdict(mutant, known)
        on_verdict(found)
        return found

    with ExitStack() as stack, ThreadPoolExecutor(processes) as pool:
        for tree in made:
            stack.enter_context(tree)
        if any(memory.recall(mutant) is None for mutant in chosen):
            list(pool.map(green, dict.fromkeys(mutant.module for mutant in chosen)))
        return list(pool.map(verdict, chosen))


def _sources(*folders: str) -> str:
    return _digest(
        part
        for folder in folders
        for file in sorted((ROOT / folder).rglob("*.py"))
        for part in (str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))
    )


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()
