"""The memories and names around a memory or a name, with the edges between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.model import JsonObject, Memory
from recollect.service.records import brief_json

if TYPE_CHECKING:
    from recollect.mind import Mind

SEARCHED_NAMES = 12
NAME = "name:"  # before the name in the id of a node


def build_graph(mind: Mind, id: str | None, name: str | None, depth: int, limit: int) -> JsonObject:
    """The nodes within ``depth`` edges of a memory or a name, nearest first, and the edges between them."""
    begin = mind.store.resolve([id])[0] if id is not None else NAME + (name or "").casefold()
    nodes: dict[str, JsonObject] = {}
    links: dict[tuple[str, str, str], float] = {}
    frontier, complete = [begin], True
    for distance in range(depth + 1):
        fresh = [each for each in dict.fromkeys(frontier) if each not in nodes]
        if len(nodes) + len(fresh) > limit:
            fresh, complete = fresh[: limit - len(nodes)], False
        _add_nodes(mind, nodes, fresh)
        if distance == depth or not fresh:
            break
        found = _edges_of(mind, fresh)
        links |= found
        frontier = [end for source, target, _ in found for end in (source, target)]
    inside = _edges_of(mind, list(nodes)) if complete else links
    shown = [
        {"source": source, "target": target, "kind": kind, "weight": weight}
        for (source, target, kind), weight in {**links, **inside}.items()
        if source in nodes and target in nodes
    ]
    return {"nodes": list(nodes.values()), "edges": shown, "complete": complete}


def _add_nodes(mind: Mind, nodes: dict[str, JsonObject], fresh: list[str]) -> None:
    memories = {each.id: each for each in mind.store.get([each for each in fresh if not each.startswith(NAME)], True)}
    for each in fresh:
        if each.startswith(NAME):
            nodes[each] = {"id": each, "type": "name"}
        elif each in memories:
            memory = memories[each]
            nodes[each] = {"id": each, "type": "memory", "memory": brief_json(memory), "status": memory.status}


def _edges_of(mind: Mind, ids: list[str]) -> dict[tuple[str, str, str], float]:
    """The edges that begin or end at these nodes: between memories, from memories to names, and between names."""
    stored = [each for each in ids if not each.startswith(NAME)]
    names = {each.removeprefix(NAME) for each in ids if each.startswith(NAME)}
    found = {
        (edge.source, edge.target, edge.kind): edge.weight for edge in (mind.store.edges(stored) if stored else ())
    }
    for memory in mind.store.get(stored, True):
        found |= {(memory.id, NAME + entity.casefold(), "about"): 1.0 for entity in memory.entities}
    if names:
        with mind.store.snapshot() as snapshot:
            relations = snapshot.relations(sorted(names))
        for each in relations:
            ends = NAME + each.subject.casefold(), NAME + each.object.casefold()
            found[ends[0], ends[1], each.relation] = each.weight
        for memory in _about(mind, names):
            found |= {
                (memory.id, NAME + entity.casefold(), "about"): 1.0
                for entity in memory.entities
                if entity.casefold() in names
            }
    return found


def _about(mind: Mind, names: set[str]) -> list[Memory]:
    """Memories that name one of these as an entity, found by its words; for a dozen names, as each takes a recall."""
    found: dict[str, Memory] = {}
    for name in sorted(names)[:SEARCHED_NAMES]:
        for result in mind.recall(name, 50, recipe="default", track=False) if name.strip() else ():
            if any(entity.casefold() == name for entity in result.memory.entities):
                found[result.id] = result.memory
    return list(found.values())
