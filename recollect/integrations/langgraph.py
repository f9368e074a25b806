"""LangGraph: its long-term memory (``BaseStore``) in a Recollect file, searched by words and meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from recollect.errors import InvalidInput
from recollect.integrations import missing_package
from recollect.integrations.common import KeyedMemories, checked_collection
from recollect.mind import Mind
from recollect.model import Filter, Memory, check

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )
    from langgraph.store.base.embed import get_text_at_path
except ImportError as error:
    raise missing_package("langgraph", error) from error

WHOLE = "$"  # the path of a whole value
COMPARE = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


class RecollectStore(BaseStore):
    """A store for ``graph.compile(store=…)`` and for the memory tools of agents.

    >>> store = RecollectStore(Mind("memory.db"))
    >>> store.put(("users", "ada"), "food", {"text": "Ada is allergic to nuts."})
    >>> store.search(("users",), query="what must she not eat?")

    ``fields`` are the paths of a value that are searched, as in LangGraph's index configuration; by default all of it.
    ``ttl`` is LangGraph's TTLConfig. Every item is a memory of kind "item" in ``collection``.
    """

    supports_ttl = True

    def __init__(
        self,
        mind: Mind,
        *,
        collection: str | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if isinstance(fields, str):
            raise InvalidInput(f"fields must be a list of paths, such as ['text'], not {fields!r}.")
        self.mind = mind
        self.fields = [WHOLE] if fields is None else list(fields)
        self.ttl_config = ttl
        self._items = KeyedMemories(mind, checked_collection(mind, collection, "langgraph"), "item")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Every read of a batch sees the state before its writes; of several writes of one key the last counts."""
        listed = list(ops)
        results = [self._read(op) for op in listed]
        writes = {self._id(op): op for op in listed if isinstance(op, PutOp)}
        now = self.mind.clock()
        put = [(id, op) for id, op in writes.items() if op.value is not None]
        self._items.put([self._memory(id, op, now, place) for place, (id, op) in enumerate(put)])
        self._items.delete([id for id, op in writes.items() if op.value is None])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, ops)

    def sweep_ttl(self) -> int:
        """Forget the items that have expired; how many there were. Reads leave them out in any case."""
        items = self.mind.list(Filter(collection=self._items.collection, kind="item", status="active"))
        expired = [memory.id for memory in items if not self._items.is_live(memory)]
        return self.mind.forget(*expired) if expired else 0

    # Reading.

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                memory = self._items.get(self._items.id(*op.namespace, op.key))
                self._refresh([memory] if memory and op.refresh_ttl else [])
                return _item(memory) if memory else None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
        raise InvalidInput(f"ops must be operations of langgraph.store.base, not {check.short_repr(op)}.")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        place = {f"namespace.{depth}": label for depth, label in enumerate(op.namespace_prefix)}
        equal = {f"value.{key}": wanted for key, wanted in (op.filter or {}).items() if _is_simple(key, wanted)}
        scope = Filter(context={**place, **equal}) if place or equal else None

        def test(memory: Memory) -> bool:
            value = memory.context["value"]
            return all(_matches(value.get(key), wanted) for key, wanted in (op.filter or {}).items())

        complete = len(equal) == len(op.filter or {})
        found: list[tuple[Memory, float | None]] = []
        if op.query and op.query.strip():
            indexed = Filter(context={**place, **equal, "indexed": True})
            found += self._items.search(op.query, end, indexed, None if complete else test)
        if len(found) < end:  # the rest without a score, as in LangGraph's own stores
            seen = {memory.id for memory, _ in found}
            found += [(each, None) for each in self._items.all(scope, test) if each.id not in seen]
        found = found[op.offset : end]
        self._refresh([memory for memory, _ in found] if op.refresh_ttl else [])
        return [_search_item(memory, score) for memory, score in found]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {_namespace(memory) for memory in self._items.all()}
        matching = [each for each in namespaces if all(_fits(each, rule) for rule in op.match_conditions or ())]
        cut = {each if op.max_depth is None else each[: op.max_depth] for each in matching}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _refresh(self, memories: Sequence[Memory]) -> None:
        """Reading an item with a time to live starts that time again."""
        for memory in memories:
            if (minutes := memory.context["ttl"]) is not None:
                expires = self.mind.clock() + timedelta(minutes=minutes)
                self.mind.edit(memory.id, expires=expires, updated=memory.updated or expires)

    # Writing.

    def _id(self, op: PutOp) -> str:
        return self._items.id(*op.namespace, op.key)

    def _memory(self, id: str, op: PutOp, now: datetime, place: int) -> Memory:
        """An item as a memory. Those of one batch are a microsecond apart, so that they stay in order."""
        if not op.namespace:
            raise InvalidInput("namespace is empty; an item needs at least one label, such as ('users',).")
        value = check.json_object(op.value, f"value of {op.key!r}")
        texts = self._texts(value, op.index)
        known = self._items.get(id)
        ttl = None if op.ttl is None else check.number(op.ttl, "ttl", low=0)
        return Memory(
            text="\n".join(texts) or op.key or "item",
            id=id,
            created=known.created if known else now + timedelta(microseconds=place),
            updated=now,
            expires=None if ttl is None else now + timedelta(minutes=ttl),
            context={
                "namespace": {str(depth): label for depth, label in enumerate(op.namespace)},
                "key": op.key,
                "value": value,
                "indexed": bool(texts),
                "ttl": ttl,
            },
        )

    def _texts(self, value: Mapping[str, Any], index: Sequence[str] | bool | None) -> list[str]:
        """The texts by which an item is found; none for ``index=False``."""
        if index is False:
            return []
        paths = self.fields if index is None or index is True else index
        found = [_lines(value) if path == WHOLE else get_text_at_path(value, path) for path in paths]
        return [text for texts in found for text in texts if text.strip()]


def _lines(value: object, name: str = "") -> list[str]:
    """A whole value as text: its texts, and "name: value" for the rest, so that words and not JSON are searched."""
    match value:
        case Mapping():
            return [line for key, inner in value.items() for line in _lines(inner, key)]
        case list() | tuple():
            return [line for inner in value for line in _lines(inner, name)]
        case str() if " " in value.strip():  # more than a word speaks for itself
            return [value]
        case None:
            return []
    return [f"{name}: {value}"]


def _is_simple(key: str, wanted: object) -> bool:
    """Can a Filter say the same? Its paths have dots, and it tells true from 1."""
    return "." not in key and not key.startswith("$") and isinstance(wanted, str)


def _matches(value: Any, wanted: Any) -> bool:
    """Does a value match a condition of LangGraph: equality, operators, or an object of conditions on its parts?"""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_apply(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and all(_matches(value.get(key), inner) for key, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_matches, value, wanted))
    return bool(value == wanted)


def _apply(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == operand) is (operator == "$eq")
    if operator not in COMPARE:
        allowed = ", ".join(["$eq", "$ne", *COMPARE])
        raise InvalidInput(f"filter has no operator {operator!r}; there are {allowed}.")
    try:
        return bool(COMPARE[operator](float(value), float(operand)))
    except (TypeError, ValueError):  # a missing value, or none that can be compared
        return False


def _fits(namespace: tuple[str, ...], rule: MatchCondition) -> bool:
    """Does a namespace begin or end with the labels of a rule? ``*`` stands for any label."""
    size = len(rule.path)
    part = namespace[:size] if rule.match_type == "prefix" else namespace[max(0, len(namespace) - size) :]
    return len(part) == size and all(wanted in ("*", label) for label, wanted in zip(part, rule.path, strict=True))


def _namespace(memory: Memory) -> tuple[str, ...]:
    labels = memory.context["namespace"]
    return tuple(labels[str(depth)] for depth in range(len(labels)))


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "namespace": _namespace(memory),
        "key": memory.context["key"],
        "value": memory.context["value"],
        "created_at": memory.created,
        "updated_at": memory.updated,
    }


def _item(memory: Memory) -> Item:
    return Item(**_fields(memory))


def _search_item(memory: Memory, score: float | None) -> SearchItem:
    return SearchItem(**_fields(memory), score=score)
