"""Reciprocal rank fusion of any ranked lists, whoever ranked them (J1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import Memory, check
from recollect.recall.results import Result
from recollect.text.slugs import path_or_name

DEFAULT_K = 60.0
FIELDS = ("path", "title", "summary", "text")  # of a memory, as fields of an entry

Entry = str | Mapping[str, Any] | Memory | Result


def fuse(lists: Iterable[Iterable[Entry]], k: float = DEFAULT_K) -> list[dict[str, Any]]:
    """Merge ranked lists into one: each entry scores Σ 1 ÷ (k + rank + 1), ranks counted from 0.

    An entry is an id, a mapping with an ``id`` (and a path, title or anything else), a memory or a result of a recall.
    The first entry with an id counts; others only fill in what it lacks: fields that are absent, None or "". An entry
    that a list has twice counts twice. ``k`` of 0 or less means 60.

    The answer has one mapping per id, its fields and the ``score``, the best first; equal scores are ordered by path
    (without one, by the slug of the title, or the id) and then by id. The order of the lists changes no score.

    >>> [(each["id"], round(each["score"], 4)) for each in fuse([["a", "b"], ["b", "c"]])]
    [('b', 0.0325), ('a', 0.0164), ('c', 0.0161)]
    """
    k = k if check.number(k, "k") > 0 else DEFAULT_K
    merged: dict[str, dict[str, Any]] = {}
    terms: dict[str, list[float]] = {}
    for ranking in _lists(lists):
        for rank, entry in enumerate(ranking):
            fields = _fields(entry)
            id = fields["id"]
            first = merged.setdefault(id, {})
            first.update((name, value) for name, value in fields.items() if _is_blank(first.get(name)))
            terms.setdefault(id, []).append(1 / (k + rank + 1))
    fused = [{**fields, "score": fsum(terms[id])} for id, fields in merged.items()]  # fsum: exact in any order
    return sorted(fused, key=lambda each: (-each["score"], _path(each), each["id"]))


def _lists(lists: Iterable[Iterable[Entry]]) -> Iterable[Iterable[Entry]]:
    if isinstance(lists, str | Mapping) or not isinstance(lists, Iterable):
        raise InvalidInput(f"lists must be ranked lists of entries, not {check.short_repr(lists)}.")
    for ranking in lists:
        if isinstance(ranking, str | Mapping) or not isinstance(ranking, Iterable):
            raise InvalidInput(f"A ranked list must be a list of entries, not {check.short_repr(ranking)}.")
        yield ranking


def _fields(entry: Entry) -> dict[str, Any]:
    memory = entry.memory if isinstance(entry, Result) else entry
    if isinstance(memory, Memory):
        fields: dict[str, Any] = {"id": memory.id, **{name: getattr(memory, name) for name in FIELDS}}
    elif isinstance(memory, Mapping):
        fields = {name: value for name, value in memory.items() if name != "score"}
    else:
        fields = {"id": memory}
    if not isinstance(fields.get("id"), str) or not fields["id"]:
        raise InvalidInput(
            "An entry must be an id, a mapping with an id, a memory or a result of a recall, "
            f"not {check.short_repr(entry)}."
        )
    return fields


def _is_blank(value: Any) -> bool:
    return value is None or value == ""


def _path(fields: Mapping[str, Any]) -> str:
    return path_or_name(str(fields.get("path") or ""), str(fields.get("title") or ""), fields["id"])
