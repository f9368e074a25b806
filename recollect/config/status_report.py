"""The report of ``recollect status``: the recipe and the embedder that are used, the indexed folders, what is missing.

It is a module of its own because it needs nothing of what syncs and searches folders, which takes long to import.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

from recollect.config import DEFAULT_RECIPE, Config
from recollect.embed import Embedder, EmbedderChoice, IdentifiedEmbedder
from recollect.store.base import Store, StoreStatus
from recollect.upkeep.probes import Probe, memory_language_note


@dataclass(frozen=True, slots=True)
class IndexedFolder:
    """A folder whose files are stored as memories."""

    collection: str
    root: str
    files: int
    chunks: int
    problems: dict[str, str]  # by file
    synced: datetime | None  # the last complete sync


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What ``recollect status`` prints (O19)."""

    enabled: bool
    backend: str
    recipe: str  # of recollect recall
    search_recipe: str  # of recollect search and memory_search
    provider: str
    model: str | None
    why: str  # the reason for this embedder
    fallback: bool  # whether the fallback embedder is used
    vector_search: Probe
    full_text: Probe
    folders: list[IndexedFolder]
    notes: list[str]


def build_status_report(store: Store, config: Config, choice: EmbedderChoice, now: datetime) -> StatusReport:
    stored = store.status()
    folders = [_indexed_folder(store, name) for name in store.folders()]
    return StatusReport(
        enabled=config["memorySearch.enabled"],
        backend=config["memory.backend"],
        recipe=config.recipe_name or DEFAULT_RECIPE,
        search_recipe=config.search_recipe,
        provider=_provider(choice.embedder),
        model=choice.embedder.name if choice.embedder else None,
        why=choice.reason,
        fallback=choice.is_fallback,
        vector_search=_vector_search(stored, choice),
        full_text=Probe(True, f"{stored.words:,} words are indexed"),
        folders=folders,
        notes=[
            *config.notes,
            *(_missing_folder(each) for each in folders if not os.path.isdir(each.root)),
            *filter(None, [memory_language_note(store, choice.embedder, now)]),
        ],
    )


def _provider(embedder: Embedder | None) -> str:
    if embedder is None:
        return "none"
    return embedder.provider if isinstance(embedder, IdentifiedEmbedder) else "local"


def _vector_search(stored: StoreStatus, choice: EmbedderChoice) -> Probe:
    space = next((space for space in stored.spaces if space["active"]), None)
    if choice.embedder is None:
        return Probe(False, choice.reason)
    if space is not None and space["name"] != choice.embedder.name:
        return Probe(False, f"the vectors in the file are by {space['name']}: recollect reembed replaces them")
    return Probe(True, f"{space['vectors'] if space else 0:,} by {choice.embedder.name}")


def _missing_folder(folder: IndexedFolder) -> str:
    return f"The folder {folder.root} ({folder.collection}) does not exist; what was read from it before is kept."


def _indexed_folder(store: Store, collection: str) -> IndexedFolder:
    record, files = store.folders()[collection], store.files(collection)
    synced = record.get("synced")
    return IndexedFolder(
        collection=collection,
        root=str(record["root"]),
        files=len(files),
        chunks=len(store.chunk_ids(collection)),
        problems={path: each.problem for path, each in files.items() if each.problem},
        synced=datetime.fromisoformat(synced) if synced else None,
    )
