"""A folder of Markdown as memories: its settings, its sync into a collection, and reading lines of its indexed files.

The files are the source of truth and chunks are derived from them. Unchanged files are not read, known texts are not
embedded again, and a search sees a file as it was or as it is, never half of it. When the chunk size changes, the whole
index is rebuilt under another name, hidden from searches; one transaction then replaces the old one.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from recollect.embed import Embedder
from recollect.errors import InvalidInput, NotFound
from recollect.ingest.chunking import ChunkSize
from recollect.ingest.markdown import split_lines
from recollect.ingest.scan import FoundFile, IndexedPath, Scanner, ScanResult, is_within, read_file
from recollect.ingest.secrets import SecretsPolicy, clean_value
from recollect.ingest.sync import FolderSync, OnEvent, SyncConflict, SyncEvent, SyncReport
from recollect.model import Clock, JsonObject, check
from recollect.store.base import FileState, Store

Layout = Literal["workspace", "vault"]
Source = Literal["memory", "sessions"]
RETRIES = 2  # restarts of a sync after a conflict with another process
CHUNKER_VERSION, WORDS_VERSION = 4, 3  # increased when chunks, or their words, change: then everything is rebuilt


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What of a folder is indexed, how, and when it is synced again."""

    layout: Layout = "workspace"  # MEMORY.md and memory/**/*.md (O3), or every Markdown file of a vault
    sources: tuple[Source, ...] = ("memory",)  # "sessions" adds transcripts
    extra_paths: tuple[str, ...] = ()  # further files and folders of Markdown; ~ and relative paths are allowed
    transcripts: tuple[str, ...] = ("sessions",)  # where transcripts (*.jsonl) are
    retention_days: float | None = None  # older transcripts are left out, by the time they were last written
    ignore: tuple[str, ...] = ("node_modules",)  # names, with * and ?; hidden ones are always ignored
    tokens: int = 400  # O13: of a chunk
    overlap: int = 80  # O13: that a chunk repeats of the one before it
    max_file_bytes: int = 16 << 20
    vectors: bool = True  # O22: False indexes words only
    on_search: bool = True  # O14: a search syncs changed files first
    watch: bool = True  # O14: sync changes while the workspace is watched
    debounce: float = 1.5  # O14: seconds between a change and its sync
    interval: float | None = None  # O14: seconds between syncs while watched, changes or not

    def __post_init__(self) -> None:
        if self.layout not in get_args(Layout):
            raise InvalidInput(f"layout must be 'workspace' or 'vault', not {check.short_repr(self.layout)}.")
        unknown = [each for each in self.sources if each not in get_args(Source)]
        if unknown:
            raise InvalidInput(f"sources may contain 'memory' and 'sessions', not {check.short_repr(unknown[0])}.")
        for name in ("extra_paths", "transcripts", "ignore"):
            if any("\0" in each for each in check.strings(getattr(self, name), name)):
                raise InvalidInput(f"{name} contains a NUL character, which no path can have.")
        ChunkSize(self.tokens, self.overlap)  # checks both
        check.number(self.debounce, "debounce", low=0.0)
        for name in ("max_file_bytes", "interval", "retention_days"):
            value = getattr(self, name)
            if value is not None and check.number(value, name) <= 0:
                raise InvalidInput(f"{name} must be more than 0, not {check.short_repr(value)}.")

    def indexed_paths(self, root: Path) -> list[IndexedPath]:
        """The files and folders to index, for this root."""
        paths = []
        if "memory" in self.sources:
            if self.layout == "vault":
                paths.append(IndexedPath(str(root)))
            else:
                paths += [IndexedPath(str(root / name)) for name in ("MEMORY.md", "memory.md", "memory")]
            paths += [IndexedPath(_resolve(root, path)) for path in self.extra_paths]
        if "sessions" in self.sources:
            paths += [IndexedPath(_resolve(root, path), "transcript") for path in self.transcripts]
        return paths

    @property
    def identity(self) -> JsonObject:
        """What the chunks depend on beside the files."""
        return {"chunker": CHUNKER_VERSION, "words": WORDS_VERSION, "tokens": self.tokens, "overlap": self.overlap}


def _resolve(root: Path, path: str) -> str:
    """An absolute path with links resolved."""
    return os.path.realpath(root / os.path.expanduser(path))


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the collection that its chunks belong to."""

    root: Path
    collection: str
    settings: FolderSettings
    explicit_settings: JsonObject  # those of the settings that are stored with the folder

    def scanner(self) -> Scanner:
        return Scanner(str(self.root), self.settings.indexed_paths(self.root), self.settings.ignore)

    def notes_outside_workspace(self) -> list[str]:
        """The Markdown files of the folder that the layout ``workspace`` leaves out."""
        if self.settings.layout != "workspace":
            return []
        every = Scanner(str(self.root), [IndexedPath(str(self.root))], self.settings.ignore).scan().files
        return sorted(every.keys() - self.scanner().scan().files.keys())

    def sync(
        self,
        store: Store,
        embedder: Embedder | None,
        clock: Clock,
        on_event: OnEvent | None = None,
        secrets: SecretsPolicy = "store",
    ) -> SyncReport:
        """Update the collection from the files. Starts again after a conflict with another process."""
        report_event = on_event or (lambda event: None)
        for _ in range(RETRIES):
            try:
                return self._sync(store, embedder, clock, report_event, secrets)
            except SyncConflict:
                if self.collection not in store.folders():
                    raise
        return self._sync(store, embedder, clock, report_event, secrets)

    def _sync(
        self, store: Store, embedder: Embedder | None, clock: Clock, on_event: OnEvent, secrets: SecretsPolicy
    ) -> SyncReport:
        started = time.perf_counter()
        chunk_size = ChunkSize(self.settings.tokens, self.settings.overlap)
        model = embedder if self.settings.vectors else None
        scan = self._scan(clock())
        report = SyncReport(skipped=dict(scan.skipped))
        stored = store.folders().get(self.collection)
        self._check_root(stored)
        rebuild = stored is not None and stored["identity"] != self.settings.identity
        if rebuild and "" in scan.unreadable:  # without the root, the new index would be empty
            return report
        if rebuild and store.bound.values:  # an index under another name would be outside the bound
            self.drop(store)
            report.rebuilt, rebuild = True, False
        target = f"{self.collection}~{_fingerprint(self.settings.identity)}" if rebuild else self.collection
        self._delete_rebuilds(store, keep=target)  # left over from an interrupted rebuild with other settings
        FolderSync(self, store, model, chunk_size, target, rebuild, report, on_event, secrets).run(scan, clock)
        if rebuild:
            self._switch(store, target)
            report.rebuilt = True
            on_event(SyncEvent("switched", ""))
        report.seconds = time.perf_counter() - started
        return report

    def drop(self, store: Store) -> int:
        """Remove the folder and all chunks of its files from the store; returns how many chunks there were."""
        self._delete_rebuilds(store)
        with store.transaction("sync") as transaction:
            return transaction.files.delete_folder(self.collection)

    def _delete_rebuilds(self, store: Store, keep: str = "") -> None:
        """Delete rebuilds of this collection that were never completed."""
        for name, record in store.folders().items():
            if record["stands_in_for"] == self.collection and name != keep:
                with store.transaction("sync", durable=False) as transaction:
                    transaction.files.delete_folder(name)

    def _switch(self, store: Store, target: str) -> None:
        """Replace the old index by the rebuilt one, unless another process did so: then ours is incomplete."""
        with store.transaction("sync", durable=False) as transaction:
            stored, built = transaction.files.folder(self.collection), transaction.files.folder(target)
            if built is None or (stored is not None and stored["identity"] == self.settings.identity):
                transaction.files.delete_folder(target)
                return
            transaction.files.replace_folder(target, self.collection)
            transaction.files.set_folder(self.collection, {**built, "stands_in_for": ""})

    def _scan(self, now: datetime) -> ScanResult:
        scan = self.scanner().scan()
        days = self.settings.retention_days
        if days is not None:
            oldest = int((now.timestamp() - days * 86400) * 1e9)
            transcripts = (each for each in scan.files.values() if each.kind == "transcript")
            expired = [each.path for each in transcripts if each.modified < oldest]
            for path in expired:
                del scan.files[path]
        return scan

    def _check_root(self, stored: JsonObject | None) -> None:
        if stored is not None and stored["root"] != str(self.root):
            raise InvalidInput(
                f"The collection {self.collection!r} already indexes the folder {stored['root']}; "
                f"choose another collection for {self.root}."
            )


def _fingerprint(identity: JsonObject) -> str:
    return blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=4).hexdigest()


def resolve_root(root: str | os.PathLike[str]) -> Path:
    """The absolute path of a folder, with links resolved."""
    path = os.path.expanduser(root)
    if "\0" in path:
        raise InvalidInput(f"The path {path!r} contains a NUL character; no folder can have it.")
    return Path(os.path.realpath(path))


def settings_from_record(record: JsonObject) -> FolderSettings:
    """The settings that are stored with a folder."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record["settings"].items()
    }
    return FolderSettings(**fields)


# Reading lines of indexed files; all other files are refused (O2).


def indexed_path(root: Path, path: str) -> str:
    """A path as the index has it: relative to the root, or absolute for a file elsewhere."""
    if not path.strip() or "\0" in path:
        raise InvalidInput(f"path must name a file, not {path!r}.")
    requested = Path(os.path.expanduser(path))
    if not requested.is_absolute():
        if ".." in requested.parts:
            raise InvalidInput(f"{path} leads out of the folder; give a path as search results have it.")
        return requested.as_posix()
    absolute = os.path.normpath(requested)
    return PurePath(os.path.relpath(absolute, root) if is_within(absolute, str(root)) else absolute).as_posix()


def read_lines(
    folder: Folder,
    path: str,
    state: FileState | None,
    first: int,
    count: int | None,
    secrets: SecretsPolicy = "store",
) -> JsonObject:
    """Lines of a file from ``first`` on (all when ``count`` is None), if it is indexed and still inside the folder;
    without secrets, if the index has none."""
    if state is None:
        if os.path.isabs(path):
            raise InvalidInput(f"{path} is outside of {folder.root} and its extra paths.")
        raise NotFound(f"{path} is not in the index; give a path as search results have it.")
    if not state.hash:
        raise InvalidInput(f"{path} is not indexed: {state.problem}.")
    lines = split_lines(clean_value(_read_text(folder, path), "it", secrets))
    if first > len(lines):
        raise InvalidInput(
            f"{path} has {len(lines)} {'line' if len(lines) == 1 else 'lines'}; there is no line {first}."
        )
    selected = lines[first - 1 : None if count is None else first - 1 + count]
    last = first + len(selected) - 1
    return {"path": path, "text": "\n".join(selected), "startLine": first, "endLine": last, "lines": len(lines)}


def _read_text(folder: Folder, path: str) -> str:
    real = os.path.realpath(folder.root / path)
    if not any(is_within(real, root) for root in folder.scanner().roots):
        raise InvalidInput(f"{path} is a link that leads out of the folder.")
    try:
        info = os.stat(real)
        file = FoundFile(path, real, "file", info.st_size, info.st_mtime_ns, info.st_ino)
        content = read_file(file, folder.settings.max_file_bytes)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.") from None
    if not content.hash:
        raise InvalidInput(f"{path} cannot be shown: {content.problem}.")
    return content.text
