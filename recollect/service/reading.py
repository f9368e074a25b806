"""The operations that read: show, list, history, edges, graph, timeline, places, conflicts, usage, status."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

from recollect.errors import AccessDenied, InvalidInput
from recollect.model import STATUSES, JsonObject, as_filter, check
from recollect.model.filter import coordinates
from recollect.model.zones import to_zone
from recollect.service.operations import Service, operation
from recollect.service.parameters import Id, choice, flag, mapping, nullable, text, texts, whole
from recollect.service.recalling import FilterArgument
from recollect.service.records import (
    COUNT,
    FLAG,
    MOMENT,
    NUMBER,
    TEXT,
    array,
    brief_json,
    edge_json,
    memory_json,
    record,
    ref,
    relation_json,
)

if TYPE_CHECKING:
    from recollect.store.base import Rows, Scope, Snapshot, StoreStatus

SORTS = ("newest", "oldest", "uses", "access_count", "return_count", "recall_count", "last_accessed", "last_recalled")
LISTED = tuple(status for status in STATUSES if status != "forgotten")
PLACE_FIELDS = 20  # dot paths with coordinates that are reported
MICROSECONDS_AN_HOUR = 3_600_000_000
MICROSECONDS_A_DAY = 24 * MICROSECONDS_AN_HOUR

Limit = Annotated[int, whole("How many memories at most.")]


@operation("GET", "/memories/{id}", scope="read", returns=ref("Memory"), tools=("more",))
def show(service: Service, id: Id) -> JsonObject:
    """One memory with all its fields, by its id or the beginning of it."""
    return memory_json(service.mind.show(id))


PAGE = record(memories=array(ref("Memory")), total=COUNT, next_cursor=nullable(TEXT))


@operation("GET", "/memories", scope="read", returns=PAGE, tools=("more",))
def list_(
    service: Service,
    filter: FilterArgument = None,
    sort: Annotated[str, choice("The order: by creation, or by use, highest first.", SORTS)] = "newest",
    ascending: Annotated[bool, flag("Lowest use first.")] = False,
    use: Annotated[Any, mapping('Conditions on the use, such as {"uses": 0}.')] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, text("next_cursor of the page before.", most=2_000)] = None,
) -> JsonObject:
    """Memories that pass a filter, a page at a time; forgotten ones only when the filter names that status.

    Use it to see what there is, rather than to find an answer. ``total`` counts all that pass the filter; next_cursor
    is null on the last page.
    """
    from recollect.upkeep.usage import select_by_use

    with service.mind.store.snapshot() as snapshot:
        scope = _scope(service, snapshot, filter)
        rows = select_by_use(snapshot, scope, sort, ascending, use)
        start = 0 if cursor is None else _place_of(cursor, sort, snapshot, rows)
        page = rows[start : start + limit]
        memories = snapshot.memories(page)
        more = start + limit < len(rows)
        following = _make_cursor(sort, snapshot, page, start + limit) if more else None
    return {"memories": [memory_json(each) for each in memories], "total": len(rows), "next_cursor": following}


def _scope(service: Service, snapshot: Snapshot, filter: Any) -> Scope:
    from recollect.text.times.phrases import with_moments

    now = service.mind.clock()
    return snapshot.scope(with_moments(as_filter(filter), now), LISTED, now, hidden=True)


def _make_cursor(sort: str, snapshot: Snapshot, page: Rows, place: int) -> str:
    """The last memory of a page, after which the next one begins: what is added meanwhile moves nothing."""
    last = page[-1:]
    created = int(snapshot.numbers("created", last)[0])
    return base64.urlsafe_b64encode(json.dumps([sort, place, created, snapshot.ids(last)[0]]).encode()).decode()


def _place_of(cursor: str, sort: str, snapshot: Snapshot, rows: Rows) -> int:
    """Where the next page begins: after the last memory of the page before, or where that would be."""
    try:
        of, place, created, id = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        place = check.integer(place, "cursor", 0, 1 << 62)
        created, id = check.integer(created, "cursor", -(1 << 62), 1 << 62), check.string(id, "cursor")
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("cursor is not one that this server made; begin again without it.") from None
    if of != sort:
        raise InvalidInput(f"cursor belongs to a list that is sorted by {of!r}, not by {sort!r}.")
    row = snapshot.row(id)
    at = [] if row is None else (rows == row).nonzero()[0]
    if len(at):
        return int(at[0]) + 1
    if sort not in ("newest", "oldest"):
        return place
    moments = snapshot.numbers("created", rows)
    return int((moments >= created).sum() if sort == "newest" else (moments <= created).sum())


VERSIONS = record(id=TEXT, versions=array(record(until=MOMENT, memory=ref("Memory"))))


@operation("GET", "/memories/{id}/history", scope="read", returns=VERSIONS, tools=("more",))
def history(service: Service, id: Id) -> JsonObject:
    """Earlier versions of a memory, oldest first, each with the moment when it ended."""
    versions = service.mind.history(id)
    return {
        "id": service.mind.store.resolve([id])[0],
        "versions": [{"until": until.isoformat(), "memory": memory_json(memory)} for until, memory in versions],
    }


@operation("GET", "/edges", scope="read", returns=record(edges=array(ref("Edge"))), tools=("more",))
def edges(
    service: Service,
    ids: Annotated[list[str] | None, texts("Ids of memories; the edges of all when left out.", most=1_000)] = None,
) -> JsonObject:
    """The edges of some memories, or all edges."""
    return {"edges": [edge_json(edge) for edge in service.mind.edges(*(ids or ()))]}


@operation("GET", "/relations", scope="read", returns=record(relations=array(ref("Relation"))))
def relations(
    service: Service,
    names: Annotated[list[str] | None, texts("Names; the relations of all when left out.", most=1_000)] = None,
) -> JsonObject:
    """The relations between names: all, or those that begin or end at one of these."""
    if names is None:
        found = list(service.mind.entity_edges())
    else:
        with service.mind.store.snapshot() as snapshot:
            found = snapshot.relations(names)
    return {"relations": [relation_json(each) for each in found]}


GRAPH = record(
    nodes=array(record({"memory": ref("MemoryBrief"), "status": TEXT}, id=TEXT, type={"enum": ["memory", "name"]})),
    edges=array(record(source=TEXT, target=TEXT, kind=TEXT, weight=NUMBER)),
    complete=FLAG,
)


@operation("GET", "/graph", scope="read", returns=GRAPH)
def graph(
    service: Service,
    id: Annotated[str | None, text("The memory in the middle.", most=check.LONGEST_ID)] = None,
    name: Annotated[str | None, text("Or the name in the middle.", most=1_000)] = None,
    depth: Annotated[int, whole("How many edges away from it.", 1, 4)] = 1,
    limit: Annotated[int, whole("How many nodes at most.", 1, 500)] = 100,
) -> JsonObject:
    """What is around a memory or a name: memories, the names that they are about, and the edges between them.

    A name has the id ``name:…``. ``complete`` is false when there were more nodes than the limit.
    """
    from recollect.service.graph import build_graph

    if (id is None) == (name is None):
        raise InvalidInput("graph needs one of id and name.")
    return build_graph(service.mind, id, name, depth, limit)


PERIODS = ("day", "week", "month")
TIMELINE = record(period=TEXT, total=COUNT, periods=array(record(begins=TEXT, memories=COUNT)))


@operation("GET", "/timeline", scope="read", returns=TIMELINE)
def timeline(
    service: Service,
    filter: FilterArgument = None,
    period: Annotated[
        str, choice("What is counted by, in the server's time zone; weeks run from Monday.", PERIODS)
    ] = "day",
) -> JsonObject:
    """How many memories were created in each period, oldest first; periods without any are left out."""
    import numpy as np

    with service.mind.store.snapshot() as snapshot:
        scope = _scope(service, snapshot, filter)
        moments = snapshot.numbers("created", snapshot.page(scope, "oldest", scope.count))
    hours, at = np.unique(np.floor_divide(moments, MICROSECONDS_AN_HOUR), return_inverse=True)
    offsets = np.array([_offset(service.mind.zone, hour) for hour in hours.tolist()])
    days, counts = np.unique(np.floor_divide(moments + offsets[at], MICROSECONDS_A_DAY), return_counts=True)
    periods: dict[str, int] = {}
    for day, count in zip(days.tolist(), counts.tolist(), strict=True):
        begins = _begin_of(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day), period)
        periods[begins] = periods.get(begins, 0) + count
    listed = [{"begins": begins, "memories": count} for begins, count in periods.items()]
    return {"period": period, "total": len(moments), "periods": listed}


def _offset(zone: tzinfo | None, hour: float) -> float:
    """The microseconds by which a time zone is ahead of UTC in an hour since 1970."""
    offset = to_zone(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hour), zone).utcoffset()
    return offset.total_seconds() * 1e6 if offset else 0.0


def _begin_of(day: datetime, period: str) -> str:
    if period == "week":
        day -= timedelta(days=day.weekday())
    return (day.replace(day=1) if period == "month" else day).date().isoformat()


PLACES = record(
    fields=array(record(field=TEXT, memories=COUNT)),
    places=array(record(memory=ref("MemoryBrief"), field=TEXT, point=array(NUMBER), success=nullable(FLAG))),
    total=COUNT,
)


@operation("GET", "/places", scope="read", returns=PLACES)
def places(
    service: Service,
    filter: FilterArgument = None,
    field: Annotated[str | None, text("The dot path of the coordinates; the most frequent one if left out.")] = None,
    limit: Limit = 1_000,
) -> JsonObject:
    """Memories with coordinates in their context, newest first, and the dot paths at which there are coordinates."""
    with service.mind.store.snapshot() as snapshot:
        scope = _scope(service, snapshot, filter)
        rows = snapshot.page(scope, "newest", scope.count)
        points = [dict(_points(context, "")) for context in snapshot.contexts(rows)]
        counts: dict[str, int] = {}
        for found in points:
            for path in found:
                counts[path] = counts.get(path, 0) + 1
        by_count = sorted(counts, key=lambda path: (-counts[path], path))
        chosen = field or (by_count[0] if by_count else "")
        at = [place for place, found in enumerate(points) if chosen in found]
        memories = snapshot.memories(rows[at[:limit]])
    listed = [
        {
            "memory": brief_json(memory),
            "field": chosen,
            "point": list(points[place][chosen]),
            "success": _success(memory.context),
        }
        for place, memory in zip(at, memories, strict=False)
    ]
    fields = [{"field": path, "memories": counts[path]} for path in by_count[:PLACE_FIELDS]]
    return {"fields": fields, "places": listed, "total": len(at)}


def _success(context: Mapping[str, Any]) -> bool | None:
    """Whether what the memory tells of worked, as robots write it: ``{"task": {"success": true}}``."""
    task = context.get("task")
    success = task.get("success") if isinstance(task, Mapping) else None
    return success if isinstance(success, bool) else None


def _points(value: Any, path: str) -> Any:
    """The lists of two or three numbers in a context, with their dot paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _points(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and len(value) in (2, 3):
        point = coordinates(value)
        if point is not None:
            yield path, point


CONFLICT = record(
    older=ref("Memory"),
    newer=ref("Memory"),
    rule=TEXT,
    reason=TEXT,
    nearness=NUMBER,
    choices=array(TEXT),
)


@operation("GET", "/conflicts", scope="read", returns=record(conflicts=array(CONFLICT)), tools=("more",), long=True)
def conflicts(service: Service, filter: FilterArgument = None, limit: Limit = 50) -> JsonObject:
    """Pairs of memories that may state different values of the same thing; nothing is changed.

    Use it to tidy up, then decide on each pair: supersede, contradict, or keep both.
    """
    found = service.mind.conflicts(filter, limit=limit, progress=service.progress)
    both = ({"older": memory_json(each.older), "newer": memory_json(each.newer)} for each in found)
    return {"conflicts": [{**each.as_dict(), **memories} for each, memories in zip(found, both, strict=True)]}


USED = ("most_used", "least_used", "unused", "unreturned")
USAGE = record(
    **dict.fromkeys(("memories", "used", "uses", "undated_uses", "never_recalled", "never_returned"), COUNT),
    **dict.fromkeys(USED, array(ref("Memory"))),
    over_time=array(record(begins=TEXT, created=COUNT, uses=COUNT, last_used=COUNT)),
)


@operation("GET", "/usage", scope="read", returns=USAGE)
def usage(
    service: Service,
    filter: FilterArgument = None,
    limit: Annotated[int, whole("How many memories in each list.", 0, 1_000)] = 10,
    period: Annotated[str, choice("What use over time is counted by.", PERIODS)] = "week",
    periods: Annotated[int, whole("How many periods.", 0, 1_000)] = 12,
) -> JsonObject:
    """Which memories are used most, least and never, and how much in each period."""
    found = service.mind.usage(filter, limit=limit, period=period, periods=periods)  # type: ignore[arg-type]
    return {**found.as_dict(), **{name: [memory_json(each) for each in getattr(found, name)] for name in USED}}


FINDING = record(name=TEXT, level=TEXT, what=TEXT, means=TEXT, fix=TEXT, examples=array(TEXT))


@operation("GET", "/doctor", scope="admin", returns=record(healthy=FLAG, findings=array(FINDING)))
def doctor(service: Service) -> JsonObject:
    """Check the file, its indexes and its vectors; nothing is changed. For an access without a bound."""
    from recollect.upkeep.doctor import Doctor

    if service.mind.bound.values:
        problem = AccessDenied("doctor examines the whole file, beyond what this access is bound to.")
        raise problem.advise("Use a token without a bound, or run recollect doctor where the memory is stored.")
    report = Doctor(service.mind.path, service.mind.embedder, service.mind.clock).diagnose()
    names = ("name", "level", "what", "means", "fix")
    findings = [
        {**{name: str(getattr(each, name)) for name in names}, "examples": [str(one) for one in each.examples]}
        for each in report.findings
    ]
    return {"healthy": report.healthy, "findings": findings}


STATUS = record(
    memories={"type": "object", "additionalProperties": COUNT},
    expired=COUNT,
    collections={"type": "object", "additionalProperties": COUNT},
    edges=COUNT,
    relations=COUNT,
    words=COUNT,
    without_vector=COUNT,
    embedder=nullable(TEXT),
    chosen=TEXT,
    note=TEXT,
    last_change=nullable(MOMENT),
    bound={"type": "object", "additionalProperties": TEXT},
    scope=TEXT,
    readonly=FLAG,
    version=TEXT,
    bytes=nullable(COUNT),
    index=nullable(record(state=TEXT, bytes=COUNT, segments=COUNT, memories=COUNT, changed=COUNT)),
    last_backup=nullable(MOMENT),
)


@operation("GET", "/status", scope="read", returns=STATUS, tools=("more",))
def memory_status(service: Service) -> JsonObject:
    """What this memory contains and which model embeds it, within what the caller may see.

    Use it to check that the memory works, or to say how much is remembered.
    """
    from recollect import __version__

    status = service.mind.status()
    store = status.store
    return {
        "memories": store.memories,
        "expired": store.expired,
        "collections": store.collections,
        "edges": store.edges,
        "relations": store.entity_edges,
        "words": store.words,
        "without_vector": store.without_vector,
        "embedder": status.embedder,
        "chosen": status.chosen,
        "note": status.note,
        "last_change": None if store.last_change is None else store.last_change.isoformat(),
        "bound": service.mind.bound.values,
        "scope": service.scope,
        "readonly": store.readonly,
        "version": __version__,
        **_file_state(store, bounded=bool(service.mind.bound.values)),
    }


def _file_state(store: StoreStatus, bounded: bool) -> JsonObject:
    """The file as a whole, which a caller with a bound does not see (B18)."""
    if bounded:
        return {"bytes": None, "index": None, "last_backup": None}
    index, names = store.index, ("state", "bytes", "segments", "memories", "changed")
    return {
        "bytes": store.bytes,
        "index": None if index is None else {name: getattr(index, name) for name in names},
        "last_backup": None if store.last_backup is None else store.last_backup.at.isoformat(),
    }
