"""What a configuration becomes: settings of folders and of searches, and a workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.config import Config
from recollect.config.embedder import select_embedder
from recollect.ingest.folder import FolderSettings
from recollect.recall.query_cache import QueryCache
from recollect.systems.openclaw.search import SearchSettings
from recollect.systems.openclaw.workspace import Workspace


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
