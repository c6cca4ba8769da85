"""What a client would contribute with its rows, tried here: nothing is masked, written or sent."""

from dataclasses import dataclass

import numpy as np

from client_agent import local_data
from client_agent.known_model import KnownModel
from client_agent.local_data import Columns
from fgpr.errors import DataError, NumericalError
from fgpr.federated.publication import codec_for
from fgpr.gp.local_training import train
from fgpr.gp.training_settings import TrainingSettings
from fgpr.secagg.weighting import weight_of

SEED = 0
"""Of the mini-batches of a trial, so that two trials of the same rows say the same."""


@dataclass(frozen=True)
class Trial:
    """The outcome.

    Attributes:
        mean, sd: by which the target was scaled, in its unit; they stay here.
        refusal: why the agent would contribute nothing; None where it would.
        losses: before the first and the last step, nats a row.
        clipped: names of numbers at a bound.
        uninformed: names of numbers that the rows say nothing of; they go out as they came.
        numbers: how many numbers the update has.
        weight: what the rows would count.
        capped: the federation caps the weight.
        step: length of the step from the prior, as differential privacy measures it.
        clip: the federation's longest; None without differential privacy.
    """

    mean: float
    sd: float
    refusal: str | None
    losses: tuple[float, float] | None = None
    clipped: tuple[str, ...] = ()
    uninformed: tuple[str, ...] = ()
    numbers: int = 0
    weight: int = 0
    capped: bool = False
    step: float | None = None
    clip: float | None = None

    @property
    def shrunk(self) -> bool:
        """Whether the step would be shrunk to the clip."""
        return self.clip is not None and self.step is not None and self.step > self.clip


def contribute(known: KnownModel, columns: Columns) -> Trial:
    """Train as in a round, from the prior that is known.

    Args:
        known: the model and, where they are known, the federation's settings; defaults for what is not.
        columns: the owner's rows, by the model's names and in its units.

    Raises:
        DataError, NumericalError: the rows cannot even be scaled.
    """
    spec, federation = known.spec, known.federation
    settings = TrainingSettings() if federation is None else federation.training_settings()
    rows = local_data.arrange(spec, columns)
    mean, sd = rows.scaling.mean, rows.scaling.sd
    first = (known.version or 0) * settings.local_steps(rows.y.size)
    try:
        update = train(
            spec.correlation, rows.X, rows.y, known.theta, settings, spec.bounds, np.random.default_rng(SEED),
            first_step=first, priors=spec.priors,
        )  # fmt: skip
    except (DataError, NumericalError) as error:
        return Trial(mean, sd, str(error))
    found = Trial(
        mean,
        sd,
        None,
        losses=(update.losses[0], update.losses[-1]),
        clipped=tuple(update.clipped),
        uninformed=tuple(update.uninformed),
        numbers=update.theta.size,
        weight=update.observations,
    )
    if federation is None:
        return found
    rules = federation.aggregation
    weight = weight_of(rules.weighting, rules.weight_unit, update.observations)
    codec = codec_for(spec, rules)
    outside = (update.theta < np.array(codec.lower)) | (update.theta > np.array(codec.upper))
    saturated = {name for name, out in zip(spec.theta_names, outside, strict=True) if out}
    return Trial(
        mean,
        sd,
        None,
        losses=found.losses,
        clipped=tuple(sorted({*found.clipped, *saturated})),
        uninformed=found.uninformed,
        numbers=found.numbers,
        weight=min(weight, rules.largest_weight),
        capped=weight > rules.largest_weight,
        step=float(np.linalg.norm(update.theta - known.theta)),
        clip=None if rules.privacy is None else rules.privacy.clip,
    )
