"""The OpenClaw recipe: 0.7 × vectors + 0.3 × keywords, with a minimum score.

query    ─▶ vectors  ─▶ max(0, cosine) × 0.7 ┐
      │     24 candidates                    ├─▶ sum ─▶ score ≥ 0.35 ─▶ best 6
      └───▶ keywords ─▶ r ÷ (1 + r)   × 0.3  ┘          (filled up: rows with all words)
            AND, then OR
"""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.model import check
from recollect.recall.cues import AllCues, VectorsCue
from recollect.recall.fusion import Blend, CueWeight
from recollect.recall.query_parsing import EveryWord
from recollect.recall.recipe import Recipe, times
from recollect.recall.stages import RecordUse
from recollect.systems.openclaw.keywords import KeywordCue, MinScore

MIN_SCORE = 0.35  # O11
FIELDS = dict.fromkeys(("text", "title", "tags", "keywords"), 1.0)  # front matter counts, too


def openclaw(
    *,
    min_score: float | None = None,  # O11: an explicit one has no exceptions
    vector_weight: float = 0.7,  # O10
    text_weight: float = 0.3,  # O10
    candidate_multiplier: int = 4,  # O9
) -> Recipe:
    """Hybrid search with the weights, thresholds and candidate counts of OpenClaw's memory_search."""
    weight_sum = check.number(vector_weight, "vector_weight", low=0.0) + check.number(
        text_weight, "text_weight", low=0.0
    )
    if not weight_sum:
        raise InvalidInput("vector_weight and text_weight cannot both be 0.")
    minimum = MIN_SCORE if min_score is None else check.number(min_score, "min_score", low=-1.0, high=1.0)
    depth = times(max(1, check.integer(candidate_multiplier, "candidate_multiplier")))
    return Recipe(
        name="openclaw",
        about="Meaning 0.7 and keywords 0.3, with a minimum score; as OpenClaw searches Markdown memory.",
        k=6,  # O11
        read=[EveryWord(match="exact")],  # O7: tokens of every script
        cues=AllCues(
            VectorsCue(depth=depth),  # O6, O9
            KeywordCue(depth=depth, fields=FIELDS),  # O7, O9: AND, then OR fills up
            embed_in_thread=True,  # O9: the query is embedded while keywords are looked up
        ),
        fuse=Blend(
            CueWeight("vectors", vector_weight / weight_sum, over="itself"),  # O6: 1 − distance, at least 0
            CueWeight("words", text_weight / weight_sum, over="saturated"),  # O8: r ÷ (1 + r)
            fill=False,  # O10: a missing cue counts 0
        ),
        stages=[MinScore(minimum, fill_from="words" if min_score is None else None)],  # O11
        after=[RecordUse(("access",))],
    )
