"""Our own way: words and meaning find, normalised scores decide, and what stands around a memory speaks for it.

    question ─▶ content words ─▶ words ─────┐
                                trigrams ───┤
                                vectors ────┼─▶ blend ─▶ × speaker ─▶ × role ─▶ + session ─▶ × recency ─▶ × status ─▶ best k
                                tokens ─────┘

Trigrams look only for words that nothing in the memory has: typos and parts of words. Tokens compare word by word in
meaning, and look at what was said just before and after.
"""

from recollect.recall.cues import Parallel, Tokens, Trigrams, Vectors, Words
from recollect.recall.fuse import Blend, Share
from recollect.recall.question import ContentWords
from recollect.recall.recipe import Recipe, paged
from recollect.recall.stages import Recency, Role, Session, Speaker, StatusFactor, Touching

PAGE = 50  # candidates a cue; the first page is the same whatever k is


def default() -> Recipe:
    """The recipe that is used when none is named."""
    return Recipe(
        name="default",
        about="Words and meaning together, with what stands around a memory.",
        statuses=("active", "superseded", "contradicted"),
        read=[ContentWords()],
        cues=Parallel(
            Words(depth=paged(PAGE)),
            Trigrams(of="words", depth=paged(PAGE)),
            Vectors(depth=paged(PAGE)),
            Tokens(depth=paged(PAGE)),
        ),
        fuse=Blend(
            Share("words", 0.22, over="best", plus=("trigrams",)),
            Share("vectors", 0.22, over="range"),
            Share("tokens", 0.56, over="range"),
            page=PAGE,
        ),
        stages=[
            Speaker(0.8),
            Role(),
            Session(0.3),
            Recency(share=0.05, half_life=30),
            StatusFactor({"superseded": 0.5, "contradicted": 0.3}),
        ],
        after=[Touching(("access",))],
    )
