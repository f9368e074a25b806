"""The reference store: handles that share one state, and one writer at a time."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput, StoreError
from recollect.model import Clock, Edge, EntityEdge, JsonObject, Memory, Use, check
from recollect.store.base import Bound, FileState, Space, StoredChunk, StoreStatus, UseRecord
from recollect.store.bounds import NAMES, contains_folder
from recollect.store.erasing import Erasure, Purge, Receipt, check_code, confirmation_code, make_receipt
from recollect.store.reference.snapshot import ReferenceSnapshot
from recollect.store.reference.state import Change, Key, State, created_of, ends_of, is_inside, overlaps, place_of
from recollect.store.reference.transaction import ReferenceTransaction
from recollect.store.text_fields import embedding_text, field_words
from recollect.store.told_times import told_times
from recollect.store.use_days import DAILY_DAYS, USES, day_number, month_day
from recollect.store.writing import complete_id, no_memory

if TYPE_CHECKING:
    from recollect.store.reference.transaction import ReferenceTransaction

RECALL_TIMES = 20  # A17: how many moments of recall are kept


class _Shared:
    """What all handles of one store share: the state, one writer at a time, and the clock."""

    def __init__(self, clock: Clock) -> None:
        self.state = State()
        self.clock = clock
        self.lock = RLock()
        self.writing = False
        self.closed = False


class ReferenceStore:
    """A store in memory."""

    def __init__(self, clock: Clock, path: str = ":memory:", readonly: bool = False) -> None:
        self.path = path
        self.readonly = readonly
        self.bound = Bound()
        self._shared = _Shared(clock)

    def within(self, bound: Bound) -> ReferenceStore:
        limited = copy.copy(self)
        limited.bound = self.bound.narrowed(bound)
        return limited

    @property
    def _state(self) -> State:
        if self._shared.closed:
            raise StoreError(f"{self.path} is closed. Open a new Mind to go on.")
        return self._shared.state

    @contextmanager
    def snapshot(self) -> Iterator[ReferenceSnapshot]:
        yield ReferenceSnapshot(self._state, self.bound, self._shared.clock().tzinfo)

    @contextmanager
    def transaction(
        self, verb: str, note: str = "", *, durable: bool = True, operation: int | None = None
    ) -> Iterator[ReferenceTransaction]:
        if self.readonly:
            raise StoreError(f"{self.path} is read-only; nothing was written.")
        shared = self._shared
        with shared.lock:
            if shared.writing:
                raise StoreError("A transaction cannot be opened inside another one.")
            shared.writing = True
            try:
                state = self._state.copy()
                yield ReferenceTransaction(state, self.bound, self.path, verb, shared.clock(), operation)
                shared.state = state
            finally:
                shared.writing = False

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        return self._state.undo_texts(self.bound, operation)

    @property
    def space(self) -> Space | None:
        return self._state.active

    def resolve(self, ids: Sequence[str]) -> list[str]:
        known = {memory.id for memory in self._state.memories.values() if self.bound.contains(memory)}
        resolved = []
        for id in (check.identifier(id, "id") for id in ids):
            found = [id] if id in known else sorted(each for each in known if id and each.startswith(id))
            resolved.append(complete_id(id, found))
        return resolved

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]:
        state = self._state
        rows = {id: state.rows[id] for id in ids if id in state.rows}
        inside = {id: row for id, row in rows.items() if self.bound.contains(state.memories[row])}
        missing = [id for id in ids if id not in inside]
        if missing and not missing_ok:
            raise no_memory(missing[0])
        return [state.with_use(inside[id]) for id in ids if id in inside]

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]:
        edges = [edge for _, edge in self._state.edges_within(self.bound)]
        return edges if ids is None else [edge for edge in edges if edge.source in ids or edge.target in ids]

    def entity_edges(self) -> list[EntityEdge]:
        return self._state.relations_within(self.bound)

    def history(self, id: str) -> list[tuple[datetime, Memory]]:
        rows = [row for row, memory in self._state.within(self.bound).items() if memory.id == id]
        return [
            (change.until, copy.deepcopy(change.before))
            for change in self._state.changes
            if change.key in [("memory", row) for row in rows] and change.before is not None
            if self.bound.contains(change.before)
        ]

    def unembedded(
        self, space: Space, among: Sequence[str] | None = None, tokens: bool = False, limit: int | None = None
    ) -> list[str]:
        state = self._state

        def embedded(row: int) -> bool:
            return (space, row) in state.vectors and (not tokens or (space, row) in state.sketches)

        found = [
            memory.id
            for row, memory in state.within(self.bound).items()
            if memory.status != "forgotten" and (among is None or memory.id in among) and not embedded(row)
        ]
        return found[:limit]

    def folders(self) -> dict[str, JsonObject]:
        visible = sorted(name for name in self._state.folders if contains_folder(self.bound, name))
        return {name: copy.deepcopy(self._state.folders[name]) for name in visible}

    def files(self, collection: str) -> dict[str, FileState]:
        files = self._state.files.values() if contains_folder(self.bound, collection) else ()
        return {state.path: state for owner, state in files if owner == collection}

    def chunk_ids(self, collection: str) -> list[str]:
        files = {number for number, (owner, _) in self._state.files.items() if owner == collection}
        chunks = sorted(row for row, (file, _) in self._state.chunks.items() if file in files)
        return [self._state.memories[row].id for row in chunks] if contains_folder(self.bound, collection) else []

    def chunks(self, collection: str) -> dict[str, list[StoredChunk]]:
        found: dict[str, list[StoredChunk]] = {}
        for row, (file, digest) in sorted(self._state.chunks.items()):
            owner, state = self._state.files[file]
            if owner == collection and contains_folder(self.bound, collection):
                found.setdefault(state.path, []).append(StoredChunk(row, self._state.memories[row].id, digest))
        return found

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        state = self._state
        chunks = state.chunks.items()
        known = {digest for row, (_, digest) in chunks if state.active and (state.active, row) in state.vectors}
        return known.intersection(digests)

    def switch_space(self, space: Space, without: Collection[str] = ()) -> int:
        if self.bound.values:
            raise StoreError(
                f"The model of all vectors cannot be changed by a store limited to {self.bound.describe()}."
            )
        with self.transaction("reembed") as transaction:
            missing = len({*self.unembedded(space)}.difference(without))
            if not missing:
                transaction.switch_space(space)
        return missing

    def erase(
        self,
        ids: Sequence[str] | None,
        purge: Purge | None = None,
        *,
        code: str | None = None,
        dry_run: bool = False,
    ) -> Erasure:
        if dry_run:
            state, now = self._state.copy(), self._shared.clock()
            return _erase(ReferenceTransaction(state, self.bound, self.path, "erase", now, None), ids, None, code, True)
        with self.transaction("erase") as transaction:
            return _erase(transaction, ids, purge, code, False)

    def finish_erasures(self) -> tuple[str, ...]:
        return ()

    def owners(self) -> set[tuple[str, ...]]:
        state = self._state
        memories = [*state.memories.values(), *(each.before for each in state.changes if each.key[0] == "memory")]
        keys = [*state.relations, *(each.key for each in state.changes if each.key[0] == "relation")]
        folders = [*state.folders, *(collection for collection, _ in state.files.values())]
        places = {place_of(memory) for memory in memories if memory is not None}
        places |= {Bound(key[1], key[2], "", "") for key in keys} | {Bound(name, "", "", "") for name in folders}
        places |= _places_of_changes(state, self.bound)
        return {tuple(place.values[name] for name in NAMES) for place in places if is_inside(place, self.bound)}

    def receipts(self) -> list[Receipt]:
        return [
            receipt
            for receipt, places, _ in self._state.receipts
            if not self.bound.values or (places and all(is_inside(place, self.bound) for place in places))
        ]

    def record_use(self, use: UseRecord) -> None:
        if self.readonly:
            return
        with self._shared.lock:
            state = self._state.copy()
            for row in use.rows:
                if row in state.memories and self.bound.contains(state.memories[row]):
                    state.uses[row] = _used(state.uses.get(row, Use()), use)
                    state.uses_by_day[row] = _used_on_day(state.uses_by_day.get(row, {}), use)
            self._shared.state = state

    def change_count(self) -> int | None:
        return None

    def status(self) -> StoreStatus:
        state, memories = self._state, self._state.within(self.bound)
        now = self._shared.clock()
        expiries = [memory.expires for memory in memories.values() if memory.status == "active" and memory.expires]
        moments = [each.at for each in state.operations.values() if any(overlaps(p, self.bound) for p in each.touched)]
        return StoreStatus(
            path=self.path,
            bytes=0,
            version=str(state.version),
            readonly=self.readonly,
            memories=dict(Counter(memory.status for memory in memories.values())),
            expired=sum(expires <= now for expires in expiries),
            collections=dict(Counter(m.collection for m in memories.values() if m.status != "forgotten")),
            edges=len(state.edges_within(self.bound)),
            entity_edges=len(state.relations_within(self.bound)),
            words=len({word for m in memories.values() for _, counts in field_words(m) for word in counts}),
            spaces=[
                {
                    "name": space.name,
                    "dim": space.dim,
                    "active": space == state.active,
                    "vectors": sum((space, row) in state.vectors for row in memories),
                }
                for space in state.spaces
            ],
            without_vector=len(self.unembedded(state.active or Space("", 0))),
            last_change=max(moments, default=None),
        )

    def close(self) -> None:
        self._shared.closed = True


def open_reference_store(location: str, clock: Clock, *, readonly: bool = False) -> ReferenceStore:
    """The store of ``recollect.open("memory:")``; it ends with the process."""
    if location:
        raise InvalidInput(f"memory: is followed by nothing, not by {location!r}: every store in memory is a new one.")
    return ReferenceStore(clock, path="memory:", readonly=readonly)


def _used(current: Use, use: UseRecord) -> Use:
    """The counters that a use names, one higher; for an access and a recall also when."""
    for counter in use.counters:
        name = f"{counter}_count"
        current = replace(current, **{name: getattr(current, name) + 1})
    if "access" in use.counters:
        current = replace(current, last_accessed=use.at)
    if "recall" in use.counters:
        times = (*current.recall_times, use.at)[-RECALL_TIMES:]
        current = replace(current, last_recalled=use.at, recall_times=times)
    return current


def _used_on_day(by_day: dict[int, int], use: UseRecord) -> dict[int, int]:
    """The uses of a memory by day after one more; days that are long past are joined to their month."""
    uses = sum(counter in USES for counter in use.counters)
    if not uses:
        return by_day
    today = day_number(use.at)
    total: Counter[int] = Counter()
    for day, count in [*by_day.items(), (today, uses)]:
        total[month_day(day) if day < today - DAILY_DAYS else day] += count
    return dict(total)


def _erase(
    transaction: ReferenceTransaction, ids: Sequence[str] | None, purge: Purge | None, code: str | None, dry_run: bool
) -> Erasure:
    """Remove memories, or everything inside the bound (None), inside a transaction."""
    state, bound = transaction.state, transaction.bound
    chosen = {row: each for row, each in state.within(bound).items() if ids is None or each.id in ids}
    names = [memory.id for memory in chosen.values()]
    relations = [
        key
        for key, edge in state.relations.items()
        if bound.contains_relation(edge) and (ids is None or edge.source in names)
    ]
    changes = [each.key for each in state.changes]
    last_changes = [(memory.updated, changes.count(("memory", row))) for row, memory in chosen.items()]
    own_code = confirmation_code(state.salt, names, [key[1:] for key in relations], last_changes)
    check_code(code, own_code)
    removed = {**_count(state, bound, chosen), "relations": len(relations)}
    others = [each for each in state.changes if _is_other_version(each, bound, chosen)]
    moved = others if ids is None else []
    changed = _places_of_changes(state, bound) if ids is None else set()  # of what was undone, too
    erased_bound = bound.values if ids is None else {}
    if not chosen and not relations and not moved and not changed:
        receipt = make_receipt(transaction.now, {**removed, "words": 0}, state.salt, (), erased_bound)
        if dry_run or not erased_bound:
            return Erasure(receipt.removed, own_code, dry_run=dry_run)
        transaction.add_receipt(receipt)  # a backup may have something of them
        return Erasure(receipt.removed, own_code, receipt)
    earlier = [change.before for change in state.changes if _is_version_of(change.key, chosen) and change.before]
    versions = [*chosen.values(), *earlier, *(each.before for each in moved)]
    places = {place_of(memory) for memory in versions} | {Bound(key[1], key[2], "", "") for key in relations}
    places |= changed
    vanished = _vanished(state, bound, places, chosen, relations, ids is None)
    moved = moved or [each for each in others if vanished & place_of(each.before).values.items()]
    _mark_operations(state, moved)
    state.changes = [each for each in state.changes if not any(each is other for other in moved)]
    removed["versions"] += len(moved)
    if purge is not None and not dry_run:
        removed["cached_vectors"] = purge(map(embedding_text, _kept_versions(state, chosen)))
    _mark_operations(state, [each for each in state.changes if _is_version_of(each.key, chosen)])
    transaction.delete([*chosen])
    for key in relations:
        del state.relations[key]
    state.changes = [each for each in state.changes if each.key not in relations]
    if ids is None:
        _delete_whole(state, bound)
    _remove_names(state, bound, vanished, ids is None)
    removed["words"] = 0  # there is no vocabulary beside the texts
    receipt = make_receipt(transaction.now, removed, state.salt, names, erased_bound)
    state.receipts.append((receipt, frozenset(places), state.version))
    return Erasure(removed, own_code, None if dry_run else receipt, dry_run=dry_run)


def _count(state: State, bound: Bound, chosen: dict[int, Any]) -> dict[str, int]:
    """What goes with these memories, by kind."""
    told = [told_times(memory.text, created_of(memory)) for memory in chosen.values()]
    return {
        "memories": len(chosen),
        "versions": sum(_is_version_of(each.key, chosen) and each.before is not None for each in state.changes),
        "vectors": sum(row in chosen for _, row in state.vectors),
        "sketches": sum(row in chosen for _, row in state.sketches),
        "told_times": sum(bool(times) for times in told),
        "edges": sum(bool(ends_of(key) & chosen.keys()) for key, _ in state.edges_within(bound)),
        "uses": sum(row in chosen for row in state.uses),
        "chunks": sum(row in chosen for row in state.chunks),
    }


def _kept_versions(state: State, chosen: dict[int, Any]) -> Iterator[Memory]:
    """All other memories, with their earlier versions."""
    yield from (memory for row, memory in state.memories.items() if row not in chosen)
    earlier = (each for each in state.changes if each.key[0] == "memory" and each.key[1] not in chosen)
    yield from (each.before for each in earlier if each.before is not None)


def _is_version_of(key: Key, chosen: dict[int, Any]) -> bool:
    return key[0] == "memory" and key[1] in chosen


def _is_other_version(change: Change, bound: Bound, chosen: dict[int, Any]) -> bool:
    """Is it an earlier version inside the bound, of a memory that is not among these?"""
    is_version = change.key[0] == "memory" and change.before is not None and change.key[1] not in chosen
    return is_version and bound.contains(change.before)


def _mark_operations(state: State, changes: Iterable[Change]) -> None:
    """Count what each operation can no longer restore."""
    touched = {(change.operation, change.transaction, change.key) for change in changes}
    for operation, _, _ in touched:
        if operation in state.operations:
            known = state.operations[operation]
            state.operations[operation] = replace(known, erased=known.erased + 1)


def _vanished(
    state: State,
    bound: Bound,
    places: Iterable[Bound],
    chosen: dict[int, Any],
    relations: Collection[Key],
    whole: bool,
) -> set[tuple[str, str]]:
    """The names of collections, users, agents and sessions that only what is erased has: (kind, name)."""
    present = [place_of(memory).values for row, memory in state.memories.items() if row not in chosen]
    present += [{"collection": key[1], "user": key[2]} for key in state.relations if key not in relations]
    present += [{"collection": name} for name in state.folders if not whole or not contains_folder(bound, name)]
    kept = {pair for values in present for pair in values.items()}
    return {(name, value) for place in places for name, value in place.values.items() if value} - kept


def _places_of_changes(state: State, bound: Bound) -> set[Bound]:
    places = {place for operation in state.operations.values() for place in operation.touched}
    return {place for place in places if is_inside(place, bound)}


def _remove_names(state: State, bound: Bound, vanished: set[tuple[str, str]], whole: bool) -> None:
    """Remove the names that nothing has any more from the history, and the owners of a bound that is erased whole."""
    state.changes = [
        each
        for each in state.changes
        if each.key[0] != "relation"
        or not _is_relation_inside(each.key, bound)
        or not vanished & {("collection", each.key[1]), ("user", each.key[2])}
    ]
    for number, operation in state.operations.items():
        touched = {
            place: at
            for place, at in operation.touched.items()
            if not vanished & place.values.items() and not (whole and is_inside(place, bound))
        }
        state.operations[number] = replace(operation, touched=touched)
    state.decays = [decay for decay in state.decays if not vanished & decay[2].values.items()]


def _delete_whole(state: State, bound: Bound) -> None:
    """What belongs to a bound beside its memories: replaced relations, folders and their files."""
    state.changes = [
        each for each in state.changes if each.key[0] != "relation" or not _is_relation_inside(each.key, bound)
    ]
    for collection in [name for name in state.folders if contains_folder(bound, name)]:
        del state.folders[collection]
    for number in [number for number, (owner, _) in state.files.items() if contains_folder(bound, owner)]:
        del state.files[number]


def _is_relation_inside(key: Key, bound: Bound) -> bool:
    return is_inside(Bound(key[1], key[2], "", ""), bound)
