"""The store protocol: what every store offers to the rest of Recollect.

A *store* is the source of truth: transactions, operations, history and files. A *snapshot* is what one recall reads,
all of one version. Stores propose candidates and return raw numbers; scoring happens in ``recollect.recall``.

A *row* is the store's own positive integer for a memory; users see ids. Every store and everything read through it is
limited to its *bound*: memories beyond it do not exist for the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbeddingError, InvalidInput
from recollect.model import Edge, EntityEdge, Filter, FilterExpression, JsonObject, Memory, Use
from recollect.store.erasing import Erasure, Purge, Receipt
from recollect.store.told_times import Interval

if TYPE_CHECKING:
    from recollect.text.query_language import Leaf, QueryTree

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
EncodedText = tuple[NDArray[np.float32], bytes]  # a text's vector, and the sketch of its tokens if its model makes one
Version = str  # compared for equality only: several writers may exist
PageOrder = Literal["newest", "oldest", "stored"]
UseCounter = Literal["access", "return", "recall"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A boundary: only memories with these values can be read, changed, counted, named or undone. None: any value."""

    collection: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    values: dict[str, str] = field(init=False, repr=False, compare=False)  # the fields that are bound

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in ("collection", "user", "agent", "session")}
        object.__setattr__(self, "values", {name: value for name, value in named.items() if value is not None})

    @property
    def filter(self) -> Filter | None:
        values: dict[str, Any] = {**self.values}
        return Filter(**values) if values else None

    def narrowed(self, bound: Bound) -> Bound:
        """Limited to another bound, too."""
        values = {**self.values, **bound.values}
        if any(values[name] != value for name, value in self.values.items()):
            raise InvalidInput(f"A store bound to {self.describe()} cannot be bound to {bound.describe()}.")
        return Bound(**values)

    def contains(self, memory: Memory) -> bool:
        return all(getattr(memory, name) == value for name, value in self.values.items())

    def contains_relation(self, edge: EntityEdge) -> bool:
        """A relation belongs to a collection and a user, and to no agent or session."""
        return all(getattr(edge, name, "") == value for name, value in self.values.items())

    def describe(self) -> str:
        return ", ".join(f"{name} {value!r}" for name, value in self.values.items()) or "everything"


@dataclass(frozen=True, slots=True)
class Space:
    """The model that made a set of vectors. ``dim`` is 0 while it is not known yet."""

    name: str
    dim: int


def check_space(stored: Space | None, wanted: Space, path: str) -> None:
    """Raise an EmbeddingError if the vectors of a model cannot be compared with the stored ones."""
    if stored is not None and (stored.name != wanted.name or wanted.dim not in (0, stored.dim)):
        raise EmbeddingError(
            f"The vectors in {path} were made by {stored.name!r} ({stored.dim} dimensions), not by {wanted.name!r} "
            f"({wanted.dim}). Open it with that embedder, or with embedder=None (words only), or make all vectors "
            "again with Mind.reembed(path, embedder=…) or 'recollect reembed'."
        )


# Reading.


@dataclass(frozen=True, slots=True)
class Term:
    """One word to look up: by its stem, as written, as a prefix, in compounds, or several words as a phrase.

    A stem is that of ``language``, whatever the language of a memory is: stores index words as they are written.
    ``compound``: words that begin or end with this one (see ``recollect.text.compounds``).
    """

    word: str
    weight: float = 1.0
    match: Literal["stem", "exact", "prefix", "compound", "phrase"] = "stem"
    language: str = "en"  # code of ISO 639-1; English stems for languages without a stemmer
    part_of: str = ""  # the word of the query that this is a part of, or stands for


def leaf_term(leaf: Leaf) -> Term:
    """The term of a leaf of the query tree."""
    from recollect.text.query_language import Phrase, Prefix

    match leaf:
        case Prefix():
            return Term(leaf.text, match="prefix")
        case Phrase():
            return Term(leaf.text, match="phrase")
        case _:
            return Term(leaf.text)


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """What BM25 needs to know about terms, over all memories of the bound that are not forgotten."""

    documents: int  # memories in the bound
    average_length: float  # in words, of the fields that count
    frequencies: list[int]  # by term: memories of the bound that have it
    occurs: list[bool]  # by term: does any memory in scope have it?


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What a store ranks its lexical candidates by.

    Σ weight × tf × (k1 + 1) ÷ (tf + k1 × (1 − b + b × length ÷ average)).

    ``weights`` are those of the terms, idf included. The result is scored again by the caller.
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    fields: Mapping[str, float]  # weight of each text field
    average_length: float
    k1: float
    b: float
    require_all: bool = False  # a candidate has all terms
    where: QueryTree | None = None  # a candidate fulfils this query tree


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidate rows, at least the best n that were asked for, in no particular order."""

    rows: Rows
    total: int  # how many matched before the cut
    approximate: bool = False  # one of the best may be missing
    stable: bool = True  # proposing more never changes the first


@dataclass(frozen=True, slots=True)
class TokenSketches:
    """The token sketches of some rows, one after another: ``counts[i]`` rows of ``bits`` belong to the i-th."""

    bits: NDArray[np.uint8]  # a row for each token, one bit for each dimension
    counts: NDArray[np.int64]  # 0 for a row without a sketch
    dim: int


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """Edges between rows, as arrays."""

    sources: Rows
    targets: Rows
    weights: Floats
    kinds: list[str]
    created: Floats  # microseconds since 1970

    def take(self, chosen: Flags) -> EdgeArrays:
        kinds = [kind for kind, here in zip(self.kinds, chosen.tolist(), strict=True) if here]
        return EdgeArrays(self.sources[chosen], self.targets[chosen], self.weights[chosen], kinds, self.created[chosen])


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why a memory is not in scope; where numbers are compared, the value and the threshold."""

    reason: str
    value: float | None = None
    threshold: float | None = None


class Scope(Protocol):
    """The memories that a recall may return: a compiled filter. Only the snapshot that made it can use it."""

    @property
    def count(self) -> int:
        """How many memories are in scope."""

    def contains(self, rows: Rows) -> Flags:
        """Which of these rows are in scope."""

    def knows(self, row: int) -> bool:
        """Was this row stored when the scope was made?"""

    def exclusion(self, row: int) -> Exclusion | None:
        """The first condition that this row fails; None for a row in scope."""


class Snapshot(Protocol):
    """One version of the memories, for one recall. Nothing here is a score."""

    @property
    def version(self) -> Version:
        """The version of the store that this snapshot reads."""

    @property
    def space(self) -> Space | None:
        """The model whose vectors are searched."""

    # What may come back.

    def scope(
        self,
        filter: FilterExpression | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> Scope:
        """Compile a filter. With ``as_of`` memories must be valid at ``now``. With ``hidden`` the scope has memories
        that no recall returns: expired ones, and forgotten ones if that status is asked for."""

    def excluding(self, tree: QueryTree, fields: Mapping[str, float], scope: Scope) -> Scope:
        """The scope without the memories that fulfil a query tree."""

    def during(self, intervals: Sequence[Interval], scope: Scope, told: bool = True) -> Scope:
        """The memories in scope that were created in one of these intervals or, with ``told``, were valid then (if a
        period is stored) or tell of it in their text (see told_times.py)."""

    # Candidates. Asking for more never changes the first ones.

    def lexical_candidates(self, query: LexicalQuery, scope: Scope, n: int) -> Proposal:
        """At least the n rows in scope with the highest score of a query."""

    def nearest(self, vector: NDArray[np.float32], scope: Scope, n: int) -> Proposal:
        """At least the n rows with the highest cosine; ``total`` counts the rows in scope that have a vector."""

    def signature_candidates(self, signature: NDArray[np.uint8], scope: Scope, min_similarity: float) -> Rows:
        """Rows in scope whose bit signature agrees in at least this share of its bits."""

    def slug_candidates(self, tokens: Sequence[str], scope: Scope, min_similarity: float) -> Rows:
        """Rows in scope whose slug shares that many 3-grams with any of the tokens (see text/slugs.py)."""

    def similar_words(self, word: str, scope: Scope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        """Words of memories in scope that are spelled like this one, most similar first."""

    def page(self, scope: Scope, order: PageOrder, limit: int, offset: int = 0) -> Rows:
        """Rows in scope, by creation (equals in the order in which they were written), or in the order of writing."""

    # Values of rows, in the order of the rows.

    def term_statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: Scope) -> TermStatistics:
        """What BM25 needs to know about terms."""

    def term_frequencies(self, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Floats:
        """By term (down) and row (across): Σ field weight × how often the term occurs in that field."""

    def field_lengths(self, fields: Mapping[str, float], rows: Rows) -> Floats:
        """Words of each row in the fields with a weight above 0."""

    def matches(self, tree: QueryTree, fields: Mapping[str, float], rows: Rows) -> Flags:
        """Which rows fulfil a query tree."""

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        """The vector of each row, of unit length; NaN for a row without one."""

    def token_sketches(self, rows: Rows) -> TokenSketches:
        """The signs of the token vectors of each row."""

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        """Each row's text as a packed bit signature (see text/signatures.py)."""

    def neighbours(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        """The rows before and after each row in its session: ``reach`` columns before it, nearest first, then as many
        after it; −1 where there is none. Without sessions: in the order of its collection, if memories that follow one
        another there are about the same things."""

    def numbers(self, name: str, rows: Rows) -> Floats:
        """A number or moment (microseconds since 1970) of each row; NaN where there is none."""

    def strings(self, name: str, rows: Rows) -> list[str]:
        """A keyword field of each row: its status, topic, session, …"""

    def contexts(self, rows: Rows) -> list[JsonObject]:
        """The context of each row, not to be changed."""

    def uses(self, rows: Rows) -> list[Use]:
        """How each row has been used."""

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        """One counter or moment of each row's use; NaN where there is none."""

    def uses_by_day(self, rows: Rows) -> dict[int, int]:
        """How often these rows were accessed or recalled, by day (days since 1970, UTC); see use_days.py."""

    def ids(self, rows: Rows) -> list[str]:
        """The id of each row."""

    def texts(self, rows: Rows) -> list[str]:
        """The text of each row."""

    def paths(self, rows: Rows) -> list[str]:
        """The path of each row; without one, the slug of its title; without that, its id."""

    def memories(self, rows: Rows) -> list[Memory]:
        """The memories of these rows, without those that do not exist."""

    def row(self, id: str) -> int | None:
        """The row of an id; None if there is no such memory."""

    # Connections and time.

    def edges(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        """Edges from or to any of these rows, in a fixed order."""

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        """Relations that begin or end at one of these entity names, compared without case."""

    def told_times(self, rows: Rows) -> list[list[Interval]]:
        """The intervals that the text of each row names, relative to its creation; see told_times.py."""

    def next_validity_change(self, now: datetime) -> float:
        """The next moment after now (microseconds) at which a memory becomes valid, ceases to be, or expires; inf."""


# Writing.


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Where a memory was written, and what the write did."""

    row: int
    id: str
    action: Literal["added", "changed", "same"]
    at: datetime


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was last read."""

    path: str
    size: int
    modified: int  # nanoseconds since 1970; 0 when the next scan must read it again
    inode: int
    hash: bytes  # of its content; empty when it is not indexed
    problem: str = ""  # why it is not indexed, or what was wrong with it


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A memory that is a chunk of a file; equal digests have equal vectors."""

    row: int
    id: str
    digest: bytes


class FileTransaction(Protocol):
    """Folders and files inside one transaction. Their chunks are derived: they are deleted for good, and undo does not
    restore them."""

    def folder(self, collection: str) -> JsonObject | None:
        """The record of the folder that is indexed in a collection."""

    def set_folder(self, collection: str, record: JsonObject) -> None:
        """Write the record of a folder."""

    def state(self, collection: str, path: str) -> FileState | None:
        """A file as it was when it was last read."""

    def chunks(self, collection: str, path: str) -> list[StoredChunk]:
        """The chunks of a file, oldest first."""

    def save(self, collection: str, state: FileState, previous_path: str = "") -> int:
        """Record a file as it is now, also if it was renamed; its number."""

    def add_chunks(self, file: int, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        """Record that these memories are chunks of a file."""

    def copy_vectors(self, row: int, digest: bytes) -> bool:
        """Give a memory the vectors of another chunk with this digest, if there is one."""

    def delete(self, collection: str, paths: Sequence[str]) -> int:
        """Delete files with their chunks; how many chunks there were."""

    def delete_folder(self, collection: str) -> int:
        """Delete a folder with its files and their chunks; how many chunks there were."""

    def replace_folder(self, staged: str, collection: str) -> None:
        """Put a folder that was built under another collection name in the place of this one."""


class Transaction(Protocol):
    """One transaction of an operation: all of it is written, or nothing."""

    @property
    def operation(self) -> int:
        """The operation that this transaction belongs to; pass it on to continue it in another transaction. Asking for
        it records the operation, even if nothing is changed."""

    @property
    def changed(self) -> bool:
        """Has anything been changed so far?"""

    @property
    def files(self) -> FileTransaction:
        """Folders and files, in this transaction."""

    def find(self, memory: Memory) -> Memory | None:
        """The stored memory that ``remember`` would update: the one with its id or external id."""

    def find_equal(self, memory: Memory) -> list[Memory]:
        """The active memories with its text, kind, collection, user and agent, and without session, position and
        external id; the oldest first."""

    def last_position(self, memory: Memory, since: Version) -> int:
        """The highest position in its session, of memories with its collection, user and agent; 0 if there is none.
        Only those that were written after this version are certainly looked at."""

    def remember(self, memory: Memory) -> WriteResult:
        """Add a memory, or update the one with its id or external id; equal content changes nothing."""

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        """Change a memory, given as it is now inside the transaction."""

    def decay(self, rate: float) -> int:
        """strength × exp(−rate × days since the last decay, or since creation if later); how many changed."""

    def delete(self, rows: Sequence[int]) -> None:
        """Delete memories for good, with all that belongs to them; undo does not restore them."""

    def row(self, id: str) -> int:
        """The row of an id; NotFound if there is no such memory."""

    def row_with(self, id: str, text: str) -> int | None:
        """The row of a memory, if this is still the text that is embedded for it."""

    def set_use(self, row: int, use: Use, by_day: Mapping[int, int] | None = None) -> None:
        """``by_day``: also how often it was used on each day, see use_days.py."""

    def add_history(self, row: int, memory: Memory, until: datetime) -> None:
        """An earlier version of a memory that this transaction adds, and when it ended; the oldest first."""

    def add_receipt(self, receipt: Receipt) -> None:
        """The receipt of an erasure in another store, of which this one is a copy. One in a transaction."""

    def embed(self, rows: Sequence[int], texts: Sequence[EncodedText], space: Space) -> None:
        """Write the vectors of rows, and the sketches of their tokens."""

    def link(self, edge: Edge) -> None:
        """Add an edge, or change its weight."""

    def unlink(self, source: str, target: str, kind: str | None) -> int:
        """Remove the edges of a kind, or all, from one memory to another; how many there were."""

    def relate(self, edge: EntityEdge) -> None:
        """Add a relation between two names, or change it."""

    def undo(self, operation: int | None = None) -> UndoResult | None:
        """Take back this operation, or the last one inside the bound."""

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        """As ``Store.undo_texts``, inside the transaction."""


@dataclass(frozen=True, slots=True)
class UseRecord:
    """The use of memories by one recall."""

    rows: list[int]
    at: datetime
    counters: tuple[UseCounter, ...] = ("access",)


@dataclass(frozen=True, slots=True)
class UndoneMemory:
    """A memory that an undo changed."""

    id: str
    text: str  # its beginning: of a removed memory as it was, of a restored one as it is again
    change: Literal["removed", "restored"]


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo took back."""

    verb: str
    at: datetime
    removed: int  # memories that it deleted again
    restored: int  # memories and edges that are as before
    ids: tuple[str, ...] = ()  # of the restored memories
    erased: int = 0  # memories of that operation that were erased since, and cannot be restored
    erasure: datetime | None = None  # when something was last erased after it: what the last change really was
    memories: tuple[UndoneMemory, ...] = ()  # the first of the removed and restored ones


@dataclass(frozen=True, slots=True)
class LastBackup:
    """When a store was last backed up, and where to."""

    at: datetime
    folder: str


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The index files of a store that keeps some beside its database."""

    folder: str
    state: Literal["none", "usable", "unusable"]
    bytes: int = 0
    segments: int = 0  # files
    memories: int = 0  # in these files
    changed: int = 0  # memories that were added or changed since: a recall reads them from the database


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What a store contains, within its bound."""

    path: str
    bytes: int
    version: Version
    readonly: bool
    memories: dict[str, int] = field(default_factory=dict)  # by status
    expired: int = 0  # of the active ones: they are not recalled any more
    collections: dict[str, int] = field(default_factory=dict)
    edges: int = 0
    entity_edges: int = 0
    words: int = 0
    spaces: list[JsonObject] = field(default_factory=list)
    without_vector: int = 0
    last_change: datetime | None = None
    last_backup: LastBackup | None = None  # as far as the store knows
    index: IndexStatus | None = None  # of a store that has index files, without a bound


class Store(Protocol):
    """The source of truth. All methods see only what is inside ``bound``."""

    @property
    def path(self) -> str:
        """Where the memories are: a file, or a URL without secrets; for messages."""

    @property
    def readonly(self) -> bool:
        """Are writes refused?"""

    @property
    def bound(self) -> Bound:
        """What the store is limited to."""

    def within(self, bound: Bound) -> Store:
        """The same store, limited to a bound. A bound cannot be widened."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Read one version."""

    def transaction(
        self, verb: str, note: str = "", *, durable: bool = True, operation: int | None = None
    ) -> AbstractContextManager[Transaction]:
        """``durable=False`` does not wait for the disk: a power cut may undo the transaction, as a whole.
        ``operation`` continues an operation that an earlier transaction began."""

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        """What an undo of this operation, or of the last one, would restore: the text to embed, by id, of the memories
        whose text it would change."""

    @property
    def space(self) -> Space | None:
        """The model whose vectors are searched, or None while there are none."""

    def resolve(self, ids: Sequence[str]) -> list[str]:
        """Full ids for ids or their unique beginnings; NotFound for an unknown one."""

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]:
        """Memories by their full ids; NotFound for an unknown one, unless ``missing_ok``."""

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]:
        """The edges from or to these memories, or all."""

    def entity_edges(self) -> list[EntityEdge]:
        """The relations between names."""

    def history(self, id: str) -> list[tuple[datetime, Memory]]:
        """Earlier versions of a memory, oldest first, each with the moment it ended; they cannot be searched."""

    def unembedded(
        self, space: Space, among: Sequence[str] | None = None, tokens: bool = False, limit: int | None = None
    ) -> list[str]:
        """Ids of the memories (all, or some) without a vector of this model or, with ``tokens``, without a sketch."""

    def folders(self) -> dict[str, JsonObject]:
        """The records of the indexed folders, by collection."""

    def files(self, collection: str) -> dict[str, FileState]:
        """The files of a folder as they were when last read, by path."""

    def chunk_ids(self, collection: str) -> list[str]:
        """The ids of the memories that are chunks of a folder's files."""

    def chunks(self, collection: str) -> dict[str, list[StoredChunk]]:
        """The chunks of a folder's files, by path, oldest first."""

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of these digests have a vector that another chunk can copy."""

    def switch_space(self, space: Space, without: Collection[str] = ()) -> int:
        """Search this model's vectors from now on and delete those of others. If memories beside the ids ``without``
        lack a vector, nothing is changed and their number is returned."""

    def erase(
        self,
        ids: Sequence[str] | None,
        purge: Purge | None = None,
        *,
        code: str | None = None,
        dry_run: bool = False,
    ) -> Erasure:
        """Remove memories for good with all that belongs to them and their history; with None everything inside the
        bound, relations and folders included. ``purge`` is called inside the transaction, before anything is removed.
        With a ``code`` nothing is erased unless it belongs to exactly this set."""

    def finish_erasures(self) -> tuple[str, ...]:
        """Overwrite what earlier erasures left in freed pages and logs; what is still pending, and why."""

    def owners(self) -> set[tuple[str, ...]]:
        """To whom something inside the bound belongs or belonged: the collections, users, agents and sessions of
        memories, their earlier versions, relations, folders, and of changes in the history."""

    def receipts(self) -> list[Receipt]:
        """The receipts of erasures inside the bound, oldest first. ``apply_receipts`` (upkeep/erasing.py) applies them
        again to a store that was restored from a backup."""

    def record_use(self, use: UseRecord) -> None:
        """Record a use; it may be written a little later, and never fails a recall."""

    def change_count(self) -> int | None:
        """A number that changes after each change, by whomever it was made, and costs nothing to read; None where the
        version of a snapshot must be compared instead."""

    def status(self) -> StoreStatus:
        """What the store contains."""

    def close(self) -> None:
        """Close connections and files."""
