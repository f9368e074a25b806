"""One recall in progress: what its steps share, and the steps themselves, timed and logged."""

from __future__ import annotations

import atexit
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.embed import Embedder, TokenVectors, checked_tokens
from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.model.filter import AnyFilter
from recollect.model.matching import admits
from recollect.recall.hits import Found, nothing
from recollect.recall.query_parsing import Question
from recollect.recall.recipe import Cue, Recipe
from recollect.recall.trace import Step, Trace
from recollect.store.base import Rows, Scope, Snapshot
from recollect.text.slugs import path_or_name

T = TypeVar("T")
Asked = tuple[NDArray[np.float32], TokenVectors | None]  # the question's vector, and its tokens' where there are any
CONTAINED = ("cue", "stage", "after")  # a failure here leaves the other steps answering


class Skip(Exception):
    """Raised by a step that has nothing to do here; its message is the reason in the trace."""


class Logged:
    """A step of a run, as a context: timed, entered into the trace, its failure contained where that may be."""

    __slots__ = ("_outer", "_run", "_start", "_step")

    def __init__(self, run: Run, step: Step) -> None:
        self._run, self._step = run, step

    def __enter__(self) -> Step:
        self._run.trace.steps.append(self._step)
        self._outer, self._run.current = self._run.current, self._step
        self._start = time.perf_counter()
        return self._step

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        step = self._step
        step.milliseconds = (time.perf_counter() - self._start) * 1e3
        self._run.current = self._outer
        if problem is None or step.kind not in CONTAINED:
            return False
        if isinstance(problem, Skip):
            step.outcome, step.reason = "skipped", str(problem)
            return True
        if isinstance(problem, InvalidInput) or not isinstance(problem, Exception):
            return False
        step.outcome, step.reason = "failed", f"{type(problem).__name__}: {problem}"
        return True


@dataclass(slots=True)
class Run:
    """What the steps of one recall share."""

    recipe: Recipe
    question: Question
    k: int
    snapshot: Snapshot
    scope: Scope
    now: datetime  # the moment that the question is about
    asked: datetime  # the moment at which it is asked
    trace: Trace
    embedder: Embedder | None
    deadline: float | None = None  # on the clock of time.perf_counter
    filter: AnyFilter | None = None  # what the mask was made of, for guests, which it does not know
    found: dict[str, Found] = field(default_factory=dict)
    remarks: dict[int, list[str]] = field(default_factory=dict)
    guests: list[Memory] = field(default_factory=list)
    memo: dict[str, Any] = field(default_factory=dict)  # what a step keeps for itself, until it is asked again
    _asked: Asked | None = None
    _coming: Future[Asked] | None = None  # the same, while a thread makes it
    _broken: bool = False  # the embedder has failed; it is not asked again in this recall
    _read: dict[int, Memory] = field(default_factory=dict)  # by key: what a step has fetched
    current: Step | None = None  # the step that is running

    def step(self, kind: str, name: str, before: int | None = None) -> Logged:
        """Log what happens inside. A Skip or a failure of a cue, a stage or an after ends that step, not the recall."""
        return Logged(self, Step(kind, name, before=before))

    def note(self, name: str, value: Any) -> None:
        """Say something about the step that is running."""
        if self.current is not None:
            self.current.detail[name] = value

    def find(self, cue: Cue) -> Found:
        """Run a cue as a step; what it found is there for later steps by its name."""
        found = nothing(cue.name)
        with self.step("cue", cue.name) as step:
            self.hurry()
            found = cue.find(self)
            step.before, step.after = found.total, len(found.keys)
            step.detail.update(found.detail)
        self.found[cue.name] = found
        return found

    @contextmanager
    def asking(self, text: str) -> Iterator[None]:
        """For a while, another question in the place of this one; its readings are not logged."""
        kept = self.question, self._asked, self._coming
        self.question, self._asked, self._coming = Question(text), None, None
        step, self.current = self.current, Step("read", "expansion")
        try:
            for reading in self.recipe.read:
                self.question = reading.read(self.question, self)
            self.current = step
            yield
        finally:
            self.current = step
            self.question, self._asked, self._coming = kept

    def take_over(self, other: Run) -> None:
        """What another run of the same question over the same version has found, embedded and read."""
        self.found, self.memo, self._asked, self._read = other.found, other.memo, other._asked, other._read

    def skip(self, cue: Cue, reason: str) -> None:
        """Log that a cue did not run."""
        with self.step("cue", cue.name):
            raise Skip(reason)

    def remark(self, remarks: dict[int, list[str]]) -> None:
        """Keep what a stage has to say beside some hits."""
        for key, said in remarks.items():
            self.remarks.setdefault(key, []).extend(said)

    def guest(self, memory: Memory) -> int:
        """A key for a result that is no stored memory: a paragraph of a note, an edge between names.

        Rows are positive; guests are counted downwards from −1.
        """
        self.guests.append(memory)
        return -len(self.guests)

    def admits(self, known: Mapping[str, Any]) -> bool:
        """May a guest come in, by the fields that it has: does the filter let it, and was it there at the moment?"""
        created = known.get("created")
        too_late = created is not None and self.now < self.asked and created[0] > self.now
        return not too_late and admits(self.filter, known)

    def memories(self, keys: Rows) -> list[Memory]:
        """The memories behind keys, stored ones and guests; each is read once a recall."""
        asked = keys.tolist()
        missing = [key for key in asked if key > 0 and key not in self._read]
        if missing:
            self._read.update(zip(missing, self.snapshot.memories(np.array(missing)), strict=True))
        return [self._read[key] if key > 0 else self.guests[-key - 1] for key in asked]

    def paths(self, keys: Rows) -> list[str]:
        """Where each memory stands: its path, else the slug of its title, else its id; guests, too."""
        return self._told(keys, self.snapshot.paths, lambda guest: path_or_name(guest.path, guest.title, guest.id))

    def texts(self, keys: Rows) -> list[str]:
        """What each memory says, for steps that look at no more of it; guests, too."""
        return self._told(keys, self.snapshot.texts, lambda guest: guest.text)

    def ids(self, keys: Rows) -> list[str]:
        return self._told(keys, self.snapshot.ids, lambda guest: guest.id)

    def _told(self, keys: Rows, stored: Callable[[Rows], list[T]], guest: Callable[[Memory], T]) -> list[T]:
        """What is told of each key, by the store or by the guest itself."""
        if not self.guests:
            return stored(keys)
        told = iter(stored(keys[keys > 0]))
        return [next(told) if key > 0 else guest(self.guests[-key - 1]) for key in keys.tolist()]

    def hurry(self) -> None:
        """Skip the step when the deadline has passed."""
        if self.remaining() == 0:
            raise Skip("the deadline has passed")

    def remaining(self) -> float | None:
        """Seconds until the deadline, 0 when it has passed, None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def start_vector(self) -> None:
        """Begin to embed the question, beside whatever runs meanwhile."""
        if self._asked is None and self._coming is None and self.embedder is not None:
            embedder, text = self.embedder, self.question.text
            self._coming = _beside(lambda: _embedded(embedder, text))

    def vector(self) -> NDArray[np.float32]:
        """The question's vector; a Skip without an embedder or when it takes longer than the deadline."""
        return self._embedded()[0]

    def tokens(self) -> TokenVectors:
        """The vectors of the question's tokens, from the same pass; a Skip where the embedder has none."""
        tokens = self._embedded()[1]
        if tokens is None:
            raise Skip("the embedder has no vectors for tokens")
        return tokens

    def understood(self) -> bool:
        """Was the embedder taught the letters of the question? One that does not say is taken to know them all."""
        reads = getattr(self.embedder, "reads", None)
        return reads is None or bool(reads(self.question.text))

    def _embedded(self) -> Asked:
        if self.embedder is None:
            raise Skip("there is no embedder")
        if self._asked is None:
            if self._broken:
                raise Skip("the question could not be embedded")
            try:
                self._asked = self._embedding(self.embedder)
            except Skip:
                raise
            except Exception:
                self._broken = True
                raise
        return self._asked

    def _embedding(self, embedder: Embedder) -> Asked:
        if self._coming is None and self.deadline is None:  # nobody waits: no thread
            return _embedded(embedder, self.question.text)
        self.start_vector()
        assert self._coming is not None
        return self._awaited(self._coming, "the question was embedded")

    def in_time(self, work: Callable[[], T], doing: str) -> T:
        """The outcome of slow work; a Skip when it takes longer than the deadline, and then it is left to itself."""
        return work() if self.deadline is None else self._awaited(_beside(work), doing)

    def _awaited(self, outcome: Future[T], doing: str) -> T:
        try:
            return outcome.result(self.remaining())
        except FutureTimeout:
            if outcome.done():  # the work itself has raised a TimeoutError
                raise
            raise Skip(f"the deadline passed while {doing}") from None


def _embedded(embedder: Embedder, text: str) -> Asked:
    vectors, tokens = checked_tokens(embedder, [text], query=True)
    return vectors[0], tokens[0] if tokens else None


def _beside(work: Callable[[], T]) -> Future[T]:
    """Run in a thread that does not keep the program alive: a model that hangs must not hang its exit."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as problem:
            future.set_exception(problem)

    thread = Thread(target=run, name="recollect-model", daemon=True)
    _running.add(thread)
    thread.start()
    return future


_running: weakref.WeakSet[Thread] = weakref.WeakSet()


@atexit.register
def _let_finish(patience: float = 2.0) -> None:
    """Before the program ends: a model that is torn down in the middle of its work can crash, so it may finish."""
    end = time.perf_counter() + patience
    for thread in list(_running):
        if thread.is_alive():
            thread.join(max(0.0, end - time.perf_counter()))
