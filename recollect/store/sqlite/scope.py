"""Scopes: which slots a recall may return, and for the others, the condition that they fail."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import Memory
from recollect.model import validation as check
from recollect.model.filter import FilterExpression, any_filter
from recollect.store.base import Bound, Exclusion, Flags, Floats, Rows
from recollect.store.filters import HOUR, Condition, explain, positive_values, scope_conditions
from recollect.store.sqlite.index import Index, View
from recollect.store.sqlite.nearest import VectorBlock
from recollect.store.sqlite.part import CODED, Part
from recollect.store.sqlite.string_table import encode

NOT_STORED = "it is not in the store"
MAX_SCOPES = 16  # that are kept for a part, and for a version
COLUMN_OF = {"min_confidence": "confidence", "since": "created", "until": "created", "near": "context"}
DATED = ("valid_from", "valid_to", "expires")
LastAccesses = Callable[[], tuple[Rows, Floats]]
Reason = Condition | str
TermCount = tuple[int, bool]  # how many slots of the bound have a term, and whether one in scope has it


@dataclass(eq=False)
class PartScope:
    """The slots of one part that pass every condition."""

    slots: Flags
    inside: Flags  # the memories of the bound
    bound_slots: Flags  # the bound, and the collections asked for: what word statistics are made of
    conditions: list[tuple[Reason, Flags]] = field(default_factory=list)  # and the slots that pass each
    # What was counted before, by the fields that count and the words of a term.
    terms: dict[tuple[int, ...], dict[tuple[int, ...], TermCount]] = field(default_factory=dict)
    _block: VectorBlock | None = None

    def block(self, part: Part) -> VectorBlock:
        """What is searched for the nearest vectors: those of the slots that have one."""
        if self._block is None:
            has = part.has_vector
            self._block = VectorBlock(part.arrays, self.slots if has.all() else self.slots & has)
        return self._block

    def restricted(self, reason: str, passing: Flags) -> PartScope:
        return PartScope(self.slots & passing, self.inside, self.bound_slots, [*self.conditions, (reason, passing)])


@dataclass(eq=False)
class SlotScope:
    """Slots that pass every condition. It keeps the conditions, so that an exclusion can be explained."""

    index: Index
    parts: list[PartScope]
    bound_key: Hashable

    @cached_property
    def slots(self) -> Flags:
        return self.index.join([part.slots for part in self.parts])

    @cached_property
    def bound_slots(self) -> Flags:
        return self.index.join([part.bound_slots for part in self.parts])

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.slots))

    def contains(self, rows: Rows) -> Flags:
        slots = self.index.slots(rows)
        return np.asarray((slots >= 0) & self.slots[slots]) if len(self.slots) else slots >= 0

    def knows(self, row: int) -> bool:
        return self._find(row) is not None

    def exclusion(self, row: int) -> Exclusion | None:
        found = self._find(row)
        if found is None:
            return Exclusion(NOT_STORED)
        view, scope, slot = found
        for condition, passing in scope.conditions:
            if not passing[slot]:
                if isinstance(condition, str):
                    return Exclusion(condition)
                return explain(condition, _partial_memory(view.part, slot, condition.name))
        return None

    def _find(self, row: int) -> tuple[View, PartScope, int] | None:
        """A row of the bound: its part, the scope there, and its slot."""
        for view, scope in zip(self.index.views, self.parts, strict=True):
            slot = int(view.part.find(np.array([row]))[0])
            if slot >= 0 and scope.inside[slot]:
                return view, scope, slot
        return None

    def restricted(self, reason: str, passing: Sequence[Flags]) -> SlotScope:
        """The scope with one more condition, as one mask for each part."""
        parts = [scope.restricted(reason, flags) for scope, flags in zip(self.parts, passing, strict=True)]
        return SlotScope(self.index, parts, self.bound_key)


def _partial_memory(part: Part, slot: int, condition: str) -> Memory:
    """A memory with the one field that a condition compares."""
    name = COLUMN_OF.get(condition, condition)
    value: Any
    if name == "tags":
        value = part.values.tags_of(slot)
    elif name == "context":
        value = part.values.context_of(slot)
    elif name in CODED:
        (value,) = part.strings(name, np.array([slot]))
    elif f"column.{name}" in part.arrays.names():
        number = float(part.column(name)[slot])
        value = None if np.isnan(number) else check.from_micros(int(number)) if name == "created" else number
    else:
        return Memory("")
    return Memory("", **{name: value})


def find_bound_slots(view: View, bound: Bound) -> Flags:
    """The slots of stored memories inside a bound, forgotten ones too."""
    if not bound.values:
        return view.alive
    key = ("bound", bound)
    known: Flags | None = view.cache.get(key)
    if known is None:
        known = view.alive.copy()
        for name, value in bound.values.items():
            known &= view.part.having(name, (value,))
        _keep(view.cache, key, known)
    return known


def _keep(cache: dict[Any, Any], key: Hashable, answer: Any) -> None:
    """Other threads may clear the cache at any time."""
    if len(cache) >= MAX_SCOPES:
        cache.clear()
    cache[key] = answer


def has_validity_periods(part: Part) -> bool:
    """Does any memory of the part have a validity period or an expiry?"""
    dated: bool | None = part.cache.get("dated")
    if dated is None:
        dated = not all(np.isnan(part.arrays[f"column.{name}"]).all() for name in DATED)
        part.cache["dated"] = dated
    return dated


class ScopeBuilder:
    """Compiles filters over an index."""

    def __init__(self, index: Index, last_accessed: LastAccesses, bound: Bound) -> None:
        self.index = index
        self.bound = bound
        self.last_accessed = last_accessed

    def build(
        self, filter: FilterExpression | None, statuses: Sequence[str], now: datetime, as_of: bool, hidden: bool
    ) -> SlotScope:
        """The scope of a filter. What does not depend on time is kept until a part changes."""
        conditions = scope_conditions(filter, statuses, now, as_of, hidden)
        collections = tuple(sorted(set(positive_values(filter, "collection"))))
        changing = as_of or hidden or _depends_on_last_access(filter)
        key = None if changing else ("scope", self.bound, repr(filter), tuple(statuses))
        dated = any(has_validity_periods(view.part) for view in self.index.views)
        known: SlotScope | None = None if key is None or dated else self.index.derived.get(key)
        if known is None:
            moment = check.micros(now)
            parts = [self._part(view, key, conditions, collections, moment) for view in self.index.views]
            known = SlotScope(self.index, parts, (self.bound, *collections))
            if key is not None and not dated:
                _keep(self.index.derived, key, known)
        return known

    def _part(
        self, view: View, key: Hashable, conditions: Sequence[Condition], collections: Sequence[str], now: int
    ) -> PartScope:
        if key is None or has_validity_periods(view.part):
            return self._compile(view, conditions, collections, now)
        known: PartScope | None = view.cache.get(key)
        if known is None:
            known = self._compile(view, conditions, collections, now)
            _keep(view.cache, key, known)
        return known

    def _compile(self, view: View, conditions: Sequence[Condition], collections: Sequence[str], now: int) -> PartScope:
        inside = find_bound_slots(view, self.bound)
        evaluator = _Evaluator(view.part, now, self.last_accessed)
        passing = [(each, _light(evaluator.decide(each)[0])) for each in conditions]
        slots = inside.copy()
        for _, flags in passing:
            slots &= flags
        bound_slots = inside & ~view.part.having("status", ("forgotten",))
        if collections:
            bound_slots &= view.part.having("collection", collections)
        return PartScope(slots, inside, bound_slots, [*passing])


def _light(flags: Flags) -> Flags:
    """A mask that is the same everywhere takes no room."""
    if flags.all() or not flags.any():
        return np.broadcast_to(flags[:1], flags.shape)
    return flags


class _Evaluator:
    """Evaluates conditions over a part. Each gives two arrays: certainly true, and certainly false."""

    def __init__(self, part: Part, now: int, last_accessed: LastAccesses) -> None:
        self.part = part
        self.now = now
        self.last_accessed = last_accessed

    def decide(self, condition: Condition) -> tuple[Flags, Flags]:
        """The slots for which a condition certainly holds, and those for which it certainly does not; as
        ``filters.decide``, for all slots at once."""
        wanted = condition.wanted
        match condition.name:
            case "not":
                yes, no = self._decide_all(wanted)
                return no, yes
            case "or":
                yes, no = np.zeros(self.part.size, np.bool_), np.ones(self.part.size, np.bool_)
                for part_yes, part_no in map(self._decide_all, wanted):
                    yes |= part_yes
                    no &= part_no
                return yes, no
            case "context":
                return self.part.values.decide(wanted)
            case "near":
                return self.part.values.near(wanted)
        yes = self._holds(condition.name, wanted, condition.decay)
        return yes, ~yes

    def _decide_all(self, conditions: Sequence[Condition]) -> tuple[Flags, Flags]:
        yes, no = np.ones(self.part.size, np.bool_), np.zeros(self.part.size, np.bool_)
        for part_yes, part_no in map(self.decide, conditions):
            yes &= part_yes
            no |= part_no
        return yes, no

    def _compare(self, name: str, compare: Callable[[NDArray[Any]], Any]) -> Flags:
        """The slots whose number passes; one comparison where all have the same."""
        flags = np.asarray(compare(self.part.arrays[f"column.{name}"]))
        return np.broadcast_to(flags, (self.part.size,)) if len(flags) != self.part.size else flags

    def _holds(self, name: str, wanted: Any, decay: float) -> Flags:
        part = self.part
        match name:
            case "remembered":
                return ~part.having("status", ("forgotten",))
            case "stored_status":
                return part.having("status", wanted)
            case "status":
                return self._with_status(wanted)
            case "begun":
                return self._compare("valid_from", lambda moments: ~(moments > self.now))
            case "valid":
                return self._valid()
            case "unexpired":
                return self._compare("expires", lambda moments: ~(moments <= self.now))
            case "tags":
                return part.values.with_tags(tuple(dict.fromkeys(wanted)))
            case "path":
                return self._under_path(wanted)
            case "classification":
                return self._compare(name, lambda numbers: numbers <= wanted)
            case "min_confidence":
                return self._with_confidence(wanted, decay)
            case "since":
                return self._compare("created", lambda moments: moments >= check.micros(wanted))
            case "until":
                return self._compare("created", lambda moments: moments < check.micros(wanted))
            case _:
                return part.having(name, wanted)

    def _under_path(self, path: str) -> Flags:
        if path[-1:] != "/":
            return self.part.having("path", (path,))
        first, last = self.part.table("path").starting_with(encode(path))
        column = self.part.column("path")
        return np.asarray((column >= first) & (column < last))

    def _with_confidence(self, minimum: float, decay: float) -> Flags:
        """confidence × decay ^ days ≥ minimum, days since the last access, or since creation without one.

        Time counts in whole hours: a memory written a moment ago has the confidence that it was written with.
        """
        confidence = np.nan_to_num(self.part.column("confidence"))
        if decay == 1.0:
            return np.asarray(confidence >= minimum)
        created = self.part.column("created")
        passing = self._decayed_confidence(created, confidence, decay) >= minimum
        if (passing | (confidence < minimum)).all():  # an access could only raise what passes already
            return np.asarray(passing)
        seen = created.copy()
        rows, moments = self.last_accessed()
        slots = self.part.find(rows)
        known = slots >= 0
        seen[slots[known]] = np.maximum(seen[slots[known]], moments[known])
        return np.asarray(self._decayed_confidence(seen, confidence, decay) >= minimum)

    def _decayed_confidence(self, seen: Floats, confidence: Floats, decay: float) -> Floats:
        days = np.maximum(0.0, (self.now - seen) // HOUR / 24)
        return np.asarray(confidence * decay**days)

    def _with_status(self, statuses: Sequence[str]) -> Flags:
        """Memories with one of these statuses at the moment: until valid_to one is active, from then on superseded."""
        part = self.part
        passing = part.having("status", statuses)
        if part.constant("valid_to") and np.isnan(part.arrays["column.valid_to"][0]):
            return passing
        ends = part.column("valid_to")
        dated = ~np.isnan(ends) & part.having("status", ("active", "superseded"))
        passing = passing & ~dated
        if "active" in statuses:
            passing |= dated & (ends > self.now)
        if "superseded" in statuses:
            passing |= dated & (ends <= self.now)
        return np.asarray(passing)

    def _valid(self) -> Flags:
        """Valid in [valid_from or created, valid_to)."""
        start = self.part.column("valid_from")
        start = np.where(np.isnan(start), self.part.column("created"), start)
        return np.asarray((start <= self.now) & ~(self.part.column("valid_to") <= self.now))


def _depends_on_last_access(filter: FilterExpression | None) -> bool:
    """Does the result of a filter change while nothing is written?"""
    return any_filter(filter, lambda part: part.confidence_decay is not None)
