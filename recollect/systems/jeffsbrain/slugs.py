"""The trigram fallback: memories whose path or title is spelt like a word of the query (J13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.model import Memory
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.systems.jeffsbrain.query_cue import MIN_TERM_LENGTH, query_tokens
from recollect.text.slugs import SlugIndex, path_or_name, slug_text

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
