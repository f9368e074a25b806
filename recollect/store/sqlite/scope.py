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
Slots = Flags


Condition = tuple[str, Slots, str, Any]  # what it is, who passes, and of a filter's: its name and what it wants


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
    """Evaluates filters over an image. Every answer is two masks: certainly yes, certainly no."""

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
        """The mask for a filter; where time has no say in it, the same one again until something is written."""
        self.now = check.micros(now)
        key = (
            None
            if as_of or hidden or self._dated() or _fades(filter)
            else ("scope", self.bound, repr(filter), tuple(statuses))
        )
        if key is None:
            return self._made(filter, statuses, now, as_of, hidden)
        known: SlotScope | None = self.index.derived.get(key)
        if known is None:
            known = self._made(filter, statuses, now, as_of, hidden)
            self._keep(key, known)
        return known

    def _dated(self) -> bool:
        """Is there any memory whose time begins or ends?"""
        dated: bool | None = self.index.derived.get("dated")
        if dated is None:
            moments = (self.column(name) for name in ("valid_from", "valid_to", "expires"))
            dated = self.index.derived["dated"] = not all(np.isnan(each).all() for each in moments)
        return dated

    def _made(
        self, filter: FilterExpression | None, statuses: Sequence[str], now: datetime, as_of: bool, hidden: bool
    ) -> SlotScope:
        forgotten = self._coded("status", ("forgotten",))
        inside = self.bound_slots()
        conditions: list[Condition] = [(NOT_STORED, inside, "", None)]
        if not hidden:
            conditions.append(("it was forgotten", ~forgotten, "", None))
        asked = _positive(filter, "status", tuple(statuses))
        status = self._coded("status", asked or statuses) if hidden else self._standing(asked or statuses)
        conditions.append((f"its status is none of: {', '.join(asked or statuses)}", status, "", None))
        if as_of:
            conditions.append((f"it is not valid at {now.isoformat()}", self._valid(), "", None))
        elif not hidden:
            conditions.append(("it is not valid yet", ~(self.column("valid_from") > self.now), "", None))
        if not hidden and not _asks_for_expired(filter):
            conditions.append(("it has expired", ~(self.column("expires") <= self.now), "", None))
        conditions += [(label, yes, name, wanted) for label, (yes, _), name, wanted in self._named(filter)]
        slots = conditions[0][1].copy()
        for _, passing, _, _ in conditions[1:]:
            slots &= passing
        collections = _positive(filter, "collection")
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

    def _named(self, filter: FilterExpression | None) -> list[tuple[str, tuple[Slots, Slots], str, Any]]:
        """The conditions joined by AND at the top, one by one, so that each can be named."""
        match filter:
            case None:
                return []
            case AllOf():
                return [each for part in filter.of for each in self._named(part)]
            case AnyOf():
                _check_no_expired(filter)
                yes, no = np.zeros(self.size, np.bool_), np.ones(self.size, np.bool_)
                for part_yes, part_no in map(self._all, filter.of):
                    yes |= part_yes
                    no &= part_no
                return [(describe_filter(filter), (yes, no), "or", filter.of)]
            case Not():
                _check_no_expired(filter)
                yes, no = self._all(filter.of)
                return [(f"not ({describe_filter(filter.of)})", (no, yes), "not", filter.of)]
            case Filter():
                if filter.expired not in (None, True, False):
                    raise InvalidInput(f"expired must be true or false, not {check.short_repr(filter.expired)}.")
                decay = (
                    1.0
                    if filter.confidence_decay is None
                    else check.fraction(filter.confidence_decay, "confidence_decay")
                )
                judged = [
                    (self._condition(name, wanted, decay), name, wanted) for name, wanted in conditions_of(filter)
                ]
                return [(f"{name}={shown(wanted)}", pair, name, wanted) for pair, name, wanted in judged]
        raise InvalidInput(f"filter must be a Filter, not {check.short_repr(filter)}.")

    def _all(self, filter: FilterExpression) -> tuple[Slots, Slots]:
        yes, no = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for _, (part_yes, part_no), _, _ in self._named(filter):
            yes &= part_yes
            no |= part_no
        return yes, no

    def _condition(self, name: str, value: Any, decay: float) -> tuple[Slots, Slots]:
        if name == "status":
            unknown = [each for each in check.one_or_more(value, name) if each not in STATUSES]
            if unknown:
                raise InvalidInput(f"There is no status {unknown[0]!r}; there are: {', '.join(STATUSES)}.")
            return _decided(self._standing(check.one_or_more(value, name)))
        if name in KEYWORD_FIELDS:
            return _decided(self._coded(name, check.one_or_more(value, name)))
        match name:
            case "tags":
                return _decided(self._tagged(check.one_or_more(value, name)))
            case "path":
                return _decided(self._under(check.string(value, name)))
            case "classification":
                return _decided(self.column(name) <= check.integer(value, name))
            case "min_confidence":
                return _decided(self._confident(check.fraction(value, name), decay))
            case "since":
                return _decided(self.column("created") >= check.micros(check.moment(value, name)))
            case "until":
                return _decided(self.column("created") < check.micros(check.moment(value, name)))
            case "context":
                check_context_conditions(value)
                return self._judged(repr(value), lambda context: match_context(context, value))
            case _:
                check_near(value)
                return self._judged("", lambda context: match_near(context, value))

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
        held = self.column("tags")
        return self._where(slot for slot, has in list(held.items()) if slot < self.size and wanted <= set(has))

    def _under(self, path: str) -> Slots:
        index = dict(self.index.codes["path"]) if "path" in self.index.columns else None
        column = self.column("path")
        index = index if index is not None else dict(self.index.codes["path"])
        matching = [
            code for held, code in index.items() if held == path or (path[-1:] == "/" and held.startswith(path))
        ]
        return np.isin(column, matching)

    def _judged(self, key: str, judgement: Callable[[Any], bool | None]) -> tuple[Slots, Slots]:
        """Judged once a version; an empty context is judged too."""
        known: tuple[Slots, Slots] | None = self.index.derived.get(key)
        if known is None:
            contexts = self.column("context")
            answers = {slot: judgement(held) for slot, held in list(contexts.items()) if slot < self.size}
            bare = judgement({})
            known = yes, no = np.full(self.size, bare is True), np.full(self.size, bare is False)
            for slot, answer in answers.items():
                yes[slot], no[slot] = answer is True, answer is False
            if key:
                self._keep(key, known)
        return known

    def _keep(self, key: Hashable, answer: Any) -> None:
        """For as long as nothing is written, and not too many are kept; other threads may clear them at any time."""
        if len(self.index.derived) > MAX_DERIVED:
            self.index.derived.clear()
        self.index.derived[key] = answer

    def _confident(self, least: float, decay: float) -> Slots:
        """confidence × decay ^ days ≥ least, days since the last access, or since creation without one.

        Time counts in whole hours: what was kept a moment ago has the confidence that it was kept with.
        """
        confidence = np.nan_to_num(self.column("confidence"))
        if decay == 1.0:
            return np.asarray(confidence >= least)
        passing = self._unfaded(self.column("created"), confidence, decay) >= least
        if (passing | (confidence < least)).all():  # an access could only lift what passes already
            return np.asarray(passing)
        seen = self.column("created").copy()
        rows, moments = self.last_accessed()
        slots = self.index.slots(rows)
        known = slots >= 0
        seen[slots[known]] = np.maximum(seen[slots[known]], moments[known])
        return np.asarray(self._unfaded(seen, confidence, decay) >= least)

    def _unfaded(self, seen: Floats, confidence: Floats, decay: float) -> Floats:
        days = np.maximum(0.0, (self.now - seen) // HOUR / 24)
        return np.asarray(confidence * decay**days)

    def _standing(self, statuses: Sequence[str]) -> Slots:
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

    def _where(self, slots: Any) -> Slots:
        scope = np.zeros(self.size, np.bool_)
        scope[np.fromiter(slots, dtype=np.int64)] = True
        return scope


def _decided(yes: Slots) -> tuple[Slots, Slots]:
    return yes, ~yes


def shown(value: Any) -> str:
    """A wanted value as a person would write it."""
    match value:
        case Near():
            return f"{value.field} within {value.within:g} of {list(value.target)}"
        case _:
            return check.short_repr(value, 120)


def describe_filter(filter: FilterExpression) -> str:
    match filter:
        case Filter():
            return " and ".join(f"{name}={shown(value)}" for name, value in conditions_of(filter))
        case Not():
            return f"not ({describe_filter(filter.of)})"
        case AllOf():
            return " and ".join(map(describe_filter, filter.of))
        case AnyOf():
            return " or ".join(f"({describe_filter(part)})" for part in filter.of)


def _fades(filter: FilterExpression | None) -> bool:
    """Does the answer of a filter change while nothing is written?"""
    return any_filter(filter, lambda part: part.confidence_decay is not None)


def _asks_for_expired(filter: FilterExpression | None) -> bool:
    if isinstance(filter, AllOf):
        return any(map(_asks_for_expired, filter.of))
    return isinstance(filter, Filter) and filter.expired is True


def _check_no_expired(filter: FilterExpression) -> None:
    if any_filter(filter, lambda part: part.expired is not None):
        raise InvalidInput(
            "expired cannot be negated or be an alternative: it is not a condition, it includes memories."
        )


def _positive(filter: FilterExpression | None, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The values that a filter wants under a name, outside of any negation; empty when it wants none in particular.

    An alternative that names none has the default, if another one names some.
    """
    if isinstance(filter, AllOf):
        named = [values for part in filter.of if (values := _positive(part, name, default))]
        return tuple(value for value in named[0] if all(value in other for other in named)) if named else ()
    if isinstance(filter, AnyOf):
        parts = [_positive(part, name, default) for part in filter.of]
        filled = [part or default for part in parts]
        return tuple(dict.fromkeys(value for part in filled for value in part)) if any(parts) and all(filled) else ()
    value = getattr(filter, name, None) if isinstance(filter, Filter) else None
    return () if value is None else check.one_or_more(value, name)
