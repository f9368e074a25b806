"""The stage that puts the statement of the right time first, where several memories state the same thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Annotate, HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.statements import Difference, Statements
from recollect.store.base import Rows
from recollect.text.classify import asks_about_assistant, is_message
from recollect.text.question_time import QuestionTime, question_time
from recollect.text.residence import asks_for_residence

MAX_QUOTE = 80  # characters of a text in a note


@dataclass(frozen=True, slots=True)
class StatementTime:
    """Among the best hits that state the same thing, gives the one of the time that the query asks for the best score.

    The best hit and those that state the same thing as it (``recall/statements.py``) are a group. A query about the
    present gets the newest of them, one about the past (“before”, “old”) the one before the newest, “first” the
    oldest. The others keep their scores. A correction counts whatever the query asks for. Queries that name a date, and
    those about an event (in the past tense), are not about the newest statement: nothing is moved. A question for where
    somebody lives has all statements of that as its group, however they are worded (``text/residence.py``).
    """

    head: int = 40
    # The share of the best score that a hit must have, by what differs: a number is a safer sign than a name.
    ratios: Mapping[Difference, float] = field(default_factory=lambda: {"value": 0.3, "name": 0.5})
    matched: float = 0.7  # of the words that the best hit matches; only where the embedder cannot read the query
    name: str = "statements"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        question = run.trace.query
        if asks_about_assistant(question):
            raise Skip("the query is about what an assistant said")
        if is_message(question, run.query.language):
            raise Skip("the query is a message that continues a conversation")
        time: QuestionTime = "" if run.query.times else question_time(question)
        first = np.flatnonzero((hits.page == hits.page.min(initial=0)) & (hits.keys > 0))[: self.head]
        statements = Statements.of(run.snapshot, hits.keys[first])
        scores = hits.score.values[first]
        if time and asks_for_residence(question):
            homes = statements.residences(scores)
            if len(homes) > 1:
                return self._lift(run, hits, first, statements, homes, time)
        leader = statements.best(scores)
        if leader is None or scores[leader] <= 0:
            raise Skip("no candidate is a statement")
        members = [leader]
        for at in np.flatnonzero(scores >= min(self.ratios.values()) * scores[leader]).tolist():
            if at == leader:
                continue
            difference = statements.difference(at, leader) if time else None
            same = difference is not None and scores[at] >= self.ratios[difference] * scores[leader]
            if (same and self._matches(run, hits.keys[first[[leader, at]]])) or statements.corrects(at, leader):
                members.append(at)
        if len(members) == 1:
            raise Skip(
                "no other candidate states the same as the best one" if time else "no candidate corrects another"
            )
        return self._lift(run, hits, first, statements, members, time or "now")

    def _matches(self, run: Run, rows: Rows) -> bool:
        """Does the second match most of the words that the first does? Asked where the vectors mean little."""
        if (run.embedder_reads_query() and run.embedder_knows_language()) or not run.query.terms:
            return True
        has = run.snapshot.term_frequencies(run.query.terms, ALL_FIELDS, rows) > 0
        return bool(has[:, 0].sum() * self.matched <= (has[:, 0] & has[:, 1]).sum())

    def _lift(
        self,
        run: Run,
        hits: Hits,
        first: NDArray[np.int64],
        statements: Statements,
        members: list[int],
        time: QuestionTime,
    ) -> list[HitOperation]:
        newest = sorted(members, key=lambda at: (-statements.moments[at], at))
        chosen = {"first": newest[-1], "before": newest[1]}.get(time, newest[0])
        run.log("statements", f"{len(members)} of the same thing, asked for: {time}")
        scores = hits.score.values[first]
        best = max(scores[at] for at in members)
        lifted, own = first[chosen], scores[chosen]
        reason = {"first": "the first", "before": "an earlier", "last": "the last"}.get(time, "the newest")
        label = f"{reason} of {len(members)} statements of the same thing"
        target = best * (1 + 1e-9) if own < best else own  # before the best one, not beside it

        def describe(at: int) -> str:
            return label if at == lifted else "not moved among statements of the same thing"

        if own > 0:
            score = product("after statements", hits.score, leaf(_only(hits, lifted, target / own, 1.0), describe))
        else:  # nothing in common with the query but what the statement is about
            score = total("after statements", hits.score, leaf(_only(hits, lifted, target - own, 0.0), describe))
        return [Rescore(score), Annotate(_notes(run, hits.keys[first], statements, newest))]


def _only(hits: Hits, at: int, value: float, others: float) -> NDArray[np.float64]:
    values = np.full(len(hits), others)
    values[at] = value
    return values


def _notes(run: Run, keys: Rows, statements: Statements, newest: list[int]) -> dict[int, list[str]]:
    """For each statement but the newest, which one is the newest; for that one, which came before it."""

    def quote(at: int) -> str:
        text = " ".join(statements.texts[at].split())
        text = text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"
        return f"“{text}” ({datetime.fromtimestamp(statements.moments[at] / 1e6, UTC):%Y-%m-%d})"

    notes = {int(keys[at]): [f"a newer statement about this: {quote(newest[0])}"] for at in newest[1:]}
    return {int(keys[newest[0]]): [f"an earlier statement about this: {quote(newest[1])}"], **notes}
