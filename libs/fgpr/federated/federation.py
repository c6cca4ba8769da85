"""A federation's settings: its model, local training, secure aggregation, and when rounds open."""

from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, model_validator

from fgpr.errors import EncodingError
from fgpr.federated.publication import codec_for
from fgpr.gp.model import ModelSpec
from fgpr.gp.training_settings import TrainingSettings
from fgpr.message import Count, Message, Name
from fgpr.secagg.planning import AggregationRules

MOST_WITNESSES = 99
"""With the log's own signature as many lines as a note may have."""

LEAST_COHORT = 3
"""K + 2 clients where K, which is never below 1, is least (`fgpr.secagg.committee`)."""

Seconds = Annotated[float, Field(ge=0, le=31_536_000)]


class Schedule(Message):
    """When rounds open and how long their stages last.

    Attributes:
        every: seconds between the end of a round and the start of the next.
        max: number of rounds published after which none opens by itself; 0 is no limit.
        min_clients: clients on the roster before a round opens.
        contribute_seconds: length of the first stage, at most.
        open_seconds: length of the second stage, at most.
    """

    every: Seconds = 0.0
    max: Count = 0
    min_clients: Annotated[Count, Field(ge=3)] = 4
    contribute_seconds: Annotated[Seconds, Field(gt=0)] = 600.0
    open_seconds: Annotated[Seconds, Field(gt=0)] = 600.0


class Federation(Message):
    """All that is fixed when a federation is created.

    Attributes:
        name: its name.
        model: features with units and ranges, target, kernel, bounds (`fgpr.gp.model.ModelSpec` as JSON).
        training: local settings (`fgpr.gp.local_training.TrainingSettings` as JSON).
        aggregation: rules of secure aggregation.
        rounds: the schedule.
        public_log: whether anybody may read the audit log and its rosters. One that says no closes the log of the
            whole aggregator to whoever is not enrolled in it, since all federations share it.
        witnesses: members that have to cosign a log which holds a prior before it counts as published; 0 asks for none.
    """

    name: Name
    model: dict[str, JsonValue]
    training: dict[str, JsonValue] = Field(default_factory=dict)
    aggregation: AggregationRules = AggregationRules()
    rounds: Schedule = Schedule()
    public_log: bool = True
    witnesses: Annotated[Count, Field(le=MOST_WITNESSES, exclude_if=lambda count: count == 0)] = 0

    @model_validator(mode="after")
    def _parts_hold(self) -> Self:
        try:
            self.training_settings()
            codec_for(self.spec(), self.aggregation)
        except EncodingError as error:
            raise ValueError(str(error)) from error
        return self

    @classmethod
    def from_settings(cls, value: dict[str, Any]) -> Self:
        """A federation from its TOML file, in which bounds may be left to their defaults.

        Raises:
            EncodingError: an unknown, missing or unsafe setting, or one with which no number of clients could open a
                round; names it.
        """
        if not isinstance(value.get("model"), dict):
            raise EncodingError("a federation file needs a [model] table with features, target and kernel")
        made = cls.from_json(value | {"model": ModelSpec.from_settings(value["model"]).to_json()})
        _check_cohort(made.aggregation)
        return made

    def spec(self) -> ModelSpec:
        """The model."""
        return ModelSpec.from_json(self.model)

    def training_settings(self) -> TrainingSettings:
        """The local settings, defaults filled in."""
        return TrainingSettings.from_json(self.training)


def _check_cohort(rules: AggregationRules) -> None:
    # Not a validator: federations that were created before have to stay readable. Whether gamma and delta leave a
    # committee depends on how many clients may serve, which is known when a round opens.
    least = LEAST_COHORT if rules.min_cohort is None else rules.min_cohort
    if least < LEAST_COHORT:
        raise EncodingError(
            f"aggregation.min_cohort is {least}, with which no round could ever open: it takes {LEAST_COHORT} at "
            "least, of whom one may be corrupt"
        )
    if rules.invited_cap is not None and rules.invited_cap // rules.groups < least:
        raise EncodingError(
            f"aggregation.invited_cap is {rules.invited_cap}, with which no round could ever open: {rules.groups} "
            f"{'cohort takes' if rules.groups == 1 else 'groups take'} {least * rules.groups} clients at least"
        )
