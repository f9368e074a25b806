"""Which memories may come back: conditions joined by AND, their negations, and how a context is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput

OneOrMore = str | Sequence[str]
MISSING = object()


@dataclass(frozen=True, slots=True)
class Near:
    """Memories whose coordinates at a dot path of the context lie within a distance of a target."""

    field: str
    target: Sequence[float]
    within: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions that must all hold. Several values for one name mean any of them; tags must all be there.

    ``~Filter(...)`` is its negation and ``a & b`` joins two. What cannot be decided for a memory (its
    coordinates are missing, a comparison has the wrong type) leaves it out, negated or not.
    """

    collection: OneOrMore | None = None
    user: OneOrMore | None = None
    agent: OneOrMore | None = None
    session: OneOrMore | None = None
    speaker: OneOrMore | None = None
    role: OneOrMore | None = None
    kind: OneOrMore | None = None
    topic: OneOrMore | None = None
    tier: OneOrMore | None = None
    source: OneOrMore | None = None
    status: OneOrMore | None = None
    tags: OneOrMore | None = None
    path: str | None = None  # a file, or a folder when it ends with a slash
    classification: int | None = None  # at most this one
    min_confidence: float | None = None  # a memory without confidence counts as 0
    confidence_decay: float | None = None  # min_confidence then judges confidence × this ^ (days since last use)
    since: datetime | str | float | None = None  # created at or after
    until: datetime | str | float | None = None  # created before
    context: Mapping[str, Any] | None = None  # {"task.success": True, "params.force.value": {"$lt": 15}}
    near: Near | None = None
    expired: bool | None = None  # True lets memories in that have expired

    def __invert__(self) -> Not:
        return Not(self)

    def __and__(self, other: Filter | Not | All) -> All:
        return All((self, other))


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a filter."""

    of: Filter | Not | All

    def __invert__(self) -> Filter | Not | All:
        return self.of

    def __and__(self, other: Filter | Not | All) -> All:
        return All((self, other))


@dataclass(frozen=True, slots=True)
class All:
    """Several filters, joined by AND."""

    of: tuple[Filter | Not | All, ...]

    def __invert__(self) -> Not:
        return Not(self)

    def __and__(self, other: Filter | Not | All) -> All:
        return All((*self.of, other))


AnyFilter = Filter | Not | All


def as_filter(given: AnyFilter | Mapping[str, Any] | None) -> AnyFilter | None:
    """A filter as it is, or from a mapping: ``{"session": "s1", "not": {"tags": ["draft"]}}``."""
    if given is None or isinstance(given, Filter | Not | All):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"filter must be a Filter or a mapping of its fields, not {given!r}.")
    known = {each.name for each in fields(Filter)}
    unknown = set(given) - known - {"not"}
    if unknown:
        raise InvalidInput(
            f"A filter has no condition {', '.join(sorted(map(repr, unknown)))}; "
            f"it has: {', '.join(sorted(known))}, not."
        )
    said = {name: value for name, value in given.items() if name != "not"}
    if said.get("near") is not None and not isinstance(said["near"], Near):
        try:
            said["near"] = Near(**said["near"])
        except TypeError:
            raise InvalidInput("near needs field, target and within.") from None
    positive = Filter(**said)
    negated = as_filter(given.get("not"))
    return positive if negated is None else All((positive, Not(negated)))
