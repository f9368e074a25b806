"""Workspace: a folder of Markdown synced into a collection, with the agent tools memory_search and memory_get."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from recollect.embed import Embedder, embed_texts, model_name, provider_name, resolve_embedder, version_named
from recollect.errors import EmbeddingError, InvalidInput, RecollectError, StoreError
from recollect.ingest.folder import (
    Folder,
    FolderSettings,
    indexed_path,
    read_lines,
    resolve_root,
    settings_from_record,
)
from recollect.ingest.sync import OnEvent, SyncEvent, SyncReport, is_syncing
from recollect.ingest.watch import FolderWatch
from recollect.mind import Mind
from recollect.model import Filter, JsonObject, check
from recollect.protocols import ClosedOnExit
from recollect.recall.query_cache import QueryCache
from recollect.recall.results import Recall
from recollect.store.base import FileState
from recollect.systems.openclaw.search import SearchSettings, at_least_one, search_result
from recollect.systems.openclaw.tools import GET, SEARCH, prompt_section, tool_schemas
from recollect.text.words import slug

log = logging.getLogger("recollect")
OnSync = Callable[[SyncReport], None]


class Workspace(ClosedOnExit):
    """A folder, the collection it is synced into, and the two tools of an agent.

    >>> with Workspace("~/vault", settings=FolderSettings(layout="vault")) as vault:
    ...     vault.search("what did we decide about authentication?")["results"]
    ...     vault.get("decisions.md", from_=10, lines=5)["text"]

    Pass a ``mind``, or the ``db`` to open one on.

    ``settings`` are stored with the folder and used again when none are given. ``defaults`` apply where settings have
    their default values, and are not stored: a configuration may change.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        mind: Mind | None = None,
        db: str | os.PathLike[str] = "memory.db",
        embedder: Embedder | str | None = "local",
        collection: str | None = None,
        extra_paths: Sequence[str | os.PathLike[str]] = (),
        settings: FolderSettings | None = None,
        defaults: FolderSettings | None = None,
        search: SearchSettings | None = None,
        query_cache: QueryCache | None = None,
        embedding_cache: bool | None = None,
    ) -> None:
        folder_root = resolve_root(root)
        folders = followed_folders(db if mind is None else mind)
        name = _choose_collection(folders, folder_root, collection, None if mind is None else mind.collection)
        stored = _stored_settings(folder_root, folders.get(name))
        chosen = settings or stored
        if extra_paths:
            own = () if settings is None else settings.extra_paths
            chosen = replace(chosen, extra_paths=(*own, *(os.fspath(path) for path in extra_paths)))
        explicit = _explicit_settings(chosen)
        self.settings = _merge_settings(defaults or FolderSettings(), explicit)
        self.folder = Folder(folder_root, name, self.settings, explicit)
        self.search_settings = search or SearchSettings()
        self._owns_mind = mind is None
        # Of a mind that is opened here (O16, O18).
        self._caches: dict[str, Any] = {"query_cache": query_cache, "embedding_cache": embedding_cache}
        self._next_embedder: Embedder | None = None  # replaces the current one at the next sync
        self._replaced_minds: list[Mind] = []
        self.mind = mind if mind is not None else self._open(db, embedder if self.settings.vectors else None)
        self._sync_lock = RLock()  # reentrant: an event handler may call sync
        self._busy = False
        self._last_sync: float | None = None  # time.monotonic() of its start
        self._changed = False  # whether the watcher has seen a change since
        self._watching = False

    @property
    def collection(self) -> str:
        return self.folder.collection

    @property
    def scope(self) -> Filter:
        """The memories that are chunks of the folder's files."""
        return Filter(collection=self.collection, source=("file", "transcript"))

    # Syncing.

    @property
    def settled(self) -> bool:
        """Whether the vectors are those of the configured model; otherwise the next sync computes them."""
        return self._next_embedder is None

    @property
    def dirty(self) -> bool:
        """Whether the files may differ from the index: known while watching, otherwise assumed after some time."""
        if self._last_sync is None or self._changed or not self.settled:
            return True
        return not self._watching and time.monotonic() - self._last_sync > self.settings.debounce

    def sync(self, on_event: OnEvent | None = None) -> SyncReport:
        """Update the index from the files; searches meanwhile use its previous state."""
        with self._sync_lock:
            return self._sync(on_event)

    def _sync(self, on_event: OnEvent | None = None) -> SyncReport:
        start, self._changed, self._busy = time.monotonic(), False, True
        try:
            embedded = self._change_embedder(self._next_embedder, on_event) if self._next_embedder is not None else 0
            mind = self.mind
            report = self.folder.sync(mind.store, mind.embedder, mind.clock, on_event, mind.secrets_policy)
        finally:
            self._busy = False
        report.embedded += embedded
        self._last_sync = start
        return report

    def _change_embedder(self, model: Embedder, on_event: OnEvent | None) -> int:
        """Compute the vectors of another model beside the current ones, then switch to it (B5)."""

        def progress(done: int, total: int) -> None:
            if on_event is not None:
                on_event(SyncEvent("embedded", "", done, total, done))

        try:
            embedded = Mind.reembed(self.mind.path, embedder=model, progress=progress)
        except EmbeddingError as error:
            log.warning("%s The current vectors are kept; the next sync tries again.", error)
            return 0
        self._replaced_minds.append(self.mind)  # a search may still use it
        self.mind, self._next_embedder = Mind(self.mind.path, embedder=model, **self._caches), None
        return embedded

    def watch(self, on_sync: OnSync | None = None, on_event: OnEvent | None = None) -> FolderWatch:
        """Sync now and whenever files change, until the watch is closed."""
        settings = self.settings

        def on_change(reason: str) -> None:
            self._changed, self._watching = True, settings.watch and reason != "ended"
            if reason != "ended":
                report = self.sync(on_event)
                if on_sync is not None:
                    on_sync(report)

        places = settings.indexed_paths(self.folder.root) if settings.watch else []
        return FolderWatch(places, on_change, settings.debounce, settings.interval)

    def warm(self) -> Thread:
        """Load the model and the index in a thread, for the start of a session (O14)."""

        def load() -> None:
            try:
                if self.mind.embedder is not None:
                    embed_texts(self.mind.embedder, ["warm"], query=True)
                self.mind.recall("warm", 1, filter=self.scope, track=False)
            except RecollectError as error:
                log.warning("Warming up failed: %s", error)

        thread = Thread(target=load, name="recollect-warm", daemon=True)
        thread.start()
        return thread

    def unfollow(self) -> int:
        """Remove the folder and its chunks from the memory and return their number; the files stay."""
        with self._sync_lock:
            self._last_sync = None
            return self.folder.drop(self.mind.store)

    def files(self) -> Mapping[str, FileState]:
        """The indexed files with their state when they were last read."""
        return self.mind.store.files(self.collection)

    # Searching.

    def search(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        *,
        shared: bool = False,
        track: bool = True,
        deadline: float | None = None,
        others: Sequence[Workspace] = (),
    ) -> JsonObject:
        """The passages that answer best: ``{results: [{path, startLine, endLine, text, score, snippet}], …}`` (O15).

        ``shared`` means that others read the conversation: with citations on auto, sources are then not named.
        ``others`` are folders of the same database that are searched, too; results then have their collection.
        ``lowConfidence`` is there, and true, when probably no passage answers the query.
        """
        recall = self.recall(query, max_results, min_score, others=others, track=track, deadline=deadline)
        cite = self.search_settings.citations == "on" or (self.search_settings.citations == "auto" and not shared)
        model = self.mind.embedder
        return {
            "results": [search_result(result, query, cite, bool(others)) for result in recall],
            "provider": "none" if model is None else provider_name(model),
            "model": None if model is None else model_name(model),
            "citations": self.search_settings.citations,
            **({"lowConfidence": True} if recall.low_confidence else {}),
        }

    def recall(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        *,
        others: Sequence[Workspace] = (),
        **options: Any,
    ) -> Recall:
        """The same as a Recall, with trace and explanations; further options are those of ``Mind.recall``."""
        defaults = self.search_settings
        _check_options(options)
        if not defaults.enabled:
            raise InvalidInput("Memory search is switched off (enabled: false).")
        k = defaults.max_results if max_results is None else at_least_one(max_results, "max_results")
        has_vectors = self.mind.embedder is not None and self.settings.vectors
        recipe, settings = defaults.recipe_for(min_score, has_vectors)
        spaces = (self, *others)
        for each in spaces:
            each._sync_if_needed()
        scope = replace(self.scope, collection=tuple(each.collection for each in spaces)) if others else self.scope
        return self.mind.recall(query, k, recipe=recipe, filter=scope, **settings, **options)

    def get(self, path: str, from_: int | None = None, lines: int | None = None) -> JsonObject:
        """Lines of an indexed file: ``{path, text, startLine, endLine, lines}``; ``lines`` is their total number."""
        first = 1 if from_ is None else check.integer(from_, "from")
        if first < 1 or (lines is not None and check.integer(lines, "lines") < 1):
            raise InvalidInput(f"from and lines must be at least 1, not {from_} and {lines}.")
        shown = indexed_path(self.folder.root, check.string(path, "path"))
        if shown not in self.files():
            self._sync_if_needed()
        return read_lines(self.folder, shown, self.files().get(shown), first, lines, self.mind.secrets_policy)

    # The agent tools, with their documented names and parameters (O1).

    def memory_search(self, query: str, maxResults: int | None = None, minScore: float | None = None) -> JsonObject:  # noqa: N803
        """The agent tool memory_search."""
        return self.search(query, maxResults, minScore)

    def memory_get(self, path: str, lines: int | None = None, **start: int) -> JsonObject:
        """The agent tool memory_get; ``from`` is passed as ``**{"from": 10}``."""
        unknown = set(start) - {"from"}
        if unknown:
            raise InvalidInput(f"{GET} has no parameter {min(unknown)!r}; it has path, from and lines.")
        return self.get(path, start.get("from"), lines)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> JsonObject:
        """Call one of the tools by its name, as an agent does."""
        known = {each["name"]: each["parameters"] for each in self.tools()}
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"arguments must be a mapping of names to values, not {check.short_repr(arguments)}.")
        if check.string(tool, "tool") not in known:
            raise InvalidInput(f"There is no tool {tool!r} here; there are: {', '.join(known) or 'none'}.")
        unknown = set(arguments) - set(known[tool]["properties"])
        missing = set(known[tool]["required"]) - set(arguments)
        if unknown or missing:
            problem = (
                f"no parameter {min(unknown)!r}" if unknown else f"a parameter {min(missing)!r} that was not given"
            )
            raise InvalidInput(f"{tool} has {problem}; its parameters: {', '.join(known[tool]['properties'])}.")
        method = self.memory_search if tool == SEARCH else self.memory_get
        return method(**arguments)

    def tools(self) -> list[JsonObject]:
        """Name, description and JSON schema of each tool; none when search is switched off."""
        return tool_schemas(self._description) if self.search_settings.enabled else []

    def prompt_section(self) -> str:
        """A section for the system prompt about when to search."""
        return prompt_section([tool["name"] for tool in self.tools()], self._description)

    @property
    def _description(self) -> str:
        """The memory as described to an agent."""
        description = "MEMORY.md and memory/*.md" if self.settings.layout == "workspace" else "the notes of this folder"
        return description + (" (and session transcripts)" if "sessions" in self.settings.sources else "")

    # Opening and closing.

    def close(self) -> None:
        for mind in (*self._replaced_minds, self.mind) if self._owns_mind else ():
            mind.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.folder.root)!r}, collection={self.collection!r})"

    # Helpers.

    def _open(self, db: str | os.PathLike[str], embedder: Embedder | str | None) -> Mind:
        """Open a mind; while its vectors are of another model, with that model if available, else without one."""
        model = resolve_embedder(embedder)
        try:
            return Mind(db, embedder=model, **self._caches)
        except EmbeddingError:
            self._next_embedder = model
        with Mind(db, embedder=None) as mind:
            active = next(space["name"] for space in mind.status().store.spaces if space["active"])
        return Mind(db, embedder=_embedder_named(active), **self._caches)

    @property
    def is_syncing_now(self) -> bool:
        """Whether a sync is running, here or in another process; searches then use the current index."""
        return self._busy or is_syncing(self.mind.store.folders().get(self.folder.collection, {}))

    def _sync_if_needed(self) -> None:
        """Sync before a search, unless a sync is running: the search then uses the current index."""
        if not (self.settings.on_search and self.dirty) or self.is_syncing_now or self.mind.store.readonly:
            return
        if self._sync_lock.acquire(blocking=False):
            try:
                self._sync()
            except (EmbeddingError, StoreError, OSError) as error:
                log.warning("The index may be outdated: %s", error)
            finally:
                self._sync_lock.release()


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options of ``Mind.recall`` that a workspace sets itself, and unknown ones."""
    allowed = ("as_of", "track", "abstain", "deadline")
    unknown = [name for name in options if name not in allowed]
    if unknown:
        raise InvalidInput(
            f"Workspace.recall has no argument {unknown[0]!r}; "
            f"it has query, max_results, min_score and {', '.join(allowed)}."
        )


def _embedder_named(name: str) -> Embedder | None:
    """The embedder of this name, if it is available."""
    for spec in (name, "local"):
        try:
            model = resolve_embedder(spec)
        except RecollectError:
            continue
        version = None if model is None else version_named(model, name)
        if version is not None:
            return version
    return None


def followed_folders(memory: Mind | str | os.PathLike[str]) -> dict[str, JsonObject]:
    """The stored records of the synced folders, by collection. A missing database file is not created."""
    if isinstance(memory, Mind):
        return {name: record for name, record in memory.store.folders().items() if not record["stands_in_for"]}
    if not Path(memory).is_file() or not Path(memory).stat().st_size:
        return {}
    with Mind(memory, embedder=None) as mind:
        return followed_folders(mind)


def _stored_settings(root: Path, record: JsonObject | None) -> FolderSettings:
    """The settings with which a folder was last synced."""
    if record is not None and record["root"] == str(root):
        return settings_from_record(record)
    if os.path.exists(root) and not os.path.isdir(root):
        raise InvalidInput(
            f"{root} is a file, not a folder. Use the folder it is in ({root.parent}), or add the file to another "
            "folder as an extra path (--extra, extra_paths)."
        )
    return FolderSettings()


def _explicit_settings(settings: FolderSettings) -> JsonObject:
    """The settings that differ from their defaults."""
    defaults = FolderSettings()
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {name: value for name, value in values.items() if value != getattr(defaults, name)}


def _merge_settings(defaults: FolderSettings, explicit: JsonObject) -> FolderSettings:
    """The explicit settings over the defaults, with the extra paths of both."""
    paths = dict.fromkeys((*defaults.extra_paths, *explicit.get("extra_paths", ())))
    sources = defaults.sources
    if "transcripts" in explicit:  # a path of transcripts implies that they are read
        sources = tuple(dict.fromkeys((*sources, "sessions")))
    return replace(defaults, **{"sources": sources, **explicit, "extra_paths": tuple(paths)})


def _choose_collection(folders: Mapping[str, JsonObject], root: Path, requested: str | None, bound: str | None) -> str:
    """The requested collection, or the one this folder is synced into, or a new one named after it."""
    if requested is not None and bound not in (None, requested):
        raise InvalidInput(f"This mind is bound to the collection {bound!r}, not to {requested!r}.")
    if requested or bound:
        return check.string(requested or bound, "collection")
    for name, record in folders.items():
        if record["root"] == str(root):
            return name
    name = base = slug(root.name) or "notes"
    number = 2
    while name in folders:
        name, number = f"{base}-{number}", number + 1
    return name
