"""Our own way: words and meaning find, normalised scores decide, and what stands around a memory speaks for it.

    question ─▶ spelling ─▶ content words ─▶ unfinished name? ─┐
      ┌────────────────────────────────────────────────────────┘
      ├─▶ words ─────┐
      ├─▶ trigrams ──┤
      ├─▶ vectors ───┼─▶ blend by material ─▶ × speaker ─▶ × role ─▶ × dates ─▶ × could it be the answer? ─┐
      └─▶ tokens ────┘                                                                                      │
      best k ◀─ × status ◀─ × recency ◀─ × where a talk was left ◀─ with the best of its session ◀──────────┘

A name that is looked up may be unfinished: what begins with it counts, too. Trigrams look only for words that nothing
in the memory has: typos and parts of words. Tokens compare word by word in meaning, and look at what was said just
before and after. How much each counts depends on the material: short texts or long ones, code, the look-up of a name,
or a question in letters that the embedder was not taught. The settings were chosen for all of that; ``recollect tune``
looks for those of one deployment.
"""

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.recall.confidence import Confidence
from recollect.recall.cues import Parallel, Tokens, Trigrams, Vectors, Words
from recollect.recall.fusion import Blend, ByMaterial, Share
from recollect.recall.query_parsing import ContentWords, Spelling, Unfinished
from recollect.recall.recipe import Recipe, paged
from recollect.recall.stages import Answering, Dates, Recency, Resuming, Role, Session, Speaker, StatusFactor, Touching

PAGE = 50  # candidates a cue; the first page is the same whatever k is


def default(
    *,
    words: float = 1.0,  # factors on what each cue counts, whatever the material
    vectors: float = 1.0,
    tokens: float = 1.0,
    speaker: float = 0.8,  # × for what others said than the one who is named
    assistant: float = 0.7,  # × for what assistants, systems and tools said
    session: float = 0.5,  # how much of a score is the best of its session, where that is about one thing
    resuming: float = 0.25,  # how much less counts what is far from where a talk was left, for a message that goes on
    recency: float = 0.02,  # how much of a score depends on age
) -> Recipe:
    """The recipe that is used when none is named."""
    cues = _factors(words=words, vectors=vectors, tokens=tokens)
    return Recipe(
        name="default",
        about="Words and meaning together, with what stands around a memory.",
        statuses=("active", "superseded", "contradicted"),
        read=[Spelling(), ContentWords(), Unfinished()],
        cues=Parallel(
            Words(depth=paged(PAGE)),
            Trigrams(of="words", depth=paged(PAGE)),
            Vectors(depth=paged(PAGE)),
            Tokens(depth=paged(PAGE)),
        ),
        fuse=ByMaterial(
            short=_blend(cues, words=0.22, vectors=0.22, tokens=0.56),
            long=_blend(cues, words=0.16, vectors=0.44, tokens=0.40),
            code=_blend(cues, words=0.10, vectors=0.65, tokens=0.25),
            lookup=_blend(cues, words=0.40, vectors=0.25, tokens=0.35),
            unread=_blend(cues, words=0.90, vectors=0.10, tokens=0.00),
        ),
        stages=[
            Speaker(check.unit(speaker, "speaker")),
            Role(dict.fromkeys(("assistant", "system", "tool"), check.unit(assistant, "assistant"))),
            Dates(),
            Answering(),
            Session(check.unit(session, "session")),
            Resuming(check.unit(resuming, "resuming")),
            Recency(share=check.unit(recency, "recency"), half_life=30),
            StatusFactor({"superseded": 0.5, "contradicted": 0.3}),
        ],
        after=[Touching(("access",))],
        confidence=Confidence(),
    )


def _factors(**said: float) -> dict[str, float]:
    factors = {cue: check.number(factor, cue, low=0.0) for cue, factor in said.items()}
    if not any(factors.values()):
        raise InvalidInput(f"{', '.join(said)} cannot all be 0: nothing would be left to recall by.")
    return factors


def _blend(factors: dict[str, float], **shares: float) -> Blend:
    """The shares of a material, each times its factor, brought to a sum of 1 again."""
    weights = {cue: share * factors[cue] for cue, share in shares.items()}
    if not any(weights.values()):  # only what is mute here was wanted: better any order than none
        weights = shares
    whole = sum(weights.values())
    return Blend(
        Share("words", weights["words"] / whole, over="best", plus=("trigrams",)),
        Share("vectors", weights["vectors"] / whole, over="range"),
        Share("tokens", weights["tokens"] / whole, over="range"),
        page=PAGE,
    )
