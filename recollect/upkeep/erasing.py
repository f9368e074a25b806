"""Erasing: which memories a call names, what an erasure does not reach, and how receipts are checked and applied again.

The store removes; see ``Store.erase``. Caches of vectors beside the store are purged before that.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.embed import Embedder
from recollect.embed.cache import CachedEmbedder, text_hashes
from recollect.embed.minilm.glossary import clear_caches as clear_glossary_caches
from recollect.errors import InvalidInput
from recollect.model import STATUSES, FilterExpression, Memory, micros
from recollect.store.base import Bound, Store
from recollect.store.bounds import NAMES
from recollect.store.disk import COPIES, remove_leftovers
from recollect.store.erasing import Erasure, Receipt, Remaining, hash_id, receipt_from_dict
from recollect.store.reference import ReferenceStore
from recollect.store.retrying import retried
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache
from recollect.store.text_fields import clear_word_caches

MADE_FROM = ("mentions", "depends_on")  # edges from a summary or a fact to what it was made of
SERVER = (
    "the server's write-ahead log, unused space of its pages, replicas and backups may hold it until they are "
    "recycled, written anew (VACUUM FULL) or deleted"
)
MAX_NAMES = 20  # of each thing that remains


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a receipt still holds."""

    receipt: Receipt
    present: tuple[str, ...]  # memories with ids of the receipt, or of whom it erased everything, that are stored
    later: tuple[str, ...]  # those of them that were written after the erasure: other memories with the same ids
    pending: tuple[str, ...]  # what is not overwritten yet, and why

    @property
    def holds(self) -> bool:
        return self.present == self.later and not self.pending


def choose(
    store: Store, ids: Sequence[str], filter: FilterExpression | None, bound: Bound, now: datetime
) -> tuple[Store, Sequence[str] | None]:
    """The store within a bound, and the ids to erase there; None for everything there."""
    if not ids and filter is None and not bound.values:
        raise InvalidInput("erase needs ids, a filter, or a user, session, agent or collection.")
    if ids and filter is not None:
        raise InvalidInput("erase takes ids or a filter, not both.")
    store = store.within(bound)
    if ids:
        return store, list(dict.fromkeys(store.resolve(ids)))
    return store, None if filter is None else select_ids(store, filter, now)


@contextmanager
def open_caches(store: Store, embedder: Embedder | None) -> Iterator[Sequence[SqliteEmbeddingCache]]:
    """The embedding cache that is in use, and the one beside the store's file even if nothing is embedded now."""
    used = embedder.cache if isinstance(embedder, CachedEmbedder) else None
    caches = [used] if isinstance(used, SqliteEmbeddingCache) else []
    beside = Path(f"{store.path}-vectors").absolute()
    if (
        not isinstance(store, SqliteStore)
        or not beside.is_file()
        or beside in [Path(c.path).absolute() for c in caches]
    ):
        yield caches
        return
    with closing(SqliteEmbeddingCache(beside)) as cache:
        yield [*caches, cache]


@retried
def select_ids(store: Store, filter: FilterExpression | None, now: datetime, expired: bool = False) -> list[str]:
    """The ids of all memories that pass a filter, forgotten ones included; with ``expired`` those past their expiry."""
    with store.snapshot() as snapshot:
        scope = snapshot.scope(filter, STATUSES, now, hidden=True)
        rows = snapshot.page(scope, "stored", scope.count)
        if expired:
            rows = rows[np.asarray(snapshot.numbers("expires", rows)) <= micros(now)]
        return snapshot.ids(rows)


def erase(
    store: Store,
    ids: Sequence[str] | None,
    caches: Sequence[SqliteEmbeddingCache],
    now: datetime,
    *,
    code: str | None = None,
    dry_run: bool = False,
    whole: bool = True,
) -> Erasure:
    """Erase memories, or everything inside the store's bound (None), and what these caches contain of other texts than
    those that remain: also of undone ones and of queries, which the store does not know any more. Whoever may not see
    the ``whole`` store is not told of cached texts and copies, which may be of others."""
    named = select_ids(store, None, now) if ids is None else ids
    remaining = find_remaining(store, store.get(named, missing_ok=True), whole=ids is None)

    def purge(kept: Iterable[str] = ()) -> int:
        hashes = {hash for text in kept for hash in text_hashes(text)} if caches else set()
        removed = sum(cache.clear(hashes) for cache in caches)
        return removed if whole else 0

    erased = store.erase(ids, purge, code=code, dry_run=dry_run)
    if dry_run:
        return replace(erased, remaining=remaining, pending=(*erased.pending, *_copies(store, whole)))
    if isinstance(store, SqliteStore):
        remove_leftovers(Path(store.path).absolute().parent)
    clear_word_caches()
    clear_glossary_caches()
    pending = (*erased.pending, *(reason for cache in caches for reason in cache.clean()))
    copies = _copies(store, whole)
    return replace(erased, remaining=remaining, pending=(*pending, *copies), unfinished=bool(pending))


def _copies(store: Store, whole: bool) -> tuple[str, ...]:
    """Backups and copies of the file are not changed: they hold what was erased until they are deleted."""
    if isinstance(store, ReferenceStore):
        return ()
    if not isinstance(store, SqliteStore):
        return (SERVER,)
    path = Path(store.path).absolute()
    patterns = (f"{glob.escape(path.name)}.before-restore-*", f"{glob.escape(path.name)}.before-doctor-*")
    beside = sorted(str(copy) for pattern in (*patterns, f"{COPIES}*") for copy in path.parent.glob(pattern))
    folders = [folder for folder in store.backup_folders() if Path(folder).exists()]
    if not whole:  # who is limited to a part of the file does not see where its copies are
        folders, beside = folders and ["folders of the operator"], beside and ["beside the file"]
    named = [f"Backups in {', '.join(folders)}"] if folders else []
    named += [f"The copies {', '.join(beside)}"] if beside else []
    return tuple(f"{each} still contain it. Delete them; a restore erases it again." for each in named)


def find_remaining(store: Store, memories: Sequence[Memory], whole: bool) -> tuple[Remaining, ...]:
    """What the erasure of these memories leaves, because it is not theirs alone."""
    ids = {memory.id for memory in memories}
    linked = {edge.source for edge in store.edges([*ids]) if edge.kind in MADE_FROM} - ids
    made = [each.id for each in store.get(sorted(linked), missing_ok=True) if each.kind in ("summary", "fact")]
    chunks = {memory.collection: set(store.chunk_ids(memory.collection)) for memory in memories}
    files = sorted({memory.path for memory in memories if memory.id in chunks[memory.collection]})
    names = {name.casefold() for memory in memories for name in memory.entities}
    relations = [
        f"{edge.subject} {edge.relation} {edge.object}"
        for edge in store.entity_edges()
        if not whole and edge.source not in ids and names & {edge.subject.casefold(), edge.object.casefold()}
    ]
    found = (
        ("summaries and facts", made, "they were made from erased memories; erase them by id, or consolidate again"),
        ("files", files, "the files still exist; sync reads them again when they change, unless they are excluded"),
        (
            "relations",
            relations,
            "they name entities of erased memories; erase their user or collection to remove them",
        ),
    )
    return tuple(Remaining(what, _shortened(names), why) for what, names, why in found if names)


def _shortened(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - MAX_NAMES
    return (*names[:MAX_NAMES], f"and {more:,} more") if more > 0 else tuple(names)


def as_receipt(receipt: Receipt | Mapping[str, Any]) -> Receipt:
    return receipt if isinstance(receipt, Receipt) else receipt_from_dict(receipt)


def verify(store: Store, receipt: Receipt, now: datetime, caches: Sequence[SqliteEmbeddingCache] = ()) -> Verification:
    """Look for the ids of a receipt, and finish what is pending."""
    present = receipt.matching(select_ids(store, None, now))
    for bound in _erased_bounds(store, [receipt]):
        present += sorted({*select_ids(store.within(bound), None, now)}.difference(present))
    later = [each.id for each in store.get(present, missing_ok=True) if _is_later(each.updated, receipt.at)]
    pending = () if store.readonly else store.finish_erasures()
    return Verification(receipt, tuple(present), tuple(later), (*pending, *(r for c in caches for r in c.clean())))


def _is_later(written: datetime | None, erased_at: datetime, copied: datetime | None = None) -> bool:
    """Was it written after the erasure? Then it is another memory that got the same id. What a copy has was written
    before it was made, whatever an import says of it."""
    return written is not None and min(written, copied or written) > erased_at


def apply_receipts(
    store: Store, receipts: Sequence[Receipt], now: datetime, copied: datetime | None = None
) -> dict[str, int]:
    """Erase again what was erased before: for a store that was restored from a backup. ``receipts`` are those of the
    store that it replaces (``Store.receipts``), or ones that the user kept; ``copied`` is when the backup was made, if
    that is known. What was removed, by kind of thing.

    A memory that was written after an erasure and has the same id stays. Where everything of a user, session, agent or
    collection was erased, everything of it is erased again: also earlier versions of memories that belong to others
    now, what was undone since, and relations. If something was written there since, only the memories from before go.
    """
    if store.bound.values:
        raise InvalidInput("Receipts are applied to a whole store, not inside a bound.")
    erased_at: dict[str, dict[str, datetime]] = {}  # by salt and hash: a store hashes all its ids once for each salt
    for receipt in receipts:
        hashes = erased_at.setdefault(receipt.salt, {})
        hashes.update({hash: max(receipt.at, hashes.get(hash, receipt.at)) for hash in receipt.ids})
    removed: Counter[str] = Counter()
    for bound, at in _erased_bounds(store, receipts).items():
        within = store.within(bound)
        memories = store.get(select_ids(within, None, now))
        before = [memory.id for memory in memories if not _is_later(memory.updated, at, copied)]
        is_whole = len(before) == len(memories) and not any(
            _is_later(edge.created, at, copied) for edge in within.entity_edges()
        )
        removed.update(within.erase(None if is_whole else before).removed)
    chosen = []
    for memory in store.get(select_ids(store, None, now)) if erased_at else ():
        moments = (hashes.get(hash_id(bytes.fromhex(salt), memory.id)) for salt, hashes in erased_at.items())
        if any(at is not None and not _is_later(memory.updated, at, copied) for at in moments):
            chosen.append(memory.id)
    if chosen:
        removed.update(store.erase(chosen).removed)
    return dict(removed)


def add_receipts(store: Store, receipts: Iterable[Receipt]) -> None:
    """Enter the receipts of another store, so that a restore in place of this one knows of them, too."""
    for receipt in receipts:
        with store.transaction("erase") as transaction:
            transaction.add_receipt(receipt)


def _erased_bounds(store: Store, receipts: Iterable[Receipt]) -> dict[Bound, datetime]:
    """Of whom receipts erased everything, as far as the store has something of them, and when it was last erased. The
    receipts have hashes of the names; the names of the store are hashed once for each salt."""
    found: dict[Bound, datetime] = {}
    hashed: dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], Bound]] = {}
    owners: set[tuple[str, ...]] | None = None
    for receipt in receipts:
        kinds = tuple(kind for kind in NAMES if kind in receipt.bound)
        if not kinds or len(kinds) < len(receipt.bound):
            continue
        if owners is None:
            owners = store.owners()
        if (receipt.salt, kinds) not in hashed:
            salt, at = bytes.fromhex(receipt.salt), [NAMES.index(kind) for kind in kinds]
            names = {tuple(owner[each] for each in at) for owner in owners}
            hashed[receipt.salt, kinds] = {
                tuple(hash_id(salt, name) for name in each): Bound(**dict(zip(kinds, each, strict=True)))
                for each in names
            }
        bound = hashed[receipt.salt, kinds].get(tuple(receipt.bound[kind] for kind in kinds))
        if bound is not None:
            found[bound] = max(receipt.at, found.get(bound, receipt.at))
    return found
