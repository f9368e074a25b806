"""Scores that keep the arithmetic they were computed by, so that each can be explained.

An ``Expression`` computes a number for every hit at once, in arrays, and keeps its parts. ``expression.at(i)`` is the
tree for hit i: an ``Explanation``, which evaluates to the score again, bit for bit. Trees are built on demand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats

Label = str | Callable[[int], str]
Role = Literal["", "component", "term", "cosine", "token similarity", "reason", "link"]
Operator = Callable[[Any, Any], Any]

OPERATORS: dict[str, Operator] = {
    "+": operator.add,
    "−": operator.sub,
    "×": operator.mul,
    "÷": operator.truediv,
    "max": np.maximum,
    "min": np.minimum,
}
MAX_TERMS = 4  # of a summary


@dataclass(slots=True)
class Explanation:
    """A number, its label, and the parts it was computed from.

    ``role`` tells what a number is where a summary needs to know: a component of the score (a cue, or what a stage
    added), a word of the query that matches, the cosine, or the similarity of tokens; ``name`` is which one. A "link"
    is what a linked memory passed on: its first part is the score of that memory, and ``name`` how they are linked.
    The label of a factor is a noun (“recency: 3 days old”), or with the role "reason" a clause, which begins with
    ``name``.
    """

    value: float
    label: str
    operation: str = ""  # how the parts are combined; empty for a leaf
    parts: tuple[Explanation, ...] = ()
    role: Role = ""
    name: str = ""

    def evaluate(self) -> float:
        """Compute the value again, from the leaves up."""
        if not self.parts:
            return self.value
        apply = OPERATORS[self.operation]
        return float(reduce(apply, (part.evaluate() for part in self.parts)))

    def summary(self) -> str:
        """The explanation in a sentence or two: the words that match, the similarities, the factors other than 1.

        ``'charging' and 'dock' match; meaning 0.17. Lowered by status: superseded (×0.50).``
        """
        links = list(self._links())
        found = links[-1].parts[0]._nodes() if links else self._nodes()
        terms: dict[str, float] = {}
        for node in found:
            if node.role == "term" and node.value > 0:
                terms[node.name] = max(terms.get(node.name, 0.0), node.value)
        strongest = sorted(terms, key=lambda term: -terms[term])[:MAX_TERMS]
        reasons = []
        if strongest:
            reasons.append(_and([f"'{term}'" for term in strongest]) + (" match" if strongest[1:] else " matches"))
        for role, label in (("cosine", "meaning"), ("token similarity", "word by word")):
            values = [node.value for node in found if node.role == role and node.value]
            reasons += [f"{label} {value:.2f}" for value in values[:1]]
        if not reasons:
            components = _and([name for name, _ in self.shares()])
            reasons = [f"Scored by {components}" if components else "No cue gives it a score"]
        if links:
            chain = ", which is ".join(link.name for link in links)
            reasons[0] = f"{chain[:1].upper()}{chain[1:]}, in which {reasons[0]}"
        factors = [factor for factor in self._factors() if round(factor.value, 2) != 1]
        changes = []
        for verb, chosen in (
            ("Raised", [factor for factor in factors if factor.value > 1]),
            ("Lowered", [factor for factor in factors if factor.value < 1]),
        ):
            if chosen:
                nouns = [f"{each.label} (×{each.value:.2f})" for each in chosen if each.role != "reason"]
                clauses = [
                    f"{each.name} {each.label} (×{each.value:.2f})".strip() for each in chosen if each.role == "reason"
                ]
                by, because = f"by {_and(nouns)}" if nouns else "", f"because {_and(clauses)}" if clauses else ""
                changes.append(f"{verb} {', and '.join(filter(None, (by, because)))}.")
        return " ".join(["; ".join(reasons) + ".", *changes])

    def shares(self) -> list[tuple[str, float]]:
        """The components of the score with their shares of it, largest first; the shares add up to 1."""
        amounts: dict[str, float] = {}
        for name, amount in self._amounts():
            amounts[name] = amounts.get(name, 0.0) + amount
        whole = sum(amount for amount in amounts.values() if amount > 0)
        shares = [(name, amount / whole) for name, amount in amounts.items() if amount > 0]
        return sorted(shares, key=lambda share: -share[1])

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

    def _nodes(self) -> list[Explanation]:
        """Every node that adds to the score; what is multiplied by 0 does not. From the top down, left to right."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            found.append(node)
            if node.parts and node.value:
                waiting += node.parts[::-1]
        return found

    def _has_role(self) -> bool:
        return self.role not in ("", "reason") or (bool(self.value) and any(part._has_role() for part in self.parts))

    def _base(self) -> Explanation | None:
        """The part of a product or a quotient that has the components; the others are factors."""
        return next((part for part in self.parts if part._has_role()), None)

    def _links(self) -> Iterator[Explanation]:
        """The links through which the score came, from this memory on."""
        if self.role == "link":
            yield self
        if (base := self._base()) is not None and self.role != "term":
            yield from base._links()

    def _factors(self) -> Iterator[Explanation]:
        """What follows the score in products; what precedes it is a weight."""
        base = self._base()
        if base is None or self.role in ("term", "link"):
            return
        yield from base._factors()
        if self.operation == "×" and base is self.parts[0]:
            yield from self.parts[1:]

    def _amounts(self) -> Iterator[tuple[str, float]]:
        """What each component adds to the value."""
        if self.role == "component":
            if self.name:
                yield self.name, self.value
        elif self.operation == "+":
            for part in self.parts:
                yield from part._amounts()
        elif self.operation in ("max", "min"):
            yield from next((part for part in self.parts if part.value == self.value), self.parts[0])._amounts()
        elif (base := self._base()) is not None and base.value:
            for name, amount in base._amounts():
                yield name, amount * self.value / base.value
        else:
            yield self.name or self.label.partition(":")[0], self.value


def _and(items: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


class Expression:
    """Numbers for all hits, with the arithmetic that produced them."""

    __slots__ = ("label", "name", "operation", "parts", "role", "values")

    def __init__(self, values: Floats, label: Label, operation: str = "", parts: tuple[Expression, ...] = ()) -> None:
        self.values = values
        self.label = label
        self.operation = operation
        self.parts = parts
        self.role: Role = ""
        self.name: Label = ""

    def tag(self, role: Role, name: Label) -> Expression:
        """Say what these numbers are, for ``summary`` and ``shares``, which leave out a component without a name."""
        self.role, self.name = role, name
        return self

    def at(self, place: int) -> Explanation:
        values, label, name = self.values, self.label, self.name  # written for speed: a recall has hundreds of these
        return Explanation(
            values.item(place) if values.ndim else values.item(),
            label if isinstance(label, str) else label(place),
            self.operation,
            tuple([part.at(place) for part in self.parts]) if self.parts else (),
            self.role,
            name if isinstance(name, str) else name(place),
        )

    def take(self, places: NDArray[np.int64]) -> Expression:
        """The numbers at these places, in this order."""
        return IndexedExpression(self, places)


class IndexedExpression(Expression):
    """The numbers of another expression at given places; with ``missing``, a place of −1 has that number."""

    __slots__ = ("missing", "places", "source")

    def __init__(self, source: Expression, places: NDArray[np.int64], missing: Expression | None = None) -> None:
        if source.values.ndim == 0:
            values = np.broadcast_to(source.values, (len(places),))
        elif missing is None:
            values = source.values[places]
        else:
            values = np.where(places < 0, missing.values, source.values[places])
        super().__init__(values, "")
        self.source, self.places, self.missing = source, places, missing

    def at(self, place: int) -> Explanation:
        at = int(self.places[place])
        if at < 0 and self.missing is not None:
            return self.missing.at(0)
        return self.source.at(at)


class ChoiceExpression(Expression):
    """For each hit, the number of one of several expressions: ``sources[which[i]]`` at ``places[i]``."""

    __slots__ = ("places", "sources", "which")

    def __init__(self, sources: tuple[Expression, ...], which: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        values = np.empty(len(which))
        for number, source in enumerate(sources):
            chosen = which == number
            values[chosen] = source.values if source.values.ndim == 0 else source.values[places[chosen]]
        super().__init__(values, "")
        self.sources, self.which, self.places = sources, which, places

    def at(self, place: int) -> Explanation:
        return self.sources[int(self.which[place])].at(int(self.places[place]))


def concatenate(first: Expression, second: Expression) -> Expression:
    """The numbers of one expression, then those of another."""
    sizes = len(first.values), len(second.values)
    which = np.repeat(np.arange(2), sizes)
    return ChoiceExpression((first, second), which, np.concatenate([np.arange(size) for size in sizes]))


def leaf(values: Any, label: Label) -> Expression:
    """Measured numbers: one for each hit, or one for all."""
    return Expression(np.asarray(values, dtype=np.float64), label)


def _combine(operation: str, label: Label, parts: tuple[Expression, ...]) -> Expression:
    values = reduce(OPERATORS[operation], [part.values for part in parts])
    return Expression(np.asarray(values, dtype=np.float64), label, operation, parts)


def total(label: Label, *parts: Expression) -> Expression:
    return _combine("+", label, parts)


def difference(label: Label, a: Expression, b: Expression) -> Expression:
    return _combine("−", label, (a, b))


def product(label: Label, *parts: Expression) -> Expression:
    return _combine("×", label, parts)


def ratio(label: Label, a: Expression, b: Expression) -> Expression:
    return _combine("÷", label, (a, b))


def largest(label: Label, *parts: Expression) -> Expression:
    return _combine("max", label, parts)


def smallest(label: Label, *parts: Expression) -> Expression:
    return _combine("min", label, parts)
