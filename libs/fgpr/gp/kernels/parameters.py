"""The hyper-parameters of a covariance, from its expression: names, start values and default bounds in the wire order.

Theta is [log signal sd of the first term, log noise sd, the first term's kernels..., log signal sd of the second term,
the second term's kernels..., ...]. A kernel's numbers come in the order of the catalogue: for each kind of one a
feature, all its features; then those it has once. For one kernel this is [signal, noise, length-scales...].
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from fgpr.errors import EncodingError
from fgpr.gp.kernels.catalogue import KINDS, ParameterKind
from fgpr.gp.kernels.expression import Component, Expression, features_of

SIGNAL = ParameterKind("signal sd", 1.0, 1e-2, 1e2)
NOISE = ParameterKind("noise sd", 0.5, 1e-2, 10.0)


class Axis(Protocol):
    """A feature of a model, as kernels see it."""

    @property
    def name(self) -> str:
        """Of the data column."""

    @property
    def lower(self) -> float:
        """Least value that the model is meant for."""

    @property
    def upper(self) -> float:
        """Largest value."""


class Parameter(NamedTuple):
    """One hyper-parameter in natural units.

    Attributes:
        name: of its entry of theta.
        start: where training starts.
        lower: default lower bound.
        upper: default upper bound.
        feature: the one in whose unit it is, or None.
        of_target: it is in the unit of the scaled target. Where it is in no unit it is a plain number.
    """

    name: str
    start: float
    lower: float
    upper: float
    feature: str | None = None
    of_target: bool = False


class ComponentLayout(NamedTuple):
    """Where a kernel's parameters are in theta."""

    component: Component
    entries: slice


class TermLayout(NamedTuple):
    """Where a term's parameters are in theta."""

    signal: int
    components: tuple[ComponentLayout, ...]


def layout(expression: Expression, features: int) -> tuple[TermLayout, ...]:
    """Places in theta, term by term, for d features."""
    terms = []
    following = 0
    for number, term in enumerate(expression.terms):
        signal = following
        following += 1 if number else 2
        components = []
        for component in term.components:
            size = KINDS[component.name].size(len(component.features) or features)
            components.append(ComponentLayout(component, slice(following, following + size)))
            following += size
        terms.append(TermLayout(signal, tuple(components)))
    return tuple(terms)


def size(expression: Expression, features: int) -> int:
    """The length of theta for d features."""
    kernels = sum(
        KINDS[component.name].size(len(component.features) or features) for component in expression.components
    )
    return 1 + len(expression.terms) + kernels


def names(expression: Expression, features: Sequence[str]) -> tuple[str, ...]:
    """Names of the entries of theta, for features with these names."""
    return tuple(name for name, _, _, _ in _entries(expression, features))


def parameters(expression: Expression, axes: Sequence[Axis], given_only: bool = False) -> tuple[Parameter, ...]:
    """All hyper-parameters for a model with these features, or only those whose start value the text gives.

    Raises:
        EncodingError: a kernel names a feature that the model does not have.
    """
    by_name = {axis.name: axis for axis in axes}
    for component in expression.components:
        for named in component.features:
            if named not in by_name:
                known = ", ".join(by_name)
                raise EncodingError(f"kernel {component.text}: there is no feature {named!r}; there are {known}")
    found = []
    for name, kind, start, feature in _entries(expression, list(by_name)):
        if given_only and start is None:
            continue
        of = feature if kind.in_ranges else None
        unit = 1.0 if of is None else by_name[of].upper - by_name[of].lower
        begun = kind.start * unit if start is None else start
        found.append(Parameter(name, begun, kind.lower * unit, kind.upper * unit, of, kind in (SIGNAL, NOISE)))
    return tuple(found)


def _entries(
    expression: Expression, features: Sequence[str]
) -> Iterator[tuple[str, ParameterKind, float | None, str | None]]:
    """(name, kind, start value of the text, feature) in the wire order."""
    labels = iter(expression.labels)
    alone = len(expression.components) == 1
    for number, term in enumerate(expression.terms):
        ours = [next(labels) for _ in term.components]
        suffix = "" if len(expression.terms) == 1 else f" of {' * '.join(ours)}"
        yield SIGNAL.key + suffix, SIGNAL, term.signal_sd, None
        if number == 0:
            yield NOISE.key, NOISE, None, None
        for label, component in zip(ours, term.components, strict=True):
            kind = KINDS[component.name]
            where = "" if alone else f" in {label}"
            given = dict(component.numbers)
            for each in kind.per_feature:
                for feature in features_of(component, features):
                    yield f"{each.key} of {feature}{where}", each, given.get(each.key), feature
            for once in kind.shared:
                yield once.key + where, once, given.get(once.key), None
