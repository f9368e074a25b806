"""The bm25 cue with a query language (see text/query_language.py), and simpler forms of a query that found nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.bm25 import Bm25Query, score, search
from recollect.recall.cues.words import ALL_FIELDS, explain_matches, format_term
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Cue, CuePlan, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, leaf_term
from recollect.text.query_language import (
    STOP,
    Aliases,
    And,
    AndNot,
    Or,
    QueryTree,
    expand_aliases,
    format_query,
    parse_query,
    positive_terms,
)
from recollect.text.words import visible


@dataclass(frozen=True, slots=True)
class QueryLanguageCue:
    """Memories that match a query with operators (AND, OR, NOT, phrases, prefixes), scored by BM25.

    ``rewrite`` makes a simpler query; when that is empty, the cue is skipped. The trace has the query as it was parsed
    or rewritten.
    """

    name: str = "words"
    rewrite: Callable[[str], str] | None = None
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    aliases: Aliases = field(default_factory=dict)
    depth: Depth = fixed(100)
    k1: float = 1.2
    b: float = 0.75

    def find(self, run: Run) -> Candidates:
        tree = self._tree(run)
        if tree is None:
            return no_candidates(self.name)
        matches = search(run.snapshot, run.scope, self._query(tree), self.depth(run.k))
        counts = {format_term(match.term): match.frequency if match.occurs else 0 for match in matches.terms}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.total, {"terms": counts}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        tree = self._tree(run)
        if tree is None:
            return leaf(np.zeros(len(rows)), f"{self.name}: nothing to look up")
        return explain_matches(self.name, score(run.snapshot, run.scope, self._query(tree), rows))

    def _tree(self, run: Run) -> QueryTree | None:
        text = run.query.text if self.rewrite is None else self.rewrite(run.query.text)
        if not text.strip():
            raise Skip("the rewritten query is empty")
        tree = expand_aliases(parse_query(text), self.aliases)
        run.log("query", format_query(tree) if self.rewrite is None else text)
        return tree

    def _query(self, tree: QueryTree) -> Bm25Query:
        plain = not isinstance(tree, And | AndNot) and not (
            isinstance(tree, Or) and any(isinstance(each, And | AndNot) for each in tree.parts)
        )
        terms = tuple(map(leaf_term, positive_terms(tree)))
        return Bm25Query(terms, self.fields, self.k1, self.b, where=None if plain else tree)


class ExcludeNegated:
    """Runs a plan without the memories that match what follows NOT in the query."""

    def __init__(self, plan: CuePlan, fields: Mapping[str, float], aliases: Aliases) -> None:
        self._plan = plan
        self._fields = fields
        self._aliases = aliases

    def gather(self, run: Run) -> list[Candidates]:
        tree = expand_aliases(parse_query(run.query.text), self._aliases)
        if isinstance(tree, AndNot):
            with run.step("cue", "refused", before=run.scope.count) as step:
                run.log("query", f"NOT {format_query(tree.exclude)}")
                run.exclude(tree.exclude, self._fields)
                step.after = run.scope.count
        return self._plan.gather(run)

    def cues(self) -> list[Cue]:
        return self._plan.cues()


MIN_TERM_LENGTH = 3


def sanitise_query(query: str) -> str:
    """The query with punctuation and symbols as spaces, and no two spaces in a row.

    >>> sanitise_query("where's  the cup?!")
    'where s the cup'
    """
    characters = (" " if unicodedata.category(each)[0] in "PS" else each for each in visible(query))
    return " ".join("".join(characters).split())


def query_tokens(query: str, min_length: int = MIN_TERM_LENGTH) -> list[str]:
    """The words that are long enough and not stop words, lower-cased, each once."""
    tokens = sanitise_query(query).lower().split()
    return list(dict.fromkeys(token for token in tokens if len(token) >= min_length and token not in STOP))


def strongest_term(query: str, min_length: int = MIN_TERM_LENGTH) -> str:
    """The longest of these words, the first of equals; an empty string when there is none.

    >>> strongest_term("What is the capital of France?")
    'capital'
    """
    return max(query_tokens(query, min_length), key=len, default="")
