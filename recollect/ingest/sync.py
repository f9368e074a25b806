"""One sync: what the scan found against what the index knows, read, embedded and written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from recollect.embed import Embedder, TokenEmbedder, encode_most
from recollect.errors import EmbeddingError, RecollectError, StoreError
from recollect.ingest.chunking import Cutting
from recollect.ingest.drafts import Draft, common_to, fill
from recollect.ingest.scan import Content, Found, Scan, read_file
from recollect.ingest.writer import AT_ONCE, Bare, embed_all
from recollect.model import JsonObject, Memory
from recollect.model.memory import Clock
from recollect.store.base import Encoded, FileState, Space, Store, StoredChunk, Transaction
from recollect.store.text_fields import embedding_text

if TYPE_CHECKING:
    from recollect.ingest.folder import Folder

log = logging.getLogger("recollect")
YOUNG = 2_000_000_000  # nanoseconds: a file changed so shortly before it was read may change again unseen
A_FEW = 64  # chunks
ALIVE = 30.0  # seconds after the last files were written in which a sync is taken to go on
GROUP_BYTES = 1 << 20  # of text that are written together when nothing is embedded
# What a chunk that stays takes over from the file; all else may have been changed by hand.
FOLLOWING = (
    *("path", "lines", "external_id", "tags", "keywords", "entities", "context"),
    *("session", "speaker", "role", "position"),
)
Vectors = dict[bytes, Encoded]  # by digest


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a sync has done, and how far it is."""

    what: Literal["added", "changed", "renamed", "removed", "skipped", "embedded", "switched"]
    path: str
    done: int = 0
    total: int = 0


OnEvent = Callable[[Event], None]


@dataclass(slots=True)
class SyncReport:
    """What a sync found and did."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)  # from: to
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: dict[str, str] = field(default_factory=dict)  # path: why
    problems: dict[str, str] = field(default_factory=dict)  # of files that were read all the same
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0  # of the files that changed
    embedded: int = 0
    without_vectors: str = ""  # why the embedder did not make all of them
    rebuilt: bool = False  # the way of cutting had changed
    seconds: float = 0.0

    @property
    def moved(self) -> bool:
        """Has anything changed?"""
        return bool(self.added or self.changed or self.renamed or self.removed or self.rebuilt or self.embedded)


class Overtaken(StoreError):
    """Another process has put something else into the place of what this sync was about."""


@dataclass(slots=True)
class Run:
    """One sync into one collection."""

    folder: Folder
    store: Store
    embedder: Embedder | None
    cutting: Cutting
    collection: str
    hidden: bool
    report: SyncReport
    tell: OnEvent
    bare: bool = False  # is there a new chunk without a vector, which can be made up for?
    refused: set[bytes] = field(default_factory=set)  # what the embedder does not take, however often it is asked
    failed: bool = False  # did the embedder fail, so that it is to be asked again?
    begun: bool = False  # is there a record of the folder?

    def bring(self, scan: Scan, clock: Clock) -> None:
        """Read, embed and write what differs between the files and the index."""
        held = self.store.folders().get(self.collection, {})
        known = self.store.files(self.collection)
        gone = {path for path in known if path not in scan.files and not scan.may_be_there(path)}
        waiting = []
        for path, found in sorted(scan.files.items()):
            if _as_known(found, known.get(path)):
                self.report.unchanged += 1
                self._problem(path, known[path].problem, was_read=True)
            else:
                waiting.append(found)
        if waiting or gone or not held:
            self._note(busy=True)
        self.begun = True
        try:
            self._follow(waiting, known, gone)
            self._embed_missing(held.get("model"))
        except BaseException:
            with suppress(RecollectError):
                self._note()
            raise
        self._note(clock())

    def _follow(self, waiting: Sequence[Found], known: Mapping[str, FileState], gone: set[str]) -> None:
        elsewhere = {known[path].hash: path for path in gone if known[path].hash}
        touched: list[FileState] = []
        group: list[Draft] = []
        for done, found in enumerate(waiting, 1):
            draft = self._read(found, known.get(found.path), elsewhere, touched)
            if draft is not None:
                group.append(draft)
            if self._is_full(group) or (group and done == len(waiting)):
                self._write(group, done, len(waiting))
                group = []
        self._drop(sorted(gone - self.report.renamed.keys()))
        if touched:
            with self._change() as transaction:
                for state in touched:
                    transaction.files.keep(self.collection, state)

    def _is_full(self, group: Sequence[Draft]) -> bool:
        if self.embedder is not None:
            return sum(draft.size for draft in group) >= self.at_once
        return sum(draft.state.size for draft in group) >= GROUP_BYTES

    @property
    def at_once(self) -> int:
        """How many chunks the embedder is given at a time; a batch API is given as many as it takes.

        A model in this process takes a few seconds for what is written together: so much is lost when it is stopped.
        """
        here = isinstance(self.embedder, TokenEmbedder)
        return getattr(self.embedder, "at_once", None) or (A_FEW if here else AT_ONCE)

    # Reading.

    def _read(
        self, found: Found, held: FileState | None, elsewhere: dict[bytes, str], touched: list[FileState]
    ) -> Draft | None:
        try:
            content = read_file(found, self.folder.settings.max_file_bytes)
        except FileNotFoundError:
            self._skip(found.path, "it went while the folder was read")
            return None
        except OSError as problem:
            self._skip(found.path, f"it cannot be read: {problem.strerror}")
            return None
        state = _state(found, content)
        if held is not None and held.hash == content.hash and (held.hash or held.problem == content.problem):
            touched.append(replace(state, problem=held.problem))
            self.report.unchanged += 1
            self._problem(found.path, held.problem, bool(held.hash))
            return None
        was = elsewhere.pop(content.hash, "") if held is None and content.hash else ""
        what: Literal["added", "changed", "renamed"] = "renamed" if was else "added" if held is None else "changed"
        draft = Draft(state, what, was or found.path, common_to(found, self.collection, self.hidden))
        told = (state.problem, fill(draft, found, content.text, self.cutting))
        draft.state = replace(state, problem="; ".join(each for each in told if each))
        return draft

    # Writing.

    @contextmanager
    def _change(self) -> Iterator[Transaction]:
        """A transaction, unless others have taken the folder out meanwhile, or have cut it in another way."""
        with self.store.transaction("sync", durable=False) as transaction:
            held = transaction.files.folder(self.collection)
            if self.begun if held is None else held["identity"] != self.folder.settings.identity:
                raise Overtaken(
                    f"Another process took {self.folder.root} out of the memory, or indexed it with other settings, "
                    "while it was read. Sync again."
                )
            yield transaction

    def _write(self, group: Sequence[Draft], done: int, total: int) -> None:
        """Whole files, some of them in one transaction: each by itself would write the same pages over and over."""
        vectors = self._vectors(group)
        with self._change() as transaction:
            # What goes, goes last: another file may have its text now, and takes its vector over.
            gone = [row for draft in group for row in self._write_file(transaction, draft, vectors)]
            transaction.remove(gone)
            if (held := transaction.files.folder(self.collection)) is not None:
                transaction.files.set_folder(self.collection, {**held, "busy": time.time()})
        self.report.chunks_removed += len(gone)
        for at, draft in enumerate(group, 1):
            self._problem(draft.state.path, draft.state.problem, bool(draft.chunks))
            if draft.what == "renamed":
                self.report.renamed[draft.was] = draft.state.path
            else:
                getattr(self.report, draft.what).append(draft.state.path)
            self.tell(Event(draft.what, draft.state.path, done - len(group) + at, total))

    def _write_file(self, transaction: Transaction, draft: Draft, vectors: Vectors) -> list[int]:
        """Write the chunks of a file; the rows of those that it has no longer."""
        files, path = transaction.files, draft.state.path
        if draft.was != path and files.state(self.collection, path) is not None:  # somebody else was faster
            draft.was = path
        held: dict[bytes, list[StoredChunk]] = {}
        for chunk in files.chunks(self.collection, draft.was):
            held.setdefault(chunk.digest, []).append(chunk)
        kept: list[tuple[StoredChunk, Memory]] = []
        fresh: list[tuple[bytes, Memory]] = []
        for digest, memories in draft.chunks.items():
            known = held.get(digest, [])
            kept += zip(known, memories, strict=False)
            fresh += [(digest, memory) for memory in memories[len(known) :]]
            held[digest] = known[len(memories) :]
        for chunk, memory in kept:
            transaction.revise(chunk.id, partial(_following, memory))
        digests = [digest for digest, _ in fresh]
        rows = [transaction.remember(memory).row for _, memory in fresh]
        files.own(files.keep(self.collection, draft.state, draft.was), rows, digests)
        if self.embedder is not None:
            self._embed(transaction, rows, digests, vectors)
        self.report.chunks_added += len(fresh)
        self.report.chunks_kept += len(kept)
        return [chunk.row for chunks in held.values() for chunk in chunks]

    def _embed(self, transaction: Transaction, rows: list[int], digests: list[bytes], vectors: Vectors) -> None:
        """The vectors that were made or, for a text that some chunk has already, that one's."""
        made = [(row, vectors[digest]) for row, digest in zip(rows, digests, strict=True) if digest in vectors]
        if made and self.embedder is not None:
            space = Space(self.embedder.name, self.embedder.dim)
            transaction.embed([row for row, _ in made], [vector for _, vector in made], space)
        for row, digest in zip(rows, digests, strict=True):
            if digest not in vectors and not transaction.files.adopt(row, digest) and digest not in self.refused:
                self.bare = True

    def _vectors(self, group: Sequence[Draft]) -> Vectors:
        """Vectors for what is new in these files; when the embedder fails, it can be made up for later."""
        if self.embedder is None:
            return {}
        texts = {digest: memories[0] for draft in group for digest, memories in draft.chunks.items()}
        known = self.store.embedded(list(texts))
        wanted = [digest for digest in texts if digest not in known]
        vectors: Vectors = {}
        for start in range(0, len(wanted), self.at_once):
            some = wanted[start : start + self.at_once]
            wordings = [embedding_text(texts[digest]) for digest in some]
            try:
                made, refused = encode_most(self.embedder, wordings)
            except EmbeddingError as problem:
                self._without_vectors(problem)
                break
            if refused:
                bare = {digest for digest, text in zip(some, wordings, strict=True) if text in refused}
                paths = sorted({texts[digest].path for digest in bare})
                self.refused |= bare
                self._without_vectors(f"{', '.join(paths)}: {next(iter(refused.values()))}", for_good=True)
            new = {digest: vector for digest, vector in zip(some, made, strict=True) if vector is not None}
            vectors |= new
            self.report.embedded += len(new)
        return vectors

    def _embed_missing(self, done_by: str | None) -> None:
        """Vectors that an earlier sync could not make, or was not asked for."""
        if self.embedder is None or self.hidden or self.failed:
            return
        if done_by == self.embedder.name and not self.bare:
            return

        def progress(done: int, total: int) -> None:
            self.tell(Event("embedded", "", done, total))

        ids = self.store.chunk_ids(self.collection)
        try:
            self.report.embedded += embed_all(self.store, self.embedder, "embed", progress, ids)
        except Bare as problem:
            if not self.refused:  # else it is told already, with the file
                self._without_vectors(problem, for_good=True)
        except EmbeddingError as problem:
            self._without_vectors(problem)

    def _without_vectors(self, problem: EmbeddingError | str, for_good: bool = False) -> None:
        """What is refused for good is asked for again when its file or the model changes, anything else by any sync."""
        self.report.without_vectors = str(problem)
        self.failed |= not for_good
        again = "" if for_good else " Files are indexed by their words; the next sync tries again."
        log.warning("%s%s", problem, again)

    def _drop(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        with self._change() as transaction:
            self.report.chunks_removed += transaction.files.drop(self.collection, paths)
        for path in paths:
            self.report.removed.append(path)
            self.tell(Event("removed", path))

    def _note(self, synced: datetime | None = None, busy: bool = False) -> None:
        """Write down what this folder is, and when all of it was in step, by which model."""
        model = self.embedder.name if self.embedder is not None and not self.failed else None
        with self._change() as transaction:
            held = transaction.files.folder(self.collection) or {}
            record = {
                "root": str(self.folder.root),
                "settings": self.folder.given,
                "identity": self.folder.settings.identity,
                "stands_in_for": self.folder.collection if self.hidden else "",
                "synced": synced.isoformat() if synced else held.get("synced"),
                "model": model if synced else None,
                "busy": time.time() if busy else 0.0,
            }
            transaction.files.set_folder(self.collection, record)

    def _skip(self, path: str, reason: str) -> None:
        self.report.skipped[path] = reason
        self.tell(Event("skipped", path))

    def _problem(self, path: str, problem: str, was_read: bool) -> None:
        if problem:
            (self.report.problems if was_read else self.report.skipped)[path] = problem


def is_being_read(record: JsonObject) -> bool:
    """Is a sync of the folder under way, here or in another process, by its last sign of life?"""
    return bool(abs(time.time() - record.get("busy", 0.0)) < ALIVE)  # also after a clock was set back


def _as_known(found: Found, state: FileState | None) -> bool:
    if state is None or not state.hash:  # of a file that was too large, the limit may have changed
        return False
    return (found.size, found.modified, found.inode) == (state.size, state.modified, state.inode)


def _state(found: Found, content: Content) -> FileState:
    settled = content.steady and time.time_ns() - found.modified > YOUNG
    modified = found.modified if settled else 0
    return FileState(found.path, found.size, modified, found.inode, content.hash, content.problem)


def _following(memory: Memory, held: Memory) -> Memory:
    """The chunk as it is, with what the file says of it now."""
    said = {name: getattr(memory, name) for name in FOLLOWING}
    if memory.created != memory.updated:  # a file that states no date leaves its chunks as old as they were
        said["created"] = memory.created
    return replace(held, **said)
