"""Stages that follow the edges between memories: spreading activation, and the penalty of contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import ChoiceExpression, Expression, leaf, product
from recollect.recall.hits import Add, HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows
from recollect.systems.openmem.competition import effective_strength


@dataclass(frozen=True, slots=True)
class SpreadingActivation:
    """Spreads activation along edges in both directions: source × weight × decay for each hop; the largest counts.

    Each hop starts from the result of the one before, so that the order of edges does not matter.
    """

    hops: int = 2
    decay: float = 0.5
    name: str = "spread"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
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
        return [Rescore(score.take(np.arange(len(hits)))), Add(keys[added], score.take(added))]

    def _hop(
        self, run: Run, keys: Rows, score: Expression, frontier: Rows, hop: int
    ) -> tuple[Rows, Expression, Rows] | None:
        """One hop: the activation that the frontier gives to its neighbours, where it is more than they have."""
        place = {key: at for at, key in enumerate(keys.tolist())}
        offers: dict[int, tuple[float, int, float, str]] = {}  # target: activation, source, weight, kind
        links = run.snapshot.edges(frontier)
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
        )
        targets = np.array(list(better), dtype=np.int64)
        all_keys = np.concatenate([keys, targets[~np.isin(targets, keys)]])
        number = {target: at for at, target in enumerate(better)}
        which = np.array([int(key in number) for key in all_keys.tolist()])
        places = np.array([number[key] if key in number else place[key] for key in all_keys.tolist()])
        return all_keys, ChoiceExpression((score, spread), which, places), targets


@dataclass(frozen=True, slots=True)
class ContradictionPenalty:
    """× penalty, once, for the weaker of two hits that contradict each other.

    Weaker is the one with less strength × confidence × recency; on a tie the lower score, then the later memory.
    """

    penalty: float = 0.3
    recency: float = 0.05  # decay rate per day
    name: str = "contradict"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        links = run.snapshot.edges(hits.keys[hits.keys > 0], kinds=("contradicts",))
        place = {key: at for at, key in enumerate(hits.keys.tolist())}
        pairs = [
            (place[a], place[b])
            for a, b in zip(links.sources.tolist(), links.targets.tolist(), strict=True)
            if a in place and b in place
        ]
        if not pairs:
            raise Skip("no two hits contradict each other")
        strength = effective_strength(run, hits.keys, self.recency)
        standings = [(strength[at], float(hits.score.values[at]), -int(hits.keys[at])) for at in range(len(hits))]
        losers: dict[int, int] = {}  # by loser: the strongest it loses to
        for pair in pairs:
            weaker, stronger = sorted(pair, key=standings.__getitem__)
            losers[weaker] = max(losers.get(weaker, stronger), stronger, key=standings.__getitem__)
        factor = np.array([self.penalty if at in losers else 1.0 for at in range(len(hits))])
        winners = dict(zip(losers, run.snapshot.ids(hits.keys[list(losers.values())]), strict=True))
        run.log("contradicted", len(losers))

        def label(at: int) -> str:
            return f"contradicted by {winners[at]}" if at in winners else "no stronger memory contradicts it"

        return [Rescore(product("after conflict", hits.score, leaf(factor, label)))]
