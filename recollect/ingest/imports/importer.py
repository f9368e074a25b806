"""Importing records: in batches that are committed one by one and together are one operation, which undo takes back.

An import that was stopped is continued by importing again: a record whose id or external id is stored already changes
nothing. Memories that were forgotten here stay forgotten. Edges are written last, when all memories are stored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any

from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError
from recollect.ingest.imports.sources import SourceRecord
from recollect.ingest.secrets import SecretsPolicy, clean_memory
from recollect.ingest.writer import STORED_WITHOUT_VECTORS, Writer, embed_missing_vectors
from recollect.model import Edge, EntityEdge, Memory, check, edge_from_json, entity_edge_from_json, memory_from_json
from recollect.model.json_records import EXPORT_FORMAT, earlier_version_from_json
from recollect.store.base import Transaction, WriteResult
from recollect.store.text_fields import embedding_text

log = logging.getLogger("recollect")
ImportProgress = Callable[[int, int | None], None]  # how many are done, of how many if that is known
ReadRecords = Callable[[], Iterable[SourceRecord]]  # reads a source from its beginning
IMPORT_BATCH_SIZE = 512  # records in a transaction: what is lost when an import is stopped
MAX_PROBLEMS = 100  # that are described; all are counted


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """What a memory said before it was edited, and until when."""

    memory: Memory
    until: datetime


Record = Memory | EarlierVersion | Edge | EntityEdge


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did."""

    kind: str
    added: int
    changed: int
    same: int
    links: int
    failed: int = 0
    problems: list[str] = field(default_factory=list)  # the first of them
    ids: list[str] = field(default_factory=list)
    forgotten: int = 0  # left as they are, because they were forgotten here


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What an import would write."""

    memories: int
    sessions: int
    links: int
    failed: int
    first: datetime | None  # creation of the oldest and the newest memory
    last: datetime | None
    problems: list[str]
    samples: list[Memory]


def numbered_records(records: Iterable[Any]) -> list[SourceRecord]:
    """Records that come from no file: their number is their place."""
    return [
        SourceRecord(f"Record {number}", dict(record))
        if isinstance(record, Mapping)
        else SourceRecord("", problem=f"Record {number} must be a JSON object, not {check.short_repr(record)}.")
        for number, record in enumerate(records, 1)
    ]


def parse_record(record: Mapping[str, Any], bound: Mapping[str, str], zone: tzinfo | None = None) -> Record | None:
    """A checked record with the fields of the bound, its dates in ``zone``; None for the header of an export."""
    match record.get("type", "memory"):
        case "memory":
            return memory_from_json({**record, **bound}, zone)
        case "former":
            memory, until = earlier_version_from_json(record)
            return EarlierVersion(replace(memory, **bound), until)  # type: ignore[arg-type]  # the bound's are texts
        case "edge":
            return edge_from_json(record)
        case "entity_edge":
            owner = {name: value for name, value in bound.items() if name in ("collection", "user")}
            return entity_edge_from_json({**record, **owner})
        case "recollect":
            if record.get("format") != EXPORT_FORMAT:
                raise InvalidInput(
                    f"this export has format {record.get('format')!r}; this version reads {EXPORT_FORMAT}."
                )
            return None
        case other:
            raise InvalidInput(f"{other!r} is not a type of record.")


class RecordChecker:
    """Checks records. ``strict`` raises the first problem; otherwise problems are counted, and the first described."""

    def __init__(
        self, bound: Mapping[str, str], strict: bool, secrets: SecretsPolicy = "store", zone: tzinfo | None = None
    ) -> None:
        self.bound, self.strict, self.secrets, self.zone = bound, strict, secrets, zone
        self.failed = 0
        self.problems: list[str] = []

    def parse(self, records: Iterable[SourceRecord]) -> Iterator[tuple[str, Record]]:
        """The valid records, each with its place."""
        for each in records:
            if each.record is None:
                self.fail(each.problem)
                continue
            try:
                record = self._clean(parse_record(each.record, self.bound, self.zone))
            except InvalidInput as error:
                self.fail(f"{each.place}: {error}")
            else:
                if record is not None:
                    yield each.place, record

    def _clean(self, record: Record | None) -> Record | None:
        match record:
            case Memory():
                return clean_memory(record, self.secrets)
            case EarlierVersion():
                return replace(record, memory=clean_memory(record.memory, self.secrets))
        return record

    def fail(self, problem: str) -> None:
        if self.strict:
            raise InvalidInput(f"{problem} Nothing was written.")
        self.failed += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


class Importer:
    """One import. A strict one stops at the first bad record and writes nothing; otherwise bad ones are left out.

    Dates without a time zone are in ``zone``, or in that of this machine.
    """

    def __init__(
        self, writer: Writer, strict: bool, progress: ImportProgress | None = None, zone: tzinfo | None = None
    ) -> None:
        self.writer, self.strict, self.progress = writer, strict, progress
        self.checker = RecordChecker(writer.store.bound.values, strict, writer.secrets, zone)
        self.counts: Counter[str] = Counter()
        self.ids: list[str] = []
        self._operation: int | None = None
        self._total: int | None = None  # of the records, when it is known
        self._committed = 0
        self._embeds = writer.embedder is not None

    def run(self, kind: str, read: ReadRecords, once: bool = False) -> ImportSummary:
        """Import all records of a source; a strict import reads it twice, first to check every record.

        ``once`` says that the source cannot be read again, so its records are not counted for the progress.
        """
        if self.strict:
            self._check_all(self.checker.parse(read()))
        elif self.progress is not None and not once:
            self._total = _count(read)
        try:
            self._write_all(self.checker.parse(read()))
        except InvalidInput:
            if self._operation is not None:
                self.writer.undo(self._operation)
            raise
        self._embed_missing()
        counts, checker = self.counts, self.checker
        return ImportSummary(
            *(kind, counts["added"], counts["changed"], counts["same"], counts["links"]),
            *(checker.failed, checker.problems, self.ids, counts["forgotten"]),
        )

    def _check_all(self, records: Iterable[tuple[str, Record]]) -> None:
        """Raise the first problem of any record, before one is written; also for an edge of an unknown memory."""
        self._total, ids, ends = 0, set(), dict[str, str]()
        for place, record in records:
            self._total += 1
            if isinstance(record, Memory):
                ids.add(record.id)
            elif isinstance(record, Edge):
                for id in (record.source, record.target):
                    ends.setdefault(id, place)
        unknown = [id for id in ends if id not in ids]
        known = {memory.id for memory in self.writer.store.get(unknown, missing_ok=True)}
        for id in unknown:
            if id not in known:
                self.checker.fail(f"{ends[id]}: There is no memory with the id {id!r}.")

    def _write_all(self, records: Iterable[tuple[str, Record]]) -> None:
        batch: list[tuple[str, Record]] = []
        edges: list[tuple[str, Record]] = []
        for place, record in records:
            if isinstance(record, (Edge, EntityEdge)):
                edges.append((place, record))
                continue
            if len(batch) >= IMPORT_BATCH_SIZE and isinstance(record, Memory):  # its earlier versions follow it
                self._write_batch(batch)
                batch = []
            batch.append((place, record))
        for start in range(0, len(edges), IMPORT_BATCH_SIZE):
            self._write_batch(batch)
            batch = edges[start : start + IMPORT_BATCH_SIZE]
        self._write_batch(batch)

    def _write_batch(self, batch: list[tuple[str, Record]]) -> None:
        if not batch:
            return
        memories = [record for _, record in batch if isinstance(record, Memory)]
        texts = self._texts_to_embed(memories) if self._embeds else []
        vectors = self.writer.embed(texts)
        self._embeds = self._embeds and (
            self.writer.embedder_works or not texts
        )  # a failed service is not called again
        counts: Counter[str] = Counter()
        written: list[tuple[Memory, WriteResult]] = []
        with self.writer.store.transaction("import", operation=self._operation) as transaction:
            for place, record in batch:
                try:
                    counts[self._write(transaction, record, written)] += 1
                except (InvalidInput, NotFound) as error:
                    self.checker.fail(f"{place}: {error}")
            self.writer.write_vectors_and_use(
                transaction, [memory for memory, _ in written], [each for _, each in written], vectors
            )
            operation = transaction.operation if transaction.changed else self._operation
        self._operation = operation
        self.counts.update(counts)
        self._committed += len(batch)
        if self.progress is not None:
            self.progress(self._committed, self._total)

    def _texts_to_embed(self, memories: list[Memory]) -> list[str]:
        """The texts of memories that are new or have another text than the stored one."""
        with self.writer.store.transaction("import") as transaction:  # only looks
            stored = [transaction.find(memory) for memory in memories]
        texts = ((embedding_text(memory), known) for memory, known in zip(memories, stored, strict=True))
        return [text for text, known in texts if known is None or embedding_text(known) != text]

    def _write(self, transaction: Transaction, record: Record, written: list[tuple[Memory, WriteResult]]) -> str:
        """Write one record; returns what to count."""
        match record:
            case Edge():
                transaction.link(record)
                return "links"
            case EntityEdge():
                transaction.relate(record)
                return "links"
            case EarlierVersion():
                added = (
                    each.row for _, each in reversed(written) if (each.action, each.id) == ("added", record.memory.id)
                )
                if (row := next(added, None)) is not None:  # a memory that was here already has its own history
                    transaction.add_history(row, record.memory, record.until)
                return "earlier versions"
        stored = transaction.find(record)
        if stored is not None and stored.status == "forgotten" != record.status:
            self.ids.append(stored.id)
            return "forgotten"
        result = transaction.remember(record)
        written.append((record, result))
        self.ids.append(result.id)
        return result.action

    def _embed_missing(self) -> None:
        """Vectors that an earlier import of the same records could not make."""
        if self._embeds and self.writer.embedder is not None:
            try:
                embed_missing_vectors(self.writer.store, self.writer.embedder, "embed", self.progress, self.ids)
            except EmbeddingError as error:
                log.warning(STORED_WITHOUT_VECTORS, error)


def _count(read: ReadRecords) -> int | None:
    try:
        return sum(1 for _ in read())
    except RecollectError:  # raised again by the import, after what comes before it
        return None


def preview_import(
    records: Iterable[SourceRecord], samples: int = 3, progress: ImportProgress | None = None
) -> ImportPreview:
    """Read and check all records; nothing is written."""
    memories = links = 0
    sessions: set[str] = set()
    shown: list[Memory] = []
    span: list[datetime] = []  # the oldest and the newest so far
    checker = RecordChecker({}, strict=False)
    for number, (_, record) in enumerate(checker.parse(records), 1):
        if isinstance(record, Memory):
            memories += 1
            sessions.add(record.session)
            if record.created is not None:
                span = [min([*span, record.created]), max([*span, record.created])]
            if len(shown) < samples:
                shown.append(record)
        elif not isinstance(record, EarlierVersion):
            links += 1
        if progress is not None and number % 1000 == 0:
            progress(number, None)
    first, last = span or (None, None)
    return ImportPreview(memories, len(sessions - {""}), links, checker.failed, first, last, checker.problems, shown)
