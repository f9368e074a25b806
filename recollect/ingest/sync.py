"""Syncing a folder: compares the scanned files with the index, and reads, embeds and writes what changed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Literal

from recollect.embed import Embedder, TokenEmbedder, embed_accepted, preferred_batch_size
from recollect.errors import EmbeddingError, InvalidInput, RecollectError, StoreError
from recollect.ingest.chunking import ChunkSize
from recollect.ingest.documents import ParsedFile, parse_chunks, shared_fields
from recollect.ingest.scan import FileContent, FoundFile, ScanResult, read_file
from recollect.ingest.secrets import SecretsPolicy
from recollect.ingest.writer import BATCH_SIZE, UnembeddedError, embed_missing_vectors
from recollect.model import Clock, JsonObject, Memory
from recollect.protocols import supports
from recollect.store.base import EncodedText, FileState, Space, Store, StoredChunk, Transaction
from recollect.store.text_fields import embedding_text

if TYPE_CHECKING:
    from recollect.ingest.folder import Folder

log = logging.getLogger("recollect")
RECENT_NANOSECONDS = 2_000_000_000  # a file modified so shortly before it was read may change again unnoticed
LOCAL_BATCH_SIZE = 64  # chunks
BUSY_SECONDS = 30.0  # a sync that wrote within this time is still running
GROUP_BYTES = 1 << 20  # of text that are written together when nothing is embedded
LARGE_BYTES = 256 << 10  # of a file that is read after the others: they can be searched while it is embedded
# The fields that an unchanged chunk takes from the file; all others may have been edited by hand.
FILE_FIELDS = (
    *("path", "lines", "external_id", "tags", "keywords", "entities", "context"),
    *("session", "speaker", "role", "position"),
)
VectorsByDigest = dict[bytes, EncodedText]


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """One step of a sync, and how many of how many are done."""

    what: Literal["added", "changed", "renamed", "removed", "skipped", "embedded", "switched"]
    path: str
    done: int = 0
    total: int = 0
    texts: int = 0  # embedded by this sync so far


OnEvent = Callable[[SyncEvent], None]


@dataclass(slots=True)
class SyncReport:
    """What a sync found and did."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)  # old path: new path
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: dict[str, str] = field(default_factory=dict)  # path: reason
    problems: dict[str, str] = field(default_factory=dict)  # path: problem, of files that were indexed nevertheless
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0  # in changed files
    embedded: int = 0
    without_vectors: str = ""  # why some chunks have no vector
    rebuilt: bool = False  # because the chunk size had changed
    seconds: float = 0.0

    @property
    def has_changes(self) -> bool:
        """Did the sync change anything?"""
        return bool(self.added or self.changed or self.renamed or self.removed or self.rebuilt or self.embedded)


class SyncConflict(StoreError):
    """Another process removed the folder, or indexed it with other settings, during this sync."""


@dataclass(slots=True)
class FolderSync:
    """One sync of a folder into a collection."""

    folder: Folder
    store: Store
    embedder: Embedder | None
    chunk_size: ChunkSize
    collection: str
    hidden: bool
    report: SyncReport
    on_event: OnEvent
    secrets: SecretsPolicy = "store"
    read_all: bool = False  # what happens to secrets has changed since the last sync
    vectors_missing: bool = False  # a new chunk has no vector, and the embedder did not refuse its text
    refused: set[bytes] = field(default_factory=set)  # digests of texts that the embedder refuses for good
    embedder_failed: bool = False  # the next sync tries again
    started: bool = False  # the folder has a record
    zone: tzinfo | None = None  # of dates in files that name none

    def run(self, scan: ScanResult, clock: Clock) -> None:
        """Read, embed and write what differs between the files and the index."""
        self.zone = clock().tzinfo
        stored = self.store.folders().get(self.collection, {})
        self.read_all = bool(stored) and stored.get("secrets", "store") != self.secrets
        known = self.store.files(self.collection)
        deleted = {path for path in known if path not in scan.files and not scan.may_exist(path)}
        changed = []
        for path, file in sorted(scan.files.items(), key=lambda item: (item[1].size > LARGE_BYTES, item[0])):
            if not self.read_all and _is_unchanged(file, known.get(path)):
                self.report.unchanged += 1
                self._report_problem(path, known[path].problem, indexed=True)
            else:
                changed.append(file)
        if changed or deleted or not stored:
            self._write_record(busy=True)
        self.started = True
        try:
            self._write_changes(changed, known, deleted)
            self._embed_missing(stored.get("model"))
        except BaseException:
            with suppress(RecollectError):
                self._write_record()
            raise
        self._write_record(clock())

    def _write_changes(self, changed: Sequence[FoundFile], known: Mapping[str, FileState], deleted: set[str]) -> None:
        deleted_by_hash = {known[path].hash: path for path in deleted if known[path].hash}
        touched: list[FileState] = []
        group: list[ParsedFile] = []
        for done, file in enumerate(changed, 1):
            parsed = self._parse(file, known.get(file.path), deleted_by_hash, touched)
            if parsed is not None:
                group.append(parsed)
            last = done == len(changed) or changed[done].size > LARGE_BYTES
            if self._is_full(group) or (group and last):
                self._write(group, done, len(changed))
                group = []
        self._drop(sorted(deleted - self.report.renamed.keys()))
        if touched:
            with self._transaction() as transaction:
                for state in touched:
                    transaction.files.save(self.collection, state)

    def _is_full(self, group: Sequence[ParsedFile]) -> bool:
        if self.embedder is not None:
            return sum(parsed.size for parsed in group) >= self.batch_size
        return sum(parsed.state.size for parsed in group) >= GROUP_BYTES

    @property
    def batch_size(self) -> int:
        """How many chunks are embedded and written together; a batch API gets as many as it takes.

        A model in this process takes a few seconds for a batch: that much work is lost when the process is stopped.
        """
        local = supports(self.embedder, TokenEmbedder)
        return preferred_batch_size(self.embedder, LOCAL_BATCH_SIZE if local else BATCH_SIZE)

    # Reading.

    def _parse(
        self, file: FoundFile, known: FileState | None, deleted_by_hash: dict[bytes, str], touched: list[FileState]
    ) -> ParsedFile | None:
        """The file's chunks; None when it cannot be read, or only its modification time changed (``touched``)."""
        try:
            content = read_file(file, self.folder.settings.max_file_bytes)
        except FileNotFoundError:
            self._skip(file.path, "it was deleted during the sync")
            return None
        except OSError as error:
            self._skip(file.path, f"it cannot be read: {error.strerror}")
            return None
        state = _file_state(file, content)
        same = known is not None and known.hash == content.hash and (known.hash or known.problem == content.problem)
        if known is not None and same and not self.read_all:
            touched.append(replace(state, problem=known.problem))
            self.report.unchanged += 1
            self._report_problem(file.path, known.problem, bool(known.hash))
            return None
        old_path = deleted_by_hash.pop(content.hash, "") if known is None and content.hash else ""
        what: Literal["added", "changed", "renamed"] = (
            "renamed" if old_path else "added" if known is None else "changed"
        )
        shared = shared_fields(file, self.collection, self.hidden)
        parsed = ParsedFile(state, what, old_path or file.path, shared, self.zone)
        try:
            problems = (state.problem, parse_chunks(parsed, file, content.text, self.chunk_size, self.secrets))
        except InvalidInput as error:  # as a file that is too large, it is in the index without its text
            refused = replace(state, hash=b"", problem=str(error))
            if known is not None and (known.hash, known.problem) == (refused.hash, refused.problem):
                touched.append(refused)
                self.report.unchanged += 1
                self._report_problem(file.path, refused.problem, indexed=False)
                return None
            return ParsedFile(refused, what, parsed.stored_path, parsed.shared_fields)
        parsed.state = replace(state, problem="; ".join(filter(None, problems)))
        return parsed

    # Writing.

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """A transaction; raises SyncConflict when another process removed or rebuilt the folder meanwhile."""
        with self.store.transaction("sync", durable=False) as transaction:
            stored = transaction.files.folder(self.collection)
            if self.started if stored is None else stored["identity"] != self.folder.settings.identity:
                raise SyncConflict(
                    f"Another process removed {self.folder.root} from the index, or indexed it with other settings, "
                    "during this sync. Sync again."
                )
            yield transaction

    def _write(self, group: Sequence[ParsedFile], done: int, total: int) -> None:
        """Write whole files, several in a transaction: one by one they would write the same pages over and over."""
        vectors = self._embed_new(group)
        with self._transaction() as transaction:
            # Remove last: another file may have the same text now, and copies its vector.
            removed = [row for parsed in group for row in self._write_file(transaction, parsed, vectors)]
            transaction.delete(removed)
            if (stored := transaction.files.folder(self.collection)) is not None:
                transaction.files.set_folder(self.collection, {**stored, "busy": time.time()})
        self.report.chunks_removed += len(removed)
        for at, parsed in enumerate(group, 1):
            self._report_problem(parsed.state.path, parsed.state.problem, bool(parsed.chunks))
            if parsed.what == "renamed":
                self.report.renamed[parsed.stored_path] = parsed.state.path
            else:
                getattr(self.report, parsed.what).append(parsed.state.path)
            self.on_event(
                SyncEvent(parsed.what, parsed.state.path, done - len(group) + at, total, self.report.embedded)
            )

    def _write_file(self, transaction: Transaction, parsed: ParsedFile, vectors: VectorsByDigest) -> list[int]:
        """Write the chunks of a file; returns the rows of those that it no longer has."""
        files, path = transaction.files, parsed.state.path
        if parsed.stored_path != path and files.state(self.collection, path) is not None:  # another sync wrote it first
            parsed.stored_path = path
        stored: dict[bytes, list[StoredChunk]] = {}
        for chunk in files.chunks(self.collection, parsed.stored_path):
            stored.setdefault(chunk.digest, []).append(chunk)
        unchanged: list[tuple[StoredChunk, Memory]] = []
        new: list[tuple[bytes, Memory]] = []
        for digest, memories in parsed.chunks.items():
            known = stored.get(digest, [])
            unchanged += zip(known, memories, strict=False)
            new += [(digest, memory) for memory in memories[len(known) :]]
            stored[digest] = known[len(memories) :]
        for chunk, memory in unchanged:
            transaction.revise(chunk.id, partial(_with_file_fields, memory))
        digests = [digest for digest, _ in new]
        rows = [transaction.remember(memory).row for _, memory in new]
        files.add_chunks(files.save(self.collection, parsed.state, parsed.stored_path), rows, digests)
        if self.embedder is not None:
            self._embed(transaction, rows, digests, vectors)
        self.report.chunks_added += len(new)
        self.report.chunks_kept += len(unchanged)
        return [chunk.row for chunks in stored.values() for chunk in chunks]

    def _embed(self, transaction: Transaction, rows: list[int], digests: list[bytes], vectors: VectorsByDigest) -> None:
        """Write the new vectors; a chunk whose text is already embedded copies that vector."""
        embedded = [(row, vectors[digest]) for row, digest in zip(rows, digests, strict=True) if digest in vectors]
        if embedded and self.embedder is not None:
            space = Space(self.embedder.name, self.embedder.dim)
            transaction.embed([row for row, _ in embedded], [vector for _, vector in embedded], space)
        for row, digest in zip(rows, digests, strict=True):
            if digest not in vectors and not transaction.files.copy_vectors(row, digest) and digest not in self.refused:
                self.vectors_missing = True

    def _embed_new(self, group: Sequence[ParsedFile]) -> VectorsByDigest:
        """Embed what is new in these files; what the embedder fails to embed is embedded by a later sync."""
        if self.embedder is None:
            return {}
        memories = {digest: equal[0] for parsed in group for digest, equal in parsed.chunks.items()}
        known = self.store.embedded(list(memories))
        missing = [digest for digest in memories if digest not in known]
        vectors: VectorsByDigest = {}
        for start in range(0, len(missing), self.batch_size):
            batch = missing[start : start + self.batch_size]
            texts = [embedding_text(memories[digest]) for digest in batch]
            try:
                encoded, refused = embed_accepted(self.embedder, texts)
            except EmbeddingError as error:
                self._report_missing_vectors(error)
                break
            if refused:
                digests = {digest for digest, text in zip(batch, texts, strict=True) if text in refused}
                paths = sorted({memories[digest].path for digest in digests})
                self.refused |= digests
                self._report_missing_vectors(f"{', '.join(paths)}: {next(iter(refused.values()))}", permanent=True)
            new = {digest: vector for digest, vector in zip(batch, encoded, strict=True) if vector is not None}
            vectors |= new
            self.report.embedded += len(new)
        return vectors

    def _embed_missing(self, embedded_by: str | None) -> None:
        """Embed chunks that an earlier sync could not embed, or was not asked to."""
        if self.embedder is None or self.hidden or self.embedder_failed:
            return
        if embedded_by == self.embedder.name and not self.vectors_missing:
            return

        before = self.report.embedded

        def progress(done: int, total: int) -> None:
            self.on_event(SyncEvent("embedded", "", done, total, before + done))

        ids = self.store.chunk_ids(self.collection)
        try:
            self.report.embedded += embed_missing_vectors(self.store, self.embedder, "embed", progress, ids)
        except UnembeddedError as error:
            if not self.refused:  # otherwise it is reported already, with the file
                self._report_missing_vectors(error, permanent=True)
        except EmbeddingError as error:
            self._report_missing_vectors(error)

    def _report_missing_vectors(self, problem: EmbeddingError | str, permanent: bool = False) -> None:
        """A refused text is embedded again when its file or the model changes, any other by the next sync."""
        self.report.without_vectors = str(problem)
        self.embedder_failed |= not permanent
        log.warning(
            "%s%s", problem, "" if permanent else " Files are indexed by their words; the next sync tries again."
        )

    def _drop(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        with self._transaction() as transaction:
            self.report.chunks_removed += transaction.files.delete(self.collection, paths)
        for path in paths:
            self.report.removed.append(path)
            self.on_event(SyncEvent("removed", path))

    def _write_record(self, synced: datetime | None = None, busy: bool = False) -> None:
        """Store the folder's settings, when it was last synced completely, and with which model."""
        model = self.embedder.name if self.embedder is not None and not self.embedder_failed else None
        with self._transaction() as transaction:
            stored = transaction.files.folder(self.collection) or {}
            record = {
                "root": str(self.folder.root),
                "settings": self.folder.explicit_settings,
                "identity": self.folder.settings.identity,
                "stands_in_for": self.folder.collection if self.hidden else "",
                "synced": synced.isoformat() if synced else stored.get("synced"),
                "model": model if synced else None,
                "secrets": self.secrets if synced else stored.get("secrets", self.secrets),
                "busy": time.time() if busy else 0.0,
            }
            transaction.files.set_folder(self.collection, record)

    def _skip(self, path: str, reason: str) -> None:
        self.report.skipped[path] = reason
        self.on_event(SyncEvent("skipped", path))

    def _report_problem(self, path: str, problem: str, indexed: bool) -> None:
        if problem:
            (self.report.problems if indexed else self.report.skipped)[path] = problem


def is_syncing(record: JsonObject) -> bool:
    """Is a sync of the folder running, here or in another process?"""
    return bool(abs(time.time() - record.get("busy", 0.0)) < BUSY_SECONDS)  # abs: the clock may have been set back


def _is_unchanged(file: FoundFile, state: FileState | None) -> bool:
    if state is None or not state.hash:  # the limit for a file that was too large may have changed
        return False
    return (file.size, file.modified, file.inode) == (state.size, state.modified, state.inode)


def _file_state(file: FoundFile, content: FileContent) -> FileState:
    settled = content.unchanged_while_read and time.time_ns() - file.modified > RECENT_NANOSECONDS
    modified = file.modified if settled else 0
    return FileState(file.path, file.size, modified, file.inode, content.hash, content.problem)


def _with_file_fields(memory: Memory, stored: Memory) -> Memory:
    """The stored chunk with the fields that its file determines now."""
    fields = {name: getattr(memory, name) for name in FILE_FIELDS}
    if memory.created != memory.updated:  # without a date in the file, chunks keep their age
        fields["created"] = memory.created
    return replace(stored, **fields)
