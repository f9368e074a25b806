"""Our own way: words and meaning find, normalised scores decide, age and standing have a small say.

    question ─▶ content words ─▶ words ───────┐
                     │          trigrams ─────┼─▶ blend ─▶ × recency ─▶ × status ─▶ best k
                     └────────▶ vectors ──────┘

Trigrams look only for words that nothing in the memory has: typos and parts of words.
"""

from recollect.recall.cues import Parallel, Trigrams, Vectors, Words
from recollect.recall.fuse import Blend, Share
from recollect.recall.question import ContentWords
from recollect.recall.recipe import Recipe, paged
from recollect.recall.stages import Recency, StatusFactor, Touching

PAGE = 50  # candidates a cue; the first page is the same whatever k is


def default() -> Recipe:
    """The recipe that is used when none is named."""
    return Recipe(
        name="default",
        about="Words and meaning together, with a small say for age and standing.",
        statuses=("active", "superseded", "contradicted"),
        read=[ContentWords()],
        cues=Parallel(
            Words(depth=paged(PAGE)),
            Trigrams(of="words", depth=paged(PAGE)),
            Vectors(depth=paged(PAGE)),
        ),
        fuse=Blend(
            Share("words", 0.5, over="best", plus=("trigrams",)),
            Share("vectors", 0.5, over="range"),
            page=PAGE,
        ),
        stages=[
            Recency(share=0.05, half_life=30),
            StatusFactor({"superseded": 0.5, "contradicted": 0.3}),
        ],
        after=[Touching(("access",))],
    )
