"""The Jeffs Brain recipe: query language, retry ladder, reciprocal ranks, intent factors, and a skippable reranker.

query    ─▶ bm25 ─▶ (nothing? strongest term ─▶ sanitised ─▶ its strongest ─▶ spelling of slugs) ┐
      │                                                                                         ├─▶ reciprocal rank
      └───▶ vector ─────────────────────────────────────────────────────────────────────────────┘         │
                 best 10 ◀─ rerank the first 20, unless both cues agree on the head ◀─ × intent ◀──────────┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.chat import ChatModel
from recollect.errors import InvalidInput
from recollect.model import Memory, check
from recollect.model.memory import check_fields
from recollect.recall.cues import AllCues, RetryLadder, VectorsCue
from recollect.recall.recipe import Cue, Depth, Recipe
from recollect.recall.stages import ConditionalStage, RecordUse
from recollect.recall.stages.rerank import SNIPPET_CHARACTERS, Rerank, rerank_text
from recollect.rerank import AnyReranker
from recollect.systems.jeffsbrain.cues import (
    MIN_TERM_LENGTH,
    ExcludeNegated,
    QueryLanguageCue,
    SlugTrigrams,
    sanitise_query,
    strongest_term,
)
from recollect.systems.jeffsbrain.fusion import (
    AGREE_MIN,
    AGREE_WINDOW,
    LEXICAL,
    MODES,
    VECTOR,
    FuseByMode,
    Mode,
    SearchReport,
    rerank_skip_condition,
)
from recollect.systems.jeffsbrain.intent import FACTORS, Intent, IntentFactors
from recollect.text.query_language import Aliases

WEIGHTS = {"path": 3.0, "title": 10.0, "summary": 5.0, "tags": 4.0, "text": 1.0}  # J18


def jeffsbrain(
    *,
    top_k: int = 10,  # J3: results, unless the call says how many
    mode: Mode = "auto",  # J2
    rerank: bool = True,  # J3
    reranker: AnyReranker | ChatModel | str | None = None,  # "late" for the local one
    rerank_top_n: int = 20,  # J3
    candidate_k: int = 60,  # J3: of each cue
    rrf_k: float = 60,  # J1: 0 or less means 60
    skip_retry_ladder: bool = False,  # J11
    aliases: Mapping[str, str | Sequence[str]] | None = None,  # J18: synonyms by word
    trigram_chunks: Sequence[Memory | Mapping[str, Any]] | None = None,  # J13: instead of the slugs in the store
    trigram_threshold: float = 0.3,  # J13: minimum Jaccard similarity
    min_term_length: int = MIN_TERM_LENGTH,  # J12: characters of a strongest term
    agree_min: int = AGREE_MIN,  # J4: positions that must be equal to skip the reranker
    agree_window: int = AGREE_WINDOW,  # J4: first positions that are compared
    snippet_characters: int = SNIPPET_CHARACTERS,  # J6: of a text without title and summary
    user_preference_factor: float = FACTORS.user_preference,  # J8
    global_preference_factor: float = FACTORS.global_preference,
    generic_for_preference_factor: float = FACTORS.generic_for_preference,
    rollup_for_preference_factor: float = FACTORS.rollup_for_preference,
    single_fact_factor: float = FACTORS.single_fact,  # J9
    rollup_for_fact_factor: float = FACTORS.rollup_for_fact,
    generic_for_fact_factor: float = FACTORS.generic_for_fact,
) -> Recipe:
    """Hybrid retrieval with a retry ladder, as the Jeffs Brain SDKs describe it."""
    check.choice(mode, "mode", MODES)
    _check_counts(
        **{"top_k": top_k, "candidate_k": candidate_k, "rerank_top_n": rerank_top_n},
        **{"min_term_length": min_term_length, "agree_min": agree_min, "agree_window": agree_window},
        **{"snippet_characters": snippet_characters},
    )
    if agree_min > agree_window:
        raise InvalidInput(f"agree_min must be at most agree_window ({agree_window}), not {agree_min}.")
    threshold = check.number(trigram_threshold, "trigram_threshold", 0.0, 1.0)
    factors = _intent_factors(
        user_preference=user_preference_factor,
        global_preference=global_preference_factor,
        generic_for_preference=generic_for_preference_factor,
        rollup_for_preference=rollup_for_preference_factor,
        single_fact=single_fact_factor,
        rollup_for_fact=rollup_for_fact_factor,
        generic_for_fact=generic_for_fact_factor,
    )
    k = rrf_k if check.number(rrf_k, "rrf_k") > 0 else 60

    def depth(results: int) -> int:
        return max(candidate_k, results)  # B3: more results need more candidates

    known_aliases = _check_aliases(aliases or {})
    slugs = SlugTrigrams(_chunks(trigram_chunks), depth, threshold, "trigram_fuzzy", min_term_length)  # J13
    ladder = [*_word_cues(known_aliases, depth, min_term_length), slugs]
    lexical = RetryLadder(*ladder[: 1 if skip_retry_ladder else None])
    plan = lexical if mode == "bm25" else AllCues(lexical, VectorsCue(VECTOR, depth))  # J2: bm25 in every mode
    return Recipe(
        name="jeffsbrain",
        about="A query language, retries for empty answers, reciprocal ranks, intent and a reranker.",
        k=top_k,
        cues=ExcludeNegated(plan, WEIGHTS, known_aliases),  # J18: NOT applies to both cues and every retry
        fuse=FuseByMode(mode, k),  # J1, J2, J16
        stages=[
            Intent(factors),  # J7–J10
            ConditionalStage(
                Rerank(reranker, head=rerank_top_n, text=lambda memory: rerank_text(memory, snippet_characters)),
                unless=rerank_skip_condition(rerank, reranker, agree_min, agree_window),
            ),  # J4–J6
        ],
        after=[RecordUse(("access",))],
        report=SearchReport(mode, [each.name for each in ladder], candidate_k, rerank_top_n, k),  # J17
    )


def _word_cues(aliases: Aliases, depth: Depth, min_term_length: int) -> list[Cue]:
    """J11: the query, and simpler forms of it for when it finds nothing."""

    def strongest(query: str) -> str:
        return strongest_term(query, min_term_length)

    def other_strongest(query: str) -> str:
        """Empty when it would be the same query again."""
        term = strongest(query)
        return "" if term == query.strip().lower() else term

    def sanitised_strongest(query: str) -> str:
        return strongest(sanitise_query(query))

    return [
        QueryLanguageCue(LEXICAL, fields=WEIGHTS, aliases=aliases, depth=depth),  # J18
        QueryLanguageCue("strongest_term", other_strongest, WEIGHTS, aliases, depth),  # J12
        # SQLite needs no refresh before these two.
        QueryLanguageCue("refreshed_sanitised", sanitise_query, WEIGHTS, aliases, depth),
        QueryLanguageCue("refreshed_strongest", sanitised_strongest, WEIGHTS, aliases, depth),
    ]


def _intent_factors(**factors: float) -> IntentFactors:
    return IntentFactors(**{name: check.number(value, f"{name}_factor", 0.0) for name, value in factors.items()})


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if check.integer(value, name) < 1:
            raise InvalidInput(f"{name} must be at least 1, not {value}.")


def _check_aliases(aliases: Mapping[str, str | Sequence[str]]) -> Aliases:
    if not isinstance(aliases, Mapping):
        raise InvalidInput(f"aliases must be a mapping of words to other names, not {check.short_repr(aliases)}.")
    return {
        check.string(word, "alias"): check.strings([names] if isinstance(names, str) else names, f"aliases of {word!r}")
        for word, names in aliases.items()
    }


def _chunks(chunks: Sequence[Memory | Mapping[str, Any]] | None) -> list[Memory] | None:
    return None if chunks is None else [_chunk(each) for each in chunks]


def _chunk(chunk: Memory | Mapping[str, Any]) -> Memory:
    """A chunk from a mapping of id, path, title, summary and content, or a Memory."""
    if isinstance(chunk, Mapping):
        fields = {"text" if name == "content" else name: value for name, value in chunk.items()}
        chunk = Memory(**check_fields({"text": "", **fields}))
    if not isinstance(chunk, Memory) or not chunk.id:
        raise InvalidInput(f"A chunk is a mapping with an id and a path, or a Memory, not {check.short_repr(chunk)}.")
    return chunk
