"""Follow-up questions: “and what did it cost?” takes its subject from the turns before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from recollect.model.validation import from_micros
from recollect.recall.bm25 import Bm25Query, score, search
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import Expression, leaf, product
from recollect.recall.history import HistoryTurn
from recollect.recall.hits import Candidates
from recollect.recall.ordering import ordered
from recollect.recall.query_parsing import ContentWords, ParsedQuery
from recollect.recall.recipe import QueryReader
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import cosines, nearest
from recollect.store.base import Floats, Rows, Term
from recollect.text.references import asks_for_earlier, depends_on_history, names_no_subject
from recollect.text.statements import confirms
from recollect.text.times import TimeSpan
from recollect.text.words import stems, words

ANSWERING_ROLES = ("assistant", "system", "tool")


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Gives a query that depends on the turns before it their subject; any other query stays as it is.

    The subject is the content words of the last exchange: the last question that stands alone and what was said after
    it, the latest first. They become terms of a lower ``weight``, and the history cue looks for what was said around
    the memories of that exchange. The query itself is still embedded alone: together with the earlier question it
    would find what has been answered already.

    “And before that?” names nothing of its own: the earlier question is asked again, for the time before the memory
    that answered it, or before the time that it named.
    """

    readers: Sequence[QueryReader] = (ContentWords(),)  # how a turn is split into terms
    weight: float = 0.3
    max_words: int = 16

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        if not run.history:
            return query
        reason = depends_on_history(query.text)
        run.log("follow-up", reason or "no: the query stands alone")
        if not reason:
            return query
        turns = last_exchange(run.history)
        earlier = self._ask_again(turns, run) if asks_for_earlier(query.text) else None
        if earlier is not None:
            return earlier
        subject: dict[str, Term] = {}
        for turn in reversed(turns):
            for term in self._terms(turn, run):
                if not names_no_subject(term.word):
                    subject.setdefault(term.word, term)
        terms = tuple(subject.values())[: self.max_words]
        run.log("subject", ", ".join(term.word for term in terms) or "none")
        run.log("taken from", " / ".join(f"{turn.role}: {turn.text[:80]}".lstrip(": ") for turn in turns))
        added = [replace(term, weight=self.weight) for term in terms if term.word not in query.words]
        return replace(query, terms=(*query.terms, *added), subject=terms, only_time=query.only_time and not terms)

    def _ask_again(self, turns: Sequence[HistoryTurn], run: Run) -> ParsedQuery | None:
        """The question of the last exchange, for the time before its answer; None if there is no such question."""
        question = next((turn for turn in turns if turn.role not in ANSWERING_ROLES), None)
        if question is None or depends_on_history(question.text):
            return None
        parsed = ParsedQuery(question.text)
        with run.unlogged():
            for reader in run.recipe.read:
                parsed = reader.read(parsed, run)
        starts = [span.start for span in parsed.times]
        end = min((start for start in starts if start is not None), default=None) if starts else self._told(turns, run)
        if end is None:
            return None
        run.log("asked again", f"{question.text[:80]} (before {end:%Y-%m-%d})")
        return replace(parsed, times=(TimeSpan(None, end),), only_time=False, repeats=question.text)

    def _told(self, turns: Sequence[HistoryTurn], run: Run) -> datetime | None:
        """When the memory that answers the last exchange was told: one that has a value or a name of the reply."""
        replies = [turn for turn in turns if turn.role in ANSWERING_ROLES] or turns
        subject = tuple(term for turn in replies for term in self._terms(turn, run))
        rows, _ = find_anchors(run, subject, turns, 5, 10)
        stated = [role not in ANSWERING_ROLES for role in run.snapshot.strings("role", rows)]
        repeated = [any(confirms(turn.text, text) for turn in replies) for text in run.texts(rows)]
        order = np.lexsort((np.arange(len(rows)), ~np.array(stated, dtype=bool), ~np.array(repeated, dtype=bool)))
        created = run.snapshot.numbers("created", rows[order])
        return from_micros(int(created[0])) if len(created) and not np.isnan(created[0]) else None

    def _terms(self, turn: HistoryTurn, run: Run) -> tuple[Term, ...]:
        parsed = ParsedQuery(turn.text)
        with run.unlogged():
            for reader in self.readers:
                parsed = reader.read(parsed, run)
        return parsed.terms


def last_exchange(history: tuple[HistoryTurn, ...]) -> tuple[HistoryTurn, ...]:
    """The turns from the last question that stands alone on, and at least the last two."""
    for at in range(len(history) - 2, 0, -1):
        if history[at].role not in ANSWERING_ROLES and not depends_on_history(history[at].text):
            return history[at:]
    return history


@dataclass(frozen=True, slots=True)
class HistoryCue:
    """What was said around the memories that the last exchange is about, where the answer to a follow-up often is.

    The ``anchors`` are the memories most similar to the exchange, by words and by meaning: (BM25 ÷ best + cosine) ÷ 2,
    as a share of the best. A memory has the highest similarity of an anchor near it in the session, × ``step`` for each
    turn between. The best anchor itself is likely to be what has been answered already: it counts the share of its
    content words that the exchange has not.
    """

    name: str = "history"
    anchors: int = 5
    step: float = 0.9
    reach: int = 6  # turns
    pool: int = 10  # candidates for anchors, by words and by meaning each

    def find(self, run: Run) -> Candidates:
        near = self._near(run)
        keys = np.array(list(near), dtype=np.int64)
        values = self.score(run, keys).values
        keys = keys[ordered(run.snapshot, keys, np.zeros(len(keys), dtype=np.int64), -values)]
        return Candidates(self.name, keys, self.score(run, keys), len(keys))

    def score(self, run: Run, rows: Rows) -> Expression:
        near = self._near(run)
        far = (0.0, 0.0, "not near what the turns before are about")
        found = [near.get(row, far) for row in rows.tolist()]
        anchor = leaf(np.array([value for value, _, _ in found]), "similarity of the anchor to the last exchange")
        share = leaf(np.array([share for _, share, _ in found]), lambda at: found[at][2])
        return product(f"{self.name}: near what the turns before are about", anchor, share)

    def _near(self, run: Run) -> dict[int, tuple[float, float, str]]:
        """By row: the similarity of its anchor, its share of it, and where it is."""
        if not run.query.subject:
            raise Skip("the query is not a follow-up")
        key = f"rows of the cue {self.name}"
        if key not in run.cache:
            run.cache[key] = self._search(run)
        near: dict[int, tuple[float, float, str]] = run.cache[key]
        return near

    def _search(self, run: Run) -> dict[int, tuple[float, float, str]]:
        anchors, values = find_anchors(run, run.query.subject, last_exchange(run.history), self.anchors, self.pool)
        around = run.snapshot.neighbours(anchors, self.reach)
        offsets = [*range(-self.reach, 0), *range(1, self.reach + 1)]
        allowed = run.scope.contains(around.ravel()).reshape(around.shape)
        near: dict[int, tuple[float, float, str]] = {}
        for at, (row, value, text) in enumerate(
            zip(anchors.tolist(), values.tolist(), run.texts(anchors), strict=True)
        ):
            places = [(row, 1.0 if at else _unanswered(run, text), "what the turns before are about")]
            for neighbour, offset in zip(around[at][allowed[at]].tolist(), np.array(offsets)[allowed[at]], strict=True):
                side = "after" if offset > 0 else "before"
                turns = f"{abs(offset)} turn{'s' if abs(offset) > 1 else ''} {side}"
                places.append((neighbour, self.step ** abs(int(offset)), f"{turns} “{text[:60]}”"))
            for place, share, label in places:
                if value * share > near.get(place, (0.0, 0.0, ""))[0] * near.get(place, (0.0, 0.0, ""))[1]:
                    near[place] = value, share, label
        return near


def _unanswered(run: Run, text: str) -> float:
    """The share of a memory's content words that the last exchange has not."""
    exchange = {
        form
        for turn in last_exchange(run.history)
        for word in words(turn.text)
        for form in stems(word, run.query.language)
    }
    content = [word for word in dict.fromkeys(words(text)) if not names_no_subject(word)]
    new = [word for word in content if exchange.isdisjoint(stems(word, run.query.language))]
    return len(new) / max(1, len(content))


def find_anchors(
    run: Run, subject: Sequence[Term], turns: Sequence[HistoryTurn], anchors: int, pool: int
) -> tuple[Rows, Floats]:
    """The memories most similar to some turns, the best first, and how similar each is as a share of the best."""
    query = Bm25Query(tuple(replace(term, weight=1.0) for term in subject), ALL_FIELDS)
    rows = search(run.snapshot, run.scope, query, pool).rows
    text = "\n".join(turn.text for turn in turns)
    try:
        vector = run.embed(text) if run.embedder_reads(text) else None
    except Skip as skip:
        run.log("by words alone", str(skip))
        vector = None
    if vector is not None:
        rows = np.unique(np.append(rows, nearest(run.snapshot, vector, run.scope, pool).rows))
    by_words = score(run.snapshot, run.scope, query, rows).scores
    similarity = by_words / max(by_words.max(initial=0.0), 1e-9)
    if vector is not None:
        similarity = (similarity + np.nan_to_num(np.maximum(cosines(run.snapshot, vector, rows), 0.0))) / 2
    similarity = similarity / max(similarity.max(initial=0.0), 1e-9)
    best = ordered(run.snapshot, rows, np.zeros(len(rows), dtype=np.int64), -similarity)[:anchors]
    return rows[best], similarity[best]
