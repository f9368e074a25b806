"""Scopes: which slots a recall may return, and for the others, the condition that they fail."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from recollect.model import Memory
from recollect.model import validation as check
from recollect.model.filter import FilterExpression, any_filter
from recollect.model.matching import match_context, match_near
from recollect.store.base import Bound, Exclusion, Flags, Floats, Rows
from recollect.store.filters import HOUR, Condition, explain, positive_values, scope_conditions
from recollect.store.sqlite.index import Index

NOT_STORED = "it is not in the store"
MAX_DERIVED = 64  # entries kept for a version
COLUMN_OF = {"min_confidence": "confidence", "since": "created", "until": "created", "near": "context"}
Slots = Flags  # one for each slot


@dataclass(slots=True)
class SlotScope:
    """Slots that pass every condition. It keeps the conditions, so that an exclusion can be explained."""

    index: Index
    slots: Slots
    inside: Slots  # the memories of the bound
    bound_slots: Slots  # the bound, and the collections asked for: what word statistics are made of
    bound_key: Hashable
    conditions: list[tuple[Condition | str, Slots]] = field(default_factory=list)  # or the reason; the slots that pass

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.slots))

    def contains(self, rows: Rows) -> Slots:
        slots = self.index.slots(rows)
        return np.asarray((slots >= 0) & self.slots[slots]) if len(self.slots) else slots >= 0

    def knows(self, row: int) -> bool:
        slot = int(self.index.slots(np.array([row]))[0])
        return slot >= 0 and bool(self.inside[slot])

    def exclusion(self, row: int) -> Exclusion | None:
        slot = int(self.index.slots(np.array([row]))[0])
        if slot < 0 or not self.inside[slot]:
            return Exclusion(NOT_STORED)
        for condition, passing in self.conditions:
            if not passing[slot]:
                if isinstance(condition, str):
                    return Exclusion(condition)
                return explain(condition, _partial_memory(self.index, slot, condition.name))
        return None

    def restricted(self, reason: str, passing: Slots) -> SlotScope:
        """The scope with one more condition."""
        conditions = [*self.conditions, (reason, passing)]
        return SlotScope(self.index, self.slots & passing, self.inside, self.bound_slots, self.bound_key, conditions)


def _partial_memory(index: Index, slot: int, condition: str) -> Memory:
    """A memory with the one field that a condition compares."""
    name = COLUMN_OF.get(condition, condition)
    if name not in index.columns:
        return Memory("")
    column = index.columns[name]
    if index.codes.get(name):  # empty for other columns
        value: Any = list(index.codes[name])[int(column[slot])]
    elif name in ("tags", "context"):
        value = column.get(slot, {})
    else:
        value = None if np.isnan(column[slot]) else float(column[slot])
    if name == "created":
        value = check.from_micros(int(value))
    return Memory("", **{name: value})


class ScopeBuilder:
    """Evaluates conditions over an index. Each gives two arrays: certainly true, and certainly false."""

    def __init__(
        self,
        index: Index,
        column: Callable[[str], Any],
        last_accessed: Callable[[], tuple[Rows, Floats]],
        bound: Bound,
    ) -> None:
        self.index = index
        self.bound = bound
        self.column = column
        self.last_accessed = last_accessed
        self.now = 0
        self.size = len(index.rows)

    def build(
        self, filter: FilterExpression | None, statuses: Sequence[str], now: datetime, as_of: bool, hidden: bool
    ) -> SlotScope:
        """The scope of a filter. One that does not depend on time is cached until something is written."""
        self.now = check.micros(now)
        conditions = scope_conditions(filter, statuses, now, as_of, hidden)
        key = (
            None
            if as_of or hidden or self._has_validity_periods() or _depends_on_last_access(filter)
            else ("scope", self.bound, repr(filter), tuple(statuses))
        )
        if key is None:
            return self._compile(filter, conditions)
        known: SlotScope | None = self.index.derived.get(key)
        if known is None:
            known = self._compile(filter, conditions)
            self._keep(key, known)
        return known

    def _has_validity_periods(self) -> bool:
        """Does any memory have a validity period or an expiry?"""
        dated: bool | None = self.index.derived.get("dated")
        if dated is None:
            moments = (self.column(name) for name in ("valid_from", "valid_to", "expires"))
            dated = self.index.derived["dated"] = not all(np.isnan(each).all() for each in moments)
        return dated

    def _compile(self, filter: FilterExpression | None, conditions: Sequence[Condition]) -> SlotScope:
        inside = self.bound_slots()
        passing: list[tuple[Condition | str, Slots]] = [(each, self._decide(each)[0]) for each in conditions]
        slots = inside.copy()
        for _, flags in passing:
            slots &= flags
        collections = positive_values(filter, "collection")
        bound_slots = inside & ~self._coded("status", ("forgotten",))
        if collections:
            bound_slots &= self._coded("collection", collections)
        key = (self.bound, *sorted(set(collections)))
        return SlotScope(self.index, slots, inside, bound_slots, key, passing)

    def bound_slots(self) -> Slots:
        """The slots of stored memories inside the bound, forgotten ones too."""
        key = ("bound", self.bound)
        known: Slots | None = self.index.derived.get(key)
        if known is None:
            known = self.index.alive.copy()
            for name, value in self.bound.values.items():
                known &= self._coded(name, (value,))
            self._keep(key, known)
        return known

    def _decide(self, condition: Condition) -> tuple[Slots, Slots]:
        """The slots for which a condition certainly holds, and those for which it certainly does not; as
        ``filters.decide``, for all slots at once."""
        wanted = condition.wanted
        match condition.name:
            case "not":
                yes, no = self._decide_all(wanted)
                return no, yes
            case "or":
                yes, no = np.zeros(self.size, np.bool_), np.ones(self.size, np.bool_)
                for part_yes, part_no in map(self._decide_all, wanted):
                    yes |= part_yes
                    no &= part_no
                return yes, no
            case "context":
                return self._by_context(repr(wanted), lambda context: match_context(context, wanted))
            case "near":
                return self._by_context("", lambda context: match_near(context, wanted))
        yes = self._holds(condition.name, wanted, condition.decay)
        return yes, ~yes

    def _decide_all(self, conditions: Sequence[Condition]) -> tuple[Slots, Slots]:
        yes, no = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for part_yes, part_no in map(self._decide, conditions):
            yes &= part_yes
            no |= part_no
        return yes, no

    def _holds(self, name: str, wanted: Any, decay: float) -> Slots:
        match name:
            case "remembered":
                return ~self._coded("status", ("forgotten",))
            case "stored_status":
                return self._coded("status", wanted)
            case "status":
                return self._with_status(wanted)
            case "begun":
                return np.asarray(~(self.column("valid_from") > self.now))
            case "valid":
                return self._valid()
            case "unexpired":
                return np.asarray(~(self.column("expires") <= self.now))
            case "tags":
                return self._tagged(wanted)
            case "path":
                return self._under_path(wanted)
            case "classification":
                return np.asarray(self.column(name) <= wanted)
            case "min_confidence":
                return self._with_confidence(wanted, decay)
            case "since":
                return np.asarray(self.column("created") >= check.micros(wanted))
            case "until":
                return np.asarray(self.column("created") < check.micros(wanted))
            case _:
                return self._coded(name, wanted)

    def _coded(self, name: str, values: Sequence[str]) -> Slots:
        column = self.column(name)
        index = self.index.codes[name]
        known = [index[value] for value in values if value in index]
        if len(known) == 1:
            return np.asarray(column == known[0])
        return np.isin(column, known)

    def _tagged(self, tags: Sequence[str]) -> Slots:
        wanted = set(tags)
        if not wanted:
            return np.ones(self.size, np.bool_)
        stored = self.column("tags")
        return self._flags(slot for slot, tags in list(stored.items()) if slot < self.size and wanted <= set(tags))

    def _under_path(self, path: str) -> Slots:
        index = dict(self.index.codes["path"]) if "path" in self.index.columns else None
        column = self.column("path")
        index = index if index is not None else dict(self.index.codes["path"])
        matching = [
            code for stored, code in index.items() if stored == path or (path[-1:] == "/" and stored.startswith(path))
        ]
        return np.isin(column, matching)

    def _by_context(self, key: str, matches: Callable[[Any], bool | None]) -> tuple[Slots, Slots]:
        """Evaluate a condition on the context; once a version, if there is a key to cache it under."""
        known: tuple[Slots, Slots] | None = self.index.derived.get(key)
        if known is None:
            contexts = self.column("context")
            answers = {slot: matches(context) for slot, context in list(contexts.items()) if slot < self.size}
            empty = matches({})
            known = yes, no = np.full(self.size, empty is True), np.full(self.size, empty is False)
            for slot, answer in answers.items():
                yes[slot], no[slot] = answer is True, answer is False
            if key:
                self._keep(key, known)
        return known

    def _keep(self, key: Hashable, answer: Any) -> None:
        """Cache for this version of the file. Other threads may clear the cache at any time."""
        if len(self.index.derived) > MAX_DERIVED:
            self.index.derived.clear()
        self.index.derived[key] = answer

    def _with_confidence(self, minimum: float, decay: float) -> Slots:
        """confidence × decay ^ days ≥ minimum, days since the last access, or since creation without one.

        Time counts in whole hours: a memory written a moment ago has the confidence that it was written with.
        """
        confidence = np.nan_to_num(self.column("confidence"))
        if decay == 1.0:
            return np.asarray(confidence >= minimum)
        passing = self._decayed_confidence(self.column("created"), confidence, decay) >= minimum
        if (passing | (confidence < minimum)).all():  # an access could only raise what passes already
            return np.asarray(passing)
        seen = self.column("created").copy()
        rows, moments = self.last_accessed()
        slots = self.index.slots(rows)
        known = slots >= 0
        seen[slots[known]] = np.maximum(seen[slots[known]], moments[known])
        return np.asarray(self._decayed_confidence(seen, confidence, decay) >= minimum)

    def _decayed_confidence(self, seen: Floats, confidence: Floats, decay: float) -> Floats:
        days = np.maximum(0.0, (self.now - seen) // HOUR / 24)
        return np.asarray(confidence * decay**days)

    def _with_status(self, statuses: Sequence[str]) -> Slots:
        """Memories with one of these statuses at the moment: until valid_to one is active, from then on superseded."""
        ends = self.column("valid_to")
        dated = ~np.isnan(ends) & self._coded("status", ("active", "superseded"))
        passing = self._coded("status", statuses) & ~dated
        if "active" in statuses:
            passing |= dated & (ends > self.now)
        if "superseded" in statuses:
            passing |= dated & (ends <= self.now)
        return np.asarray(passing)

    def _valid(self) -> Slots:
        """Valid in [valid_from or created, valid_to)."""
        start = self.column("valid_from")
        start = np.where(np.isnan(start), self.column("created"), start)
        return np.asarray((start <= self.now) & ~(self.column("valid_to") <= self.now))

    def _flags(self, slots: Any) -> Slots:
        flags = np.zeros(self.size, np.bool_)
        flags[np.fromiter(slots, dtype=np.int64)] = True
        return flags


def _depends_on_last_access(filter: FilterExpression | None) -> bool:
    """Does the result of a filter change while nothing is written?"""
    return any_filter(filter, lambda part: part.confidence_decay is not None)
