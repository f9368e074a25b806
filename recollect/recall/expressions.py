"""Scores that remember how they were made.

An ``Expr`` computes a number for every hit at once, in arrays, and keeps its parts. ``expr.at(i)`` is the tree of
hit i: an ``Explanation`` whose leaves, put together again, give the score bit for bit. Trees are built only when
somebody asks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats

Label = str | Callable[[int], str]
Operation = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Operation] = {
    "+": operator.add,
    "−": operator.sub,
    "×": operator.mul,
    "÷": operator.truediv,
    "max": np.maximum,
    "min": np.minimum,
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A number, what it is, and the parts that it was made of."""

    value: float
    label: str
    operation: str = ""  # how the parts make the value; empty for a leaf
    parts: tuple[Explanation, ...] = ()

    def evaluate(self) -> float:
        """The value once more, from the leaves up."""
        if not self.parts:
            return self.value
        apply = OPERATIONS[self.operation]
        return float(reduce(apply, (part.evaluate() for part in self.parts)))

    def as_dict(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"value": self.value, "label": self.label}
        if self.parts:
            tree["operation"] = self.operation
            tree["parts"] = [part.as_dict() for part in self.parts]
        return tree

    def __str__(self) -> str:
        return "\n".join(self._lines("", ""))

    def _lines(self, first: str, rest: str) -> list[str]:
        how = f" ({self.operation})" if self.operation and len(self.parts) > 1 else ""
        lines = [f"{first}{self.value:.4f}  {self.label}{how}"]
        for at, part in enumerate(self.parts):
            last = at == len(self.parts) - 1
            lines += part._lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
        return lines


class Expr:
    """Numbers for all hits, with the arithmetic that made them."""

    __slots__ = ("label", "operation", "parts", "values")

    def __init__(self, values: Floats, label: Label, operation: str = "", parts: tuple[Expr, ...] = ()) -> None:
        self.values = values
        self.label = label
        self.operation = operation
        self.parts = parts

    def at(self, place: int) -> Explanation:
        label = self.label if isinstance(self.label, str) else self.label(place)
        parts = tuple(part.at(place) for part in self.parts)
        value = float(self.values) if self.values.ndim == 0 else float(self.values[place])
        return Explanation(value, label, self.operation, parts)

    def take(self, places: NDArray[np.int64]) -> Expr:
        """The same numbers in another order, or fewer of them."""
        return Taken(self, places)


class Taken(Expr):
    """Numbers of another expression, picked by place; where there is a ``missing``, a place of −1 counts as that."""

    __slots__ = ("missing", "of", "places")

    def __init__(self, of: Expr, places: NDArray[np.int64], missing: Expr | None = None) -> None:
        if of.values.ndim == 0:
            values = np.broadcast_to(of.values, (len(places),))
        elif missing is None:
            values = of.values[places]
        else:
            values = np.where(places < 0, missing.values, of.values[places])
        super().__init__(values, "")
        self.of, self.places, self.missing = of, places, missing

    def at(self, place: int) -> Explanation:
        there = int(self.places[place])
        if there < 0 and self.missing is not None:
            return self.missing.at(0)
        return self.of.at(there)


class Chosen(Expr):
    """For each hit, a number of one of several expressions."""

    __slots__ = ("places", "sources", "which")

    def __init__(self, sources: tuple[Expr, ...], which: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        values = np.empty(len(which))
        for at, source in enumerate(sources):
            mine = which == at
            values[mine] = source.values if source.values.ndim == 0 else source.values[places[mine]]
        super().__init__(values, "")
        self.sources, self.which, self.places = sources, which, places

    def at(self, place: int) -> Explanation:
        return self.sources[int(self.which[place])].at(int(self.places[place]))


def beside(first: Expr, second: Expr) -> Expr:
    """The numbers of one expression, then those of another."""
    sizes = len(first.values), len(second.values)
    which = np.repeat(np.arange(2), sizes)
    return Chosen((first, second), which, np.concatenate([np.arange(size) for size in sizes]))


def leaf(values: Any, label: Label) -> Expr:
    """Measured numbers: one a hit, or one for all."""
    return Expr(np.asarray(values, dtype=np.float64), label)


def _combine(operation: str, label: Label, parts: tuple[Expr, ...]) -> Expr:
    values = reduce(OPERATIONS[operation], [part.values for part in parts])
    return Expr(np.asarray(values, dtype=np.float64), label, operation, parts)


def total(label: Label, *parts: Expr) -> Expr:
    return _combine("+", label, parts)


def difference(label: Label, a: Expr, b: Expr) -> Expr:
    return _combine("−", label, (a, b))


def product(label: Label, *parts: Expr) -> Expr:
    return _combine("×", label, parts)


def ratio(label: Label, a: Expr, b: Expr) -> Expr:
    return _combine("÷", label, (a, b))


def largest(label: Label, *parts: Expr) -> Expr:
    return _combine("max", label, parts)
