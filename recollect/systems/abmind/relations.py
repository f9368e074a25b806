"""Relations: what is known between names, for the first name in the question."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from recollect.model import EntityEdge, Memory
from recollect.model.matching import instant
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows
from recollect.text.words import words

PUNCTUATION = string.punctuation + "“”‘’«»„¿¡…–—"


@dataclass(frozen=True, slots=True)
class RelationsCue:
    """The edges of the first word that is a known name, strongest first: ``alice —[works_with]→ bob`` (A9).

    A name of up to three words is known by all of them; a name whose edges the filter leaves out is not known here.
    """

    name: str = "relations"
    worth: float = 0.6
    depth: Depth = fixed(100)

    def find(self, run: Run) -> Candidates:
        asked = _names(run.query.text)
        if not asked:
            raise Skip("the question has no words to look up")
        edges = [edge for edge in run.snapshot.relations(asked) if run.allows_external(_known(edge))]
        for name in asked:
            mine = [edge for edge in edges if name in (edge.subject.casefold(), edge.object.casefold())]
            if mine:
                return self._found(run, name, mine)
        return Candidates(
            self.name, no_candidates("").keys, leaf(np.empty(0), self.name), 0, {"how": "no entity match"}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return leaf(np.zeros(len(rows)), f"{self.name}: a memory is no edge")

    def _found(self, run: Run, name: str, edges: list[EntityEdge]) -> Candidates:
        guests = {guest.id: guest for guest in map(_guest, sorted(edges, key=lambda edge: -edge.weight))}
        shown = list(guests.values())[: self.depth(run.k)]
        keys = np.array([run.add_external(guest) for guest in shown], dtype=np.int64)
        score = leaf(np.full(len(keys), self.worth), f"{self.name}: an edge of “{name}”")
        return Candidates(self.name, keys, score, len(guests), {"how": f"edges of “{name}”", "entity": name})


def _names(text: str) -> list[str]:
    """What could be a name, in the order of the question, longer ones first: as written, and as words."""
    written = [word for word in (each.strip(PUNCTUATION).casefold() for each in text.split()) if word]
    names: dict[str, None] = {}
    for at, word in enumerate(written):
        runs = (" ".join(written[at : at + size]) for size in (3, 2))
        names.update(dict.fromkeys((*runs, word, *words(word))))
    return list(names)


def _known(edge: EntityEdge) -> dict[str, object]:
    return {
        "kind": "relation",
        "collection": edge.collection,
        "user": edge.user,
        "classification": edge.classification,
        "source": edge.source,
        "created": None if edge.created is None else instant(edge.created),
    }


def _guest(edge: EntityEdge) -> Memory:
    return Memory(
        f"{edge.subject} —[{edge.relation}]→ {edge.object}",
        id=f"relation:{edge.subject}/{edge.relation}/{edge.object}",
        kind="relation",
        entities=(edge.subject, edge.object),
        collection=edge.collection,
        user=edge.user,
        classification=edge.classification,
        source=edge.source,
        confidence=None,
        created=edge.created,
    )
