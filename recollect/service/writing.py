"""The operations that write: remember, update, supersede, link, forget, undo, …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Unpack

from recollect.errors import EditConflict, InvalidInput
from recollect.model import Changes, Details, JsonObject, check
from recollect.service.operations import Service, operation
from recollect.service.parameters import (
    MAX_TEXT,
    Id,
    flag,
    memory_parameters,
    nullable,
    number,
    objects,
    text,
    texts,
    whole,
)
from recollect.service.records import (
    COUNT,
    MOMENT,
    TEXT,
    array,
    content_tag,
    edge_json,
    memory_json,
    record,
    ref,
    relation_json,
)

Text = Annotated[str, text("What is remembered: one fact, preference, decision or event.", most=MAX_TEXT, least=1)]
Weight = Annotated[float, number("How strong it is, from 0 to 1.")]
Kind = Annotated[
    str, text("The kind of edge: mentions, supports, contradicts, depends_on, same_as, …", most=200, least=1)
]


FACT = ("tags", "entities", "source", "session", "speaker", "user", "created", "valid_from", "expires", "confidence")


@operation(
    "POST",
    "/memories",
    scope="write",
    returns=ref("Memory"),
    tools=("basic", "robot"),
    creates=True,
    shown=("text", *FACT, "external_id"),
)
def remember(service: Service, text: Text, **details: Unpack[Details]) -> JsonObject:
    """Store a memory and return it.

    Use it when something is worth knowing later: a fact, a preference, a decision, an event. One statement for each
    memory, in a sentence that can be understood without the conversation. Correct an existing memory with update or
    supersede instead of storing a second one.
    """
    return memory_json(service.mind.remember(text, **details))


_item_fields = {each.name: each for each in memory_parameters(Details)}


def _item_schema() -> JsonObject:
    fields = {name: each.schema for name, each in _item_fields.items()}
    text_schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "pattern": r"\S"}
    return {**record(fields, text=text_schema)}


def _check_item(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be an object with a text, not {check.short_repr(value)}.")
    known = _item_fields
    if "text" not in value:
        raise InvalidInput(f"{name} has no text.")
    for field in value:
        if field != "text" and field not in known:
            raise InvalidInput(f"{name} has no field {field!r}; a memory has: text, {', '.join(known)}.")
    fields = {field: known[field].check(each, f"{name}.{field}") for field, each in value.items() if field != "text"}
    return {"text": _text_parameter.check(value["text"], f"{name}.text"), **fields}


def _check_bound(service: Service, fields: Mapping[str, Any], place: str = "") -> None:
    """Refuse values that differ from those of the bound, rather than replace them."""
    for name, value in service.mind.bound.values.items():
        if fields.get(name, value) != value:
            raise InvalidInput(f"{place}{name} must be {value!r}, to which this access is bound, not {fields[name]!r}.")


_text_parameter = text("", most=MAX_TEXT, least=1)


@operation(
    "POST", "/memories/batch", scope="write", returns=ref("WriteSummary"), tools=("more",), creates=True, long=True
)
def remember_many(
    service: Service,
    items: Annotated[list[Any], objects("Memories, as remember takes them.", _item_schema(), _check_item)],
) -> JsonObject:
    """Store many memories at once: all of them, or none; one undo takes all of them back."""
    for at, item in enumerate(items):
        _check_bound(service, item, f"items[{at}].")
    summary = service.mind.remember_many(items, progress=service.progress)
    return asdict(summary)


@operation(
    "PATCH",
    "/memories/{id}",
    scope="write",
    returns=ref("Memory"),
    tools=("basic",),
    destructive=True,
    idempotent=True,
    shown=("id", "text", "tags", "entities", "confidence", "valid_to", "expires"),
)
def update(
    service: Service,
    id: Id,
    text: Annotated[str | None, text("The new text.", most=MAX_TEXT, least=1)] = None,
    etag: Annotated[str | None, text("Only if the memory still has this ETag.", most=200)] = None,
    **changes: Unpack[Changes],
) -> JsonObject:
    """Change fields of a memory in place.

    Use it to repair a memory that was recorded wrongly. The earlier version stays in its history and is no longer
    found. When the world has changed, use supersede, so that both are kept with their times.
    """
    expected = None
    if etag is not None:
        expected = service.mind.show(id)
        if content_tag(memory_json(expected)) != etag:
            raise EditConflict(f"{id} was changed since it had the ETag {etag!r}.")
    return memory_json(service.mind.edit(id, text=text, expected=expected, **changes))


@operation(
    "POST",
    "/memories/{old}/supersede",
    scope="write",
    returns=ref("Memory"),
    tools=("basic",),
    creates=True,
    shown=("old", "new", "valid_from", "source"),
)
def supersede(service: Service, old: Id, new: Text, **details: Unpack[Details]) -> JsonObject:
    """Replace a memory by a newer one; both are kept, and the old one counts less from then on.

    Use it when something has changed: a new address, another preference, a later decision. ``new`` is the text of the
    newer memory, or the full id of one that is stored already.
    """
    return memory_json(service.mind.supersede(old, new, **details))


@operation(
    "POST", "/contradictions", scope="write", returns=ref("Edge"), tools=("more",), idempotent=True, creates=True
)
def contradict(
    service: Service,
    a: Id,
    b: Id,
    weight: Weight = 1.0,
    loser: Annotated[
        str | None, text("The id of the one that is wrong, if it is known.", most=check.LONGEST_ID)
    ] = None,
) -> JsonObject:
    """Record that two memories contradict each other; the one that is wrong, if known, is marked so.

    Use it when two memories cannot both be true and neither is simply the newer one.
    """
    return edge_json(service.mind.contradict(a, b, weight, loser=loser))


@operation("POST", "/edges", scope="write", returns=ref("Edge"), tools=("more",), idempotent=True, creates=True)
def link(service: Service, source: Id, target: Id, kind: Kind = "supports", weight: Weight = 1.0) -> JsonObject:
    """Connect two memories by a directed edge, or change the weight of that edge.

    Use it to record that one memory supports, mentions or depends on another.
    """
    return edge_json(service.mind.link(source, target, kind, weight))


@operation("DELETE", "/edges", scope="write", returns=record(removed=COUNT), destructive=True, idempotent=True)
def unlink(
    service: Service,
    source: Id,
    target: Id,
    kind: Annotated[str | None, text("The kind of edge; all kinds when left out.", most=200)] = None,
) -> JsonObject:
    """Remove the edges of a kind, or all edges, from one memory to another."""
    return {"removed": service.mind.unlink(source, target, kind)}


Name = Annotated[str, text("A name.", most=1_000, least=1)]


@operation("POST", "/relations", scope="write", returns=ref("Relation"), tools=("more",), idempotent=True, creates=True)
def relate(
    service: Service,
    subject: Name,
    relation: Name,
    object: Name,
    weight: Weight = 1.0,
    collection: Annotated[str | None, text("The collection that it belongs to.", most=1_000)] = None,
    user: Annotated[str | None, text("The user that it belongs to.", most=1_000)] = None,
    classification: Annotated[int, whole("How confidential it is; 0 is open to all.", 0, 100)] = 0,
    source: Annotated[str, text("Where it comes from.", most=1_000)] = "",
) -> JsonObject:
    """Record a relation between two names, such as alice, works_with, bob.

    Use it for facts about how people, places and things are related; recalls about one of them then reach the other.
    """
    owner = {name: value for name, value in (("collection", collection), ("user", user)) if value is not None}
    _check_bound(service, owner)
    more: dict[str, Any] = {"classification": classification, "source": source, **owner}
    return relation_json(service.mind.relate(subject, relation, object, weight, **more))


@operation("POST", "/memories/{id}/reinforce", scope="write", returns=ref("Memory"), tools=("more",))
def reinforce(service: Service, id: Id, amount: Annotated[float, number("How much, from 0 to 1.")] = 0.1) -> JsonObject:
    """Increase the strength of a memory, up to 1.

    Use it when a memory has proved useful or was confirmed.
    """
    return memory_json(service.mind.reinforce(id, amount))


@operation(
    "POST",
    "/forget",
    scope="write",
    returns=record(forgotten=COUNT),
    tools=("basic", "robot"),
    destructive=True,
    idempotent=True,
)
def forget(
    service: Service,
    ids: Annotated[list[str], texts("Ids of memories, or their beginnings.", least=1)],
    reason: Annotated[str, text("Why; it is stored in the history.", most=2_000)] = "",
) -> JsonObject:
    """Exclude memories from all recalls. The user can undo it (recollect undo).

    Use it when a memory is wrong or no longer wanted, or when somebody asks to forget something. What has merely
    changed is superseded instead.
    """
    return {"forgotten": service.mind.forget(*ids, reason=reason)}


@operation("POST", "/decay", scope="write", returns=record(faded=COUNT), idempotent=True)
def decay(
    service: Service, rate: Annotated[float, number("Per day: strength × exp(−rate × days).", 0.0, 100.0)] = 0.01
) -> JsonObject:
    """Lower all strengths by the days since the last decay, or since creation for what has not decayed yet; again at
    once, it changes nothing."""
    return {"faded": service.mind.decay(rate)}


UNDONE = record(
    verb=TEXT,
    at=MOMENT,
    removed=COUNT,
    restored=COUNT,
    ids=array(TEXT),
    erased=COUNT,
    erasure=nullable(MOMENT),
    memories=array(record(id=TEXT, text=TEXT, change=TEXT)),
)


@operation("POST", "/undo", scope="write", returns=record(undone=nullable(UNDONE)), tools=("more",), destructive=True)
def undo(
    service: Service,
    past_erasure: Annotated[bool, flag("Undo the change before an erasure, which itself cannot be undone.")] = False,
    dry_run: Annotated[bool, flag("Only say what would be undone.")] = False,
) -> JsonObject:
    """Undo the last operation; ``undone`` is null when there is nothing to undo, and names the first memories that were
    removed or restored.

    Use it right after a mistake: it reverts the last change, whichever it was. After an erasure it is refused.
    """
    undone = service.mind.undo(past_erasure=past_erasure, dry_run=dry_run)
    if undone is None:
        return {"undone": None}
    erasure = undone.erasure and undone.erasure.isoformat()
    moments = {"at": undone.at.isoformat(), "erasure": erasure}
    memories = [asdict(each) for each in undone.memories]
    return {"undone": {**asdict(undone), **moments, "ids": list(undone.ids), "memories": memories}}
