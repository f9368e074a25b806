"""The records: Memory with the definition of its fields, Use, and the edges between memories and between names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime, tzinfo
from operator import attrgetter
from typing import Annotated, Any, Literal, TypedDict, get_args, get_type_hints

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.fields import (
    Field,
    id_field,
    integer_field,
    keyword_field,
    line_range_field,
    list_field,
    moment_field,
    number_field,
    object_field,
    path_field,
    text_field,
)
from recollect.model.limits import check_limit, limit

JsonObject = dict[str, Any]
Status = Literal["active", "superseded", "contradicted", "forgotten"]
STATUSES: tuple[Status, ...] = get_args(Status)

# The kinds of edge that recipes use; other names are allowed.
EDGE_KINDS = ("mentions", "supports", "contradicts", "depends_on", "same_as", "supersedes")


@dataclass(frozen=True, slots=True)
class Use:
    """How a memory has been used. Written by recalls."""

    last_accessed: datetime | None = None
    access_count: int = 0
    return_count: int = 0
    recall_count: int = 0
    last_recalled: datetime | None = None
    recall_times: tuple[datetime, ...] = ()  # the last 20, oldest first

    @property
    def uses(self) -> int:
        """How often a recall returned the memory: recipes count an access or, as abmind does, a recall."""
        return self.access_count + self.recall_count

    @property
    def last_used(self) -> datetime | None:
        return max((at for at in (self.last_accessed, self.last_recalled) if at), default=None)


UNUSED = Use()


def _check_use(value: object, name: str) -> Use:
    if isinstance(value, Use) and value == UNUSED:
        return UNUSED
    values = {each.name: getattr(value, each.name) for each in fields(Use)} if isinstance(value, Use) else value
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{name} must be an object, not {check.short_repr(value)}.")
    unknown = set(values) - {each.name for each in fields(Use)}
    if unknown:
        raise InvalidInput(f"{name} has no field {', '.join(sorted(map(repr, unknown)))}.")
    moment = check.optional(check.moment)
    return Use(
        last_accessed=moment(values.get("last_accessed"), f"{name}.last_accessed"),
        access_count=check.count(values.get("access_count", 0), f"{name}.access_count"),
        return_count=check.count(values.get("return_count", 0), f"{name}.return_count"),
        recall_count=check.count(values.get("recall_count", 0), f"{name}.recall_count"),
        last_recalled=moment(values.get("last_recalled"), f"{name}.last_recalled"),
        recall_times=check.moments(values.get("recall_times", ()), f"{name}.recall_times"),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """One remembered text with its details. Only ``text`` is required.

    This is the one definition of the fields: ``FIELDS`` is read from it, and the checks, the columns of the stores,
    the JSON form, the command-line options and docs/memory-fields.md follow. ``Changes`` below repeats the types.
    """

    # What it says.
    text: Annotated[str, text_field("What is remembered.", words="text")]
    title: Annotated[str, text_field("Its title.", words="title", option="--title")] = ""
    summary: Annotated[str, text_field("What it says, in short.", words="summary", option="--summary")] = ""
    original: Annotated[str, text_field("The text in its original language.", words="original")] = ""
    keywords: Annotated[tuple[str, ...], list_field("A word to find it by.", words="keywords", option="--keyword")] = ()
    tags: Annotated[tuple[str, ...], list_field("A tag.", words="tags", filter="tags", option="--tag -t")] = ()
    entities: Annotated[
        tuple[str, ...], list_field("Someone or something that it is about.", words="entities", option="--entity")
    ] = ()
    context: Annotated[
        JsonObject,
        object_field(
            "Anything structured, such as params, spatial, robot, task, env.",
            filter="context, near",
            option="--context",
        ),
    ] = field(default_factory=dict)

    # Where it belongs.
    id: Annotated[str, id_field("Its id; the store assigns one when it is left out.")] = ""
    collection: Annotated[str, keyword_field("The collection that it is stored in.")] = "main"
    user: Annotated[str, keyword_field("Whose memory it is.", option="--user")] = ""
    kind: Annotated[str, keyword_field("What kind of memory it is, such as fact or episode.", option="--kind")] = (
        "memory"
    )
    topic: Annotated[str, keyword_field("Its topic.", option="--topic")] = ""
    tier: Annotated[str, keyword_field("Its tier, such as core or archive.", option="--tier")] = ""
    classification: Annotated[
        int,
        integer_field(
            "How confidential it is; 0 is open to all.",
            low=0,
            high=100,
            filter="classification",
            option="--classification",
        ),
    ] = 0
    status: Annotated[
        Status,
        keyword_field(
            "Whether it is current: forgotten memories are kept, but not recalled.", option="--status", choices=STATUSES
        ),
    ] = "active"

    # Where it came from.
    source: Annotated[str, keyword_field("Where it comes from.", option="--source")] = ""
    external_id: Annotated[
        str,
        id_field(
            "Your own id for it: the same one again updates the memory instead of adding one.", option="--external-id"
        ),
    ] = ""
    path: Annotated[str, path_field("The file that it comes from.", words="path", option="--path")] = ""
    lines: Annotated[
        tuple[int, int] | None, line_range_field("Its lines in that file, such as 3-9.", option="--lines")
    ] = None
    files: Annotated[tuple[str, ...], list_field("A file that belongs to it.", words="path")] = ()
    session: Annotated[str, keyword_field("The conversation that it comes from.", option="--session")] = ""
    speaker: Annotated[str, keyword_field("Who said it.", words="speaker", option="--speaker")] = ""
    role: Annotated[str, keyword_field("The speaker's role, such as user or assistant.", option="--role")] = ""
    position: Annotated[int | None, integer_field("Its place in the session.", optional=True, option="--position")] = (
        None
    )

    # How it is rated.
    confidence: Annotated[
        float | None,
        number_field(
            "How certain it is, from 0 to 1.",
            low=0,
            high=1,
            optional=True,
            filter="min_confidence",
            option="--confidence",
        ),
    ] = 1.0
    strength: Annotated[float, number_field("How fresh it is; decay lowers it.", low=0, high=1)] = 1.0
    importance: Annotated[
        float, number_field("How much it matters; 0 is ordinary.", low=-10, high=10, option="--importance")
    ] = 0.0
    flags: Annotated[tuple[str, ...], list_field("A mark, such as decision or safety.")] = ()
    relevance: Annotated[float, number_field("How relevant it is in general; 0 is ordinary.", low=-10, high=10)] = 0.0
    trust: Annotated[
        int | None, integer_field("How far its source is trusted; more is better.", low=0, high=10, optional=True)
    ] = None
    credibility: Annotated[
        int | None, integer_field("How credible it is; 1 is confirmed, more is worse.", low=0, high=10, optional=True)
    ] = None
    emotion: Annotated[
        float, number_field("The feeling in it; below 0 is unpleasant, above is pleasant.", low=-10, high=10)
    ] = 0.0
    emotion_tags: Annotated[tuple[str, ...], list_field("A name of that feeling.")] = ()

    # When it is valid: from valid_from until just before valid_to. It is not recalled once it has expired.
    created: Annotated[
        datetime | None,
        moment_field(
            "When it was made: an ISO date, such as 2025-03-14T09:30.",
            assigned=True,
            filter="since, until",
            option="--created",
        ),
    ] = None
    updated: Annotated[datetime | None, moment_field("When it was last changed.", assigned=True)] = None
    valid_from: Annotated[datetime | None, moment_field("When it begins to be true.", option="--valid-from")] = None
    valid_to: Annotated[datetime | None, moment_field("When it is no longer true.", option="--valid-to")] = None
    expires: Annotated[
        datetime | None, moment_field("When it is no longer recalled.", filter="expired", option="--expires")
    ] = None

    # Fields added after version 0.1.
    agent: Annotated[str, keyword_field("The agent that it belongs to.")] = ""
    mentions: Annotated[int, integer_field("How often an equal text was remembered.", low=1)] = 1

    # How it has been used. Last, as stores keep it apart from the other fields.
    use: Annotated[Use, Field("use", "How it has been used.", _check_use, "an object")] = field(
        default=UNUSED, compare=False
    )

    def __repr__(self) -> str:
        """Only the fields that were given, so that it can be read: ``Memory(text='It rains.', id='a1')``."""
        values = ((name, getattr(self, name)) for name in FIELDS)
        shown = ((name, str(each) if isinstance(each, datetime) else each) for name, each in values)
        return f"Memory({', '.join(f'{name}={each!r}' for name, each in shown if each != FIELDS[name].default)})"


def _read_fields() -> dict[str, Field]:
    annotations = get_type_hints(Memory, include_extras=True)
    found = {}
    for each in fields(Memory):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        (field,) = annotations[each.name].__metadata__
        filter = field.filter.format(name=each.name)
        found[each.name] = replace(field, name=each.name, default=default, filter=filter)
    return found


FIELDS: dict[str, Field] = _read_fields()  # by name, in the order of the dataclass
# By name: the default, which is valid. One that can be changed is none: a check returns a copy of it.
CONSTANT = {name: MISSING if field.kind == "object" else field.default for name, field in FIELDS.items()}
KEYWORD_FIELDS = tuple(each.name for each in FIELDS.values() if each.kind == "keyword")
NUMBER_FIELDS = tuple(each.name for each in FIELDS.values() if each.kind in ("integer", "number", "moment"))
JSON_FIELDS = {  # name → an empty one in JSON
    each.name: "[]" if each.kind == "list" else "{}" for each in FIELDS.values() if each.kind in ("list", "object")
}


def check_fields(values: Mapping[str, object], zone: tzinfo | None = None) -> dict[str, Any]:
    """Checked values of the named fields of a memory; dates without a time zone are in ``zone``, or the machine's."""
    unknown = set(values) - set(FIELDS)
    if unknown:
        raise InvalidInput(
            f"A memory has no field {', '.join(sorted(map(repr, unknown)))}. "
            f"It has: {', '.join(FIELDS)}. Anything else belongs into context={{…}}."
        )
    return {
        name: value
        if value is CONSTANT[name]
        else check.moment(value, name, zone)
        if FIELDS[name].kind == "moment"
        else FIELDS[name].check(value, name)
        for name, value in values.items()
    }


def make_memory(
    value: Memory | Mapping[str, object] | str, more: Mapping[str, object] | None = None, zone: tzinfo | None = None
) -> Memory:
    """A valid memory from a text, a mapping or a Memory; ``more`` overrides its fields.

    Dates without a time zone are in ``zone``, or in that of this machine.
    """
    if isinstance(value, Memory):  # its defaults need no check
        named = zip(CONSTANT.items(), _values(value), strict=True)
        values = {name: each for (name, constant), each in named if each is not constant}
    elif isinstance(value, Mapping):
        values = dict(value)
    else:
        values = {"text": value}
    checked = check_fields({**values, **(more or {})}, zone)
    if not checked.get("text", "").strip():
        raise InvalidInput("There is nothing to remember: the text is blank.")
    return check_size(check_validity_period(Memory(**checked)))


def edit_memory(memory: Memory, changes: Mapping[str, object], zone: tzinfo | None = None) -> Memory:
    """The memory with checked changes."""
    for name in ("id", "use"):
        if name in changes:
            raise InvalidInput(f"A memory's {name} cannot be edited.")
    checked = check_fields(changes, zone)
    for name in ("created", "updated"):
        if name in checked and checked[name] is None:
            raise InvalidInput(f"{name} cannot be removed from a memory.")
    if "text" in checked and not checked["text"].strip():
        raise InvalidInput("A memory's text cannot become blank; use forget to remove the memory.")
    return check_size(check_validity_period(replace(memory, **checked)))


_texts_of = attrgetter(*(name for name, field in FIELDS.items() if field.kind == "text"))
_LISTS = tuple(name for name, field in FIELDS.items() if field.kind == "list")
_lists_of = attrgetter(*_LISTS)
_NAMES = tuple(name for name, field in FIELDS.items() if field.kind in ("keyword", "path"))
_names_of = attrgetter(*_NAMES)
_to_json = json.JSONEncoder(ensure_ascii=False).encode


def check_size(memory: Memory) -> Memory:
    """Refuse a memory that is larger than the limits."""
    lists = _lists_of(memory)
    for name, items in zip(_LISTS, lists, strict=True):
        if items:
            check_limit("list_items", len(items), f"{name} has {len(items):,} items")
    names = _names_of(memory)
    if max(map(len, names)) * 4 > limit("name_bytes"):  # a character has at most four bytes
        for name, value in zip(_NAMES, names, strict=True):
            check.within_name_limit(value, name)
    texts = [*_texts_of(memory), *(item for items in lists for item in items)]
    context = _to_json(memory.context) if memory.context else ""
    if (sum(map(len, texts)) + len(context)) * 4 > limit("memory_bytes"):
        size = sum(len(text.encode()) for text in (*texts, context)) - _repeated_bytes(memory.text, memory.context)
        check_limit("memory_bytes", size, f"The memory has {size:,} bytes")
    return memory


def _repeated_bytes(text: str, value: object) -> int:
    """The bytes of long strings in a context that the text has, too: adapters store a message beside its text."""
    match value:
        case str():
            return len(value.encode()) if len(value) >= 1_000 and value.strip() in text else 0
        case Mapping():
            return sum(_repeated_bytes(text, each) for each in value.values())
        case list() | tuple():
            return sum(_repeated_bytes(text, each) for each in value)
    return 0


def check_validity_period(memory: Memory) -> Memory:
    if memory.valid_from and memory.valid_to and memory.valid_from >= memory.valid_to:
        raise InvalidInput("valid_from must come before valid_to.")
    return memory


_values = attrgetter(*FIELDS)
_ID, _CREATED, _UPDATED = (list(FIELDS).index(name) for name in ("id", "created", "updated"))


def with_id_and_times(memory: Memory, id: str, now: datetime) -> Memory:
    """The memory as it was stored: with its id, and with ``now`` for the times that it did not have."""
    values, now = list(_values(memory)), now.astimezone(UTC)
    values[_ID] = id
    values[_CREATED] = memory.created or now
    values[_UPDATED] = memory.updated or now
    return Memory(*values)


Clock = Callable[[], datetime]  # returns the current time
When = datetime | str | float | int


class Changes(TypedDict, total=False):
    """The fields of a Memory that ``edit`` takes as keywords: all but text, id and use.

    The values may be lists where Memory has tuples and ISO strings where it has dates.
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
    agent: str
    mentions: int


class Details(Changes, total=False):
    """The fields of a Memory that ``remember`` takes as keywords: those of ``edit``, and an id."""

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
    """A relation between two entity names: ``alice —[works_with]→ bob``. It has an owner, as a memory has."""

    subject: str
    relation: str
    object: str
    weight: float = 1.0
    collection: str = "main"
    user: str = ""
    classification: int = 0
    source: str = ""
    created: datetime | None = None


def lowest_trust(memories: Iterable[Memory]) -> int | None:
    """The trust of what is made of these memories: that of the least trusted one; unknown if one of them has none."""
    values = [memory.trust for memory in memories]
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def make_edge(source: object, target: object, kind: object, weight: object) -> Edge:
    """A valid edge."""
    source, target = check.string(source, "source"), check.string(target, "target")
    kind = check.identifier(kind, "kind").strip()
    if source == target:
        raise InvalidInput(f"A memory cannot be linked to itself ({source}).")
    if not kind:
        raise InvalidInput("An edge needs a kind, such as 'supports' or 'contradicts'.")
    return Edge(source, target, kind, check.fraction(weight, "weight"))


def check_entity_edge(edge: EntityEdge) -> EntityEdge:
    names = ("subject", "relation", "object", "collection", "user", "source")
    checked = {name: check.identifier(getattr(edge, name), name) for name in names}
    for name in names[:3]:
        if not checked[name].strip():
            raise InvalidInput(f"An entity edge needs {'an' if name == 'object' else 'a'} {name}.")
    FIELDS["classification"].check(edge.classification, "classification")
    return replace(edge, **checked, weight=check.fraction(edge.weight, "weight"))  # type: ignore[arg-type]
