"""What a configuration means for a folder: what is indexed, when, how it is searched, and the workspace as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.config import Config
from recollect.config.embedder import embedder
from recollect.ingest.folder import FolderSettings
from recollect.recall.query_cache import QueryCache
from recollect.systems.openclaw.workspace import SearchSettings, Workspace


def folder(config: Config) -> FolderSettings:
    """What of the workspace is indexed, how, and when it is looked at again."""
    by_qmd = config["memory.backend"] == "qmd"
    search, sync, qmd = "memorySearch.", "memorySearch.sync.", "memory.qmd."
    told: dict[str, tuple[str, Callable[[Any], Any]]] = {
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
        told["debounce"] = (f"{qmd}update.debounceMs", told["debounce"][1])
        told["interval"] = (f"{qmd}update.interval", lambda seconds: seconds or None)
        told["retention_days"] = (f"{qmd}sessions.retentionDays", lambda days: days or None)
    said = {field: convert(config[key]) for field, (key, convert) in told.items() if config.said(key)}
    if by_qmd:
        said.setdefault("interval", config[f"{qmd}update.interval"])
        if config[f"{qmd}sessions.enabled"]:
            said["sources"] = tuple(dict.fromkeys((*said.get("sources", ("memory",)), "sessions")))
    return FolderSettings(**said)


def search(config: Config) -> SearchSettings:
    """How memory_search answers: as OpenClaw does or, with memory.backend: qmd, as QMD does."""
    query, hybrid, limit = "memorySearch.query.", "memorySearch.query.hybrid.", "memory.qmd.limits.maxResults"
    by_qmd = config["memory.backend"] == "qmd"
    return SearchSettings(
        enabled=config["memorySearch.enabled"],
        recipe="qmd" if by_qmd else "openclaw",
        max_results=config[limit if by_qmd and config.said(limit) else f"{query}maxResults"],
        min_score=config[f"{query}minScore"] if config.said(f"{query}minScore") else None,
        hybrid=config[f"{hybrid}enabled"],
        vector_weight=config[f"{hybrid}vectorWeight"],
        text_weight=config[f"{hybrid}textWeight"],
        candidate_multiplier=config[f"{hybrid}candidateMultiplier"],
        citations=config["memory.citations"],
    )


def open_workspace(config: Config) -> Workspace:
    """The folder that a configuration is for, opened as it says, and as was said when it was first followed.

    It is brought up to date if the configuration says so.
    """
    config.checked()
    space = Workspace(
        config.workspace,
        db=config.db or config.workspace / "memory.db",
        embedder=embedder(config).embedder,
        defaults=folder(config),
        search=search(config),
        query_cache=QueryCache(config["memorySearch.cache.enabled"], config["memorySearch.cache.maxEntries"]),
    )
    by_qmd = config["memory.backend"] == "qmd"
    if config["memory.qmd.update.onBoot" if by_qmd else "memorySearch.sync.onSessionStart"]:
        space.sync()
    return space
