"""Asked: the question as a query: words, "phrases", prefix*, AND, OR, NOT (see text/query.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.cues.words import ALL_FIELDS, explain_matches, format_term
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Cue, CuePlan, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, WordQuery, as_term
from recollect.text.query_language import Aliases, Every, Some, Tree, Without, describe, expand, parse, wanted


@dataclass(frozen=True, slots=True)
class QueryLanguageCue:
    """Memories that are what a query asks for, by BM25.

    ``rewrite`` makes a simpler query of the question; when it has nothing to say, the cue is skipped. The trace tells
    the query: as it was understood, or as it was rewritten.
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
        matches = run.snapshot.lexicon.search(self._query(tree), run.scope, self.depth(run.k))
        counts = {format_term(match.term): match.here for match in matches.terms}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.found, {"terms": counts}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        tree = self._tree(run)
        if tree is None:
            return leaf(np.zeros(len(rows)), f"{self.name}: nothing to look up")
        return explain_matches(self.name, run.snapshot.lexicon.score(self._query(tree), run.scope, rows))

    def _tree(self, run: Run) -> Tree | None:
        text = run.query.text if self.rewrite is None else self.rewrite(run.query.text)
        if not text.strip():
            raise Skip("there is no other way to ask")
        tree = expand(parse(text), self.aliases)
        run.log("query", describe(tree) if self.rewrite is None else text)
        return tree

    def _query(self, tree: Tree) -> WordQuery:
        plain = not isinstance(tree, Every | Without) and not (
            isinstance(tree, Some) and any(isinstance(each, Every | Without) for each in tree.of)
        )
        terms = tuple(map(as_term, wanted(tree)))
        return WordQuery(terms, self.fields, self.k1, self.b, where=None if plain else tree)


class ExcludeNegated:
    """A plan among the memories that the query does not refuse: what stands after NOT comes back from no cue."""

    def __init__(self, plan: CuePlan, fields: Mapping[str, float], aliases: Aliases) -> None:
        self._plan = plan
        self._fields = fields
        self._aliases = aliases

    def gather(self, run: Run) -> list[Candidates]:
        tree = expand(parse(run.query.text), self._aliases)
        if isinstance(tree, Without):
            with run.step("cue", "refused", before=run.scope.count) as step:
                run.log("query", f"NOT {describe(tree.those)}")
                run.scope = run.snapshot.lexicon.without(tree.those, self._fields, run.scope)
                step.after = run.scope.count
        return self._plan.gather(run)

    def cues(self) -> list[Cue]:
        return self._plan.cues()
