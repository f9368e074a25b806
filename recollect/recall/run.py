"""One recall in progress: the state that its steps share, and the logging and timing of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from recollect.embed import Embedder, ScriptAwareEmbedder, TokenVectors, embed_with_tokens
from recollect.embed.base import knows_language, translates
from recollect.errors import DamagedFile, InvalidInput
from recollect.model import Memory
from recollect.model.filter import FilterExpression
from recollect.model.matching import matches
from recollect.model.validation import from_micros, micros
from recollect.model.zones import to_zone
from recollect.protocols import supports
from recollect.recall.history import HistoryTurn
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.recipe import Cue, Recipe
from recollect.recall.trace import Step, Trace
from recollect.store.base import EdgeArrays, Rows, Scope, Snapshot
from recollect.text.query_language import QueryTree
from recollect.text.slugs import path_or_name
from recollect.threads import run_in_thread

T = TypeVar("T")
QueryVectors = tuple[NDArray[np.float32], TokenVectors | None]  # of the query, and of its tokens where available
CONTAINED_KINDS = ("cue", "stage", "after")  # a failure in these steps does not end the recall
MAX_QUOTE = 80  # characters of a text in a note


class Skip(Exception):
    """Raised by a step that has nothing to do; the message is the reason shown in the trace."""


class StepTimer:
    """A context manager around one step: times it, adds it to the trace and contains failures of optional steps."""

    __slots__ = ("_outer", "_run", "_start", "_step")

    def __init__(self, run: Run, step: Step) -> None:
        self._run, self._step = run, step

    def __enter__(self) -> Step:
        self._run.trace.steps.append(self._step)
        self._outer, self._run.current_step = self._run.current_step, self._step
        self._start = time.perf_counter()
        return self._step

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        step = self._step
        step.milliseconds = (time.perf_counter() - self._start) * 1e3
        self._run.current_step = self._outer
        if error is None or step.kind not in CONTAINED_KINDS:
            return False
        if isinstance(error, Skip):
            step.outcome, step.reason = "skipped", str(error)
            return True
        if isinstance(error, (InvalidInput, DamagedFile)) or not isinstance(error, Exception):
            return False
        step.outcome, step.reason = "failed", f"{type(error).__name__}: {error}"
        return True


def _weakly(scope: Scope) -> Callable[[], Scope | None]:
    """The scope as long as others use it; always, if it cannot be referred to weakly."""
    try:
        return ref(scope)
    except TypeError:
        return lambda: scope


@dataclass(slots=True)
class Run:
    """The state that the steps of one recall share."""

    recipe: Recipe
    query: ParsedQuery
    k: int
    snapshot: Snapshot
    scope: Scope
    as_of: datetime  # the moment that the query is about
    now: datetime  # the moment of the call, or the one that the caller gave for it
    trace: Trace
    embedder: Embedder | None
    deadline: float | None = None  # on the clock of time.perf_counter
    filter: FilterExpression | None = None  # what the scope was compiled from; external results are checked against it
    k_is_default: bool = False  # the caller gave none: a step may raise it
    history: tuple[HistoryTurn, ...] = ()  # the turns before the query, oldest first
    bound: Mapping[str, str] = field(default_factory=dict)  # of the store: what is read beside it must be within, too
    called_at: datetime | None = None  # the moment of the call by the clock
    excluded: list[tuple[QueryTree, Mapping[str, float]]] = field(default_factory=list)  # see exclude
    found: dict[str, Candidates] = field(default_factory=dict)  # by the name of the cue
    notes: dict[int, list[str]] = field(default_factory=dict)  # by key: what stages say about a hit
    second_to: dict[int, int] = field(default_factory=dict)  # by key: the hit that states the same for the asked time
    outdated: set[int] = field(default_factory=set)  # the keys of hits that a newer statement replaces
    external: list[Memory] = field(default_factory=list)  # results that are not stored memories
    cache: dict[str, Any] = field(default_factory=dict)  # values that a step computes once
    current_step: Step | None = None
    _released_scope: Callable[[], Scope | None] | None = None
    _query_vectors: QueryVectors | None = None
    _pending_vectors: Future[QueryVectors] | None = None  # the same, while a thread computes them
    _embedder_failed: bool = False  # it is not called again in this recall
    _memories: dict[int, Memory] = field(default_factory=dict)  # by key: already fetched
    _texts: dict[int, str] = field(default_factory=dict)  # by key: already read
    _readable: dict[str, bool] = field(default_factory=dict)  # texts: was the embedder trained on their script?

    def step(self, kind: str, name: str, before: int | None = None) -> StepTimer:
        """Log a step. A Skip or a failure of a cue, a stage or an after ends that step, not the recall."""
        return StepTimer(self, Step(kind, name, before=before))

    def exclude(self, tree: QueryTree, fields: Mapping[str, float]) -> None:
        """Leave out the memories that match: the query names them after NOT."""
        self.excluded.append((tree, fields))
        self.scope = self.snapshot.excluding(tree, fields, self.scope)

    def release(self) -> None:
        """Drop the snapshot and what belongs to it, after the search: a result that is kept must not keep an index."""
        self._released_scope = _weakly(self.scope)
        del self.snapshot, self.scope
        self.cache.clear()

    def repeated(
        self, snapshot: Snapshot, trace: Trace, now: datetime, called_at: datetime, keys: Rows
    ) -> tuple[Run, list[Memory]]:
        """A finished run as that of the same query at another moment, and the memories of its hits at that moment."""
        run = copy(self)
        run.snapshot, run.trace, run.now, run.called_at, run._memories = snapshot, trace, now, called_at, {}
        memories = run.memories(keys)
        del run.snapshot
        return run, memories

    @property
    def released_scope(self) -> Scope | None:
        """The scope of a finished search, as long as the index of its version is in use."""
        return None if self._released_scope is None else self._released_scope()

    def log(self, name: str, value: Any) -> None:
        """Add a detail to the trace of the current step."""
        if self.current_step is not None:
            self.current_step.detail[name] = value

    def find(self, cue: Cue) -> Candidates:
        """Run a cue as a step; later steps read its candidates from ``found``."""
        found = no_candidates(cue.name)
        with self.step("cue", cue.name) as step:
            self.check_deadline()
            found = cue.find(self)
            step.before, step.after = found.total, len(found.keys)
            step.detail.update(found.detail)
        self.found[cue.name] = found
        return found

    @contextmanager
    def with_query(self, text: str) -> Iterator[None]:
        """Replace the query for the duration of the block; parsing it is not logged."""
        original = self.query, self._query_vectors, self._pending_vectors
        self.query, self._query_vectors, self._pending_vectors = ParsedQuery(text), None, None
        step, self.current_step = self.current_step, Step("read", "expansion")
        try:
            for reader in self.recipe.read:
                self.query = reader.read(self.query, self)
            self.current_step = step
            yield
        finally:
            self.current_step = step
            self.query, self._query_vectors, self._pending_vectors = original

    @contextmanager
    def unlogged(self) -> Iterator[None]:
        """What is logged in the block does not appear in the trace."""
        step, self.current_step = self.current_step, None
        try:
            yield
        finally:
            self.current_step = step

    def reuse(self, other: Run) -> None:
        """Take over what another run of the same query at the same version has found, embedded and fetched."""
        self.found, self.cache = other.found, other.cache
        self._query_vectors, self._memories = other._query_vectors, other._memories

    def skip(self, cue: Cue, reason: str) -> None:
        """Log that a cue did not run."""
        with self.step("cue", cue.name):
            raise Skip(reason)

    def add_notes(self, notes: Mapping[int, list[str]]) -> None:
        """Add what a stage says about some hits, by key."""
        for key, texts in notes.items():
            self.notes.setdefault(key, []).extend(texts)

    def add_external(self, memory: Memory) -> int:
        """Add a result that is not a stored memory (a paragraph of a note, a relation) and return its key.

        Keys of stored memories are positive row numbers; external results are numbered downwards from −1.
        """
        self.external.append(memory)
        return -len(self.external)

    def allows_external(self, fields: Mapping[str, Any]) -> bool:
        """Whether an external result with these fields passes the filter and existed at ``as_of``."""
        created = fields.get("created")
        too_late = created is not None and self.as_of < self.now and created[0] > self.as_of
        return not too_late and matches(self.filter, fields)

    def is_within_bound(self, fields: Mapping[str, Any]) -> bool:
        """Whether a result from a file, which the store does not know, belongs to the bound of the caller (B18)."""
        return all(fields.get(name) == value for name, value in self.bound.items())

    def edges(self, keys: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        """Edges from or to these memories that existed at ``as_of``."""
        links = self.snapshot.edges(keys[keys > 0], kinds)
        return links if self.as_of >= self.now else links.take(links.created <= micros(self.as_of))

    def memories(self, keys: Rows) -> list[Memory]:
        """The memories of these keys, stored and external; each is fetched once in a recall."""
        wanted = keys.tolist()
        missing = [key for key in wanted if key > 0 and key not in self._memories]
        if missing:
            self._memories.update(zip(missing, self.snapshot.memories(np.array(missing)), strict=True))
        return [self._memories[key] if key > 0 else self.external[-key - 1] for key in wanted]

    def paths(self, keys: Rows) -> list[str]:
        """The path of each memory, else the slug of its title, else its id."""
        return self._values(keys, self.snapshot.paths, lambda each: path_or_name(each.path, each.title, each.id))

    def texts(self, keys: Rows) -> list[str]:
        """The text of each memory, for steps that need nothing else of it; each is read once in a recall."""
        wanted, known = keys.tolist(), self._texts
        missing = [key for key in wanted if key not in known]
        if missing:
            read = self._values(np.array(missing), self.snapshot.texts, lambda each: each.text)
            known.update(zip(missing, read, strict=True))
        return [known[key] for key in wanted]

    def quotes(self, keys: Rows) -> list[str]:
        """The beginning of each memory's text and the day since which it holds, for notes about it."""
        begins, created = (self.snapshot.numbers(name, keys) for name in ("valid_from", "created"))
        moments = np.where(np.isnan(begins), created, begins).tolist()
        days = (to_zone(from_micros(int(moment)), self.now.tzinfo) for moment in moments)
        texts = (" ".join(text.split()) for text in self.texts(keys))
        return [
            f"“{text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + '…'}” ({day:%Y-%m-%d})"
            for text, day in zip(texts, days, strict=True)
        ]

    def ids(self, keys: Rows) -> list[str]:
        return self._values(keys, self.snapshot.ids, lambda each: each.id)

    def _values(self, keys: Rows, of_stored: Callable[[Rows], list[T]], of_external: Callable[[Memory], T]) -> list[T]:
        """A value for each key, read from the snapshot or from the external result."""
        if not self.external:
            return of_stored(keys)
        stored = iter(of_stored(keys[keys > 0]))
        return [next(stored) if key > 0 else of_external(self.external[-key - 1]) for key in keys.tolist()]

    def confidence(self, keys: Rows) -> float | None:
        """How likely the first of these hits are about the query; computed once, by the first step that needs it."""
        if self.recipe.confidence is None:
            return None
        if "confidence" not in self.cache:
            self.cache["confidence"] = self.recipe.confidence.of(self, keys)
        confidence: float = self.cache["confidence"]
        return confidence

    def check_deadline(self) -> None:
        """Skip the step when the deadline has passed."""
        if self.seconds_left() == 0:
            raise Skip("the deadline has passed")

    def seconds_left(self) -> float | None:
        """Seconds until the deadline, 0 when it has passed, None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def start_vector(self) -> None:
        """Start to embed the query in a thread."""
        if self._query_vectors is None and self._pending_vectors is None and self.embedder is not None:
            embedder, text = self.embedder, self.query.text
            self._pending_vectors = run_in_thread(lambda: _embed_query(embedder, text))

    def vector(self) -> NDArray[np.float32]:
        """The vector of the query; a Skip without an embedder or when it takes longer than the deadline."""
        return self._embedded()[0]

    def tokens(self) -> TokenVectors:
        """The vectors of the query's tokens, from the same pass; a Skip where the embedder has none."""
        tokens = self._embedded()[1]
        if tokens is None:
            raise Skip("the embedder has no token vectors")
        return tokens

    @property
    def embedded_tokens(self) -> TokenVectors | None:
        """The same, if a step needed them; also of a finished run."""
        return None if self._query_vectors is None else self._query_vectors[1]

    def embedder_reads_query(self) -> bool:
        """Whether the embedder was trained on the script of the query; assumed where it cannot say."""
        return self.embedder_reads(self.query.text)

    def embedder_reads(self, text: str) -> bool:
        """Whether the embedder was trained on the script of a text; assumed where it cannot say."""
        if not supports(self.embedder, ScriptAwareEmbedder):
            return True
        if text not in self._readable:
            self._readable[text] = self.embedder.can_read(text)
        return self._readable[text]

    def embed(self, text: str) -> NDArray[np.float32]:
        """The vector of another text than the query; a Skip where there is none."""
        embedder = self.embedder
        if embedder is None or self._embedder_failed:
            raise Skip("there is no embedder" if embedder is None else "the query could not be embedded")
        return self.within_deadline(lambda: _embed_query(embedder, text), "the history was embedded")[0]

    def embedder_knows_language(self) -> bool:
        """Whether the embedder was trained on the language of the query; assumed where it cannot say."""
        return knows_language(self.embedder, self.query.language)

    def embedder_translates(self) -> bool:
        """Whether the embedder translates the words of the query's language."""
        return translates(self.embedder, self.query.language)

    def _embedded(self) -> QueryVectors:
        if self.embedder is None:
            raise Skip("there is no embedder")
        if self._query_vectors is None:
            if self._embedder_failed:
                raise Skip("the query could not be embedded")
            try:
                self._query_vectors = self._embed(self.embedder)
            except Skip:
                raise
            except Exception:
                self._embedder_failed = True
                raise
        return self._query_vectors

    def _embed(self, embedder: Embedder) -> QueryVectors:
        if self._pending_vectors is None and self.deadline is None:  # no thread is needed
            return _embed_query(embedder, self.query.text)
        self.start_vector()
        assert self._pending_vectors is not None
        return self._wait_for(self._pending_vectors, "the query was embedded")

    def within_deadline(self, work: Callable[[], T], activity: str) -> T:
        """The result of slow work; a Skip when it takes longer than the deadline (its thread then runs on)."""
        return work() if self.deadline is None else self._wait_for(run_in_thread(work), activity)

    def _wait_for(self, outcome: Future[T], activity: str) -> T:
        try:
            return outcome.result(self.seconds_left())
        except FutureTimeout:
            if outcome.done():  # the work itself raised a TimeoutError
                raise
            raise Skip(f"the deadline passed while {activity}") from None


def _embed_query(embedder: Embedder, text: str) -> QueryVectors:
    vectors, tokens = embed_with_tokens(embedder, [text], query=True)
    return vectors[0], tokens[0] if tokens else None
