"""Writer: the only way into a store. A text and its vector are written in one transaction.

Embedding happens before the transaction, so that a slow model never holds the write lock. An embedder that fails does
not prevent a write: the memory is stored without a vector, and a later write with a working embedder makes a bounded
number of missing vectors. ``embed_missing_vectors`` makes all of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, overload

from recollect.embed import Embedder, TokenEmbedder, embed_accepted, preferred_batch_size
from recollect.errors import EditConflict, EmbeddingError, InvalidInput, RecollectError, StoreError
from recollect.ingest.secrets import SecretsPolicy, clean_fields, clean_memory
from recollect.model import Edge, Memory, check, make_edge
from recollect.model.memory import UNUSED, check_validity_period, edit_memory
from recollect.protocols import supports
from recollect.store.base import EncodedText, Space, Store, Transaction, UndoResult, WriteResult
from recollect.store.retrying import retry
from recollect.store.text_fields import embedding_text, field_words
from recollect.store.told_times import told_times

log = logging.getLogger("recollect")
Progress = Callable[[int, int], None]  # how many are done, of how many
PreparedMemories = Callable[[Transaction, Sequence[Memory]], Sequence[Memory]]  # as they are to be written
ExtraWrites = Callable[[Transaction, Sequence[WriteResult]], None]  # in the same transaction
VectorsByText = dict[str, EncodedText]
BATCH_SIZE = 256  # texts an embedder gets at a time; rows read at a time
ATOMIC_LIMIT = 10_000  # memories that are written in one transaction; more are an operation of several
REPAIR_LIMIT = 32  # missing vectors that are made after a write
ATTEMPTS = 5  # at a write whose memory other processes keep changing
STORED_WITHOUT_VECTORS = (
    "%s Memories are stored without vectors; the next write with a working embedder, or embed_missing(), makes them."
)
MAX_NAMED = 3  # memories that an error names
# What a new text inherits from the memory that it supersedes: to whom and where it belongs, and who may read it.
# Fields that say when and to whom a memory is shown, and what is embedded: equal statements agree in them.
COMPARED_FIELDS = ("title", "expires", "valid_from", "valid_to", "classification")
INHERITED_FIELDS = ("collection", "user", "agent", "kind", "topic", "tier", "classification")


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """What a bulk write did; ids in the order of the items."""

    ids: list[str]
    added: int
    changed: int
    same: int
    forgotten: int = 0  # left as they are, because they were forgotten here


class CheckedItems(Sequence[Memory]):
    """Items as memories that are made when they are needed: all are checked at once, and only a batch is in memory."""

    def __init__(self, items: Sequence[Any], make: Callable[[int, Any], Memory]) -> None:
        self._items, self._make = items, make
        for number, item in enumerate(items, 1):
            make(number, item)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Memory: ...

    @overload
    def __getitem__(self, at: slice) -> list[Memory]: ...

    def __getitem__(self, at: int | slice) -> Memory | list[Memory]:
        if isinstance(at, int):
            return self._make(at + 1, self._items[at])
        first = at.indices(len(self._items))[0]
        return [self._make(number, item) for number, item in enumerate(self._items[at], first + 1)]


def summarize(results: Sequence[WriteResult]) -> WriteSummary:
    counts = Counter(each.action for each in results)
    return WriteSummary([each.id for each in results], counts["added"], counts["changed"], counts["same"])


class UnembeddedError(EmbeddingError):
    """Memories that stay without a vector because the embedder refuses their texts, by id, each with the reason."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        details = [f"{id}: {reason}" for id, reason in reasons.items()]
        super().__init__(
            f"{len(details)} of the memories can have no vector, because the embedder refuses their texts; "
            f"all others have one. {' '.join(details[:MAX_NAMED])}{' …' if details[MAX_NAMED:] else ''}"
        )
        self.reasons = reasons


class _DryRun(Exception):
    """Ends a transaction without writing anything."""


class _ChangedMeanwhile(Exception):
    """Another process changed what a transaction was prepared for; it is rolled back and prepared again."""


class Writer:
    """Writes to a store, with vectors when there is an embedder; ``secrets`` are stored, refused or redacted."""

    def __init__(self, store: Store, embedder: Embedder | None, secrets: SecretsPolicy = "store") -> None:
        self.store = store
        self.embedder = embedder
        self.secrets = secrets
        self.embedder_works = False  # the last time it was called
        self._may_lack_vectors = True  # until a check finds none
        self._refused: set[str] = set()  # ids of memories whose texts the embedder refuses

    @property
    def space(self) -> Space:
        assert self.embedder is not None
        return Space(self.embedder.name, self.embedder.dim)

    def clean(self, memory: Memory) -> Memory:
        """The memory without its secrets, if they are redacted; an InvalidInput if they are refused."""
        return clean_memory(memory, self.secrets)

    # Writing.

    def write(
        self,
        verb: str,
        memories: Sequence[Memory],
        progress: Progress | None = None,
        also: ExtraWrites | None = None,
        prepare: PreparedMemories | None = None,
    ) -> list[WriteResult]:
        """Write memories: all of them or none, in one transaction, up to ATOMIC_LIMIT; more are one operation.

        ``prepare`` changes the memories of a transaction before they are written, where nobody else can write; not
        what is embedded.
        """
        results: list[WriteResult] = []
        operation: int | None = None
        for start in range(0, max(len(memories), 1), ATOMIC_LIMIT):
            batch: Sequence[Memory] = [self.clean(each) for each in memories[start : start + ATOMIC_LIMIT]]
            vectors = self.embed([embedding_text(memory) for memory in batch], _shifted(progress, start, len(memories)))
            _load_tables(batch)
            write = partial(self._write_batch, verb, batch, vectors, results, len(memories), operation, also, prepare)
            results, operation = retry(write)
        self.embed_some_missing()
        return results

    def _write_batch(
        self,
        verb: str,
        batch: Sequence[Memory],
        vectors: VectorsByText,
        earlier: list[WriteResult],
        total: int,
        operation: int | None,
        also: ExtraWrites | None,
        prepare: PreparedMemories | None,
    ) -> tuple[list[WriteResult], int | None]:
        """One transaction of ``write``: all results so far, and the operation to continue."""
        with self.store.transaction(verb, operation=operation) as transaction:
            batch = batch if prepare is None else prepare(transaction, batch)
            written = [
                (verb == "remember" and _count_mention(transaction, memory)) or transaction.remember(memory)
                for memory in batch
            ]
            self.write_vectors_and_use(transaction, batch, written, vectors)
            results = [*earlier, *written]
            if also is not None and len(results) == total:
                also(transaction, results)
            if len(results) < total and transaction.changed:
                operation = transaction.operation
        return results, operation

    def write_vectors_and_use(
        self,
        transaction: Transaction,
        memories: Sequence[Memory],
        results: Sequence[WriteResult],
        vectors: VectorsByText,
    ) -> None:
        """Write the use and the vectors of memories that this transaction has just written."""
        texts: dict[int, str] = {}  # by row, as it was written last
        changed = {each.row for each in results if each.action != "same"}
        for memory, each in zip(memories, results, strict=True):
            if each.action == "added" and memory.use != UNUSED:
                transaction.set_use(each.row, memory.use)
            if each.row in changed:
                texts[each.row] = embedding_text(memory)
        encoded = {row: vectors[text] for row, text in texts.items() if text in vectors}
        if encoded:
            transaction.embed([*encoded], [*encoded.values()], self.space)

    def edit(self, id: str, changes: Mapping[str, Any], expected: Memory | None = None) -> WriteResult:
        """Change a memory; a new text and its vector are written together."""
        return retry(lambda: self._edit(id, changes, expected))

    def _edit(self, id: str, changes: Mapping[str, Any], expected: Memory | None) -> WriteResult:
        if self.secrets != "store":
            changes = {**changes, **clean_fields(_changed(self.store.get([id])[0], changes), self.secrets)}
        for _ in range(ATTEMPTS):
            stored = self.store.get([id])[0]
            text = embedding_text(_changed(stored, changes))
            vectors = {} if text == embedding_text(stored) else self.embed([text])
            try:
                with self.store.transaction("edit") as transaction:
                    result = transaction.revise(id, lambda memory: _edit(transaction, memory, changes, expected))
                    if transaction.row_with(id, text) is None:
                        raise _ChangedMeanwhile
                    if result.action == "changed" and vectors:
                        transaction.embed([result.row], [vectors[text]], self.space)
            except _ChangedMeanwhile:
                continue
            self.embed_some_missing()
            return result
        raise StoreError(f"{id} was not edited: other processes keep changing it. Try again.")

    def undo(
        self, operation: int | None = None, past_erasure: bool = False, dry_run: bool = False
    ) -> UndoResult | None:
        """Undo the last operation, or this one; restored texts and their vectors are written together.

        After an erasure it refuses, unless the operation before it is meant. A dry run is the same, rolled back."""
        if not dry_run:
            return retry(lambda: self._undo(operation, past_erasure))
        try:
            with self.store.transaction("undo") as transaction:
                result = transaction.undo(operation)
                if operation is None and not past_erasure:
                    self._check_no_erasure(result)
                raise _DryRun
        except _DryRun:
            return result

    def _undo(self, operation: int | None, past_erasure: bool) -> UndoResult | None:
        for _ in range(ATTEMPTS):
            texts = self.store.undo_texts(operation)
            vectors = self.embed(list(texts.values()))
            try:
                with self.store.transaction("undo") as transaction:
                    if transaction.undo_texts(operation) != texts:
                        raise _ChangedMeanwhile
                    result = transaction.undo(operation)
                    if operation is None and not past_erasure:
                        self._check_no_erasure(result)
                    encoded = {transaction.row(id): vectors[text] for id, text in texts.items() if text in vectors}
                    if encoded:
                        transaction.embed([*encoded], [*encoded.values()], self.space)
            except _ChangedMeanwhile:
                continue
            self.embed_some_missing()
            return result
        raise StoreError("Nothing was undone: other processes keep writing. Try again.")

    def _check_no_erasure(self, undone: UndoResult | None) -> None:
        """Nobody who undoes an erasure by mistake means the change before it."""
        receipts = self.store.receipts() if undone is None else []
        erased_at = undone.erasure if undone is not None else receipts[-1].at if receipts else None
        if erased_at is None:
            return
        earlier = (
            "There is no earlier change that could be undone."
            if undone is None
            else f"To undo the change before it ({undone.verb}), give past_erasure=True."
        )
        raise InvalidInput(
            f"The last change here is the erasure of {erased_at.isoformat(timespec='seconds')}, which cannot be "
            f"undone. Nothing was changed. {earlier}"
        )

    def supersede(self, old: str, memory: Memory, now: datetime) -> str:
        """Write a memory that replaces another, from its valid_from or now on; returns its id."""
        at = memory.valid_from or now

        def supersede_old(transaction: Transaction, results: Sequence[WriteResult]) -> None:
            new = results[0].id
            if new == old:
                raise InvalidInput(
                    f"{old} cannot supersede itself: give the new memory an id or external id of its own."
                )
            transaction.revise(old, lambda stored: superseded(stored, at))
            transaction.link(make_edge(new, old, "supersedes", 1.0))

        new = check_validity_period(replace(memory, valid_from=at))
        (result,) = self.write("supersede", [new], also=supersede_old)
        return result.id

    def supersede_by_stored(self, old: str, new: str, now: datetime) -> None:
        """Mark a memory as replaced by another stored one, from the moment on that the other holds.

        If that one was itself superseded by the first, it holds again from now on.
        """
        if new == old:
            raise InvalidInput(f"{old} cannot supersede itself: name another memory.")
        with self.store.transaction("supersede") as transaction:
            (newer,) = self.store.get([new])
            _check_not_forgotten(newer)
            at = newer.valid_from or newer.created
            if transaction.unlink(old, new, "supersedes"):
                at = now
                transaction.revise(new, lambda stored: replace(stored, status="active", valid_to=None))
            assert at is not None  # every stored memory has a time of creation
            transaction.revise(old, lambda stored: superseded(stored, at))
            transaction.link(make_edge(new, old, "supersedes", 1.0))

    def contradict(self, edge: Edge, loser: str | None) -> None:
        """Link two memories that contradict each other and mark the wrong one, when it is known."""
        with self.store.transaction("contradict") as transaction:
            transaction.link(edge)
            if loser is not None:
                transaction.revise(loser, contradicted)

    # Embedding.

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> VectorsByText:
        """Vectors by text. Texts that the embedder refuses have none, nor have those after it failed."""
        vectors: VectorsByText = {}
        for start in range(0, len(texts), BATCH_SIZE):
            if self.embedder is not None:
                batch = [text for text in dict.fromkeys(texts[start : start + BATCH_SIZE]) if text not in vectors]
                try:
                    encoded, refused = embed_accepted(self.embedder, batch)
                except EmbeddingError as error:
                    log.warning(STORED_WITHOUT_VECTORS, error)
                    self.embedder_works, self._may_lack_vectors = False, True
                    break
                self.embedder_works = True
                vectors |= {text: vector for text, vector in zip(batch, encoded, strict=True) if vector is not None}
                for text, reason in refused.items():
                    log.warning(
                        "%s is stored without a vector, because the embedder refuses it: %s",
                        check.short_repr(text),
                        reason,
                    )
            if progress is not None:
                progress(min(start + BATCH_SIZE, len(texts)), len(texts))
        return vectors

    def embed_some_missing(self) -> None:
        """Make a few missing vectors, if the embedder works. It never fails the write that it follows."""
        if self.embedder is None or not self.embedder_works or not self._may_lack_vectors:
            return
        try:
            limit = REPAIR_LIMIT + len(self._refused)
            missing = [id for id in self.store.unembedded(self.space, limit=limit) if id not in self._refused]
            self._may_lack_vectors = len(missing) >= REPAIR_LIMIT  # there may be more
            if missing:
                embed_missing_vectors(self.store, self.embedder, "embed", None, missing)
        except UnembeddedError as error:
            self._refused.update(error.reasons)
        except RecollectError as error:
            self._may_lack_vectors = True
            log.info("Missing vectors are not made yet: %s", error)


def embed_missing_vectors(
    store: Store, embedder: Embedder, verb: str, progress: Progress | None, among: Sequence[str] | None = None
) -> int:
    """Embed the memories (all, or some) that have no vector of this embedder, in batches; returns how many there were.

    If it makes token sketches, a vector without one counts as missing: an older version wrote it. Memories whose texts
    are refused are named by an UnembeddedError at the end, when all others are done.
    """
    space = Space(embedder.name, embedder.dim)
    missing = store.unembedded(space, among, tokens=supports(embedder, TokenEmbedder))
    reasons: dict[str, str] = {}
    size = preferred_batch_size(embedder, BATCH_SIZE)  # a batch API gets as many as it takes
    for start in range(0, len(missing), size):
        memories = store.get(missing[start : start + size], missing_ok=True)
        texts = [embedding_text(memory) for memory in memories]
        encoded, refused = embed_accepted(embedder, texts)
        reasons |= {memory.id: refused[text] for memory, text in zip(memories, texts, strict=True) if text in refused}
        with store.transaction(verb) as transaction:
            # Only if the memory still exists and has this text.
            rows = [transaction.row_with(memory.id, text) for memory, text in zip(memories, texts, strict=True)]
            pairs = [(row, each) for row, each in zip(rows, encoded, strict=True) if row is not None]
            vectors = {row: each for row, each in pairs if each is not None}
            transaction.embed([*vectors], [*vectors.values()], space)
        if progress is not None:
            progress(min(start + size, len(missing)), len(missing))
    if reasons:
        raise UnembeddedError(reasons)
    return len(missing)


_loaded: set[bool] = set()  # for which texts, ASCII or not


def _load_tables(memories: Sequence[Memory]) -> None:
    """Read the first texts of a process before the transaction: what that loads and compiles, such as the dictionary
    for Chinese, takes 15 to 100 ms, in which others would wait for the lock."""
    for memory in memories if len(_loaded) < 2 else ():
        if (kind := memory.text.isascii()) not in _loaded:
            _loaded.add(kind)
            field_words(memory)
            told_times(memory.text, datetime.now(UTC))


def _count_mention(transaction: Transaction, memory: Memory) -> WriteResult | None:
    """Count a statement that is stored already, and says nothing more, as another mention of the stored one."""
    if not _is_statement(memory):
        return None
    for stored in transaction.find_equal(memory):
        fields = {**dict(_changed_fields(memory)), **{name: getattr(memory, name) for name in COMPARED_FIELDS}}
        if all(getattr(stored, name) == value for name, value in fields.items()):
            return transaction.revise(stored.id, lambda stored: replace(stored, mentions=stored.mentions + 1))
    return None


def _is_statement(memory: Memory) -> bool:
    """Is it distinguished by its text alone? Perceptions and turns are events: each is a memory of its own."""
    named = (memory.id, memory.external_id, memory.session, memory.speaker, memory.role, memory.path)
    timed = (memory.position, memory.created, memory.updated)
    return not any(named) and timed == (None, None, None) and memory.kind != "perception"


def _changed_fields(memory: Memory) -> Iterator[tuple[str, Any]]:
    """The fields that are not at their default."""
    for each in fields(Memory):
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        value = getattr(memory, each.name)
        if value != default:
            yield each.name, value


def _shifted(progress: Progress | None, done_before: int, total: int) -> Progress | None:
    """Progress of a batch as progress of the whole."""
    return None if progress is None else lambda done, _: progress(done_before + done, total)


def _edit(transaction: Transaction, memory: Memory, changes: Mapping[str, Any], expected: Memory | None) -> Memory:
    """The memory with these changes. The text of a file's chunk is changed in the file."""
    if expected is not None and memory != expected:
        raise EditConflict(f"{memory.id} was changed by somebody else since it was read; read it again.")
    edited = _changed(memory, changes)
    text_changed = memory.path and edited.text != memory.text
    if text_changed and memory.id in {each.id for each in transaction.files.chunks(memory.collection, memory.path)}:
        raise InvalidInput(f"{memory.id} is a part of the file {memory.path}: change the file, and sync its folder.")
    return edited


def _changed(memory: Memory, changes: Mapping[str, Any]) -> Memory:
    """The memory with these changes. No recall would find a change of a forgotten one, unless it restores it."""
    edited = edit_memory(memory, changes)
    if "status" not in changes:
        _check_not_forgotten(memory)
    return edited


def inherited_fields(memory: Memory) -> dict[str, Any]:
    """The fields that a text inherits from the memory that it supersedes."""
    return {name: getattr(memory, name) for name in INHERITED_FIELDS}


def superseded(memory: Memory, at: datetime) -> Memory:
    """The memory after another has replaced it: valid until then, or until its own earlier end."""
    _check_not_forgotten(memory)
    end = at if memory.valid_to is None else min(at, memory.valid_to)
    begin = memory.valid_from
    if begin is not None and begin >= end:
        if memory.created is None or memory.created < end:
            raise InvalidInput(
                f"{memory.id} is not valid before {begin.isoformat()}; nothing can supersede it earlier."
            )
        begin = None  # created and replaced at the same moment: it was valid at no time
    return replace(memory, status="superseded", valid_from=begin, valid_to=end)


def contradicted(memory: Memory) -> Memory:
    _check_not_forgotten(memory)
    return replace(memory, status="contradicted")


def reinforced(memory: Memory, amount: float) -> Memory:
    """strength + amount, at most 1."""
    _check_not_forgotten(memory)
    return replace(memory, strength=min(1.0, memory.strength + amount))


def _check_not_forgotten(memory: Memory) -> None:
    """A change of a forgotten memory would revive it, or stay where no recall finds it."""
    if memory.status == "forgotten":
        raise InvalidInput(f"{memory.id} was forgotten. Restore it first (undo, or edit with status='active').")
