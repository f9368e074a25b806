"""What a recall returns: results with explanations, and verdicts on memories that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, overload

from recollect.errors import NotFound
from recollect.model import Memory
from recollect.recall.expressions import Explanation
from recollect.recall.packing import check_budget, pack
from recollect.recall.trace import Trace


@dataclass(frozen=True, slots=True)
class Result:
    """A returned memory: its rank (from 1), its score, and on demand the arithmetic of that score."""

    rank: int
    score: float
    memory: Memory
    notes: tuple[str, ...]  # from stages: a conflict, a timeline, why one was moved
    _explain: Callable[[], Explanation] = field(repr=False, compare=False)
    second_to: str = ""  # the id of the result that states the same thing for the time that the query asks for
    outdated: bool = False  # whether a newer statement of the same thing was found, which a note names

    @property
    def why(self) -> Explanation:
        """The score as a tree; ``why.evaluate()`` computes it again, bit for bit; ``why.summary()`` is a sentence."""
        return self._explain()

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def text(self) -> str:
        return self.memory.text


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a memory was not returned: the step that left it out, and by how much."""

    id: str
    returned: bool
    step: str  # "filter", "cues", a stage, "cut"; empty when it was returned
    reason: str
    value: float | None = None
    threshold: float | None = None
    cues: dict[str, str] = field(default_factory=dict)  # by cue: its score, or why it has none

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "returned": self.returned,
            "step": self.step,
            "reason": self.reason,
            "value": self.value,
            "threshold": self.threshold,
            "cues": self.cues,
        }

    def __str__(self) -> str:
        return "\n".join([self.reason, *(f"  {name}: {opinion}" for name, opinion in self.cues.items())])


@dataclass(frozen=True, slots=True)
class MatchedWord:
    """A word of a memory's text that is similar in meaning to a word of the query, and is another word."""

    start: int  # characters (code points) from the beginning of the text
    end: int
    query_word: str
    similarity: float  # the estimated cosine of their token vectors


class Recall(Sequence[Result]):
    """The results, best first, with the trace of the recall."""

    def __init__(
        self,
        results: list[Result],
        trace: Trace,
        explain_absence: Callable[[str], Verdict],
        confidence: float | None = None,
        low_confidence: bool = False,
        low_confidence_reason: str = "",
        missing_time: str = "",
        find_matched_words: Callable[[], list[tuple[MatchedWord, ...]]] | None = None,
    ) -> None:
        self._results = results
        self.trace = trace
        self._explain_absence = explain_absence
        self._find_matched_words = find_matched_words
        self.low_confidence = low_confidence  # below the recipe's threshold: probably nothing here is about the query
        self.low_confidence_reason = low_confidence_reason  # what speaks against the results, in words; else empty
        self.missing_time = missing_time  # the time that the query names, if nothing of it is known; else empty
        self.confidence = confidence  # that a result is about the query, 0–1; None where the recipe has no measure

    def packed(self, budget: int, line: Callable[[Memory], str] = attrgetter("text")) -> list[Result]:
        """The results with the most value for a budget of tokens, in their order, without near duplicates. An outdated
        statement is only among them if the current one is.

        Ask for many (``k=100``), then pack. ``line`` is how a memory will be written, by which tokens are counted.
        """
        lines = [line(result.memory) for result in self._results]
        places = {result.id: at for at, result in enumerate(self._results)}
        leaders = [places.get(result.second_to) for result in self._results]
        scores = [result.score for result in self._results]
        chosen = pack(lines, scores, check_budget(budget, "budget"), leaders)
        return [self._results[at] for at in chosen]

    def why(self, id: str) -> Explanation:
        """The arithmetic of a returned memory's score."""
        return self._result(id).why

    def why_not(self, id: str) -> Verdict:
        """The step that left a memory out of this recall, and by how much."""
        return self._explain_absence(id)

    def matched_words(self) -> list[tuple[MatchedWord, ...]]:
        """For each result, the words of its text that match a word of the query in meaning, but not by their letters.

        Computed when it is called. Where the recipe or the embedder compares no tokens, there are none.
        """
        return [()] * len(self) if self._find_matched_words is None else self._find_matched_words()

    def _result(self, id: str) -> Result:
        for result in self._results:
            if result.memory.id == id or (id and result.memory.id.startswith(id)):
                return result
        raise NotFound(f"{id!r} is not among the results; ask why_not for the reason.")

    @overload
    def __getitem__(self, at: int) -> Result: ...
    @overload
    def __getitem__(self, at: slice) -> list[Result]: ...
    def __getitem__(self, at: int | slice) -> Result | list[Result]:
        return self._results[at]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __repr__(self) -> str:
        size = "1 result" if len(self) == 1 else f"{len(self)} results"
        return f"<Recall of {self.trace.query!r}: {size} in {self.trace.milliseconds:.1f} ms>"
