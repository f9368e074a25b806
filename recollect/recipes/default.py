"""Our own way: words and meaning find, normalised scores decide, and what stands around a memory speaks for it.

    question ─▶ spelling ─▶ content words ─▶ words ─────┐
                                             trigrams ──┤
                                             vectors ───┼─▶ blend by material ─▶ × speaker ─▶ × role ─┐
                                             tokens ────┘                                             │
                         best k ◀─ × status ◀─ × recency ◀─ with the best of its session ◀────────────┘

Trigrams look only for words that nothing in the memory has: typos and parts of words. Tokens compare word by word in
meaning, and look at what was said just before and after. How much each counts depends on the material: short texts or
long ones, code, the look-up of a name, or a question in letters that the embedder was not taught.
"""

from recollect.recall.confidence import Confidence
from recollect.recall.cues import Parallel, Tokens, Trigrams, Vectors, Words
from recollect.recall.fuse import Blend, ByMaterial, Share
from recollect.recall.question import ContentWords, Spelling
from recollect.recall.recipe import Recipe, paged
from recollect.recall.stages import Answering, Dates, Recency, Role, Session, Speaker, StatusFactor, Touching

PAGE = 50  # candidates a cue; the first page is the same whatever k is


def default() -> Recipe:
    """The recipe that is used when none is named."""
    return Recipe(
        name="default",
        about="Words and meaning together, with what stands around a memory.",
        statuses=("active", "superseded", "contradicted"),
        read=[Spelling(), ContentWords()],
        cues=Parallel(
            Words(depth=paged(PAGE)),
            Trigrams(of="words", depth=paged(PAGE)),
            Vectors(depth=paged(PAGE)),
            Tokens(depth=paged(PAGE)),
        ),
        fuse=ByMaterial(
            short=_blend(words=0.22, vectors=0.22, tokens=0.56),
            long=_blend(words=0.16, vectors=0.44, tokens=0.40),
            code=_blend(words=0.10, vectors=0.65, tokens=0.25),
            lookup=_blend(words=0.40, vectors=0.25, tokens=0.35),
            unread=_blend(words=0.90, vectors=0.10, tokens=0.00),
        ),
        stages=[
            Speaker(0.8),
            Role(),
            Dates(),
            Answering(),
            Session(0.3),
            Recency(share=0.02, half_life=30),
            StatusFactor({"superseded": 0.5, "contradicted": 0.3}),
        ],
        after=[Touching(("access",))],
        confidence=Confidence(),
    )


def _blend(words: float, vectors: float, tokens: float) -> Blend:
    return Blend(
        Share("words", words, over="best", plus=("trigrams",)),
        Share("vectors", vectors, over="range"),
        Share("tokens", tokens, over="range"),
        page=PAGE,
    )
