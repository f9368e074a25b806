"""Slugs: memories whose path or title is spelt like a word of the question. The last resort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.model import Memory
from recollect.model.memory import STATUSES
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.systems.jeffsbrain.retry import query_tokens
from recollect.text.slugs import SlugIndex, path_or_name, slug_text

DEPTH = fixed(60)


@dataclass(frozen=True, slots=True)
class SlugTable:
    """Slugs and whose they are: the rows of memories, ascending, or the places of chunks."""

    owners: Rows
    index: SlugIndex


class SlugTrigrams:
    """Slugs by the 3-grams that they share with any word of the question (J13).

    They are read from the store when they are first needed, and again when it has changed; or they are those of the
    chunks that the caller gave. A chunk stands for the memory with its id; one that is not stored comes back as it is,
    if the filter lets it.
    """

    def __init__(
        self,
        chunks: Sequence[Memory] | None = None,
        depth: Depth = DEPTH,
        least: float = 0.3,
        name: str = "trigrams of slugs",
    ) -> None:
        self.name = name
        self._chunks = None if chunks is None else list({chunk.id: chunk for chunk in reversed(chunks)}.values())[::-1]
        self._shelf: SlugTable | None = None
        self._depth = depth
        self._least = least

    def find(self, run: Run) -> Candidates:
        tokens = self._tokens(run)
        run.log("query", " ".join(tokens))
        shelf = self._slugs(run)
        similar, like = _likeness(shelf, tokens)
        near = np.flatnonzero(similar >= self._least)
        near, keys, ids = self._admitted(run, shelf, near)
        named = [(-similar[at], shelf.index.paths[at], id) for at, id in zip(near.tolist(), ids, strict=True)]
        order = np.array(sorted(range(len(near)), key=named.__getitem__), dtype=np.int64)[: self._depth(run.k)]
        chosen = near[order]

        def label(place: int) -> str:
            at = int(chosen[place])
            return f"{self.name}: “{slug_text(shelf.index.paths[at])}” is spelt like “{tokens[int(like[at])]}”"

        return Candidates(self.name, keys[order], leaf(similar[chosen], label), len(near))

    def score(self, run: Run, rows: Rows) -> Expression:
        shelf = self._slugs(run)
        similar, _ = _likeness(shelf, self._tokens(run))
        owners = shelf.owners if self._chunks is None else np.array([run.snapshot.row(c.id) or 0 for c in self._chunks])
        known = dict(zip(owners.tolist(), similar.tolist(), strict=True))
        return leaf([known.get(row, 0.0) for row in rows.tolist()], f"{self.name}: how alike the spelling is")

    def _tokens(self, run: Run) -> list[str]:
        tokens = query_tokens(run.query.text)
        if not tokens:
            raise Skip("no word of the question is long enough to compare")
        return tokens

    def _slugs(self, run: Run) -> SlugTable:
        if self._chunks is None:
            return run.snapshot.kept("slugs", lambda: _read(run))
        if self._shelf is None:
            paths = [path_or_name(chunk.path, chunk.title, chunk.id) for chunk in self._chunks]
            self._shelf = SlugTable(np.arange(len(paths)), SlugIndex(paths))
        return self._shelf

    def _admitted(self, run: Run, shelf: SlugTable, near: Rows) -> tuple[Rows, Rows, list[str]]:
        """Those that may come back: their places, their keys in the recall, and their ids."""
        if self._chunks is None:
            near = near[run.scope.has(shelf.owners[near])]
            return near, shelf.owners[near], run.snapshot.ids(shelf.owners[near])
        admitted = [(at, key) for at in near.tolist() if (key := self._key(run, self._chunks[at]))]
        places, keys = (np.array([each[n] for each in admitted], dtype=np.int64) for n in (0, 1))
        return places, keys, [self._chunks[at].id for at in places.tolist()]

    def _key(self, run: Run, chunk: Memory) -> int | None:
        row = run.snapshot.row(chunk.id)
        if row is not None:
            return row if run.scope.has(np.array([row]))[0] else None
        known = {"path": chunk.path, "tags": chunk.tags}
        return run.add_external(chunk) if run.allows_external(known) else None


def _read(run: Run) -> SlugTable:
    """The slugs of all memories; whether one may come back is asked when it is found."""
    rows = run.snapshot.all_rows(run.snapshot.scope(None, STATUSES, run.as_of, hidden=True))
    return SlugTable(rows, SlugIndex(run.snapshot.paths(rows)))


def _likeness(shelf: SlugTable, tokens: list[str]) -> tuple[Floats, Rows]:
    """For each slug the likeness to the word that is most like it, and which word that is."""
    each = np.array([shelf.index.similar(token) for token in tokens])
    return each.max(axis=0), each.argmax(axis=0)
