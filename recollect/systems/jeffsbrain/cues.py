"""The lexical cues: a query language (J18), its simpler forms for retries (J12), and the spelling of slugs (J13)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model import Memory
from recollect.recall.bm25 import Bm25Query, score, search
from recollect.recall.cues.words import ALL_FIELDS, explain_matches, format_term
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Cue, CuePlan, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows, leaf_term
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
from recollect.text.slugs import SlugIndex, path_or_name, slug_text
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


DEPTH = fixed(60)


class SlugTrigrams:
    """Finds memories whose slug shares 3-grams with any word of the query (J13).

    The slugs are those of the stored memories, or of the chunks that the caller gives. A chunk stands for the memory
    with its id; one that is not stored is returned as it is, if the filter allows it.
    """

    def __init__(
        self,
        chunks: Sequence[Memory] | None = None,
        depth: Depth = DEPTH,
        min_similarity: float = 0.3,
        name: str = "trigrams of slugs",
        min_term_length: int = MIN_TERM_LENGTH,
    ) -> None:
        self.name = name
        self._chunks = None if chunks is None else list({chunk.id: chunk for chunk in reversed(chunks)}.values())[::-1]
        self._depth = depth
        self._min_similarity = min_similarity
        self._min_term_length = min_term_length

    def find(self, run: Run) -> Candidates:
        tokens = self._tokens(run)
        run.log("query", " ".join(tokens))
        if self._chunks is None:
            keys = run.snapshot.slug_candidates(tokens, run.scope, self._min_similarity)
            paths, ids = run.snapshot.paths(keys), run.snapshot.ids(keys)
        else:
            keys, paths, ids = self._chunk_candidates(run, self._chunks)
        similarity, nearest = _similarity(paths, tokens)
        near = [place for place in range(len(paths)) if similarity[place] >= self._min_similarity]
        near.sort(key=lambda place: (-similarity[place], paths[place], ids[place]))
        order = np.array(near, dtype=np.int64)[: self._depth(run.k)]

        def label(place: int) -> str:
            at = int(order[place])
            return f"{self.name}: “{slug_text(paths[at])}” is spelled like “{tokens[int(nearest[at])]}”"

        score = leaf(similarity[order], label).tag("component", self.name)
        return Candidates(self.name, keys[order], score, len(near))

    def score(self, run: Run, rows: Rows) -> Expression:
        tokens = self._tokens(run)
        if self._chunks is None:
            similarity, _ = _similarity(run.snapshot.paths(rows), tokens)
        else:
            by_chunk, _ = _similarity(list(map(_path, self._chunks)), tokens)
            owners = [run.snapshot.row(chunk.id) for chunk in self._chunks]
            known = dict(zip(owners, by_chunk.tolist(), strict=True))
            similarity = np.array([known.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)
        return leaf(similarity, f"{self.name}: similarity of the spelling").tag("component", self.name)

    def _tokens(self, run: Run) -> list[str]:
        tokens = query_tokens(run.query.text, self._min_term_length)
        if not tokens:
            raise Skip("no word of the query is long enough to compare")
        return tokens

    def _chunk_candidates(self, run: Run, chunks: Sequence[Memory]) -> tuple[Rows, list[str], list[str]]:
        """The keys, paths and ids of the chunks that may be returned; only those that are similar get a key."""
        similarity, _ = _similarity(list(map(_path, chunks)), self._tokens(run))
        near = [chunk for chunk, alike in zip(chunks, similarity, strict=True) if alike >= self._min_similarity]
        keyed = [(key, chunk) for chunk in near if (key := self._key(run, chunk))]
        keys = np.array([key for key, _ in keyed], dtype=np.int64)
        return keys, [_path(chunk) for _, chunk in keyed], [chunk.id for _, chunk in keyed]

    def _key(self, run: Run, chunk: Memory) -> int | None:
        row = run.snapshot.row(chunk.id)
        if row is not None:
            return row if run.scope.contains(np.array([row]))[0] else None
        known = {"path": chunk.path, "tags": chunk.tags}
        return run.add_external(chunk) if run.allows_external(known) else None


def _path(chunk: Memory) -> str:
    return path_or_name(chunk.path, chunk.title, chunk.id)


def _similarity(paths: Sequence[str], tokens: Sequence[str]) -> tuple[Floats, Rows]:
    """For each slug the similarity to the word that is most like it, and which word that is."""
    if not paths:
        return np.empty(0), np.empty(0, dtype=np.int64)
    slugs = SlugIndex(list(paths))
    by_token = np.array([slugs.similar(token) for token in tokens])
    return by_token.max(axis=0), by_token.argmax(axis=0)
