"""A stage for questions that ask for all of something: new items before repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class Coverage:
    """When all of something are asked for, lowers what is likely to repeat an item that a better hit has named.

    × ``exchange`` for a turn within ``reach`` of a better hit: it goes on about the same item. × ``session`` for
    a further hit of a session: other items were mostly told at other times. × ``echo`` for what an assistant said,
    which repeats the user. Hits of a later page do not affect an earlier one.
    """

    exchange: float = 0.7
    session: float = 0.8
    echo: float = 0.7
    reach: int = 1
    name: str = "coverage"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not run.query.asks_for_all:
            raise Skip("the query does not ask for all of something")
        sessions = list(
            zip(*(run.snapshot.strings(name, hits.keys) for name in ("collection", "user", "session")), strict=True)
        )
        echoes = [role == "assistant" for role in run.snapshot.strings("role", hits.keys)]
        around = run.snapshot.neighbours(hits.keys, self.reach)
        factor, reasons = np.ones(len(hits)), ["a new item"] * len(hits)
        named: set[int] = set()  # rows of hits that are not near a better one
        seen: set[tuple[str, ...]] = set()
        for at in np.lexsort((-hits.score.values, hits.page)).tolist():
            repeats = []
            if named.isdisjoint(around[at].tolist()):
                named |= {int(hits.keys[at])} if hits.keys[at] > 0 else set()
            else:
                repeats.append((self.exchange, "near a better hit"))
            if sessions[at][-1] and sessions[at] in seen:
                repeats.append((self.session, "its session has a better hit"))
            if echoes[at]:
                repeats.append((self.echo, "said by an assistant"))
            seen.add(sessions[at])
            for share, _ in repeats:
                factor[at] *= share
            reasons[at] = ", ".join(reason for _, reason in repeats) or reasons[at]
        return [Rescore(product("after coverage", hits.score, leaf(factor, lambda at: f"coverage: {reasons[at]}")))]
