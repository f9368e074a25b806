"""The QMD recipe: reciprocal ranks of words and vectors, query expansion, and a reranker blended in by position.

query    ─▶ words, vectors ─▶ (expansion unless the signal is strong) ─▶ reciprocal rank ─▶ position-aware blend
            × 2                × 1 each                                   + bonus for the top   with a reranker
"""

from __future__ import annotations

from recollect.chat import ChatModel
from recollect.model import check
from recollect.recall.cues import VectorsCue, WordsCue
from recollect.recall.fusion import ReciprocalRank
from recollect.recall.query_parsing import ContentWords
from recollect.recall.recipe import Recipe, fixed
from recollect.recall.stages import RecordUse
from recollect.recall.stages.rerank import PositionBlend
from recollect.rerank import AnyReranker
from recollect.systems.qmd.expansion import ExpandQuery, QueryExpansion, resolve_expansion, strong_signal


def qmd(
    *,
    expand: ExpandQuery | ChatModel | str | None = None,
    expand_seconds: float = 10.0,
    reranker: AnyReranker | ChatModel | str | None = "late",
    rerank_top: int = 40,
) -> Recipe:
    """Reciprocal rank fusion, query expansion and a position-aware blend with a reranker, as QMD does it (O21).

    ``expand`` makes other wordings of the query: "rules", a chat model, or a function; ``reranker`` may be a chat
    model, too. A chat model is a ChatModel, "URL MODEL", or "chat" for the configured one.
    """
    return Recipe(
        name="qmd",
        about="Reciprocal ranks of words and vectors, then a reranker blended in by position.",
        k=6,
        read=[ContentWords()],
        cues=QueryExpansion(
            WordsCue(depth=fixed(50)),
            VectorsCue(depth=fixed(50)),
            expand=resolve_expansion(expand),
            seconds=check.number(expand_seconds, "expand_seconds", low=1e-3),
            skip_reason=strong_signal("words", top=0.85, gap=0.15),  # O21
        ),
        fuse=ReciprocalRank(
            k=60,
            weights={"words": 2.0, "vectors": 2.0},  # O21: the original lists count twice
            bonus=(0.05, 0.02, 0.02),  # O21: rank 1; ranks 2 and 3
        ),
        stages=[
            PositionBlend(reranker, head=rerank_top, weights=((3, 0.75), (10, 0.60), (None, 0.40))),  # O21
        ],
        after=[RecordUse(("access",))],
    )
