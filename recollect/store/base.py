"""The store protocol: what recall and the mind ask of any house, SQLite or another.

A *row* is the store's own whole number for a memory; ids are what users see. A *view* is one snapshot for one
recall: everything asked of it agrees. A *change* is one transaction: all of it lands, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbeddingError
from recollect.model import Edge, EntityEdge, JsonObject, Memory, Use
from recollect.model.filter import AnyFilter
from recollect.text.query_language import Leaf, Phrase, Prefix, Tree

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Encoded = tuple[NDArray[np.float32], bytes]  # a text's vector, and the sketch of its tokens if its model makes one
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Space:
    """The model that made a set of vectors."""

    name: str
    dim: int


def check_space(held: Space | None, given: Space, path: str) -> None:
    """Refuse an embedder whose vectors could not be compared with those in the file; dim 0 is not known yet."""
    if held is not None and (held.name != given.name or given.dim not in (0, held.dim)):
        raise EmbeddingError(
            f"The vectors in {path} were made by {held.name!r} ({held.dim} dimensions), not by {given.name!r} "
            f"({given.dim}). Open it with that embedder, or with embedder=None (words alone), or make all vectors "
            "anew with Mind.reembed(path, embedder=…) or 'recollect reembed'."
        )


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a question, as the lexicon looks it up: with its relatives, or just as it is written.

    Or the beginning of words, or several words in their order.
    """

    word: str
    weight: float = 1.0
    match: Literal["stem", "exact", "prefix", "phrase"] = "stem"


def as_term(leaf: Leaf) -> Term:
    """How a leaf of the query language is looked up."""
    match leaf:
        case Prefix():
            return Term(leaf.text, match="prefix")
        case Phrase():
            return Term(leaf.text, match="phrase")
        case _:
            return Term(leaf.text)


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What the lexicon scores: terms over weighted fields, by BM25 with k1 and b."""

    terms: tuple[Term, ...]
    fields: Mapping[str, float]
    k1: float = 1.2
    b: float = 0.75
    every: bool = False  # a memory must have all terms
    where: Tree | None = None  # a memory must be what this query asks for


@dataclass(frozen=True, slots=True)
class TermMatch:
    """How one term scored the rows of a WordMatches: weight × idf × saturation, row by row."""

    term: Term
    documents: int  # memories in the scope that have the term
    here: int  # memories that may come back and have it
    idf: float
    saturation: Floats


@dataclass(frozen=True, slots=True)
class WordMatches:
    """Rows, best first, with their scores and every term's part in them."""

    rows: Rows
    scores: Floats
    terms: list[TermMatch]
    documents: int  # memories in the scope
    found: int  # memories that matched, before the cut


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """Edges between rows, as arrays."""

    sources: Rows
    targets: Rows
    weights: Floats
    kinds: list[str]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why a memory may not come back: in words and, where there is one, the number and what it should have been."""

    reason: str
    value: float | None = None
    threshold: float | None = None


class Scope(Protocol):
    """The memories that may come back in this recall. Only the view that made it can use it."""

    @property
    def count(self) -> int: ...

    def has(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of these rows may come back."""

    def unknown(self, row: int) -> bool:
        """Is the row none of the memories that this mask was made of?"""

    def reason(self, row: int) -> Exclusion | None:
        """Why this row may not: the first condition that it fails, with its number where there is one."""


class Lexicon(Protocol):
    """The words of all memories. Statistics are those of the mask's collections, not of the whole file."""

    def search(self, query: WordQuery, scope: Any, limit: int) -> WordMatches: ...

    def score(self, query: WordQuery, scope: Any, rows: Rows) -> WordMatches:
        """The same scores for given rows, in their order; 0 where nothing matches."""

    def without(self, tree: Tree, fields: Mapping[str, float], scope: Any) -> Scope:
        """The mask less the memories that a query describes; it gives that as the reason for them."""

    def alike(self, word: str, scope: Any, least: float, limit: int) -> list[tuple[str, float]]:
        """Words of memories that may come back that share 3-grams with this one, most similar first."""


class Snapshot(Protocol):
    """One snapshot, for one recall."""

    @property
    def version(self) -> int: ...

    @property
    def lexicon(self) -> Lexicon: ...

    def check_space(self, space: Space) -> None:
        """Refuse a model whose vectors could not be compared with those that are here."""

    def scope(
        self,
        filter: AnyFilter | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> Scope:
        """``as_of`` takes ``now`` as the moment at which memories must hold; ``hidden`` lets in what no recall
        returns: the expired, and the forgotten when their status is asked for."""

    def nearest(self, vector: NDArray[np.float32], scope: Any, limit: int) -> tuple[Rows, Floats]:
        """Rows and cosines, nearest first."""

    def cosines(self, vector: NDArray[np.float32], rows: Rows) -> Floats:
        """The cosine of each row; NaN for a row without a vector."""

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        """The vector of each row, of unit length; NaN for a row without one."""

    def token_likeness(self, tokens: NDArray[np.float32], rows: Rows) -> NDArray[np.float32]:
        """For each row (down) and token of a question (across) the highest likeness to any token of the row's text;
        NaN for a row without a sketch."""

    def around(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        """The memories that come before and after each row in its session: ``reach`` columns before it, nearest first,
        then as many after it; −1 where there is none. Without sessions, in the order of its collection, where memories
        that follow one another are about the same things."""

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        """Each row's text as a packed bit signature (see text/signatures.py)."""

    def numbers(self, name: str, rows: Rows) -> Floats:
        """A field of each row: NaN where there is none, a moment in microseconds since 1970."""

    def strings(self, name: str, rows: Rows) -> list[str]:
        """A field of each row that holds a word: its status, topic, session, …"""

    def contexts(self, rows: Rows) -> list[JsonObject]:
        """The context of each row, to look at and not to change."""

    def links(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        """Edges from or to any of these rows, in a fixed order."""

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        """One number of each row's use: a count, or a moment in microseconds; NaN where there is none."""

    def uses(self, rows: Rows) -> list[Use]:
        """How each row has been used."""

    def texts(self, rows: Rows) -> list[str]:
        """What each row says: far less to read than whole memories."""

    def ids(self, rows: Rows) -> list[str]: ...

    def paths(self, rows: Rows) -> list[str]:
        """The path of each row; without one, the slug of its title; without that, its id."""

    def kept(self, key: str, make: Callable[[], T]) -> T:
        """What was made under this key for this version of the file; made now when it is the first time."""

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        """Edges between names that begin or end at one of these (compared without case)."""

    def memories(self, rows: Rows) -> list[Memory]: ...

    def row(self, id: str) -> int | None: ...

    def all_rows(self, scope: Any) -> Rows: ...

    def newest(self, scope: Any) -> Rows: ...


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Where a memory was written, and what the write did."""

    row: int
    id: str
    what: Literal["added", "changed", "same"]
    at: datetime


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was last read."""

    path: str
    size: int
    modified: int  # nanoseconds since 1970; 0 when the next look should not trust it
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
    """Folders and files inside one change. Their chunks are derived: they go for good, and undo leaves them alone."""

    def folder(self, collection: str) -> JsonObject | None: ...

    def set_folder(self, collection: str, record: JsonObject) -> None: ...

    def state(self, collection: str, path: str) -> FileState | None: ...

    def chunks(self, collection: str, path: str) -> list[StoredChunk]:
        """The chunks of a file, oldest first."""

    def keep(self, collection: str, state: FileState, was: str = "") -> int:
        """Note a file as it is now, under a new path if it ``was`` elsewhere; its number."""

    def own(self, file: int, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        """Note that these memories are chunks of a file."""

    def adopt(self, row: int, digest: bytes) -> bool:
        """Give a memory the vectors of another chunk with this digest, if there is one."""

    def drop(self, collection: str, paths: Sequence[str]) -> int:
        """Remove files with their chunks; how many chunks there were."""

    def clear(self, collection: str) -> int:
        """Remove a folder with its files and their chunks; how many chunks there were."""

    def switch(self, staged: str, collection: str) -> None:
        """Put a folder that was built under another name, out of sight, into the place of this one."""


class Transaction(Protocol):
    """One transaction, one entry in the history, one undo."""

    @property
    def files(self) -> FileTransaction: ...

    def remember(self, memory: Memory) -> WriteResult:
        """Add it, or update the one with its id or external id; equal content changes nothing."""

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        """Change a memory as it is now, inside the transaction."""

    def decay(self, rate: float, collection: str | None) -> int:
        """strength × exp(−rate × days since the last decay, or creation if later), of all or of one collection's
        memories; how many changed."""

    def remove(self, rows: Sequence[int]) -> None:
        """Delete memories for good, with all that belongs to them: nothing brings them back."""

    def row(self, id: str) -> int: ...

    def row_with(self, id: str, text: str) -> int | None:
        """The row of a memory, if this is still what an embedder reads of it."""

    def set_use(self, row: int, use: Use) -> None: ...

    def set_former(self, row: int, memory: Memory, until: datetime) -> None:
        """What a memory that this change adds said before, elsewhere, and until when; the oldest first."""

    def embed(self, rows: Sequence[int], texts: Sequence[Encoded], space: Space) -> None: ...

    def link(self, edge: Edge) -> None: ...

    def unlink(self, source: str, target: str, kind: str | None) -> int: ...

    def relate(self, edge: EntityEdge) -> None: ...


@dataclass(frozen=True, slots=True)
class Touch:
    """A mark that a recall leaves on what it returned."""

    rows: list[int]
    at: datetime
    counters: tuple[Literal["access", "return", "recall"], ...] = ("access",)


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo took back."""

    verb: str
    at: datetime
    removed: int  # memories that are gone again
    restored: int  # memories and edges that are as before
    ids: tuple[str, ...] = ()  # of the memories among them


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What the file holds."""

    path: str
    bytes: int
    version: int
    readonly: bool
    memories: dict[str, int] = field(default_factory=dict)  # by status
    collections: dict[str, int] = field(default_factory=dict)
    edges: int = 0
    entity_edges: int = 0
    words: int = 0
    spaces: list[JsonObject] = field(default_factory=list)
    without_vector: int = 0
    last_change: datetime | None = None


class Store(Protocol):
    """A house for memories."""

    @property
    def readonly(self) -> bool: ...

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def transaction(self, verb: str, note: str = "", durable: bool = True) -> AbstractContextManager[Transaction]:
        """``durable=False`` does not wait for the disk: a pulled plug may take the change back, whole."""

    def undo(self) -> UndoResult | None: ...

    def check_space(self, space: Space) -> None:
        """Refuse a model whose vectors could not be compared with those that are here."""

    def resolve(self, ids: Sequence[str]) -> list[str]:
        """Whole ids for ids or their unique beginnings; NotFound for an unknown one."""

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]: ...

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]: ...

    def entity_edges(self) -> list[EntityEdge]: ...

    def former(self, id: str) -> list[tuple[datetime, Memory]]:
        """Earlier contents of a memory, oldest first: kept, but not searchable."""

    def unembedded(self, space: Space, among: Sequence[str] | None = None, tokens: bool = False) -> list[str]:
        """Ids of the memories (all, or some) that this model has no vector for, or, with ``tokens``, no sketch."""

    def folders(self) -> dict[str, JsonObject]:
        """What is known of the folders that are indexed here, by collection."""

    def files(self, collection: str) -> dict[str, FileState]:
        """The files of a folder as they were when last read, by path."""

    def chunk_ids(self, collection: str) -> list[str]:
        """The ids of the memories that are chunks of a folder's files."""

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of these digests have a vector that another chunk can adopt."""

    def switch(self, space: Space, without: Collection[str] = ()) -> int:
        """Search this model's vectors from now on and let those of others go; how many are missing, if any are (beside
        those of the ids ``without``): then nothing is changed."""

    def touch(self, mark: Touch) -> None:
        """Note a use; it may be written a little later, and never fails a recall."""

    def status(self) -> StoreStatus: ...

    def close(self) -> None: ...
