"""Stage S8: the relations of the first known entity name in the query (A9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.model import EntityEdge, Memory
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.recall.stages.links import relation_fields
from recollect.store.base import Rows
from recollect.text.entity_names import possible_names


@dataclass(frozen=True, slots=True)
class RelationsCue:
    """The relations of the first word that is a known name, strongest first: ``alice —[works_with]→ bob`` (A9).

    A name may have up to three words. A name whose relations the filter leaves out counts as unknown.
    """

    name: str = "relations"
    fixed_score: float = 0.6
    depth: Depth = fixed(100)

    def find(self, run: Run) -> Candidates:
        names = possible_names(run.query.text)
        if not names:
            raise Skip("the query has no words to look up")
        edges = [edge for edge in run.snapshot.relations(names) if run.allows_external(relation_fields(edge))]
        for name in names:
            matching = [edge for edge in edges if name in (edge.subject.casefold(), edge.object.casefold())]
            if matching:
                return self._candidates(run, name, matching)
        return Candidates(
            self.name, no_candidates("").keys, leaf(np.empty(0), self.name), 0, {"how": "no entity match"}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return leaf(np.zeros(len(rows)), f"{self.name}: a memory is not a relation")

    def _candidates(self, run: Run, name: str, edges: list[EntityEdge]) -> Candidates:
        relations = {
            memory.id: memory for memory in map(_external_memory, sorted(edges, key=lambda edge: -edge.weight))
        }
        shown = list(relations.values())[: self.depth(run.k)]
        keys = np.array([run.add_external(memory) for memory in shown], dtype=np.int64)
        score = leaf(np.full(len(keys), self.fixed_score), f"{self.name}: a relation of “{name}”").tag(
            "component", self.name
        )
        return Candidates(self.name, keys, score, len(relations), {"how": f"relations of “{name}”", "entity": name})


def _external_memory(edge: EntityEdge) -> Memory:
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
