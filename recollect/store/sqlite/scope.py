"""Scopes: which slots a recall may return, and for the others, the condition that they fail."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.filter import (
    AllOf,
    AnyOf,
    Filter,
    FilterExpression,
    Near,
    Not,
    any_filter,
    check_context_conditions,
    check_near,
    conditions_of,
)
from recollect.model.matching import match_context, match_near
from recollect.model.memory import KEYWORD_FIELDS, STATUSES
from recollect.store.base import Bound, Exclusion, Flags, Floats, Rows
from recollect.store.sqlite.exclusions import explain_exclusion
from recollect.store.sqlite.index import Index

NOT_STORED = "it is not in the store"
HOUR = 3_600e6  # microseconds
MAX_DERIVED = 64  # entries kept for a version
Slots = Flags  # one for each slot
Condition = tuple[str, Slots, str, Any]  # a label, the slots that pass, and the filter's field and value, if any


@dataclass(slots=True)
class SlotScope:
    """Slots that pass every condition. Conditions keep their names, so that an exclusion can be explained."""

    index: Index
    slots: Slots
    bound_slots: Slots  # the bound, and the collections asked for: what word statistics are made of
    bound_key: Hashable
    conditions: list[Condition] = field(default_factory=list)

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.slots))

    def contains(self, rows: Rows) -> Slots:
        slots = self.index.slots(rows)
        return np.asarray((slots >= 0) & self.slots[slots]) if len(self.slots) else slots >= 0

    def knows(self, row: int) -> bool:
        slot = int(self.index.slots(np.array([row]))[0])
        return slot >= 0 and bool(self.conditions[0][1][slot])

    def exclusion(self, row: int) -> Exclusion | None:
        slot = int(self.index.slots(np.array([row]))[0])
        if slot < 0:
            return Exclusion(NOT_STORED)
        for label, passing, name, wanted in self.conditions:
            if not passing[slot]:
                return explain_exclusion(self.index, slot, label, name, wanted) if name else Exclusion(label)
        return None

    def restricted(self, reason: str, passing: Slots) -> SlotScope:
        """The scope with one more condition."""
        conditions = [*self.conditions, (reason, passing, "", None)]
        return SlotScope(self.index, self.slots & passing, self.bound_slots, self.bound_key, conditions)


class ScopeBuilder:
    """Evaluates filters over an index. Every condition gives two arrays: certainly true, and certainly false."""

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
        key = (
            None
            if as_of or hidden or self._has_validity_periods() or _depends_on_last_access(filter)
            else ("scope", self.bound, repr(filter), tuple(statuses))
        )
        if key is None:
            return self._compile(filter, statuses, now, as_of, hidden)
        known: SlotScope | None = self.index.derived.get(key)
        if known is None:
            known = self._compile(filter, statuses, now, as_of, hidden)
            self._keep(key, known)
        return known

    def _has_validity_periods(self) -> bool:
        """Does any memory have a validity period or an expiry?"""
        dated: bool | None = self.index.derived.get("dated")
        if dated is None:
            moments = (self.column(name) for name in ("valid_from", "valid_to", "expires"))
            dated = self.index.derived["dated"] = not all(np.isnan(each).all() for each in moments)
        return dated

    def _compile(
        self, filter: FilterExpression | None, statuses: Sequence[str], now: datetime, as_of: bool, hidden: bool
    ) -> SlotScope:
        forgotten = self._coded("status", ("forgotten",))
        inside = self.bound_slots()
        conditions: list[Condition] = [(NOT_STORED, inside, "", None)]
        if not hidden:
            conditions.append(("it was forgotten", ~forgotten, "", None))
        named = _positive_values(filter, "status", tuple(statuses))
        status = self._coded("status", named or statuses) if hidden else self._with_status(named or statuses)
        conditions.append((f"its status is none of: {', '.join(named or statuses)}", status, "", None))
        if as_of:
            conditions.append((f"it is not valid at {now.isoformat()}", self._valid(), "", None))
        elif not hidden:
            conditions.append(("it is not valid yet", ~(self.column("valid_from") > self.now), "", None))
        if not hidden and not _includes_expired(filter):
            conditions.append(("it has expired", ~(self.column("expires") <= self.now), "", None))
        conditions += [(label, yes, name, wanted) for label, (yes, _), name, wanted in self._conditions(filter)]
        slots = conditions[0][1].copy()
        for _, passing, _, _ in conditions[1:]:
            slots &= passing
        collections = _positive_values(filter, "collection")
        bound_slots = inside & ~forgotten
        if collections:
            bound_slots &= self._coded("collection", collections)
        return SlotScope(self.index, slots, bound_slots, (self.bound, *sorted(set(collections))), conditions)

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

    def _conditions(self, filter: FilterExpression | None) -> list[tuple[str, tuple[Slots, Slots], str, Any]]:
        """The conditions joined by AND at the top level, one by one, so that an exclusion can name one."""
        match filter:
            case None:
                return []
            case AllOf():
                return [each for part in filter.of for each in self._conditions(part)]
            case AnyOf():
                _check_no_expired(filter)
                yes, no = np.zeros(self.size, np.bool_), np.ones(self.size, np.bool_)
                for part_yes, part_no in map(self._evaluate, filter.of):
                    yes |= part_yes
                    no &= part_no
                return [(describe_filter(filter), (yes, no), "or", filter.of)]
            case Not():
                _check_no_expired(filter)
                yes, no = self._evaluate(filter.of)
                return [(f"not ({describe_filter(filter.of)})", (no, yes), "not", filter.of)]
            case Filter():
                if filter.expired not in (None, True, False):
                    raise InvalidInput(f"expired must be true or false, not {check.short_repr(filter.expired)}.")
                decay = (
                    1.0
                    if filter.confidence_decay is None
                    else check.fraction(filter.confidence_decay, "confidence_decay")
                )
                conditions = [
                    (self._condition(name, wanted, decay), name, wanted) for name, wanted in conditions_of(filter)
                ]
                return [(f"{name}={format_value(wanted)}", pair, name, wanted) for pair, name, wanted in conditions]
        raise InvalidInput(f"filter must be a Filter, not {check.short_repr(filter)}.")

    def _evaluate(self, filter: FilterExpression) -> tuple[Slots, Slots]:
        yes, no = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for _, (part_yes, part_no), _, _ in self._conditions(filter):
            yes &= part_yes
            no |= part_no
        return yes, no

    def _condition(self, name: str, value: Any, decay: float) -> tuple[Slots, Slots]:
        if name == "status":
            unknown = [each for each in check.one_or_more(value, name) if each not in STATUSES]
            if unknown:
                raise InvalidInput(f"There is no status {unknown[0]!r}; there are: {', '.join(STATUSES)}.")
            return _two_valued(self._with_status(check.one_or_more(value, name)))
        if name in KEYWORD_FIELDS:
            return _two_valued(self._coded(name, check.one_or_more(value, name)))
        match name:
            case "tags":
                return _two_valued(self._tagged(check.one_or_more(value, name)))
            case "path":
                return _two_valued(self._under_path(check.string(value, name)))
            case "classification":
                return _two_valued(self.column(name) <= check.integer(value, name))
            case "min_confidence":
                return _two_valued(self._with_confidence(check.fraction(value, name), decay))
            case "since":
                return _two_valued(self.column("created") >= check.micros(check.moment(value, name)))
            case "until":
                return _two_valued(self.column("created") < check.micros(check.moment(value, name)))
            case "context":
                check_context_conditions(value)
                return self._by_context(repr(value), lambda context: match_context(context, value))
            case _:
                check_near(value)
                return self._by_context("", lambda context: match_near(context, value))

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


def _two_valued(yes: Slots) -> tuple[Slots, Slots]:
    return yes, ~yes


def format_value(value: Any) -> str:
    """A value as a person would write it."""
    match value:
        case Near():
            return f"{value.field} within {value.within:g} of {list(value.target)}"
        case _:
            return check.short_repr(value, 120)


def describe_filter(filter: FilterExpression) -> str:
    match filter:
        case Filter():
            return " and ".join(f"{name}={format_value(value)}" for name, value in conditions_of(filter))
        case Not():
            return f"not ({describe_filter(filter.of)})"
        case AllOf():
            return " and ".join(map(describe_filter, filter.of))
        case AnyOf():
            return " or ".join(f"({describe_filter(part)})" for part in filter.of)


def _depends_on_last_access(filter: FilterExpression | None) -> bool:
    """Does the result of a filter change while nothing is written?"""
    return any_filter(filter, lambda part: part.confidence_decay is not None)


def _includes_expired(filter: FilterExpression | None) -> bool:
    if isinstance(filter, AllOf):
        return any(map(_includes_expired, filter.of))
    return isinstance(filter, Filter) and filter.expired is True


def _check_no_expired(filter: FilterExpression) -> None:
    if any_filter(filter, lambda part: part.expired is not None):
        raise InvalidInput(
            "expired cannot be negated or be an alternative: it is not a condition, it includes memories."
        )


def _positive_values(filter: FilterExpression | None, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The values that a filter wants under a name, outside of any negation; empty when it wants none in particular.

    An alternative that names none has the default, if another one names some.
    """
    if isinstance(filter, AllOf):
        named = [values for part in filter.of if (values := _positive_values(part, name, default))]
        return tuple(value for value in named[0] if all(value in other for other in named)) if named else ()
    if isinstance(filter, AnyOf):
        parts = [_positive_values(part, name, default) for part in filter.of]
        filled = [part or default for part in parts]
        return tuple(dict.fromkeys(value for part in filled for value in part)) if any(parts) and all(filled) else ()
    value = getattr(filter, name, None) if isinstance(filter, Filter) else None
    return () if value is None else check.one_or_more(value, name)
