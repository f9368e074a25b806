"""A folder of Markdown as memories: what is looked at, and how the index is brought into step with it.

Files are the truth and chunks are derived. What has not changed is not read, what is not new is not embedded, and a
search sees a file as it was or as it is, never half of it. When the way of cutting changes, all is built anew under
another name and out of sight; one transaction then puts it into the place of the old.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

from recollect.embed import Embedder
from recollect.errors import InvalidInput
from recollect.ingest.chunking import Cutting
from recollect.ingest.scan import Place, Scan, Scanner
from recollect.ingest.sync import Event, OnEvent, Overtaken, Run, SyncReport
from recollect.model import JsonObject
from recollect.model import validation as check
from recollect.model.memory import Clock
from recollect.store.base import Store

__all__ = ["Event", "Folder", "FolderSettings", "OnEvent", "SyncReport", "folder_of", "settings_in"]

Layout = Literal["workspace", "vault"]
Source = Literal["memory", "sessions"]
AGAIN = 2  # times that a sync begins anew when others overtake it
CHUNKER, WORDS = 3, 2  # raised when chunks, or their words, would come out otherwise: all is built anew then


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What of a folder is indexed, how, and when it is looked at again."""

    layout: Layout = "workspace"  # MEMORY.md and memory/**/*.md (O3), or every Markdown file of a vault
    sources: tuple[Source, ...] = ("memory",)  # "sessions" adds transcripts
    extra_paths: tuple[str, ...] = ()  # further files and folders of Markdown; ~ and relative paths are understood
    transcripts: tuple[str, ...] = ("sessions",)  # where transcripts (*.jsonl) are
    retention_days: float | None = None  # transcripts that were last written earlier are left out
    ignore: tuple[str, ...] = ("node_modules",)  # names of files and folders, * and ? allowed; hidden ones always are
    tokens: int = 400  # O13: of a chunk
    overlap: int = 80  # O13: that a chunk repeats of the one before it
    max_file_bytes: int = 16 << 20
    vectors: bool = True  # O22: False indexes words alone
    on_search: bool = True  # O14: a search looks for changes first
    watch: bool = True  # O14: follow changes while the workspace is watched
    debounce: float = 1.5  # O14: seconds between a change and its sync
    interval: float | None = None  # O14: seconds between syncs while watched, changes or not

    def __post_init__(self) -> None:
        if self.layout not in get_args(Layout):
            raise InvalidInput(f"layout must be workspace or vault, not {check.short(self.layout)}.")
        unknown = [each for each in self.sources if each not in get_args(Source)]
        if unknown:
            raise InvalidInput(f"sources are memory and sessions, not {check.short(unknown[0])}.")
        for name in ("extra_paths", "transcripts", "ignore"):
            if any("\0" in each for each in check.strings(getattr(self, name), name)):
                raise InvalidInput(f"{name} holds a name that no file has.")
        Cutting(self.tokens, self.overlap)
        check.number(self.debounce, "debounce", low=0.0)
        for name in ("max_file_bytes", "interval", "retention_days"):
            value = getattr(self, name)
            if value is not None and check.number(value, name) <= 0:
                raise InvalidInput(f"{name} must be more than 0, not {check.short(value)}.")

    def places(self, root: Path) -> list[Place]:
        """Where to look, from the root."""
        places = []
        if "memory" in self.sources:
            if self.layout == "vault":
                places.append(Place(str(root)))
            else:
                places += [Place(str(root / name)) for name in ("MEMORY.md", "memory.md", "memory")]
            places += [Place(_from(root, path)) for path in self.extra_paths]
        if "sessions" in self.sources:
            places += [Place(_from(root, path), "transcript") for path in self.transcripts]
        return places

    @property
    def identity(self) -> JsonObject:
        """What the index depends on beside the files; the model has a space of its own."""
        return {"chunker": CHUNKER, "words": WORDS, "tokens": self.tokens, "overlap": self.overlap}


def _from(root: Path, path: str) -> str:
    """A path that was named: of a link, what it leads to."""
    return os.path.realpath(root / os.path.expanduser(path))


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the collection that its chunks belong to."""

    root: Path
    collection: str
    settings: FolderSettings
    given: JsonObject  # those of the settings that are written down

    def scanner(self) -> Scanner:
        return Scanner(str(self.root), self.settings.places(self.root), self.settings.ignore)

    def sync(
        self, store: Store, embedder: Embedder | None, clock: Clock, on_event: OnEvent | None = None
    ) -> SyncReport:
        """Bring the collection into step with the files; from the beginning, when others have cut them meanwhile."""
        tell = on_event or (lambda event: None)
        for _ in range(AGAIN):
            try:
                return self._sync(store, embedder, clock, tell)
            except Overtaken:
                if self.collection not in store.folders():
                    raise
        return self._sync(store, embedder, clock, tell)

    def _sync(self, store: Store, embedder: Embedder | None, clock: Clock, tell: OnEvent) -> SyncReport:
        begun = time.perf_counter()
        cutting = Cutting(self.settings.tokens, self.settings.overlap)
        model = embedder if self.settings.vectors else None
        scan = self._scan(clock())
        report = SyncReport(skipped=dict(scan.skipped))
        held = store.folders().get(self.collection)
        self._check_ours(held)
        rebuild = held is not None and held["identity"] != self.settings.identity
        if rebuild and "" in scan.unseen:  # without the root, the new index would be an empty one
            return report
        target = f"{self.collection}~{_fingerprint(self.settings.identity)}" if rebuild else self.collection
        self._clear(store, but=target)  # what is left of a rebuild that nobody wants any more
        run = Run(self, store, model, cutting, target, rebuild, report, tell)
        run.bring(scan, clock)
        if rebuild:
            self._switch(store, target)
            report.rebuilt = True
            tell(Event("switched", ""))
        report.seconds = time.perf_counter() - begun
        return report

    def drop(self, store: Store) -> int:
        """Take the folder out of the memory, with all chunks of its files; how many there were."""
        self._clear(store)
        with store.transaction("sync") as transaction:
            return transaction.files.clear(self.collection)

    def _clear(self, store: Store, but: str = "") -> None:
        """Remove what was built for this collection and has not taken its place."""
        for name, record in store.folders().items():
            if record["stands_in_for"] == self.collection and name != but:
                with store.transaction("sync", durable=False) as transaction:
                    transaction.files.clear(name)

    def _switch(self, store: Store, target: str) -> None:
        """Put what was built into its place, unless another process did so meanwhile; then ours is not whole."""
        with store.transaction("sync", durable=False) as transaction:
            held, built = transaction.files.folder(self.collection), transaction.files.folder(target)
            if built is None or (held is not None and held["identity"] == self.settings.identity):
                transaction.files.clear(target)
                return
            transaction.files.switch(target, self.collection)
            transaction.files.set_folder(self.collection, {**built, "stands_in_for": ""})

    def _scan(self, now: datetime) -> Scan:
        scan = self.scanner().scan()
        days = self.settings.retention_days
        if days is not None:
            oldest = int((now.timestamp() - days * 86400) * 1e9)
            late = [each.path for each in scan.files.values() if each.kind == "transcript" and each.modified < oldest]
            for path in late:
                del scan.files[path]
        return scan

    def _check_ours(self, held: JsonObject | None) -> None:
        if held is not None and held["root"] != str(self.root):
            raise InvalidInput(
                f"The collection {self.collection!r} follows another folder, {held['root']}; "
                f"choose another collection for {self.root}."
            )


def _fingerprint(identity: JsonObject) -> str:
    return blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=4).hexdigest()


def folder_of(root: str | os.PathLike[str]) -> Path:
    """A root as it is written down: whole, with links resolved."""
    path = os.path.expanduser(root)
    if "\0" in path:
        raise InvalidInput(f"No folder has this path: {path!r}.")
    return Path(os.path.realpath(path))


def settings_in(record: JsonObject) -> FolderSettings:
    """What was given for a folder, as it was written down."""
    said: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record["settings"].items()
    }
    return FolderSettings(**said)
