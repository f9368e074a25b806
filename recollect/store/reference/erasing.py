"""Erasing from the reference store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.model import Memory
from recollect.store.base import Bound
from recollect.store.bounds import contains_folder
from recollect.store.erasing import Erasure, Purge, Receipt, check_code, confirmation_code, hash_id
from recollect.store.reference.state import Key, State, created_of, ends_of, is_inside, overlaps, place_of
from recollect.store.text_fields import embedding_text
from recollect.store.told_times import told_times

if TYPE_CHECKING:
    from recollect.store.reference.transaction import ReferenceTransaction


def erase(
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
    changed = [(memory.updated, changes.count(("memory", row))) for row, memory in chosen.items()]
    own_code = confirmation_code(state.salt, names, [key[1:] for key in relations], changed)
    check_code(code, own_code)
    removed = {**_count(state, bound, chosen), "relations": len(relations)}
    if not chosen and not relations:
        return Erasure({**removed, "words": 0}, own_code, dry_run=dry_run)
    earlier = [change.before for change in state.changes if _is_version_of(change.key, chosen) and change.before]
    versions = [*chosen.values(), *earlier]
    if purge is not None and not dry_run:
        removed["cached_vectors"] = purge(map(embedding_text, _kept_versions(state, chosen)))
    _mark_operations(state, chosen)
    places = {place_of(memory) for memory in versions} | {Bound(key[1], key[2], "", "") for key in relations}
    transaction.delete([*chosen])
    for key in relations:
        del state.relations[key]
    state.changes = [each for each in state.changes if each.key not in relations]
    if ids is None:
        _delete_whole(state, bound)
    removed["words"] = 0  # there is no vocabulary beside the texts
    hashes = tuple(sorted(hash_id(state.salt, id) for id in names))
    receipt = Receipt(transaction.now, removed, state.salt.hex(), hashes)
    state.receipts.append((receipt, frozenset(places), state.version))
    return Erasure(removed, own_code, None if dry_run else receipt, dry_run=dry_run)


def receipts_within(state: State, bound: Bound) -> list[Receipt]:
    return [
        receipt
        for receipt, places, _ in state.receipts
        if not bound.values or (places and all(is_inside(place, bound) for place in places))
    ]


def find_erasure_after(state: State, bound: Bound, transaction: int) -> datetime | None:
    """When something inside a bound was last erased after this transaction; None if nothing was."""
    later = [
        receipt.at
        for receipt, places, number in state.receipts
        if number > transaction and any(overlaps(place, bound) for place in places)
    ]
    return later[-1] if later else None


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


def _mark_operations(state: State, chosen: dict[int, Any]) -> None:
    """Count what each operation can no longer restore."""
    touched = {
        (change.operation, change.transaction, change.key)
        for change in state.changes
        if _is_version_of(change.key, chosen)
    }
    for operation, _, _ in touched:
        if operation in state.operations:
            known = state.operations[operation]
            state.operations[operation] = replace(known, erased=known.erased + 1)


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
