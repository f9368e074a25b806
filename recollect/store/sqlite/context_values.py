"""Indexed values of contexts and tags: which slots have which value at which path, and what a condition makes of them.

A key is a path, a byte that no UTF-8 text has, the kind of the value, and the value in a form whose bytes sort as the
values do. So the keys of a path are neighbours in one sorted table, and a comparison is a range of it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import JsonObject
from recollect.model.filter import Near, has_operators, is_number
from recollect.model.matching import Answer, apply_operator, equal, is_near
from recollect.store.base import Flags
from recollect.store.sqlite.string_table import StringTable, decode, encode

END = b"\xff"  # of a path
TAG = b"\xfe"  # begins the key of a tag
TAGS = b"\xfd"  # begins the key of a list of tags
AFTER = b"\xff"  # sorts after whatever a key may continue with
NUMBER, POINT, STRING, OTHER = b"n", b"p", b"s", b"x"
WHOLE, FRACTION = b"i", b"f"  # after a number: 3 and 3.0 are equal, but shown as they were written
MAX_DIMENSIONS = 8  # of a list of numbers that is indexed as a point
BORDER = 1e-9  # distances this near to the limit (relatively) are computed again
Decision = tuple[Flags, Flags]  # by slot: certainly true, certainly false


def context_keys(context: Mapping[str, Any], path: str = "") -> Iterator[bytes]:
    """The keys of all values in a context. A key of an object that contains a dot cannot be asked for by a path."""
    for name, value in context.items():
        if "." in name:
            continue
        here = f"{path}.{name}" if path else name
        yield encode(here) + END + _encode_value(value)
        if isinstance(value, Mapping):
            yield from context_keys(value, here)


def tag_keys(tags: Sequence[str]) -> list[bytes]:
    """The key of each tag, and one of all of them where they are not in the order of their keys."""
    keys = [TAG + encode(tag) for tag in dict.fromkeys(tags)]
    in_order = keys == sorted(keys) and len(keys) == len(tags)
    return keys if in_order else [*keys, TAGS + encode(json.dumps(tags, ensure_ascii=False))]


def _encode_value(value: Any) -> bytes:
    if (number := _exact(value)) is not None:
        return NUMBER + _sortable(number) + (WHOLE if isinstance(value, int) else FRACTION)
    if isinstance(value, str):
        return STRING + encode(value)
    if isinstance(value, list) and 0 < len(value) <= MAX_DIMENSIONS:
        point = [_exact(each) for each in value]
        if None not in point:
            whole = sum(isinstance(each, int) << at for at, each in enumerate(value))
            return POINT + bytes([len(value)]) + struct.pack(f">{len(value)}dB", *point, whole)
    return OTHER + encode(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _exact(value: Any) -> float | None:
    """A number as a float, if that is the same number."""
    if not is_number(value):
        return None
    try:
        number = float(value) + 0.0  # −0.0 is 0.0
    except OverflowError:
        return None
    return number if math.isfinite(number) and number == value else None


def _sortable(number: float) -> bytes:
    (bits,) = struct.unpack(">Q", struct.pack(">d", number))
    return struct.pack(">Q", bits ^ ((1 << 64) - 1 if bits >> 63 else 1 << 63))


def _decode_value(key: bytes) -> Any:
    """The value of a key without its path."""
    kind, value = key[:1], key[1:]
    if kind == NUMBER:
        (bits,) = struct.unpack(">Q", value[:8])
        number = struct.unpack(">d", struct.pack(">Q", bits ^ (1 << 63 if bits >> 63 else (1 << 64) - 1)))[0]
        return int(number) if value[8:] == WHOLE else number
    if kind == POINT:
        *point, whole = struct.unpack(f">{value[0]}dB", value[1:])
        return [int(each) if whole >> at & 1 else each for at, each in enumerate(point)]
    text = value.decode("utf-8", "surrogatepass")
    return text if kind == STRING else json.loads(text)


@dataclass(frozen=True, slots=True)
class ValueTable:
    """The keys of some slots: ``slots[starts[i]:starts[i + 1]]`` have the i-th key."""

    keys: StringTable
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    size: int  # how many slots there are

    @classmethod
    def of(cls, keys_by_slot: Sequence[Sequence[bytes]]) -> ValueTable:
        found: dict[bytes, list[int]] = {}
        for slot, keys in enumerate(keys_by_slot):
            for key in keys:
                found.setdefault(key, []).append(slot)
        ordered = sorted(found)
        counts = [len(found[key]) for key in ordered]
        slots = np.array([slot for key in ordered for slot in found[key]], dtype=np.int32)
        return cls(StringTable.of(ordered), np.cumsum([0, *counts], dtype=np.int64), slots, len(keys_by_slot))

    def with_tags(self, tags: Sequence[str]) -> Flags:
        """The slots that have all of these tags."""
        flags = np.ones(self.size, np.bool_)
        for tag in tags:
            place = self.keys.find(TAG + encode(tag))
            flags &= self._having(place, place + 1) if place >= 0 else False
        return flags

    def decide(self, conditions: Mapping[str, Any]) -> Decision:
        """As ``match_context``, for all slots."""
        yes, no = np.ones(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for path, wanted in conditions.items():
            for some_yes, some_no in self._decide_path(path, wanted):
                yes &= some_yes
                no |= some_no
        return yes, no

    def near(self, near: Near) -> Decision:
        """As ``match_near``, for all slots."""
        yes, no = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        if len(near.target) <= MAX_DIMENSIONS:
            head = encode(near.field) + END + POINT + bytes([len(near.target)])
            first, last = self.keys.left(head), self.keys.left(head[:-1] + bytes([head[-1] + 1]))
            if first < last:
                self._mark(first, self._within(first, last, len(head), near), yes, no)
        first, last = self._range(near.field, OTHER)
        answers = [is_near(_decode_value(value), near) for value in self._values(near.field, first, last)]
        self._mark(first, answers, yes, no)
        return yes, no

    def _within(self, first: int, last: int, head: int, near: Near) -> list[Answer]:
        """Are these points, whose keys have one length, within the distance?"""
        start = int(self.keys.ends[first - 1]) if first else 0
        rows = self.keys.data[start : int(self.keys.ends[last - 1])].reshape(last - first, -1)
        points = rows[:, head:-1].copy().view(">f8").astype(np.float64)
        apart = np.sqrt(((points - np.asarray(near.target, dtype=np.float64)) ** 2).sum(axis=1))
        answers: list[Answer] = (apart <= near.within).tolist()
        unsure = ~(np.abs(apart - near.within) > BORDER * np.maximum(1.0, np.maximum(apart, near.within)))
        for at in np.flatnonzero(unsure).tolist():
            answers[at] = is_near(points[at].tolist(), near)
        return answers

    def _decide_path(self, path: str, wanted: Any) -> Iterator[Decision]:
        if path == "$or":
            yes, no = np.zeros(self.size, np.bool_), np.ones(self.size, np.bool_)
            for alternative in wanted:
                some_yes, some_no = self.decide(alternative)
                yes |= some_yes
                no &= some_no
            yield yes, no
        elif has_operators(wanted):
            for name, operand in wanted.items():
                yield self._decide_operator(path, name, operand)
        else:
            yield self._equal(path, wanted)

    def _decide_operator(self, path: str, name: str, operand: Any) -> Decision:
        match name:
            case "$ne":
                yes, no = self._equal(path, operand)
                return no, yes
            case "$in":
                found = np.zeros(self.size, np.bool_)
                for each in operand:
                    found |= self._equal(path, each)[0]
                return found, ~found
            case "$exists":
                found = self._having(*self._range(path))
                return (found, ~found) if operand else (~found, found)
            case "$contains":
                return self._by_value(path, lambda value: apply_operator(name, value, operand))
        return self._compare(path, name, operand)

    def _equal(self, path: str, wanted: Any) -> Decision:
        """Numbers and texts are looked up; other values are compared one by one."""
        if isinstance(wanted, str):
            place = self.keys.find(encode(path) + END + STRING + encode(wanted))
            yes = self._having(place, place + 1) if place >= 0 else np.zeros(self.size, np.bool_)
            return yes, ~yes
        if (number := _exact(wanted)) is not None:
            key = encode(path) + END + NUMBER + _sortable(number)
            yes = self._having(self.keys.left(key), self.keys.left(key + AFTER))
            return yes, ~yes
        yes, _ = self._by_value(path, lambda value: equal(value, wanted), (POINT, OTHER))
        return yes, ~yes

    def _compare(self, path: str, name: str, operand: Any) -> Decision:
        """A range of the keys of the operand's kind; whole numbers that no float is equal to, one by one."""
        yes, no = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        number = _exact(operand)
        kind = STRING if isinstance(operand, str) else NUMBER if number is not None else b""
        if kind:
            first, last = self._range(path, kind)
            key = encode(path) + END + kind + (encode(operand) if number is None else _sortable(number))
            after = name in ("$lte", "$gt")  # a text is followed by texts that it begins, a number by its kind
            cut = self.keys.left(key + (b"" if not after else b"\0" if number is None else AFTER))
            below, above = self._having(first, cut), self._having(cut, last)
            yes, no = (below, above) if name in ("$lt", "$lte") else (above, below)
        kinds = (OTHER,) if kind else (NUMBER, OTHER)
        others = self._by_value(path, lambda value: apply_operator(name, value, operand), kinds)
        return yes | others[0], no | others[1]

    def _by_value(
        self, path: str, answer: Callable[[Any], Answer], kinds: Sequence[bytes] = (NUMBER, POINT, STRING, OTHER)
    ) -> Decision:
        """Evaluate a condition on each distinct value of a path. Of a missing value it must be undecided."""
        yes, no = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for kind in kinds:
            first, last = self._range(path, kind)
            self._mark(first, [answer(_decode_value(value)) for value in self._values(path, first, last)], yes, no)
        return yes, no

    def _mark(self, first: int, answers: Sequence[Answer], yes: Flags, no: Flags) -> None:
        """Set the flags of the slots that have the keys from ``first`` on, by the answers for these keys."""
        if answers:
            starts = self.starts[first : first + len(answers) + 1]
            slots = self.slots[starts[0] : starts[-1]]
            counts = np.diff(starts)
            yes[slots[np.repeat([each is True for each in answers], counts)]] = True
            no[slots[np.repeat([each is False for each in answers], counts)]] = True

    def _range(self, path: str, kind: bytes = b"") -> tuple[int, int]:
        """From which place to which there are the keys of a path, or of one kind of values of it."""
        head = encode(path) + END + kind
        return self.keys.left(head), self.keys.left(head + AFTER)

    def tags_of(self, slot: int) -> tuple[str, ...]:
        keys = self._keys_of(slot)
        listed = [json.loads(key[1:]) for key in keys if key[:1] == TAGS]
        return tuple(listed[0] if listed else [decode(key[1:]) for key in keys if key[:1] == TAG])

    def context_of(self, slot: int) -> JsonObject:
        """A context; without names that contain a dot, which cannot be asked for."""
        pairs = (key.partition(END) for key in self._keys_of(slot) if key[:1] not in (TAG, TAGS))
        return {decode(path): _decode_value(value) for path, _, value in pairs if b"." not in path}

    def _keys_of(self, slot: int) -> list[bytes]:
        """The keys of one slot: all of the table is looked through."""
        places = np.searchsorted(self.starts, np.flatnonzero(self.slots == slot), side="right") - 1
        return [self.keys.at(place) for place in places.tolist()]

    def _values(self, path: str, first: int, last: int) -> list[bytes]:
        head = len(encode(path)) + 1
        return [key[head:] for key in self.keys.between(first, last)]

    def _having(self, first: int, last: int) -> Flags:
        flags = np.zeros(self.size, np.bool_)
        if first < last:
            flags[self.slots[int(self.starts[first]) : int(self.starts[last])]] = True
        return flags
