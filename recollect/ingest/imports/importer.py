"""Bringing items in: many at once, going on past bad ones; or all of them, or none."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from recollect.embed import Embedder
from recollect.errors import EmbeddingError, InvalidInput, NotFound
from recollect.ingest.imports.sources import SourceRecord
from recollect.ingest.writer import STORED_WITHOUT_VECTORS, UNUSED, embed_missing_vectors
from recollect.model import Edge, EntityEdge, JsonObject, Memory
from recollect.model.json_records import edge_from_json, entity_edge_from_json, memory_from_json
from recollect.store.base import Store, Transaction

log = logging.getLogger("recollect")
ImportProgress = Callable[[int, int | None], None]  # how many are done, of how many if that is known
BATCH_SIZE = 10_000  # items a change: bounds memory and how long others wait; smaller imports are one undo
TOLD = 100  # problems that are kept word for word; all are counted
RECORD = re.compile(r"^Record \d+: ")  # how Mind.import_ says which one
Record = Memory | Edge | EntityEdge


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


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What an import would bring."""

    memories: int
    sessions: int
    links: int
    failed: int
    first: datetime | None  # creation of the oldest and the newest memory
    last: datetime | None
    problems: list[str]
    samples: list[Memory]


def record_from(record: Mapping[str, Any], bound: Mapping[str, str]) -> Record:
    """A checked record, in the collection that a mind is bound to, if it is."""
    match record.get("type", "memory"):
        case "edge":
            return edge_from_json(record)
        case "entity_edge":
            return entity_edge_from_json({**record, **bound})
        case _:
            return memory_from_json({**record, **bound})


def bring(
    kind: str,
    items: Iterable[SourceRecord],
    store: Store,
    embedder: Embedder | None,
    bound: Mapping[str, str],
    gone: Collection[str],
    progress: ImportProgress | None = None,
) -> ImportSummary:
    """Write what is good and note what is not. Vectors are made afterwards, for those that have none.

    What was forgotten here (``gone``: ids and external ids) is not brought back.
    """
    work, waiting, read = _Work(bound, gone), iter(items), 0
    while batch := list(islice(waiting, BATCH_SIZE)):
        checked = list(work.checked(batch))
        with store.transaction("import") as transaction:
            for place, record in checked:
                work.keep(transaction, place, record)
        read += len(batch)
        if progress is not None:
            progress(read, None)
    if embedder is not None:
        try:
            embed_missing_vectors(store, embedder, "embed", progress, work.ids)
        except EmbeddingError as problem:
            log.warning(STORED_WITHOUT_VECTORS, problem)
    done = work.done
    counts = (done["added"], done["changed"], done["same"], done["links"], done["failed"])
    return ImportSummary(kind, *counts, work.problems, work.ids)


def preview_import(
    items: Iterable[SourceRecord], samples: int = 3, progress: ImportProgress | None = None
) -> ImportPreview:
    """Read and check everything, write nothing."""
    work, memories, links = _Work({}, ()), 0, 0
    sessions: set[str] = set()
    shown: list[Memory] = []
    span: list[datetime] = []  # the oldest and the newest so far
    for number, (_, record) in enumerate(work.checked(items), 1):
        if isinstance(record, Memory):
            memories += 1
            sessions.add(record.session)
            if record.created is not None:
                span = [min([*span, record.created]), max([*span, record.created])]
            if len(shown) < samples:
                shown.append(record)
        else:
            links += 1
        if progress is not None and number % 1000 == 0:
            progress(number, None)
    first, last = span or (None, None)
    return ImportPreview(memories, len(sessions - {""}), links, work.done["failed"], first, last, work.problems, shown)


class _Work:
    """An import under way: what it has written, and what went wrong."""

    def __init__(self, bound: Mapping[str, str], gone: Collection[str]) -> None:
        self.bound, self.gone = bound, gone
        self.done: Counter[str] = Counter()
        self.problems: list[str] = []
        self.ids: list[str] = []

    def checked(self, items: Iterable[SourceRecord]) -> Iterator[tuple[str, Record]]:
        for item in items:
            if item.record is None:
                self._fail(item.problem)
            elif item.record.get("type") not in ("recollect", "former"):  # histories come with a whole export alone
                try:
                    yield item.place, record_from(item.record, self.bound)
                except InvalidInput as problem:
                    self._fail(f"{item.place}: {problem}")

    def keep(self, transaction: Transaction, place: str, record: Record) -> None:
        try:
            self.done[self._kept(transaction, record)] += 1
        except (InvalidInput, NotFound) as problem:
            self._fail(f"{place}: {problem}")

    def _kept(self, transaction: Transaction, record: Record) -> str:
        if isinstance(record, Edge):
            transaction.link(record)
            return "links"
        if isinstance(record, EntityEdge):
            transaction.relate(record)
            return "links"
        if record.id in self.gone or record.external_id in self.gone:
            return "same"
        written = transaction.remember(record)
        if written.what == "added" and record.use != UNUSED:
            transaction.set_use(written.row, record.use)
        self.ids.append(written.id)
        return written.what

    def _fail(self, problem: str) -> None:
        self.done["failed"] += 1
        if len(self.problems) < TOLD:
            self.problems.append(problem)


class Strictly:
    """Items as records for an import that takes all or none. It knows the place of the one that it gave last."""

    def __init__(self, items: Iterable[SourceRecord], progress: ImportProgress | None = None) -> None:
        self.links = 0
        self._items, self._progress = items, progress
        self._place = ""
        self._ends: dict[str, str] = {}  # the ids that links name, each with the place of the first

    def __iter__(self) -> Iterator[JsonObject]:
        for number, item in enumerate(self._items, 1):
            if item.record is None:
                raise InvalidInput(f"{item.problem} Nothing was written.")
            self._place = item.place
            if item.record.get("type") in ("edge", "entity_edge"):
                self.links += 1
                for end in (item.record.get("source"), item.record.get("target")):
                    self._ends.setdefault(str(end), item.place)
            yield item.record
            if self._progress is not None and number % 1000 == 0:
                self._progress(number, None)

    def placed(self, problem: InvalidInput | NotFound) -> InvalidInput:
        """The same problem, with the place of the record that it is about."""
        told = str(problem)
        if isinstance(problem, NotFound):
            place = next((place for end, place in self._ends.items() if repr(end) in told), self._place)
        elif RECORD.match(told):
            place, told = self._place, RECORD.sub("", told)
        else:
            return problem
        return InvalidInput(f"{place}: {told} Nothing was written.")
