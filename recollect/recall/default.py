"""The default recipe: words, meaning and time, blended; then stages for conversations, times, links and changed facts.

    query ─▶ language ─▶ list? ─▶ spelling ─▶ time ─▶ content words ─▶ compounds, related words ─▶ follow-up?
      ├─▶ time ──────┐
      ├─▶ words ─────┤
      ├─▶ trigrams ──┤
      ├─▶ vectors ───┼─▶ blend by kind of text ─▶ stages, in the order below ─▶ best k
      ├─▶ history ───┤
      └─▶ tokens ────┘

The language of the query decides about stop words, stems, compounds, and whether words of the same everyday topic are
looked up along with its own. Trigrams look up only words that no memory
has: typos and parts of words. Tokens compare word by word in
meaning, including the memories just before and after. The weights depend on the kind of text: short texts (said in a
talk, or stated by one person), long texts, code, the look-up of a name or a query in a language that the embedder was
not trained on, or in such a script.
The settings were chosen for all of these; ``recollect tune`` finds those of one deployment.
"""

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.recall.confidence import Confidence
from recollect.recall.cues import AllCues, TokensCue, TrigramsCue, VectorsCue, WordsCue
from recollect.recall.followups import FollowUp, HistoryCue
from recollect.recall.fusion import Blend, BlendByTextKind, CueWeight
from recollect.recall.identifiers import IdentifierFactor, IdentifierReader
from recollect.recall.language_readers import CompoundParts, DetectLanguage
from recollect.recall.query_parsing import ContentWords, ListQuestion, RelatedWords, Spelling
from recollect.recall.recipe import Recipe, paged
from recollect.recall.stages import (
    AnswerLikelihood,
    AssistantReplies,
    ConfidenceStrengthFactor,
    ContinuedConversation,
    Contradictions,
    Coverage,
    CurrentVersions,
    OrderFactor,
    PolarityFactor,
    RecencyFactor,
    RecordUse,
    RelatedNames,
    RoleFactor,
    SessionScore,
    SpeakerFactor,
    SpreadingActivation,
    StatementTime,
    StatusFactor,
)
from recollect.recall.times import ChronologicalOrder, PredecessorReader, TimeCue, TimeFactor, TimeFirst, TimeReader

HISTORY_WEIGHT = 0.6  # of the history cue, in addition to the others
PAGE = 50  # candidates of a cue; the first page is the same for every k


def default(
    *,
    words: float = 1.0,  # factors on the weights of the cues
    vectors: float = 1.0,
    tokens: float = 1.0,
    speaker: float = 0.8,  # × for what others said than the speaker whom the query names
    assistant: float = 0.5,  # × for what assistants, systems and tools said
    session: float = 0.5,  # the share of the best score of its session, where that is about one thing
    resuming: float = 0.25,  # for a message that continues a conversation: how much less others count
    recency: float = 0.02,  # the share of a score that depends on age
) -> Recipe:
    """The recipe that is used when none is named."""
    factors = _check_factors(words=words, vectors=vectors, tokens=tokens)
    by_meaning = vectors or tokens  # by words alone, nothing is embedded; one of the two needs what the other one finds
    return Recipe(
        name="default",
        about="Words and meaning together, with the memories just before and after.",
        statuses=("active", "superseded", "contradicted"),
        read=[
            DetectLanguage(),
            ListQuestion(),
            Spelling(),
            TimeReader(),
            PredecessorReader(),
            ContentWords(),
            CompoundParts(),
            RelatedWords(),
            IdentifierReader(),
            FollowUp((DetectLanguage(), ContentWords())),
        ],
        cues=TimeFirst(
            TimeCue(depth=paged(PAGE)),
            AllCues(
                WordsCue(depth=paged(PAGE)),
                TrigramsCue(of="words", depth=paged(PAGE)),
                *([VectorsCue(depth=paged(PAGE))] if by_meaning else []),
                HistoryCue(),
                *([TokensCue(depth=paged(PAGE))] if by_meaning else []),
            ),
        ),
        fuse=BlendByTextKind(
            short=_blend(factors, words=0.13, vectors=0.30, tokens=0.57),
            stated=_blend(factors, words=0.13, vectors=0.55, tokens=0.32),
            long=_blend(factors, words=0.30, vectors=0.45, tokens=0.25),
            code=_blend(factors, words=0.10, vectors=0.65, tokens=0.25),
            lookup=_blend(factors, words=0.40, vectors=0.25, tokens=0.35),
            translated=_blend(factors, words=0.25, vectors=0.40, tokens=0.35),
            long_untrained=_blend(factors, words=0.65, vectors=0.15, tokens=0.20),
            unread=_blend(factors, words=0.90, vectors=0.10, tokens=0.00),
            only_time=Blend(CueWeight("time", 1.0, over="itself"), page=PAGE),
        ),
        stages=[
            SpeakerFactor(check.fraction(speaker, "speaker")),
            AssistantReplies(),
            RoleFactor(dict.fromkeys(("assistant", "system", "tool"), check.fraction(assistant, "assistant"))),
            TimeFactor(),
            IdentifierFactor(),
            AnswerLikelihood(),
            PolarityFactor(),
            SessionScore(check.fraction(session, "session")),
            ContinuedConversation(check.fraction(resuming, "resuming")),
            RecencyFactor(share=check.fraction(recency, "recency"), half_life=30),
            OrderFactor(),
            CurrentVersions(),
            StatusFactor({"superseded": 0.5, "contradicted": 0.3}),
            ConfidenceStrengthFactor(),
            RelatedNames(),
            SpreadingActivation(pages=True),
            StatementTime(),
            Contradictions(),
            Coverage(),
            ChronologicalOrder(),
        ],
        after=[RecordUse(("access",))],
        confidence=Confidence(),
    )


def _check_factors(**values: float) -> dict[str, float]:
    factors = {cue: check.number(factor, cue, low=0.0) for cue, factor in values.items()}
    if not any(factors.values()):
        raise InvalidInput(f"{', '.join(values)} cannot all be 0: no cue would be left.")
    return factors


def _blend(factors: dict[str, float], **shares: float) -> Blend:
    """The weights of a kind of text, each times its factor, normalised to a sum of 1."""
    weights = {cue: share * factors[cue] for cue, share in shares.items()}
    if not any(weights.values()):  # the wanted cues have no weight here: use them all rather than none
        weights = shares
    weight_sum = sum(weights.values())
    return Blend(
        CueWeight("words", weights["words"] / weight_sum, over="best", plus=("trigrams",)),
        CueWeight("vectors", weights["vectors"] / weight_sum, over="range"),
        CueWeight("tokens", weights["tokens"] / weight_sum, over="range"),
        CueWeight("time", 0.2, over="itself"),
        CueWeight("history", HISTORY_WEIGHT, over="itself"),
        page=PAGE,
    )
