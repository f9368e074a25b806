"""Records as the service returns them: plain JSON values, with the JSON schema of each kind."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from recollect.model import FIELDS, Edge, EntityEdge, JsonObject, Memory, to_json
from recollect.service.parameters import field_schema, filter_schema, nullable

if TYPE_CHECKING:
    from recollect.recall.expressions import Explanation
    from recollect.recall.results import Recall, Result
    from recollect.recall.trace import Step, Trace
    from recollect.store.base import Snapshot

ALWAYS = ("id", "text", "collection", "kind", "status", "created", "updated")  # also where they have their default
LEFT_OUT_TEXT = 200  # characters of a text that only tells which memory it is

TEXT, NUMBER, COUNT, FLAG = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
MOMENT = {"type": "string", "format": "date-time"}


def array(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def record(optional: Mapping[str, Any] | None = None, /, **required: Any) -> JsonObject:
    """The schema of an object with these properties, and no others."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def ref(name: str) -> JsonObject:
    return {"$ref": f"#/$defs/{name}"}


def _memory_schema() -> JsonObject:
    fields = {name: field_schema(field) for name, field in FIELDS.items() if name != "use"}
    use = record(dict.fromkeys(("last_accessed", "last_recalled"), MOMENT) | {"recall_times": array(MOMENT)})
    use["properties"] |= dict.fromkeys(("access_count", "return_count", "recall_count"), COUNT)
    schema = record({**fields, "use": use})
    for name in ("text", "id"):
        schema["properties"][name] = TEXT  # stored before there were limits
    return {**schema, "required": list(ALWAYS)}


DEFINITIONS: dict[str, JsonObject] = {  # the schemas that others refer to as {"$ref": "#/$defs/…"}
    "Filter": filter_schema(),
    "Memory": _memory_schema(),
    "MemoryBrief": record(id=TEXT, text=TEXT, created=nullable(MOMENT)),
    "Edge": record({"created": MOMENT}, source=TEXT, target=TEXT, kind=TEXT, weight=NUMBER),
    "Relation": record(
        {"created": MOMENT},
        **dict.fromkeys(("subject", "relation", "object", "collection", "user", "source"), TEXT),
        weight=NUMBER,
        classification=COUNT,
    ),
    "Explanation": record(
        {"operation": TEXT, "parts": array(ref("Explanation")), "role": TEXT, "name": TEXT}, value=NUMBER, label=TEXT
    ),
    "Share": record(name=TEXT, share=NUMBER),
    "MatchedWord": record(start=COUNT, end=COUNT, query_word=TEXT, similarity=NUMBER),
    "Result": record(
        {"explanation": ref("Explanation"), "matched_words": array(ref("MatchedWord"))},
        rank=COUNT,
        score=NUMBER,
        memory=ref("Memory"),
        why=TEXT,
        shares=array(ref("Share")),
        notes=array(TEXT),
    ),
    "Step": record(
        {
            "reason": TEXT,
            "in": COUNT,
            "out": COUNT,
            "detail": {"type": "object"},
            "left_out": array(
                record(
                    reason=TEXT,
                    threshold=nullable(NUMBER),
                    total=COUNT,
                    memories=array(record(id=TEXT, text=TEXT, value=nullable(NUMBER))),
                )
            ),
        },
        kind=TEXT,
        name=TEXT,
        outcome={"enum": ["ran", "skipped", "failed"]},
        milliseconds=NUMBER,
    ),
    "Trace": record(
        {"facts": {"type": "object"}},
        query=TEXT,
        recipe=TEXT,
        milliseconds=NUMBER,
        steps=array(ref("Step")),
    ),
    "Verdict": record(
        id=TEXT,
        returned=FLAG,
        step=TEXT,
        reason=TEXT,
        value=nullable(NUMBER),
        threshold=nullable(NUMBER),
        cues={"type": "object", "additionalProperties": TEXT},
    ),
    "WriteSummary": record(ids=array(TEXT), added=COUNT, changed=COUNT, same=COUNT, forgotten=COUNT),
    "Error": record(type=TEXT, message=TEXT, hint=TEXT, request_id=TEXT),
}


def with_definitions(schema: JsonObject, definitions: Mapping[str, JsonObject] = DEFINITIONS) -> JsonObject:
    """A schema that stands alone, with the definitions that it refers to."""
    used: dict[str, JsonObject] = {}
    waiting = [schema]
    while waiting:
        for name in references(waiting.pop()):
            if name not in used:
                used[name] = definitions[name]
                waiting.append(definitions[name])
    if "$ref" in schema:  # MCP clients want a type at the root
        schema = {"type": used[schema["$ref"].rpartition("/")[2]]["type"], **schema}
    return {**schema, "$defs": used} if used else schema


def references(schema: Any) -> Iterator[str]:
    """The names of the definitions that a schema refers to directly."""
    if isinstance(schema, Mapping):
        target = schema.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix("#/$defs/")
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


# Memories and edges.


def memory_json(memory: Memory) -> JsonObject:
    """The fields that differ from their defaults, and those that every reader needs."""
    shown = to_json(memory)
    basic = {name: shown[name] if name in shown else getattr(memory, name) for name in ALWAYS}
    return {**basic, **shown}


def brief_json(memory: Memory) -> JsonObject:
    created = memory.created.isoformat() if memory.created else None
    return {"id": memory.id, "text": memory.text, "created": created}


def content_tag(shown: JsonObject) -> str:
    """A tag of a memory in JSON that changes with its content, and not with its use."""
    content = {name: value for name, value in shown.items() if name != "use"}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def edge_json(edge: Edge) -> JsonObject:
    created = {"created": edge.created.isoformat()} if edge.created else {}
    return {"source": edge.source, "target": edge.target, "kind": edge.kind, "weight": edge.weight, **created}


def relation_json(edge: EntityEdge) -> JsonObject:
    created = {"created": edge.created.isoformat()} if edge.created else {}
    names = ("subject", "relation", "object", "weight", "collection", "user", "classification", "source")
    return {**{name: getattr(edge, name) for name in names}, **created}


# Recalls.


def explanation_json(explanation: Explanation) -> JsonObject:
    """The tree of a score. Evaluating it from the leaves up gives the score again."""
    tree: JsonObject = {"value": explanation.value, "label": explanation.label}
    if explanation.role:
        tree |= {"role": explanation.role, "name": explanation.name}
    if explanation.parts:
        tree |= {"operation": explanation.operation, "parts": [explanation_json(part) for part in explanation.parts]}
    return tree


def shares_json(explanation: Explanation) -> list[JsonObject]:
    return [{"name": name, "share": share} for name, share in explanation.shares()]


def result_json(result: Result, with_tree: bool) -> JsonObject:
    why = result.why
    return {
        "rank": result.rank,
        "score": result.score,
        "memory": memory_json(result.memory),
        "why": why.summary(),
        "shares": shares_json(why),
        "notes": list(result.notes),
        **({"explanation": explanation_json(why)} if with_tree else {}),
    }


def add_matched_words(results: list[JsonObject], recall: Recall) -> None:
    """To each result: the words of its text that match the query in meaning alone. Positions count code points."""
    for shown, words in zip(results, recall.matched_words(), strict=True):
        shown["matched_words"] = [
            {"start": word.start, "end": word.end, "query_word": word.query_word, "similarity": word.similarity}
            for word in words
        ]


def recall_json(recall: Recall, with_trees: bool = False) -> JsonObject:
    return {
        "query": recall.trace.query,
        "recipe": recall.trace.recipe,
        "results": [result_json(result, with_trees) for result in recall],
        "confidence": recall.confidence,
        "low_confidence": recall.low_confidence,
        "low_confidence_reason": recall.low_confidence_reason,
        "missing_time": recall.missing_time,
        "milliseconds": round(recall.trace.milliseconds, 3),
    }


RECALL = record(
    {"trace": ref("Trace"), "nothing_fits": TEXT},  # why there are no results within a budget
    query=TEXT,
    recipe=TEXT,
    results=array(ref("Result")),
    confidence=nullable(NUMBER),
    low_confidence=FLAG,
    low_confidence_reason=TEXT,
    missing_time=TEXT,
    milliseconds=NUMBER,
)


def trace_json(trace: Trace, snapshot: Snapshot, most: int) -> JsonObject:
    """All steps with counts and times, and the first memories that each one left out, with value and threshold.

    Not the version of the store, which counts the changes of others, too (B18).
    """
    shown = plain({name: value for name, value in trace.as_dict().items() if name != "version"})
    for step, listed in zip(trace.steps, shown["steps"], strict=True):
        left_out = _left_out(step, snapshot, most)
        if left_out:
            listed["left_out"] = left_out
    return shown  # type: ignore[no-any-return]


def _left_out(step: Step, snapshot: Snapshot, most: int) -> list[JsonObject]:
    groups = []
    for dropped in step.dropped:
        stored = dropped.keys > 0  # a cue may score texts that are not stored
        keys, values = dropped.keys[stored], dropped.values[stored]
        if not len(keys):
            continue
        ids, texts = snapshot.ids(keys[:most]), snapshot.texts(keys[:most])
        memories = [
            {"id": id, "text": text[:LEFT_OUT_TEXT], "value": plain(value)}
            for id, text, value in zip(ids, texts, values[:most].tolist(), strict=True)
            if id
        ]
        groups.append(
            {"reason": dropped.reason, "threshold": plain(dropped.threshold), "total": len(keys), "memories": memories}
        )
    return groups


def plain(value: Any) -> Any:
    """JSON values: numpy's numbers and other values as Python's own, and null for what JSON has no number for."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bool() | int() | str() | None:
            return value
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _ if hasattr(value, "item"):
            return plain(value.item())
        case _:
            return str(value)
