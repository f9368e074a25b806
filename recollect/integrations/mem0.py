"""mem0's client API, as of 2.2, on a Recollect file: ``from recollect.integrations.mem0 import Memory``.

``user_id``, ``agent_id`` and ``run_id`` are a memory's user, agent and session. mem0 itself is not needed. What needs a
language model there needs one here: without ``extract``, ``add(infer=True)`` stores the messages as they are, and
procedural memories are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from hashlib import md5
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.integrations.common import checked_collection, exact, search
from recollect.integrations.mem0_filters import FIELDS, IDENTITIES, check_filters, check_identity, compile_filters
from recollect.mind import Mind
from recollect.model import Filter, FilterExpression, check
from recollect.model import Memory as StoredMemory
from recollect.model.zones import to_zone
from recollect.protocols import ClosedOnExit
from recollect.threads import in_thread

if TYPE_CHECKING:
    from recollect.ingest.turns import ExtractFacts

log = logging.getLogger("recollect")
KINDS = ("memory", "fact")  # turns are where facts were taken from; mem0 does not show them
UNSET: Any = object()  # None removes an expiration date
# Sections of mem0's configuration; of them only the name of the collection has a meaning here.
CONFIG = (
    *("vector_store", "llm", "embedder", "reranker", "graph_store", "history_db_path", "version"),
    *("custom_instructions", "custom_fact_extraction_prompt", "custom_update_memory_prompt"),
)


class Mem0Memory(ClosedOnExit):
    """A drop-in for ``mem0.Memory``; the docstrings there apply. Deleting forgets: ``mind.undo()`` takes it back.

    >>> memory = Memory(path="memory.db")
    >>> memory.add("I am allergic to nuts.", user_id="ada")
    >>> memory.search("what must she not eat?", filters={"user_id": "ada"})["results"]

    ``extract`` gets the messages and returns facts, see ``Mind.remember_turns``. ``mind`` is an open mind to use.
    """

    def __init__(
        self,
        config: Any = None,
        *,
        path: str | PathLike[str] = "memory.db",
        mind: Mind | None = None,
        collection: str | None = None,
        extract: ExtractFacts | None = None,
    ) -> None:
        if isinstance(config, Mapping):
            collection = collection or _collection_of(config)
        elif config is not None:
            log.warning("The configuration of mem0 is not used: Recollect has its own model and file.")
        self._owns_mind = mind is None
        self.mind = Mind(path) if mind is None else mind
        self.collection = checked_collection(self.mind, collection, "mem0")
        self.extract = extract
        self._has_explained = False

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **options: Any) -> Mem0Memory:
        return cls(config_dict, **options)

    # Writing.

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        _refuse("timestamp", timestamp)
        if memory_type is not None:
            raise InvalidInput(f"memory_type {memory_type!r} needs a language model, which Recollect does not call.")
        owner = _owner(user_id, agent_id, run_id)
        if not owner:
            raise InvalidInput("At least one of user_id, agent_id and run_id is needed.")
        details: dict[str, Any] = {**owner, "collection": self.collection, "context": _without_identities(metadata, {})}
        details["expires"] = _expires(expiration_date)
        spoken = [message for message in _messages(messages) if message.get("role") != "system"]
        if infer and self.extract is not None:
            return {"results": self._add_facts(spoken, details)}
        if infer and not self._has_explained:
            self._has_explained = True
            log.info("add(infer=True): there is no extract function, so the messages are stored as they are.")
        usable = [each for each in spoken if each.get("content") is not None and each.get("role") is not None]
        memories = [
            {**details, "text": each["content"], "role": each["role"], "speaker": each.get("name") or ""}
            for each in usable
        ]
        ids = self.mind.remember_many(memories).ids if memories else []
        return {"results": [_added(self.mind.show(id)) for id in ids]}

    def _add_facts(self, messages: Sequence[Mapping[str, Any]], details: Mapping[str, Any]) -> list[dict[str, Any]]:
        stored = self.mind.remember_turns(messages, extract=self.extract, **details)
        if stored.error and not stored.facts:  # the messages themselves are what can be found
            session = str(details.get("session", ""))
            return [_added(self.mind.edit(turn.id, kind="memory", session=session)) for turn in stored.turns]
        return [_added(fact) for fact in stored.facts]

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNSET:
            raise InvalidInput("At least one of text, metadata, or expiration_date must be provided.")
        stored = self._require(memory_id)
        changes: dict[str, Any] = {}
        if metadata is not None:
            own = {name: getattr(stored, field) for name, field in FIELDS.items()}
            changes["context"] = {**stored.context, **_without_identities(metadata, own)}
        if expiration_date is not UNSET:
            changes["expires"] = _expires(expiration_date)
        self.mind.edit(stored.id, text=text, **changes)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        self.mind.forget(self._require(memory_id).id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Delete the memories of a user, agent and run, and the turns that they were taken from; of nobody else."""
        owner = _owner(user_id, agent_id, run_id)
        if not owner:
            raise InvalidInput(
                "At least one filter is required to delete all memories. If you want to delete all memories, use the "
                "`reset()` method."
            )
        self._forget_all(Filter(**owner))
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Delete everything in this collection."""
        self._forget_all(None)

    # Reading.

    def get(self, memory_id: str) -> dict[str, Any] | None:
        stored = self._own(memory_id)
        return None if stored is None else _item(stored, zone=self.mind.zone)

    def get_all(
        self,
        /,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **unknown: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        _check_unknown("get_all", unknown)
        scope, test = compile_filters(check_filters(filters))
        now, limit = self.mind.clock(), check.count(top_k, "top_k")
        found = [
            memory
            for memory in self.mind.list(self._scope(scope))
            if (show_expired or memory.expires is None or memory.expires > now) and (test is None or test(memory))
        ]
        return {"results": [_item(memory, UNSET, self.mind.zone) for memory in found[:limit]]}

    def search(
        self,
        /,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **unknown: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """``threshold`` is compared with the score of the default recipe. ``rerank`` has no effect, as in mem0 without
        a reranker. ``explain`` adds the reason for each score."""
        _refuse("reference_date", reference_date)
        _check_unknown("search", unknown)
        least = 0.1 if threshold is None else check.fraction(threshold, "threshold")
        limit = check.count(top_k, "top_k")
        scope, test = compile_filters(check_filters(filters))
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput(f"query must be a text that is not blank, not {check.short_repr(query)}.")
        own = self._scope(scope) & Filter(expired=True) if show_expired else self._scope(scope)
        found = [pair for pair in search(self.mind, query, limit, own, test) if pair[1] >= least]
        items = [_item(memory, score, self.mind.zone) for memory, score in found]
        if explain:
            for item in items:
                why = self.mind.why(query, item["id"], limit, filter=own) if test is None else None
                item["score_details"] = {"final_score": item["score"], "why": why.summary() if why else ""}
        return {"results": items}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Every change of a memory, oldest first, deletion included."""
        current = exact(self.mind, memory_id)
        if current is None or current.collection != self.collection:
            return []
        ended = self.mind.history(memory_id)
        versions = [memory for _, memory in ended] + [current]
        moments = [current.created, *(at for at, _ in ended)]
        entries = []
        for number, (version, at) in enumerate(zip(versions, moments, strict=True)):
            before = versions[number - 1] if number else None
            gone = version.status == "forgotten"
            entry = {
                "id": f"{memory_id}:{number}",
                "memory_id": memory_id,
                "old_memory": before.text if before else None,
                "new_memory": None if gone else version.text,
                "event": "DELETE" if gone else "UPDATE" if before else "ADD",
                "created_at": _iso(current.created),
                "updated_at": _iso(at),
                "is_deleted": gone,
                "actor_id": version.speaker or None,
                "role": version.role or None,
            }
            entries.append(entry)
        return entries

    def close(self) -> None:
        if self._owns_mind:
            self.mind.close()

    # Internals.

    def _scope(self, filter: FilterExpression | None) -> FilterExpression:
        own = Filter(collection=self.collection, kind=KINDS, status="active")
        return own if filter is None else own & filter

    def _own(self, memory_id: str) -> StoredMemory | None:
        stored = exact(self.mind, memory_id)
        if stored is None or stored.collection != self.collection or stored.kind not in KINDS:
            return None
        return stored if stored.status == "active" else None

    def _require(self, memory_id: str) -> StoredMemory:
        stored = self._own(memory_id)
        if stored is None:
            raise InvalidInput(f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'")
        return stored

    def _forget_all(self, owner: FilterExpression | None) -> None:
        scope: FilterExpression = Filter(collection=self.collection)
        ids = [memory.id for memory in self.mind.list(scope if owner is None else scope & owner)]
        if ids:
            self.mind.forget(*ids)


class AsyncMem0Memory:
    """A drop-in for ``mem0.AsyncMemory``: the methods of ``Memory``, awaited; they run in worker threads."""

    def __init__(self, config: Any = None, **options: Any) -> None:
        self.sync = Mem0Memory(config, **options)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **options: Any) -> AsyncMem0Memory:
        return cls(config_dict, **options)

    @property
    def mind(self) -> Mind:
        return self.sync.mind

    add = in_thread(Mem0Memory.add)
    update = in_thread(Mem0Memory.update)
    delete = in_thread(Mem0Memory.delete)
    delete_all = in_thread(Mem0Memory.delete_all)
    reset = in_thread(Mem0Memory.reset)
    get = in_thread(Mem0Memory.get)
    get_all = in_thread(Mem0Memory.get_all)
    search = in_thread(Mem0Memory.search)
    history = in_thread(Mem0Memory.history)

    def close(self) -> None:
        self.sync.close()

    async def __aenter__(self) -> AsyncMem0Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


Memory = Mem0Memory
AsyncMemory = AsyncMem0Memory


def _owner(user_id: Any, agent_id: Any, run_id: Any) -> dict[str, Any]:
    ids = {"user": (user_id, "user_id"), "agent": (agent_id, "agent_id"), "session": (run_id, "run_id")}
    checked = {field: check_identity(value, name) for field, (value, name) in ids.items()}
    return {field: value for field, value in checked.items() if value is not None}


def _messages(messages: object) -> list[Mapping[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    listed = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise InvalidInput(
            f"messages must be a text, a message or a list of messages, not {check.short_repr(messages)}."
        )
    return listed


def _without_identities(metadata: Mapping[str, Any] | None, own: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata cannot move a memory to another user: ids in it are left out, as in mem0."""
    values = check.json_object({} if metadata is None else metadata, "metadata")
    for name in IDENTITIES:
        if name in values and values.pop(name) != own.get(name):
            log.warning("metadata[%r] is ignored: ids cannot be set through metadata.", name)
    return values


def _expires(value: Any) -> datetime | None:
    """The end of the last day on which a memory is shown."""
    if value is None:
        return None
    try:
        day = value.date() if isinstance(value, datetime) else value
        day = date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError:
        day = None
    if not isinstance(day, date):
        raise InvalidInput(f"expiration_date must be a date such as '2026-12-31', not {check.short_repr(value)}.")
    return datetime(day.year, day.month, day.day) + timedelta(days=1)  # in the time zone of the mind


def _added(memory: StoredMemory) -> dict[str, Any]:
    item = {"id": memory.id, "memory": memory.text, "event": "ADD"}
    return item if memory.kind == "fact" else {**item, "actor_id": memory.speaker or None, "role": memory.role}


def _item(memory: StoredMemory, score: Any = None, zone: tzinfo | None = None) -> dict[str, Any]:
    """A memory as mem0 returns it."""
    item = {
        "id": memory.id,
        "memory": memory.text,
        "hash": md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": memory.context or None,
        "score": score,
        "created_at": _iso(memory.created),
        "updated_at": _iso(memory.updated),
    }
    if score is UNSET:
        del item["score"]
    if memory.expires is not None:
        item["expiration_date"] = (to_zone(memory.expires, zone) - timedelta(days=1)).date().isoformat()
    return item | {name: value for name, field in FIELDS.items() if (value := getattr(memory, field))}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _collection_of(config: Mapping[str, Any]) -> str | None:
    unknown = [name for name in config if name not in CONFIG]
    if unknown:
        raise InvalidInput(f"config has no section {unknown[0]!r}; mem0's sections are {', '.join(CONFIG)}.")
    store = config.get("vector_store")
    settings = store.get("config") if isinstance(store, Mapping) else None
    log.warning("Of mem0's configuration only the collection_name is used: Recollect has its own model and file.")
    return settings.get("collection_name") if isinstance(settings, Mapping) else None


def _refuse(name: str, value: Any) -> None:
    if value is not None:
        raise InvalidInput(f"{name} is not supported, as in mem0's open-source client.")


def _check_unknown(method: str, unknown: Mapping[str, Any]) -> None:
    for name in unknown:
        advice = f"; use filters={{{name!r}: '…'}}" if name in IDENTITIES else ""
        raise InvalidInput(f"{method} has no argument {name!r}{advice}.")
