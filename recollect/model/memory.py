"""The records: a Memory, its Use, and the edges between memories and between names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, TypedDict, get_args

JsonObject = dict[str, Any]
Status = Literal["active", "superseded", "contradicted", "forgotten"]
STATUSES: tuple[Status, ...] = get_args(Status)

# The kinds of edge that recipes know; any other name is welcome too.
EDGE_KINDS = ("mentions", "supports", "contradicts", "depends_on", "same_as", "supersedes")


@dataclass(frozen=True, slots=True)
class Use:
    """How a memory has been used. Written by recalls, never by hand."""

    last_accessed: datetime | None = None
    access_count: int = 0
    return_count: int = 0
    recall_count: int = 0
    last_recalled: datetime | None = None
    recall_times: tuple[datetime, ...] = ()  # the last 20, oldest first


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered. Only ``text`` is needed; everything else has a quiet default.

    The fields come in groups: what it says, where it belongs, where it came from, what it is worth,
    when it holds, and how it has been used.
    """

    # What it says.
    text: str
    title: str = ""
    summary: str = ""
    original: str = ""  # the text in its original language
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    context: JsonObject = field(default_factory=dict)  # anything structured: params, spatial, robot, task, env

    # Where it belongs.
    id: str = ""  # given by the store
    collection: str = "main"
    user: str = ""
    kind: str = "memory"
    topic: str = ""
    tier: str = ""
    classification: int = 0
    status: Status = "active"

    # Where it came from.
    source: str = ""
    external_id: str = ""  # the same one again updates the memory instead of adding one
    path: str = ""
    lines: tuple[int, int] | None = None  # first and last line, counted from 1
    files: tuple[str, ...] = ()
    session: str = ""
    speaker: str = ""
    role: str = ""
    position: int | None = None  # its place in the session

    # What it is worth.
    confidence: float | None = 1.0  # 0–1
    strength: float = 1.0  # 0–1
    importance: float = 0.0
    flags: tuple[str, ...] = ()
    relevance: float = 0.0
    trust: int | None = None
    credibility: int | None = None
    emotion: float = 0.0
    emotion_tags: tuple[str, ...] = ()

    # When it holds. Valid in [valid_from, valid_to); gone from recall once it expires.
    created: datetime | None = None  # given by the store when left out
    updated: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires: datetime | None = None

    # How it has been used.
    use: Use = field(default_factory=Use, compare=False)


_values = attrgetter(*(each.name for each in fields(Memory)))
_ID, _CREATED, _UPDATED = ([each.name for each in fields(Memory)].index(name) for name in ("id", "created", "updated"))


def stamped(memory: Memory, id: str, at: datetime) -> Memory:
    """The memory as the store has kept it: with its id, and its moments where none were given."""
    values = list(_values(memory))
    values[_ID] = id
    values[_CREATED] = memory.created or at
    values[_UPDATED] = memory.updated or at
    return Memory(*values)


Clock = Callable[[], datetime]  # the present moment, handed in
When = datetime | str | float | int


class Changes(TypedDict, total=False):
    """What may be said of a memory beside its text and id: the keywords of ``edit``.

    The same names as Memory's fields, with lists for tuples and ISO strings for dates.
    """

    title: str
    summary: str
    original: str
    keywords: Sequence[str]
    tags: Sequence[str]
    entities: Sequence[str]
    context: Mapping[str, Any]
    collection: str
    user: str
    kind: str
    topic: str
    tier: str
    classification: int
    status: Status
    source: str
    external_id: str
    path: str
    lines: Sequence[int] | None
    files: Sequence[str]
    session: str
    speaker: str
    role: str
    position: int | None
    confidence: float | None
    strength: float
    importance: float
    flags: Sequence[str]
    relevance: float
    trust: int | None
    credibility: int | None
    emotion: float
    emotion_tags: Sequence[str]
    created: When
    updated: When
    valid_from: When | None
    valid_to: When | None
    expires: When | None


class Details(Changes, total=False):
    """The keywords of ``remember``: an id of the caller's own may be given, too."""

    id: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, weighted connection between two memories."""

    source: str
    target: str
    kind: str
    weight: float = 1.0
    created: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntityEdge:
    """A connection between two names: ``alice —[works_with]→ bob``. It has an owner, as a memory has."""

    subject: str
    relation: str
    object: str
    weight: float = 1.0
    collection: str = "main"
    user: str = ""
    classification: int = 0
    source: str = ""
    created: datetime | None = None
