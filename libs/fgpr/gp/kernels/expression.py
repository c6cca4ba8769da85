"""The text form of a covariance as a value: a sum of products of kernels, e.g. rbf(cycle) + 0.5 * periodic.

`fgpr.gp.kernels.parsing` reads it, `Expression.text` prints the one canonical spelling. A sum of products is all there
is: (a + b) * c is written a * c + b * c, each product with hyper-parameters of its own.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
"""Feature names that need no quotes."""


@dataclass(frozen=True, slots=True)
class Component:
    """One kernel.

    Attributes:
        name: in `fgpr.gp.kernels.catalogue.KINDS`.
        features: names of those it acts on, in the order of its length-scales; none for all.
        numbers: by name, in the catalogue's order; only those that were given.
    """

    name: str
    features: tuple[str, ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """Its canonical text."""
        arguments = [
            name if BARE_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in self.features
        ]
        arguments += [f"{key}={number_text(value)}" for key, value in self.numbers]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


@dataclass(frozen=True, slots=True)
class Term:
    """A product of kernels, with one signal standard deviation.

    Attributes:
        components: one or more.
        signal_sd: its start value where one was given.
    """

    components: tuple[Component, ...]
    signal_sd: float | None = None

    @property
    def text(self) -> str:
        """Its canonical text."""
        product = " * ".join(component.text for component in self.components)
        return product if self.signal_sd is None else f"{number_text(self.signal_sd)} * {product}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum of products.

    Attributes:
        terms: one or more, in the order of theta.
    """

    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        """Its canonical text."""
        return " + ".join(term.text for term in self.terms)

    @property
    def components(self) -> tuple[Component, ...]:
        """All kernels, in the order of the text."""
        return tuple(component for term in self.terms for component in term.components)

    @property
    def labels(self) -> tuple[str, ...]:
        """What each kernel is called in the names of hyper-parameters: numbered where there are several of a name."""
        names = [component.name for component in self.components]
        return tuple(
            name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
            for place, name in enumerate(names)
        )


def number_text(value: float) -> str:
    """The shortest decimal that gives this number back."""
    return repr(value).removesuffix(".0")


def features_of(component: Component, every: Sequence[str]) -> tuple[str, ...]:
    """The features that a kernel acts on, of all of a model."""
    return component.features or tuple(every)
