"""Stages for what users stated about memories: edges, relations between names, contradictions, confidence, strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.model import EntityEdge
from recollect.model.matching import instant
from recollect.recall.bm25 import Bm25Query, search
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import ChoiceExpression, Expression, leaf, product
from recollect.recall.hits import Add, Annotate, HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.stages.factors import status_at
from recollect.store.base import Floats, Rows, Term
from recollect.store.told_times import as_intervals
from recollect.text.entity_names import MAX_NAME_CHARACTERS, possible_names
from recollect.text.question_time import question_time
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class SpreadingActivation:
    """Spreads activation along edges in both directions: source × weight × decay for each hop; the largest counts.

    Each hop starts from the result of the one before, so that the order of edges does not matter. Edges that were made
    after ``as_of`` do not exist yet.
    """

    hops: int = 2
    decay: float = 0.5
    pages: bool = False  # only from the first page of hits, so that asking for more does not change the first results
    name: str = "spread"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        first = np.flatnonzero(hits.page == hits.page.min(initial=0)) if self.pages else np.arange(len(hits))
        operations = self._spread(run, hits.take(first))
        if len(first) == len(hits):
            return operations
        rescored, added = operations
        which, places = np.zeros(len(hits), dtype=np.int64), np.arange(len(hits))
        which[first], places[first] = 1, np.arange(len(first))
        return [Rescore(ChoiceExpression((hits.score, rescored.score), which, places)), added]

    def _spread(self, run: Run, hits: Hits) -> tuple[Rescore, Add]:
        keys, score = hits.keys, hits.score
        frontier = keys[keys > 0]
        for hop in range(1, self.hops + 1):
            reached = self._hop(run, keys, score, frontier, hop)
            if reached is None:
                break
            keys, score, frontier = reached
        added = np.arange(len(hits), len(keys))
        run.log("reached", len(added))
        if score is hits.score:
            raise Skip("no edge leads to more activation")
        return Rescore(score.take(np.arange(len(hits)))), Add(keys[added], score.take(added))

    def _hop(
        self, run: Run, keys: Rows, score: Expression, frontier: Rows, hop: int
    ) -> tuple[Rows, Expression, Rows] | None:
        """One hop: the activation that the frontier gives to its neighbours, where it is more than they have."""
        links = run.edges(frontier)
        if not len(links.sources):
            return None
        place = {key: at for at, key in enumerate(keys.tolist())}
        offers: dict[int, tuple[float, int, float, str]] = {}  # target: activation, source, weight, kind
        active = set(frontier.tolist())
        for a, b, weight, kind in zip(
            links.sources.tolist(), links.targets.tolist(), links.weights.tolist(), links.kinds, strict=True
        ):
            for source, target in ((a, b), (b, a)):
                if source in active:
                    activation = float(score.values[place[source]]) * weight * self.decay
                    known = offers.get(target)
                    if known is None or (-activation, source, kind) < (-known[0], known[1], known[3]):
                        offers[target] = (activation, source, weight, kind)
        allowed = run.scope.contains(np.array(sorted(offers), dtype=np.int64))
        better = [
            target
            for target, may in zip(sorted(offers), allowed.tolist(), strict=True)
            if may and offers[target][0] > (float(score.values[place[target]]) if target in place else 0.0)
        ]
        if not better:
            return None
        return self._merge(run, keys, score, {target: offers[target] for target in better}, hop)

    def _merge(
        self, run: Run, keys: Rows, score: Expression, better: dict[int, tuple[float, int, float, str]], hop: int
    ) -> tuple[Rows, Expression, Rows]:
        place = {key: at for at, key in enumerate(keys.tolist())}
        sources = np.array([source for _, source, _, _ in better.values()], dtype=np.int64)
        ids, kinds = run.snapshot.ids(sources), [kind for _, _, _, kind in better.values()]
        spread = product(
            lambda at: f"hop {hop}, from {ids[at]} by {kinds[at]}",
            score.take(np.array([place[source] for source in sources.tolist()])),
            leaf(np.array([weight for _, _, weight, _ in better.values()]), "edge weight"),
            leaf(self.decay, "decay"),
        ).tag("link", lambda at: f"linked by {kinds[at]!r} to {ids[at]}")
        targets = np.array(list(better), dtype=np.int64)
        all_keys = np.concatenate([keys, targets[~np.isin(targets, keys)]])
        number = {target: at for at, target in enumerate(better)}
        which = np.array([int(key in number) for key in all_keys.tolist()])
        places = np.array([number[key] if key in number else place[key] for key in all_keys.tolist()])
        return all_keys, ChoiceExpression((score, spread), which, places), targets


@dataclass(frozen=True, slots=True)
class CurrentVersions:
    """Gives the memory that superseded a hit the score of that hit, if it is more than its own.

    A correction often says only what is new (“It is at ten now”) and has little in common with the query. Where several
    memories superseded each other, the last one gets it. A query about the past asks for earlier versions, and one that
    names a time for those from before its end.
    """

    versions: int = 10  # that a memory is followed through at most
    name: str = "current versions"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if question_time(run.trace.query) in ("before", "first"):
            raise Skip("the query asks for an earlier version")
        first = hits.page == hits.page.min(initial=0)
        places = {key: at for at, key in enumerate(hits.keys.tolist()) if first[at] and key > 0}
        superseded = self._superseded(run, np.array([*places], dtype=np.int64))
        if not len(superseded):
            raise Skip("no candidate is superseded")
        scores, source = hits.score.values, dict[int, int]()  # of each current version: the best hit that it replaces
        for old, current in self._current(run, superseded):
            if scores[places[old]] > max(
                scores[places[current]] if current in places else 0.0,
                scores[places[source[current]]] if current in source else 0.0,
            ):
                source[current] = old
        if not source:
            raise Skip("what superseded the candidates has a higher score, or is not in scope")
        run.log("superseding", len(source))
        ids = run.ids(np.array([*source.values()], dtype=np.int64))
        passed = product(
            lambda at: f"supersedes {ids[at]}, and has its score",
            hits.score.take(np.array([places[old] for old in source.values()])),
        ).tag("link", lambda at: f"supersedes {ids[at]}")
        number = {row: at for at, row in enumerate(source)}
        keys = hits.keys.tolist()
        which = np.array([int(key in number and first[at]) for at, key in enumerate(keys)])
        indexes = np.array([number[key] if which[at] else at for at, key in enumerate(keys)])
        added = np.array([row for row in source if row not in places], dtype=np.int64)
        return [
            Rescore(ChoiceExpression((hits.score, passed), which, indexes)),
            Add(added, passed.take(np.array([number[row] for row in added.tolist()], dtype=np.int64))),
            Annotate(self._notes(run, source)),
        ]

    def _notes(self, run: Run, source: dict[int, int]) -> dict[int, list[str]]:
        """What each current version replaces, and by what each of those is replaced."""
        old, new = (run.quotes(np.array(each, dtype=np.int64)) for each in ([*source.values()], [*source]))
        notes: dict[int, list[str]] = {}
        for (current, earlier), its_text, earlier_text in zip(source.items(), new, old, strict=True):
            notes.setdefault(current, []).append(f"supersedes {earlier_text}")
            notes.setdefault(earlier, []).append(f"superseded by {its_text}")
        return notes

    def _superseded(self, run: Run, rows: Rows) -> Rows:
        return rows[[status == "superseded" for status in status_at(run, rows)]]

    def _current(self, run: Run, superseded: Rows) -> list[tuple[int, int]]:
        """Each superseded memory with the current ones that replace it, through those between them."""
        newer: dict[int, list[int]] = {}
        current, known, frontier = set[int](), set(superseded.tolist()), superseded
        for _ in range(self.versions):
            links = run.edges(frontier, ("supersedes",))
            for version, older in zip(links.sources.tolist(), links.targets.tolist(), strict=True):
                newer.setdefault(older, []).append(version)
            frontier = np.array(sorted({*links.sources.tolist()} - known), dtype=np.int64)
            if run.query.times:  # not what has held only since the time that is asked for
                begins = run.snapshot.numbers("valid_from", frontier)
                begins = np.where(np.isnan(begins), run.snapshot.numbers("created", frontier), begins)
                frontier = frontier[begins < max(end for _, end in as_intervals(run.query.times))]
            if not len(frontier):
                break
            known |= {*frontier.tolist()}
            in_scope = frontier[run.scope.contains(frontier)]  # a version between two may be forgotten, or filtered out
            current |= {*in_scope.tolist()}.difference(self._superseded(run, in_scope).tolist())
        found = []
        for old in superseded.tolist():
            versions, waiting = {old}, [old]
            while waiting:
                further = known.intersection(newer.get(waiting.pop(), ())) - versions
                versions |= further
                waiting += further
            found += [(old, version) for version in sorted(versions & current)]
        return found


def contradicting_pairs(run: Run, hits: Hits) -> list[tuple[int, int]]:
    """The places of hits that an edge ``contradicts`` connects."""
    links = run.edges(hits.keys, kinds=("contradicts",))
    place = {key: at for at, key in enumerate(hits.keys.tolist())}
    ends = zip(links.sources.tolist(), links.targets.tolist(), strict=True)
    return [(place[a], place[b]) for a, b in ends if a in place and b in place]


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Of two hits that contradict each other, the one with more confidence comes first; then strength, then the newer.

    The other gets × factor, or less where it would still be first. Both have a note.
    """

    factor: float = 0.5
    name: str = "contradictions"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        pairs = [pair for pair in contradicting_pairs(run, hits) if hits.page[pair[0]] == hits.page[pair[1]]]
        if not pairs:
            raise Skip("no two hits contradict each other")
        confidence, strength = _trust(run, hits.keys)
        created = run.snapshot.numbers("created", hits.keys)
        ids = run.ids(hits.keys)
        scores = hits.score.values
        factor, winners = np.ones(len(hits)), dict[int, int]()
        notes: dict[int, list[str]] = {}
        certainty = [(confidence[at], strength[at], created[at], ids[at]) for at in range(len(hits))]
        places = sorted({at for pair in pairs for at in pair})
        quotes = dict(zip(places, run.quotes(hits.keys[places]), strict=True))
        by_certainty = [sorted(pair, key=certainty.__getitem__) for pair in pairs]
        # From the most certain down: one that was lowered itself must stay before those that it contradicts.
        for weaker, stronger in sorted(by_certainty, key=lambda pair: certainty[pair[1]], reverse=True):
            lowered = scores[stronger] * factor[stronger]
            below = lowered / scores[weaker] * (1 - 1e-9) if scores[weaker] > 0 else 1.0
            if min(self.factor, below) < factor[weaker]:
                factor[weaker], winners[weaker] = min(self.factor, below), stronger
            less, more = self._comparison(certainty[weaker], certainty[stronger])
            for at, note in (
                (stronger, f"contradicts {quotes[weaker]}, which {less}"),
                (weaker, f"contradicted by {quotes[stronger]}, which {more}"),
            ):
                notes.setdefault(int(hits.keys[at]), []).append(note)

        def label(at: int) -> str:
            return f"contradicted by {ids[winners[at]]}" if at in winners else "no stronger memory contradicts it"

        score = product("after contradictions", hits.score, leaf(factor, label).tag("reason", "it is"))
        return [Rescore(score), Annotate(notes)]

    @staticmethod
    def _comparison(weaker: tuple[Any, ...], stronger: tuple[Any, ...]) -> tuple[str, str]:
        """What decided between two: their confidence, their strength, when they were made, or nothing but their ids."""
        words = (
            ("is less certain", "is more certain"),
            ("is weaker", "is stronger"),
            ("is older", "is newer"),
            ("is as certain and as old", "is as certain and as old"),
        )
        decisive = next(at for at, (a, b) in enumerate(zip(weaker, stronger, strict=True)) if a != b)
        return words[decisive]


@dataclass(frozen=True, slots=True)
class ConfidenceStrengthFactor:
    """× (1 − share × (1 − confidence)) × (1 − share × (1 − strength)); a memory without a confidence counts in full."""

    share: float = 0.15
    name: str = "trust"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        confidence, strength = _trust(run, hits.keys)
        if (confidence == 1).all() and (strength == 1).all():
            raise Skip("all candidates have full confidence and strength")
        sure = leaf(1 - self.share * (1 - confidence), lambda at: f"confidence {confidence[at]:.2f}")
        fresh = leaf(1 - self.share * (1 - strength), lambda at: f"strength {strength[at]:.2f}")
        return [Rescore(product("after trust", hits.score, sure, fresh))]


def _trust(run: Run, keys: Rows) -> tuple[Floats, Floats]:
    """The confidence and the strength of each hit; 1 where there is none."""
    confidence, strength = (run.snapshot.numbers(name, keys) for name in ("confidence", "strength"))
    return np.where(np.isnan(confidence), 1.0, confidence), np.where(np.isnan(strength), 1.0, strength)


@dataclass(frozen=True, slots=True)
class RelatedNames:
    """Adds memories about a name that is related to one in the query: for Ana, who works with Bo, also those about Bo.

    Each gets share × weight of the relation × the best score × its BM25 score ÷ the best, if that is more than it has.
    """

    share: float = 0.6
    names: int = 8  # at most, strongest relations first
    depth: int = 5  # memories
    name: str = "related names"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        names = set(possible_names(run.query.text[:MAX_NAME_CHARACTERS]))
        known = run.snapshot.relations(sorted(names)) if names else []
        edges = sorted(
            (edge for edge in known if run.allows_external(relation_fields(edge))), key=lambda edge: -edge.weight
        )
        weights: dict[str, tuple[float, str]] = {}
        for edge in edges:
            other = edge.object if edge.subject.casefold() in names else edge.subject
            if other.casefold() not in names:
                weights.setdefault(other, (edge.weight, f"{edge.subject} —[{edge.relation}]→ {edge.object}"))
        if not weights:
            raise Skip("no relation of a name in the query is known")
        offers: dict[int, tuple[float, str]] = {}
        for other, (weight, relation) in list(weights.items())[: self.names]:
            terms = tuple(Term(word) for word in dict.fromkeys(words(other)))
            found = search(run.snapshot, run.scope, Bm25Query(terms, ALL_FIELDS, require_all=True), self.depth)
            for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True):
                amount = weight * score / found.scores[0]
                offers[row] = max(offers.get(row, (0.0, "")), (amount, relation))
        return self._add(run, hits, offers)

    def _add(self, run: Run, hits: Hits, offers: dict[int, tuple[float, str]]) -> list[HitOperation]:
        first = hits.page == hits.page.min(initial=0)
        place = {key: at for at, key in enumerate(hits.keys.tolist()) if first[at]}
        best = float(hits.score.values[first].max(initial=0.0)) or 1.0
        rows = [
            row
            for row in sorted(offers)
            if row not in place or hits.score.values[place[row]] < self.share * offers[row][0] * best
        ]
        run.log("related", len(rows))
        if not rows:
            raise Skip("the candidates already have what is known about the related names")
        score = product(
            lambda at: f"related name: {offers[rows[at]][1]}",
            leaf(best, "best score"),
            leaf(self.share, "share"),
            leaf(np.array([offers[row][0] for row in rows]), "weight of the relation × match of the name"),
        ).tag("component", self.name)
        return [Add(np.array(rows, dtype=np.int64), score)]


def relation_fields(edge: EntityEdge) -> dict[str, object]:
    """The fields of a relation by which a filter decides about it."""
    return {
        "kind": "relation",
        "collection": edge.collection,
        "user": edge.user,
        "classification": edge.classification,
        "source": edge.source,
        "created": None if edge.created is None else instant(edge.created),
    }
