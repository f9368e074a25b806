"""Keeping: memories and their vectors in one transaction, what one memory does to another, and missing vectors."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.embed import Embedder, TokenEmbedder, embed_accepted, preferred_batch_size
from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import Edge, EntityEdge, Memory, Use
from recollect.model import validation as check
from recollect.model.memory import check_validity_period, make_edge
from recollect.store.base import Encoded, Space, Store, Transaction, WriteResult
from recollect.store.text_fields import embedding_text

log = logging.getLogger("recollect")
Progress = Callable[[int, int], None]  # how many are done, of how many
Also = Callable[[Transaction, Sequence[WriteResult]], None]  # what else belongs into the transaction
BATCH_SIZE = 256  # texts an embedder gets at a time; rows read at a time
UNUSED = Use()
STORED_WITHOUT_VECTORS = "%s Memories are kept without vectors; embed_missing() makes up for it."
NAMED = 3  # memories that a refusal names
# What a new text takes over from the memory that it replaces: to whom and where it belongs, and who may know.
INHERITED_FIELDS = ("collection", "user", "kind", "topic", "tier", "classification")


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """What a bulk write did, in the order of what was given."""

    ids: list[str]
    added: int
    changed: int
    same: int


def summarize(written: Sequence[WriteResult]) -> WriteSummary:
    counts = Counter(each.what for each in written)
    return WriteSummary([each.id for each in written], counts["added"], counts["changed"], counts["same"])


class UnembeddedError(EmbeddingError):
    """Memories that stay without a vector because the embedder refuses their texts, by id, each with the reason."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        told = [f"{id}: {reason}" for id, reason in reasons.items()]
        super().__init__(
            f"{len(told)} of the memories can have no vector, because the embedder refuses their texts; "
            f"all others have one. {' '.join(told[:NAMED])}{' …' if told[NAMED:] else ''}"
        )
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes to a store, with vectors when there is an embedder."""

    store: Store
    embedder: Embedder | None

    def write(
        self,
        verb: str,
        memories: Sequence[Memory],
        progress: Progress | None = None,
        edges: Sequence[Edge] = (),
        relations: Sequence[EntityEdge] = (),
        also: Also | None = None,
    ) -> Sequence[WriteResult]:
        """Embed first, without holding the file; then one transaction for everything."""
        encoded = self._encoded([embedding_text(memory) for memory in memories], progress)
        with self.store.transaction(verb) as transaction:
            written = [transaction.remember(memory) for memory in memories]
            for memory, each in zip(memories, written, strict=True):
                if each.what == "added" and memory.use != UNUSED:
                    transaction.set_use(each.row, memory.use)
            fresh = _fresh(written, encoded)
            if fresh and self.embedder is not None:
                transaction.embed([*fresh], [*fresh.values()], Space(self.embedder.name, self.embedder.dim))
            for edge in edges:
                transaction.link(edge)
            for relation in relations:
                transaction.relate(relation)
            if also is not None:
                also(transaction, written)
        return written

    def supersede(self, old: str, memory: Memory, now: datetime) -> str:
        """Keep a memory that takes the place of another, from its valid_from or now on; its id."""
        at = memory.valid_from or now

        def hand_over(transaction: Transaction, written: Sequence[WriteResult]) -> None:
            new = written[0].id
            if new == old:
                raise InvalidInput(
                    f"{old} cannot supersede itself: give the new memory an id or external id of its own."
                )
            transaction.revise(old, lambda held: superseded(held, at))
            transaction.link(make_edge(new, old, "supersedes", 1.0))

        (written,) = self.write("supersede", [check_validity_period(replace(memory, valid_from=at))], also=hand_over)
        return written.id

    def contradict(self, edge: Edge, loser: str | None) -> None:
        """Keep that two memories contradict each other and, when it is known, which of them is wrong."""
        with self.store.transaction("contradict") as transaction:
            transaction.link(edge)
            if loser is not None:
                transaction.revise(loser, contradicted)

    def mend(self, ids: Sequence[str] | None = None) -> None:
        """Embed what a change has left without a vector; when that fails, it can be made up for later."""
        if self.embedder is not None:
            try:
                embed_missing_vectors(self.store, self.embedder, "embed", None, ids)
            except UnembeddedError as problem:  # for good
                log.warning("%s", problem)
            except EmbeddingError as problem:
                log.warning(STORED_WITHOUT_VECTORS, problem)

    def _encoded(self, texts: Sequence[str], progress: Progress | None) -> Sequence[Encoded | None]:
        """Vectors for the texts, or for as many as the embedder managed: a memory is kept even without one."""
        done: list[Encoded | None] = []
        for start in range(0, len(texts), BATCH_SIZE):
            if self.embedder is not None:
                try:
                    made, refused = embed_accepted(self.embedder, texts[start : start + BATCH_SIZE])
                except EmbeddingError as problem:
                    log.warning(STORED_WITHOUT_VECTORS, problem)
                    break
                done += made
                for text, reason in refused.items():
                    log.warning(
                        "%s is kept without a vector, because the embedder refuses it: %s",
                        check.short_repr(text),
                        reason,
                    )
            if progress is not None:
                progress(min(start + BATCH_SIZE, len(texts)), len(texts))
        return done


def _fresh(written: Sequence[WriteResult], encoded: Sequence[Encoded | None]) -> dict[int, Encoded]:
    """The vector of each row that was written, as it was written last, where there is one."""
    changed = {each.row for each in written if each.what != "same"}
    last = {each.row: at for at, each in enumerate(written) if each.row in changed}
    made = {row: encoded[at] for row, at in last.items() if at < len(encoded)}
    return {row: vector for row, vector in made.items() if vector is not None}


def embed_missing_vectors(
    store: Store, embedder: Embedder, verb: str, progress: Progress | None, among: Sequence[str] | None = None
) -> int:
    """Embed the memories (all, or some) that this embedder has no vector for, a batch at a time.

    Where it makes sketches, a vector without one counts as missing: an older version of this program wrote it. When all
    are done, those whose texts are refused are named by an error (``Bare``).
    """
    space = Space(embedder.name, embedder.dim)
    missing = store.unembedded(space, among, tokens=isinstance(embedder, TokenEmbedder))
    bare: dict[str, str] = {}
    size = preferred_batch_size(embedder, BATCH_SIZE)  # a batch API is given as many as it takes
    for start in range(0, len(missing), size):
        ids = missing[start : start + size]
        memories = store.get(ids, missing_ok=True)
        texts = [embedding_text(memory) for memory in memories]
        encoded, refused = embed_accepted(embedder, texts)
        bare |= {memory.id: refused[text] for memory, text in zip(memories, texts, strict=True) if text in refused}
        with store.transaction(verb) as transaction:
            # Meanwhile a memory may have got another text, or be gone: its vector would be that of the old one.
            rows = [transaction.row_with(memory.id, text) for memory, text in zip(memories, texts, strict=True)]
            still = {row: each for row, each in zip(rows, encoded, strict=True) if row is not None and each is not None}
            transaction.embed([*still], [*still.values()], space)
        if progress is not None:
            progress(min(start + size, len(missing)), len(missing))
    if bare:
        raise UnembeddedError(bare)
    return len(missing)


def inherited_fields(memory: Memory) -> dict[str, Any]:
    """The details that a text takes over from the memory that it replaces."""
    return {name: getattr(memory, name) for name in INHERITED_FIELDS}


def superseded(memory: Memory, at: datetime) -> Memory:
    """The memory as it is once another has taken its place: it held until then, or until its own earlier end."""
    _still_here(memory)
    end = at if memory.valid_to is None else min(at, memory.valid_to)
    begin = memory.valid_from
    if begin is not None and begin >= end:
        if memory.created is None or memory.created < end:
            raise InvalidInput(
                f"{memory.id} does not hold before {begin.isoformat()}; nothing can supersede it earlier."
            )
        begin = None  # made and replaced in one moment: it held at no time, and its creation says so
    return replace(memory, status="superseded", valid_from=begin, valid_to=end)


def contradicted(memory: Memory) -> Memory:
    _still_here(memory)
    return replace(memory, status="contradicted")


def reinforced(memory: Memory, amount: float) -> Memory:
    """strength + amount, at most 1."""
    return replace(memory, strength=min(1.0, memory.strength + amount))


def _still_here(memory: Memory) -> None:
    """Another status would bring a forgotten memory back."""
    if memory.status == "forgotten":
        raise InvalidInput(f"{memory.id} was forgotten. Bring it back first (undo, or edit with status='active').")
