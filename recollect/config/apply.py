"""What a configuration becomes: settings of folders and of searches, a workspace, and the report of status."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.config import DEFAULT_RECIPE, Config
from recollect.config.embedder import select_embedder
from recollect.embed import Embedder, EmbedderChoice, IdentifiedEmbedder
from recollect.ingest.folder import FolderSettings
from recollect.recall.query_cache import QueryCache
from recollect.store.base import Store, StoreStatus
from recollect.systems.openclaw.search import SearchSettings
from recollect.systems.openclaw.workspace import Workspace
from recollect.upkeep.probes import Probe, memory_language_note


def folder_settings(config: Config) -> FolderSettings:
    """Which files of the workspace are indexed, how, and when they are synced."""
    by_qmd = config["memory.backend"] == "qmd"
    search, sync, qmd = "memorySearch.", "memorySearch.sync.", "memory.qmd."
    keys: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "sources": (f"{search}sources", tuple),
        "extra_paths": (f"{search}extraPaths", tuple),
        "tokens": (f"{search}chunking.tokens", int),
        "overlap": (f"{search}chunking.overlap", int),
        "vectors": (f"{search}store.vector.enabled", bool),
        "on_search": (f"{sync}onSearch", bool),
        "watch": (f"{sync}watch", bool),
        "debounce": (f"{sync}watchDebounceMs", lambda milliseconds: milliseconds / 1000),
        "interval": (f"{sync}intervalMinutes", lambda minutes: minutes * 60 or None),
    }
    if by_qmd:
        keys["debounce"] = (f"{qmd}update.debounceMs", keys["debounce"][1])
        keys["interval"] = (f"{qmd}update.interval", lambda seconds: seconds or None)
        keys["retention_days"] = (f"{qmd}sessions.retentionDays", lambda days: days or None)
    values = {field: convert(config[key]) for field, (key, convert) in keys.items() if config.is_set(key)}
    if by_qmd:
        values.setdefault("interval", config[f"{qmd}update.interval"])
        if config[f"{qmd}sessions.enabled"]:
            values["sources"] = tuple(dict.fromkeys((*values.get("sources", ("memory",)), "sessions")))
    return FolderSettings(**values)


def search_settings(config: Config) -> SearchSettings:
    """How folders are searched."""
    query, hybrid, limit = "memorySearch.query.", "memorySearch.query.hybrid.", "memory.qmd.limits.maxResults"
    recipe = config.search_recipe
    own: dict[str, Any] = {"recipe_settings": config.recipe_settings(recipe)}
    if recipe == "openclaw":
        own = {
            "hybrid": config[f"{hybrid}enabled"],
            "vector_weight": config[f"{hybrid}vectorWeight"],
            "text_weight": config[f"{hybrid}textWeight"],
            "candidate_multiplier": config[f"{hybrid}candidateMultiplier"],
        }
    return SearchSettings(
        enabled=config["memorySearch.enabled"],
        recipe=recipe,
        max_results=config[limit if recipe == "qmd" and config.is_set(limit) else f"{query}maxResults"],
        min_score=config[f"{query}minScore"] if config.is_set(f"{query}minScore") else None,
        citations=config["memory.citations"],
        **own,
    )


def open_workspace(config: Config) -> Workspace:
    """Open the workspace of a configuration, with its settings and those stored when the folder was first synced.

    Syncs the folder if the configuration says so.
    """
    config.checked()
    workspace = Workspace(
        config.workspace,
        db=config.db or config.workspace / "memory.db",
        embedder=select_embedder(config).embedder,
        defaults=folder_settings(config),
        search=search_settings(config),
        query_cache=QueryCache(config["memorySearch.cache.enabled"], config["memorySearch.cache.maxEntries"]),
        embedding_cache=config["recollect.embeddingCache"],
    )
    by_qmd = config["memory.backend"] == "qmd"
    if config["memory.qmd.update.onBoot" if by_qmd else "memorySearch.sync.onSessionStart"]:
        workspace.sync()
    return workspace


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
