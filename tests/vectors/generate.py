"""Writes tests/vectors/protocol/: every message of the protocol from fixed keys and inputs.

    PYTHONPATH=libs:tests python tests/vectors/generate.py

All but the boxes comes out the same each time, on every machine. HPKE draws its own ephemeral keys, so boxes are kept:
one that is in boxes.json for the same plaintext, opening key and info is taken from there, and a new one is sealed only
where there is none.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fgpr import canonical
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.secagg import envelope
from fgpr.secagg.complaint import complain
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.encoding import Codec
from fgpr.secagg.messages import CohortView, VoidProof
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import RosterDraft
from fgpr.secagg.stages import Event
from fgpr.secagg.suites import SuiteName
from support.federation import Federation
from vectors import noised_round, replaced_keys, weighted_draws
from vectors.line import entry

FOLDER = Path(__file__).resolve().parent / "protocol"
VALUES = {
    "client-00": ((0.5, -1.0, 2.0), 7),
    "client-01": ((0.1, -0.9, 3.0), 192),
    "client-02": ((-50.0, 0.25, 50.0), 70_000),
    "client-03": ((0.0, 0.0, 0.0), 1),
    "client-04": ((1.0 / 3.0, -2.5, 1.0), 1_000),
}
"""What each client has: one outside all bounds, one above the weight cap."""

Vectors = dict[str, Any]
"""File name without its ending -> content."""


@dataclass
class Boxes:
    """Boxes that were kept, and those that are needed."""

    kept: dict[tuple[str, str, str], str]
    used: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def instead_of_sealing(self) -> Iterator[None]:
        """Take boxes from here where they are here."""
        seal = envelope.seal

        def keep(plaintext: bytes, opening_key: bytes, info: bytes, suite: SuiteName = "x25519") -> bytes:
            line = {
                "suite": suite,
                "info": info.decode(),
                "opening_key": canonical.to_text(opening_key),
                "plaintext": canonical.to_text(plaintext),
            }
            known = self.kept.get((line["info"], line["opening_key"], line["plaintext"]))
            box = canonical.from_text(known) if known is not None else seal(plaintext, opening_key, info, suite)
            self.used.append(line | {"box": canonical.to_text(box)})
            return box

        with patch.object(envelope, "seal", keep):
            yield


@dataclass
class Secrets:
    """Private halves by their public ones, and what was drawn for one contribution."""

    identities: dict[str, str] = field(default_factory=dict)
    openings: dict[str, str] = field(default_factory=dict)

    def note(self, made: Federation) -> None:
        """Remember the keys that the clients hold now."""
        for name, client in made.clients.items():
            self.identities[name] = canonical.to_text(client.identity_key.private_bytes_raw())
            for key in client.opening_keys.values():
                public = canonical.to_text(key.public_key().public_bytes_raw())
                self.openings[public] = canonical.to_text(key.private_bytes_raw())


def vectors(kept: list[dict[str, Any]]) -> Vectors:
    """All files.

    Args:
        kept: the content of boxes.json; empty for boxes that are all new.
    """
    boxes = Boxes({(line["info"], line["opening_key"], line["plaintext"]): line["box"] for line in kept})
    with boxes.instead_of_sealing():
        made = _messages() | {
            "hybrid": _hybrid(),
            "weighted": weighted_draws.vectors(),
            "groups": _groups(),
            "privacy": _privacy(),
            "rotation": replaced_keys.vectors(),
        }
    return made | {"boxes": boxes.used}


def text(content: object) -> str:
    """A file's content."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _messages() -> Vectors:
    """Five clients; the last one's key is not known in the first round, so that its seat is empty."""
    made, secrets = Federation(5, seed=2031), Secrets()
    late = made.keys.pop("client-04")
    first = _published_round(made, secrets)
    made.keys["client-04"] = late
    made.plan()
    for name in made.names:
        made.check(name)
    made.abort(Event.TOO_FEW_CONTRIBUTIONS)
    for name in made.names:
        made.open(name)
    secrets.note(made)
    void = made.now
    assert void.empty is not None
    proof = VoidProof(cohort=void.empty, openings=tuple(void.openings.values()))
    made.settle()
    made.plan()
    for name, (values, weight) in VALUES.items():
        made.contribute(name, np.array(values), weight)
    secrets.note(made)
    made.close()
    assert made.now.cohort is not None
    view = made.view("client-00", made.now.cohort)
    complaint = complain(
        made.check("client-00"), view, "client-00", made.clients["client-00"].identity_key, ["client-01"]
    )
    made.abort(Event.TOO_FEW_OPENINGS)
    made.settle()
    plans = [state.plan for state in made.rounds.values()]
    key = plans[0].message.seats[0].key
    assert key is not None
    priors = [Signed[PriorRecord].make(made.service_key, record) for record in made.priors]
    roster = made.roster.message
    draft = RosterDraft(
        federation=roster.federation, version=roster.version, clients=roster.clients, checkpoint=roster.checkpoint
    )
    return first | {
        "keys": {
            "service": canonical.to_text(made.service_key.private_bytes_raw()),
            "roster": canonical.to_text(made.roster_key.private_bytes_raw()),
            "identities": secrets.identities,
            "openings": secrets.openings,
        },
        "roster": [entry(made.roster), entry(roster), entry(roster.clients[0]), entry(draft)],
        "plan": [entry(plan) for plan in plans]
        + [entry(plan.message) for plan in plans]
        + [entry(seat) for seat in plans[0].message.seats[-2:]]
        + [entry(key), entry(key.message), entry(plans[0].message.checkpoint)],
        "void_proof": [entry(proof), entry(proof.cohort), entry(proof.openings[0])],
        "complaint": [entry(complaint), entry(complaint.message), entry(complaint.message.boxes[0])],
        "prior": [entry(prior) for prior in priors] + [entry(prior.message) for prior in priors],
    }


def _published_round(made: Federation, secrets: Secrets) -> Vectors:
    """The first round, from the plan to the opened sum."""
    made.plan()
    derivations = [_derived(made, name) for name in VALUES]
    secrets.note(made)
    made.close()
    state = made.now
    assert state.cohort is not None
    views: dict[str, CohortView] = {name: made.view(name, state.cohort) for name in made.names[:2]}
    # The member without a key stays silent.
    for name in made.names[:4]:
        made.open(name)
    secrets.note(made)
    sent, openings = dict(state.contributions), list(state.openings.values())
    made.finish()
    assert state.unmasked is not None
    cohort = state.cohort.message
    header = sent["client-00"].header
    return {
        "contribution": [entry(made) for made in sent.values()] + [entry(header), entry(header.message)],
        "derivation": derivations,
        "cohort": [entry(state.cohort), entry(cohort), entry(cohort.members[0])],
        "cohort_view": [entry(view) for view in views.values()] + [entry(views["client-00"].entries[0])],
        "opening": [entry(opening) for opening in openings] + [entry(openings[0].message)],
        "sum": {
            "vector": FIELD.to_text(state.unmasked.vector),
            "total_weight": state.unmasked.total_weight,
            "average": state.unmasked.average.tolist(),
        },
    }


def _derived(made: Federation, name: str) -> dict[str, Any]:
    """A contribution, step by step, from the client's numbers and the bytes that it drew."""
    values, weight = VALUES[name]
    drawn: list[bytes] = []
    with _recorded(made, drawn):
        made.contribute(name, np.array(values), weight)
    plan, sent = made.now.plan.message, made.now.contributions[name]
    encoded = Codec.from_json(plan.codec).encode(np.array(values), weight).vector
    mask = FIELD.sub(FIELD.from_bytes(sent.masked, encoded.size), encoded)
    return {
        "client": name,
        "values": list(values),
        "observations": weight,
        "encoded": FIELD.to_text(encoded),
        # First the words of the mask, then the coefficients of X^(t-1), ..., X, each L + 1 words.
        "drawn": canonical.to_text(b"".join(drawn)),
        "mask": FIELD.to_text(mask),
        "masked": canonical.to_text(sent.masked),
    }


@contextmanager
def _recorded(made: Federation, drawn: list[bytes]) -> Iterator[None]:
    draw = made.random_bytes

    def recording(count: int) -> bytes:
        drawn.append(draw(count))
        return drawn[-1]

    with patch.object(made, "random_bytes", recording):
        yield


def _hybrid() -> Vectors:
    """Three clients under the post-quantum suite: opening keys and one contribution."""
    made, secrets = Federation(3, AggregationRules(suite="mlkem768-x25519"), seed=2032), Secrets()
    signed = made.plan()
    made.contribute("client-00", np.array([0.5, -1.0, 2.0]), 7)
    secrets.note(made)
    key = signed.message.seats[0].key
    assert key is not None
    return {
        "keys": {"identities": secrets.identities, "openings": secrets.openings},
        "messages": [entry(signed), entry(key.message), entry(made.now.contributions["client-00"])],
    }


def _groups() -> Vectors:
    """Nine clients dealt to three groups, with a trust region: a round from its plan to its prior."""
    rules = AggregationRules(groups=3, combine="median", largest_step=0.5)
    made, secrets = Federation(9, rules, seed=2033), Secrets()
    signed = made.plan()
    start = made.prior.vector()
    for place, name in enumerate(made.names):
        made.contribute(name, start + np.array([0.125, -0.25, 0.0]) + 0.0625 * place, 1 + place)
    secrets.note(made)
    made.close()
    for name in made.names:
        made.open(name)
    masked = {name: canonical.to_text(sent.masked) for name, sent in made.now.contributions.items()}
    state, record = made.now, made.finish()
    assert state.cohort is not None
    assert state.unmasked is not None
    openings = list(state.openings.values())
    return {
        "keys": {"identities": secrets.identities, "openings": secrets.openings},
        "roster_nonce": canonical.to_text(made.roster.message.nonce),
        "parts": [list(part) for part in signed.message.parts(made.names)],
        "masked": masked,
        "sums": FIELD.to_text(state.unmasked.vector),
        "average": state.unmasked.average.tolist(),
        "messages": [entry(signed), entry(signed.message), entry(state.cohort)]
        + [entry(opening) for opening in openings]
        + [entry(openings[0].message), entry(record)],
    }


def _privacy() -> Vectors:
    """Three clients under differential privacy: a whole round."""
    secrets = Secrets()
    made, messages, derivation = noised_round.play(secrets.note)
    return {
        "keys": {"service": canonical.to_text(made.service_key.private_bytes_raw())}
        | {"identities": secrets.identities, "openings": secrets.openings},
        "messages": [entry(message) for message in messages],
        "derivation": derivation,
    }


def stored() -> Vectors:
    """The files as they are."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for stem, content in vectors(stored().get("boxes", [])).items():
        (FOLDER / f"{stem}.json").write_text(text(content), encoding="utf-8")
