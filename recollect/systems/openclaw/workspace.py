"""A folder of Markdown in an agent's hands: memory_search and memory_get over files that are followed as they change.

It stands above the mind, as robots do: it syncs a folder into a collection, and searches that.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Literal, get_args

from recollect.embed import Embedder, embed_texts, resolve_embedder
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
from recollect.model import Filter, JsonObject
from recollect.model import validation as check
from recollect.recall.query_cache import QueryCache
from recollect.recall.recipe import Recipe
from recollect.recall.registry import get_recipe
from recollect.recall.results import Recall, Result
from recollect.store.base import FileState
from recollect.systems.openclaw.keywords import MinScore
from recollect.systems.openclaw.recipe import MIN_SCORE
from recollect.systems.openclaw.tools import GET, SEARCH, prompt_section, tools
from recollect.text.snippets import snippet
from recollect.text.words import slug

log = logging.getLogger("recollect")
Citations = Literal["auto", "on", "off"]
OnSync = Callable[[SyncReport], None]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a workspace is searched when a call does not say."""

    enabled: bool = True  # O22
    recipe: str = "openclaw"
    max_results: int = 6  # O11
    min_score: float | None = None  # O11: the recipe's own, 0.35
    hybrid: bool = True  # O22: False asks vectors alone
    vector_weight: float = 0.7  # O10
    text_weight: float = 0.3  # O10
    candidate_multiplier: int = 4  # O9
    citations: Citations = "auto"  # O23: auto cites unless the conversation is shared

    def __post_init__(self) -> None:
        if self.citations not in get_args(Citations):
            raise InvalidInput(f"citations must be auto, on or off, not {check.short_repr(self.citations)}.")
        _at_least_one(self.max_results, "max_results")
        if self.min_score is not None:
            check.fraction(self.min_score, "min_score")


class Workspace:
    """A folder, the collection that follows it, and the two tools of an agent.

    >>> with Workspace("~/vault", settings=FolderSettings(layout="vault")) as vault:
    ...     vault.search("what did we decide about authentication?")["results"]
    ...     vault.get("decisions.md", from_=10, lines=5)["text"]

    Nothing is searched unless it is asked for. Give it a ``mind`` of your own, or the ``db`` to open one on.

    ``settings`` are written down with the folder, and it is opened with them again when none are given. ``defaults``
    hold where they are as usual, and are not written down: a configuration may change.
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
    ) -> None:
        place = resolve_root(root)
        folders = followed(db if mind is None else mind)
        name = _collection(folders, place, collection, None if mind is None else mind.collection)
        held = _held(place, folders.get(name))
        given = settings or held
        if extra_paths:
            own = () if settings is None else settings.extra_paths
            given = replace(given, extra_paths=(*own, *(os.fspath(path) for path in extra_paths)))
        said = _said(given)
        self.settings = _over(defaults or FolderSettings(), said)
        self.folder = Folder(place, name, self.settings, said)
        self.search_settings = search or SearchSettings()
        self._owned = mind is None
        self._kept = query_cache  # O18: of a mind that is opened here
        self._next: Embedder | None = None  # the model that is to take over, when its vectors are made
        self._former: list[Mind] = []
        self.mind = mind if mind is not None else self._open(db, embedder if self.settings.vectors else None)
        self._syncing = RLock()  # who is told of an event may call again
        self._busy = False
        self._looked: float | None = None  # when the files were last looked at
        self._changed = False  # has the watcher seen anything since?
        self._watching = False

    @property
    def collection(self) -> str:
        return self.folder.collection

    @property
    def scope(self) -> Filter:
        """The memories that are chunks of the folder's files."""
        return Filter(collection=self.collection, source=("file", "transcript"))

    # Following the files.

    @property
    def settled(self) -> bool:
        """Are the vectors those of the model that was asked for? Else the next sync makes them."""
        return self._next is None

    @property
    def dirty(self) -> bool:
        """Could the files say something else than the index? Known while watched, else guessed by the clock."""
        if self._looked is None or self._changed or not self.settled:
            return True
        return not self._watching and time.monotonic() - self._looked > self.settings.debounce

    def sync(self, on_event: OnEvent | None = None) -> SyncReport:
        """Bring the index into step with the files; whoever searches meanwhile finds what was there before."""
        with self._syncing:
            return self._sync(on_event)

    def _sync(self, on_event: OnEvent | None = None) -> SyncReport:
        begun, self._changed, self._busy = time.monotonic(), False, True
        try:
            made = self._change_model(self._next, on_event) if self._next is not None else 0
            report = self.folder.sync(self.mind.store, self.mind.embedder, self.mind.clock, on_event)
        finally:
            self._busy = False
        report.embedded += made
        self._looked = begun
        return report

    def _change_model(self, model: Embedder, on_event: OnEvent | None) -> int:
        """Make the vectors of another model beside those that are searched, then search with it (B5)."""

        def progress(done: int, total: int) -> None:
            if on_event is not None:
                on_event(SyncEvent("embedded", "", done, total))

        try:
            made = Mind.reembed(self.mind.path, embedder=model, progress=progress)
        except EmbeddingError as problem:
            log.warning("%s The former vectors serve on; the next sync tries again.", problem)
            return 0
        self._former.append(self.mind)  # somebody may be searching in it
        self.mind, self._next = Mind(self.mind.path, embedder=model, query_cache=self._kept), None
        return made

    def watch(self, on_sync: OnSync | None = None, on_event: OnEvent | None = None) -> FolderWatch:
        """Sync now, and from then on whenever files change, until the watch is closed."""
        settings = self.settings

        def follow(reason: str) -> None:
            self._changed, self._watching = True, settings.watch and reason != "ended"
            if reason != "ended":
                report = self.sync(on_event)
                if on_sync is not None:
                    on_sync(report)

        places = settings.indexed_paths(self.folder.root) if settings.watch else []
        return FolderWatch(places, follow, settings.debounce, settings.interval)

    def warm(self) -> Thread:
        """Load the model and the index, beside the caller: what a session does as it starts (O14)."""

        def load() -> None:
            try:
                if self.mind.embedder is not None:
                    embed_texts(self.mind.embedder, ["warm"], query=True)
                self.mind.recall("warm", 1, filter=self.scope, track=False)
            except RecollectError as problem:
                log.warning("Warming up failed: %s", problem)

        thread = Thread(target=load, name="recollect-warm", daemon=True)
        thread.start()
        return thread

    def unfollow(self) -> int:
        """Take the folder out of the memory, with all that was read from it; the files stay. How many chunks went."""
        with self._syncing:
            self._looked = None
            return self.folder.drop(self.mind.store)

    def files(self) -> Mapping[str, FileState]:
        """The files of the index as they were when last read."""
        return self.mind.store.files(self.collection)

    # Asking.

    def search(
        self,
        query: str,
        max_results: int | None = None,
        min_score: float | None = None,
        *,
        shared: bool = False,
        track: bool = True,
        deadline: float | None = None,
    ) -> JsonObject:
        """The passages that answer best: ``{results: [{path, startLine, endLine, text, score, snippet}], …}`` (O15).

        ``shared`` says that others read along: with citations on auto, sources are then not named.
        """
        found = self.recall(query, max_results, min_score, track=track, deadline=deadline)
        cite = self.search_settings.citations == "on" or (self.search_settings.citations == "auto" and not shared)
        model = self.mind.embedder
        return {
            "results": [_shown(result, query, cite) for result in found],
            "provider": "none" if model is None else getattr(model, "provider", "local"),
            "model": None if model is None else getattr(model, "model", model.name),
            "citations": self.search_settings.citations,
        }

    def recall(
        self, query: str, max_results: int | None = None, min_score: float | None = None, **options: Any
    ) -> Recall:
        """The same as memories, with trace and reasons; further options are those of ``Mind.recall``."""
        search_settings = self.search_settings
        if not search_settings.enabled:
            raise InvalidInput("Memory search is switched off here (enabled: false).")
        k = search_settings.max_results if max_results is None else _at_least_one(max_results, "max_results")
        least = search_settings.min_score if min_score is None else check.fraction(min_score, "min_score")
        self._catch_up()
        recipe, settings = self._recipe(least)
        return self.mind.recall(query, k, recipe=recipe, filter=self.scope, **settings, **options)

    def _recipe(self, least: float | None) -> tuple[str | Recipe, dict[str, Any]]:
        """The recipe and its settings: by name where it can be, so that answers can be kept."""
        search_settings = self.search_settings
        if search_settings.recipe != "openclaw":
            recipe = get_recipe(search_settings.recipe)
            chosen = search_settings.recipe if least is None else recipe.but(stages=[*recipe.stages, MinScore(least)])
            return chosen, {}
        meaning, text = search_settings.vector_weight, search_settings.text_weight
        if self.mind.embedder is None or not self.settings.vectors:
            meaning, text = 0.0, 1.0  # by words alone, which then decide alone
        elif not search_settings.hybrid:
            meaning, text = 1.0, 0.0
            least = MIN_SCORE if least is None else least  # one that is given lets no keyword fill up
        return "openclaw", {
            "min_score": least,
            "vector_weight": meaning,
            "text_weight": text,
            "candidate_multiplier": search_settings.candidate_multiplier,
        }

    def get(self, path: str, from_: int | None = None, lines: int | None = None) -> JsonObject:
        """Lines of an indexed file: ``{path, text, startLine, endLine, lines}``, the last being how many it has."""
        first = 1 if from_ is None else check.integer(from_, "from")
        if first < 1 or (lines is not None and check.integer(lines, "lines") < 1):
            raise InvalidInput("Lines are counted from 1, and at least one is read.")
        shown = indexed_path(self.folder.root, check.string(path, "path"))
        if shown not in self.files():
            self._catch_up()
        return read_lines(self.folder, shown, self.files().get(shown), first, lines)

    # The tools of an agent, with the names and parameters that it knows them by (O1).

    def memory_search(self, query: str, maxResults: int | None = None, minScore: float | None = None) -> JsonObject:  # noqa: N803
        """The tool of that name."""
        return self.search(query, maxResults, minScore)

    def memory_get(self, path: str, lines: int | None = None, **start: int) -> JsonObject:
        """The tool of that name; ``from`` is given as ``**{"from": 10}``."""
        unknown = set(start) - {"from"}
        if unknown:
            raise InvalidInput(f"{GET} has no parameter {min(unknown)!r}; it has path, from and lines.")
        return self.get(path, start.get("from"), lines)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> JsonObject:
        """One of the tools, by its name, as an agent calls it."""
        known = {each["name"]: each["parameters"] for each in self.tools()}
        if not isinstance(arguments, Mapping):
            raise InvalidInput(
                f"The arguments of a tool are a mapping of names to values, not {check.short_repr(arguments)}."
            )
        if check.string(tool, "tool") not in known:
            raise InvalidInput(f"There is no tool {tool!r} here; there are: {', '.join(known) or 'none'}.")
        unknown = set(arguments) - set(known[tool]["properties"])
        missing = set(known[tool]["required"]) - set(arguments)
        if unknown or missing:
            told = f"no parameter {min(unknown)!r}" if unknown else f"a parameter {min(missing)!r} that was not given"
            raise InvalidInput(f"{tool} has {told}; its parameters: {', '.join(known[tool]['properties'])}.")
        method = self.memory_search if tool == SEARCH else self.memory_get
        return method(**arguments)

    def tools(self) -> list[JsonObject]:
        """What to offer an agent: name, description and JSON schema of each tool; nothing when search is off."""
        return tools(self._what) if self.search_settings.enabled else []

    def prompt_section(self) -> str:
        """A section for the system prompt that tells an agent when to search."""
        return prompt_section([tool["name"] for tool in self.tools()], self._what)

    @property
    def _what(self) -> str:
        """The memory as an agent is told of it."""
        what = "MEMORY.md and memory/*.md" if self.settings.layout == "workspace" else "the notes of this folder"
        return what + (" (and session transcripts)" if "sessions" in self.settings.sources else "")

    # Opening and closing.

    def close(self) -> None:
        for mind in (*self._former, self.mind) if self._owned else ():
            mind.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.folder.root)!r}, collection={self.collection!r})"

    # Within.

    def _open(self, db: str | os.PathLike[str], embedder: Embedder | str | None) -> Mind:
        """A mind; while its vectors are another model's, with that model if it can be had, else by words alone."""
        model = resolve_embedder(embedder)
        try:
            return Mind(db, embedder=model, query_cache=self._kept)
        except EmbeddingError:
            self._next = model
        with Mind(db, embedder=None) as mind:
            held = next(space["name"] for space in mind.status().store.spaces if space["active"])
        return Mind(db, embedder=_model_of(held), query_cache=self._kept)

    @property
    def being_read(self) -> bool:
        """Is a sync under way, here or in another process? A search then answers from what is there."""
        return self._busy or is_syncing(self.mind.store.folders().get(self.folder.collection, {}))

    def _catch_up(self) -> None:
        """Sync before a search, unless a sync is under way: the search then finds what was there before."""
        if not (self.settings.on_search and self.dirty) or self.being_read or self.mind.store.readonly:
            return
        if self._syncing.acquire(blocking=False):
            try:
                self._sync()
            except (EmbeddingError, StoreError, OSError) as problem:
                log.warning("The index may be behind the files: %s", problem)
            finally:
                self._syncing.release()


def _at_least_one(value: object, name: str) -> int:
    number = check.integer(value, name)
    if number < 1:
        raise InvalidInput(f"{name} must be at least 1, not {number}.")
    return number


def _shown(result: Result, query: str, cite: bool) -> JsonObject:
    memory = result.memory
    first, last = memory.lines or (1, 1)
    shown: JsonObject = {
        "path": memory.path,
        "startLine": first,
        "endLine": last,
        "text": memory.text,
        "score": result.score,
        "snippet": snippet(memory.text, query),
    }
    if cite:
        shown["citation"] = citation(memory.path, first, last)
        shown["snippet"] += f"\n\nSource: {shown['citation']}"
    return shown


def citation(path: str, first: int, last: int) -> str:
    """Lines of a file as they are cited everywhere (O23)."""
    return f"{path}#L{first}" + (f"-L{last}" if last > first else "")


def _model_of(name: str) -> Embedder | None:
    """The model of this name, if it is one that we can make."""
    for asked in (name, "local"):
        try:
            model = resolve_embedder(asked)
        except RecollectError:
            continue
        if model is not None and model.name == name:
            return model
    return None


def followed(memory: Mind | str | os.PathLike[str]) -> dict[str, JsonObject]:
    """What is written down of the folders that a memory follows, by collection. To look makes no file."""
    if isinstance(memory, Mind):
        return {name: record for name, record in memory.store.folders().items() if not record["stands_in_for"]}
    if not Path(memory).is_file() or not Path(memory).stat().st_size:
        return {}
    with Mind(memory, embedder=None) as mind:
        return followed(mind)


def _held(root: Path, record: JsonObject | None) -> FolderSettings:
    """What was given for a folder when it was last read."""
    if record is not None and record["root"] == str(root):
        return settings_from_record(record)
    if os.path.exists(root) and not os.path.isdir(root):
        raise InvalidInput(
            f"{root} is a file; what is followed is a folder. Name the one that it is in ({root.parent}), "
            "or add the file to any other as an extra path (--extra, extra_paths)."
        )
    return FolderSettings()


def _said(given: FolderSettings) -> JsonObject:
    """The settings that are not as usual."""
    usual = FolderSettings()
    held = {each.name: getattr(given, each.name) for each in fields(given)}
    return {name: value for name, value in held.items() if value != getattr(usual, name)}


def _over(defaults: FolderSettings, said: JsonObject) -> FolderSettings:
    """What was said, over the defaults; the extra paths of both."""
    paths = dict.fromkeys((*defaults.extra_paths, *said.get("extra_paths", ())))
    sources = defaults.sources
    if "transcripts" in said:  # who says where they are wants them read
        sources = tuple(dict.fromkeys((*sources, "sessions")))
    return replace(defaults, **{"sources": sources, **said, "extra_paths": tuple(paths)})


def _collection(folders: Mapping[str, JsonObject], root: Path, asked: str | None, bound: str | None) -> str:
    """The collection that was asked for, or that follows this folder already, or a free one named after it."""
    if asked is not None and bound not in (None, asked):
        raise InvalidInput(f"This mind is bound to the collection {bound!r}, not to {asked!r}.")
    if asked or bound:
        return check.string(asked or bound, "collection")
    for name, record in folders.items():
        if record["root"] == str(root):
            return name
    name = base = slug(root.name) or "notes"
    number = 2
    while name in folders:
        name, number = f"{base}-{number}", number + 1
    return name
