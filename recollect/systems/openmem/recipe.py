"""The OpenMem recipe: words seed activation, it spreads along edges, and memories compete. No vectors.

query    ─▶ words (text, summary, entities) ─▶ ÷ best ─▶ spread ─▶ compete ─▶ contradict ─▶ pack
            top_k × 4 candidates                activation  2 hops   weighted    weaker      token
                                                            × ½      sum         × 0.3       budget
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.errors import InvalidInput
from recollect.model import check
from recollect.recall.cues import AllCues, WordsCue
from recollect.recall.fusion import Blend, CueWeight
from recollect.recall.query_parsing import EveryWord
from recollect.recall.recipe import Recipe, times
from recollect.recall.stages import RecordUse, SpreadingActivation
from recollect.systems.openmem.stages import Competition, ContradictionPenalty, TokenBudgetPacking

WEIGHTS = {"activation": 0.5, "recency": 0.2, "strength": 0.2, "confidence": 0.1}  # M5
MAX_HOPS = 100  # an explanation lists every hop


def openmem(
    *,
    max_hops: int = 2,  # M4
    decay_per_hop: float = 0.5,  # M4
    weights: Mapping[str, float] | None = None,  # M5: activation, recency, strength, confidence, one by one
    token_budget: int | None = None,  # M11
) -> Recipe:
    """Deterministic recall by words and graph, as OpenMem describes it."""
    if check.count(max_hops, "max_hops") > MAX_HOPS:
        raise InvalidInput(f"max_hops must be at most {MAX_HOPS}, not {max_hops}.")
    budget = None if token_budget is None else check.count(token_budget, "token_budget")
    return Recipe(
        name="openmem",
        about="Words seed activation, it spreads along edges, memories compete. No embeddings.",
        k=10,
        statuses=("active", "superseded", "contradicted"),  # M9: penalised, not hidden
        read=[EveryWord(match="exact")],  # M1: no input is a syntax error
        cues=AllCues(WordsCue(fields={"text": 1.0, "summary": 1.0, "entities": 1.0}, depth=times(4))),  # M1
        fuse=Blend(CueWeight("words", 1.0, over="best"), fill=False),  # M2: score ÷ best
        stages=[
            SpreadingActivation(hops=max_hops, decay=check.fraction(decay_per_hop, "decay_per_hop")),  # M3, M4
            Competition(
                weights={**WEIGHTS, **_check_weights({} if weights is None else weights)}, rate=0.05
            ),  # M5, M6, M9
            ContradictionPenalty(penalty=0.3),  # M10
            TokenBudgetPacking(budget=budget, characters=4),  # M11
        ],
        after=[RecordUse(("access",))],  # M11
    )


def _check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise InvalidInput(
            f"weights must map names to numbers, such as {{'recency': 0.4}}, not {check.short_repr(weights)}."
        )
    unknown = [name for name in weights if name not in WEIGHTS]
    if unknown:
        raise InvalidInput(f"There is no weight {unknown[0]!r}; there are: {', '.join(WEIGHTS)}.")
    return {name: check.number(weight, f"the weight of {name}", low=0.0) for name, weight in weights.items()}
