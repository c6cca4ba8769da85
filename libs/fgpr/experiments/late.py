"""Packages that are loaded when first used: PyTorch takes seconds, and most commands have no use for it."""

import importlib
import sys
import warnings
from importlib.util import find_spec
from typing import Any


class Late:
    """A package whose parts are looked up in it when they are asked for; as it stands in place of the import.

    Args:
        name: of the package.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        # Whoever asks whether something is a wrapper or can be copied needs no package for the answer.
        if part.startswith("__"):
            raise AttributeError(part)
        return getattr(_loaded(self._name), part)


def installed(*names: str) -> bool:
    """All of these packages are there; none is loaded."""
    return all(find_spec(name) is not None for name in names)


def load_installed(*names: str) -> None:
    """Load those of the packages that are there."""
    for name in names:
        if installed(name):
            _loaded(name)


def _loaded(name: str) -> Any:
    # Filters of warnings are one for all threads, so that they are let alone wherever nothing is loaded.
    if found := sys.modules.get(name):
        return found
    # What GPyTorch imports uses parts of PyTorch that are going out: no matter of whoever runs this.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
