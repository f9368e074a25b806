"""The QMD recipe: reciprocal ranks of words and vectors, query expansion, and a reranker blended in by position.

query    ─▶ words, vectors ─▶ (expansion unless the signal is strong) ─▶ reciprocal rank ─▶ position-aware blend
            × 2                × 1 each                                   + bonus for the top   with a reranker
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from recollect.chat import ChatError, ChatModel, one_line, resolve_hook
from recollect.model import check
from recollect.recall.cues import VectorsCue, WordsCue
from recollect.recall.fusion import ReciprocalRank
from recollect.recall.hits import Candidates
from recollect.recall.query_parsing import ContentWords
from recollect.recall.recipe import Cue, Recipe, fixed
from recollect.recall.run import Run, Skip
from recollect.recall.stages import RecordUse
from recollect.recall.stages.rerank import PositionBlend
from recollect.rerank import AnyReranker
from recollect.text.stopwords import STOP
from recollect.text.words import words
from recollect.threads import call_within


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


ExpandQuery = Callable[[str], Sequence[str]]

MAX_VARIANTS = 4  # a model that returns more does not make a recall slow
MAX_CHARACTERS = 300  # of a variant
TASK = (
    "You get JSON with a search query. Write up to three other wordings of it that would find the same notes: one with "
    "the keywords alone, one with synonyms, and one as the sentence that would answer it. Reply as "
    '{"queries": ["…", "…"]}.'
)


class QueryExpansion:
    """Runs the cues for the query and, unless that gave a strong signal, for each of its expansions."""

    def __init__(
        self, *cues: Cue, expand: ExpandQuery | None, skip_reason: Callable[[Run], str], seconds: float = 10.0
    ) -> None:
        self._cues = cues
        self._expand = expand
        self._skip_reason = skip_reason
        self._seconds = seconds

    def gather(self, run: Run) -> list[Candidates]:
        found = [run.find(cue) for cue in self._cues]
        variants: Sequence[str] = ()
        with run.step("cue", "expansion"):
            variants = self._variants(run)
            run.log("variants", list(variants))
        for number, text in enumerate(variants, 1):
            with run.with_query(text):
                found += [run.find(_renamed(cue, f"{cue.name} {number}")) for cue in self._cues]
        return found

    def _variants(self, run: Run) -> Sequence[str]:
        expand = self._expand
        if expand is None:
            raise Skip("no query expansion is configured")
        reason = self._skip_reason(run)
        if reason:
            raise Skip(reason)
        query, left = run.query.text, run.seconds_left()
        seconds = self._seconds if left is None else min(left, self._seconds)
        texts = call_within(lambda: expand(query), seconds, "the query expansion")
        if isinstance(texts, str) or not isinstance(texts, Sequence):
            raise TypeError(f"expand must return a list of texts, not {check.short_repr(texts)}")
        lines = dict.fromkeys(one_line(text, MAX_CHARACTERS) for text in texts)
        return [line for line in lines if line and line != query][:MAX_VARIANTS]

    def cues(self) -> list[Cue]:
        return list(self._cues)


def resolve_expansion(expand: ExpandQuery | ChatModel | str | None) -> ExpandQuery | None:
    """``"rules"``, a chat model ("chat", "URL MODEL" or a ChatModel), a function, or None for no expansion."""
    if expand is None or expand == "rules":
        return expand_by_rules if expand else None
    by_chat = partial(partial, expand_by_chat)
    return resolve_hook(expand, "expand", by_chat, "a query to a list of texts ('rules': ours)")


def expand_by_chat(model: ChatModel, query: str) -> list[str]:
    """Other wordings by a chat model."""
    queries = model.reply_object(TASK, {"query": query}, "queries")["queries"]
    if not isinstance(queries, list):
        raise ChatError(f"{model.address} replied with queries that are no list: {check.short_repr(queries)}")
    return [text for text in queries if isinstance(text, str)]


def expand_by_rules(query: str) -> list[str]:
    """The query without stop words and question words, if that leaves at least two words."""
    content = [word for word in words(query) if word not in STOP]
    return [" ".join(content)] if 2 <= len(content) < len(words(query)) else []


def strong_signal(cue: str, top: float, gap: float) -> Callable[[Run], str]:
    """Gives a reason to skip when the best of a cue is clearly ahead; its scores count as r ÷ (1 + r)."""

    def reason(run: Run) -> str:
        scores = run.found[cue].score.values[:2]
        first, second = [*(scores / (1 + scores)).tolist(), 0.0, 0.0][:2]
        run.log("top", round(first, 4))
        if first >= top and first - second >= gap:
            return f"strong signal: {cue} has {first:.2f} at the top, {first - second:.2f} ahead"
        return ""

    return reason


def _renamed(cue: Any, name: str) -> Cue:
    renamed: Cue = replace(cue, name=name)
    return renamed
