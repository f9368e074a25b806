"""The parameters of operations: each has one definition, from which its check and its JSON schema come.

The functions of the service annotate their arguments with them, as in ``k: Annotated[int | None, whole("How many.")]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter as Argument
from inspect import signature
from typing import Annotated, Any, get_args, get_type_hints

from recollect.errors import InvalidInput
from recollect.model import FIELDS, LIMITS, Filter, JsonObject, as_filter, check
from recollect.model.fields import Check, Field
from recollect.recall.history import TEXT_KEYS, WORDLESS_KEYS, message_text

REQUIRED = object()  # the default of a parameter that has none
MAX_QUERY = LIMITS["query_bytes"].default  # characters of a query
MAX_TEXT = LIMITS["memory_bytes"].default  # characters of a memory's text
MAX_ITEMS = 10_000  # memories, ids or tags in one call
MAX_RESULTS = 1_000  # results of a recall, memories of a page
MAX_BUDGET = 200_000  # tokens of a context
SETTINGS_OF_SERVER = {  # settings of recipes that take paths, callables, services or records: never of a remote call
    "abmind": ("notes", "translate"),
    "jeffsbrain": ("reranker", "trigram_chunks"),
    "qmd": ("expand", "reranker"),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operation."""

    help: str
    schema: JsonObject
    check: Check
    name: str = ""
    default: Any = REQUIRED
    short_schema: JsonObject | None = None  # as agents see it, whose context is small

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def json_schema(self) -> JsonObject:
        schema = {**self.schema, "description": self.help} if self.help else self.schema
        if self.default in (REQUIRED, None, (), ""):
            return schema
        return {**schema, "default": self.default}

    @property
    def tool_schema(self) -> JsonObject:
        """As agents see it."""
        return replace(self, schema=self.short_schema or self.schema).json_schema


def text(help: str, *, most: int = MAX_QUERY, least: int = 0) -> Parameter:
    """A string with at most this many characters; with ``least`` 1, it must not be blank."""

    def checked(value: object, name: str) -> str:
        string = check.string(value, name)
        if len(string) > most:
            raise InvalidInput(f"{name} has {len(string):,} characters; at most {most:,} are allowed.")
        if least and not string.strip():
            raise InvalidInput(f"{name} is blank; give a text.")
        return string

    schema: JsonObject = {"type": "string", "maxLength": most}
    return Parameter(help, {**schema, "minLength": least, "pattern": r"\S"} if least else schema, checked)


def whole(help: str, low: int = 1, high: int = MAX_RESULTS) -> Parameter:
    """A whole number."""
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Parameter(help, schema, lambda value, name: check.integer(_whole(value), name, low, high))


def number(help: str, low: float = 0.0, high: float = 1.0) -> Parameter:
    schema = {"type": "number", "minimum": low, "maximum": high}
    return Parameter(help, schema, lambda value, name: check.number(value, name, low, high))


def flag(help: str) -> Parameter:
    def checked(value: object, name: str) -> bool:
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be true or false, not {check.short_repr(value)}.")
        return value

    return Parameter(help, {"type": "boolean"}, checked)


def choice(help: str, choices: Sequence[str]) -> Parameter:
    schema = {"type": "string", "enum": list(choices)}
    return Parameter(help, schema, lambda value, name: check.choice(value, name, choices))


def moment(help: str) -> Parameter:
    """A date, which stays as it is written: words such as “yesterday” are read with the time of the query."""

    def checked(value: object, name: str) -> str:
        check.moment(value if isinstance(value, str) else None, name)  # numbers are for Python only
        return str(value)

    return Parameter(help, {"type": "string", "format": "date-time", "maxLength": 100}, checked)


def texts(help: str, *, least: int = 0, most: int = MAX_ITEMS, item: Parameter | None = None) -> Parameter:
    """A list of strings."""
    each = item or text("", most=MAX_QUERY)

    def checked(value: object, name: str) -> list[str]:
        _check_list(value, name, least, most)
        return [each.check(one, f"{name}[{at}]") for at, one in enumerate(value)]  # type: ignore[arg-type, var-annotated]

    schema: JsonObject = {"type": "array", "items": each.schema, "maxItems": most}
    return Parameter(help, {**schema, "minItems": least} if least else schema, checked)


def objects(help: str, schema: JsonObject, item: Check, *, least: int = 1, most: int = MAX_ITEMS) -> Parameter:
    """A list of objects, each checked by ``item``."""

    def checked(value: object, name: str) -> list[Any]:
        _check_list(value, name, least, most)
        return [item(one, f"{name}[{at}]") for at, one in enumerate(value)]  # type: ignore[arg-type, var-annotated]

    return Parameter(help, {"type": "array", "items": schema, "minItems": least, "maxItems": most}, checked)


def mapping(help: str, schema: JsonObject | None = None) -> Parameter:
    """A JSON object."""
    return Parameter(help, {"type": "object", **(schema or {})}, check.json_object)


def any_json(help: str) -> Parameter:
    return Parameter(help, {}, lambda value, name: check.json_object({"value": value}, name)["value"])


def one_of(help: str, *kinds: Parameter) -> Parameter:
    """The first of several kinds that accepts the value."""

    def checked(value: object, name: str) -> Any:
        problem: InvalidInput | None = None
        for kind in kinds:
            try:
                return kind.check(value, name)
            except InvalidInput as error:
                problem = error
        raise problem or InvalidInput(f"{name} is not allowed.")

    return Parameter(help, {"anyOf": [kind.schema for kind in kinds]}, checked)


def _check_list(value: object, name: str, least: int, most: int) -> None:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{name} must be a list, not {check.short_repr(value)}.")
    if not least <= len(value) <= most:
        raise InvalidInput(f"{name} must have between {least:,} and {most:,} items, not {len(value):,}.")


def _whole(value: object) -> object:
    """5.0 is a whole number in JSON Schema, and for many JSON writers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Fields of a memory, from their one definition.


def field_schema(field: Field) -> JsonObject:
    """The JSON schema of a field of a memory."""
    schema: JsonObject
    match field.kind:
        case "text" | "path":
            most = check.LONGEST_ID if field.name in ("id", "external_id") else MAX_TEXT
            schema = {"type": "string", "maxLength": most}
        case "keyword":
            schema = {"type": "string", "enum": list(field.choices)} if field.choices else {"type": "string"}
        case "list":
            schema = {"type": "array", "items": {"type": "string"}}
        case "integer" | "number":
            schema = {"type": field.kind, **({} if field.low is None else {"minimum": field.low})}
            schema |= {} if field.high is None else {"maximum": field.high}
        case "moment":
            schema = {"type": "string", "format": "date-time"}
        case "lines":
            lines = {"type": "integer", "minimum": 1}
            schema = {"type": "array", "items": lines, "minItems": 2, "maxItems": 2}
        case _:
            schema = {"type": "object"}
    return nullable(schema) if field.optional and not field.assigned else schema


def nullable(schema: JsonObject) -> JsonObject:
    if not schema or "null" in schema.get("type", ()):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **more}


def field_parameter(name: str) -> Parameter:
    field = FIELDS[name]

    def checked(value: object, name: str) -> Any:
        if field.kind == "moment" and value is not None:
            return moment("").check(value, name)  # the mind reads it, in its time zone
        if field.kind == "list":
            _check_list(value, name, 0, MAX_ITEMS)  # not the keys of an object
        return field.check(_whole(value) if field.kind == "integer" else value, name)

    return Parameter(field.help, field_schema(field), checked, name, default=None)


def memory_parameters(kind: type) -> list[Parameter]:
    """The parameters of ``**details: Unpack[Details]`` or ``**changes: Unpack[Changes]``."""
    names = [name for name in get_type_hints(kind) if name not in ("mentions", "updated")]
    return [field_parameter(name) for name in names]


# Conditions.


def filter_schema() -> JsonObject:
    """The JSON form of a filter; ``not`` and ``or`` contain filters."""
    words = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    properties: JsonObject = {}
    for name, annotation in get_type_hints(Filter).items():
        if name in FIELDS and FIELDS[name].kind in ("keyword", "list"):
            properties[name] = words
        elif "datetime" in str(annotation) or name == "path":
            properties[name] = {"type": "string"}
    near = {
        "type": "object",
        "properties": {
            "field": {"type": "string"},
            "target": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "within": {"type": "number", "minimum": 0},
        },
        "required": ["field", "target", "within"],
        "additionalProperties": False,
    }
    properties |= {
        "classification": {"type": "integer", "minimum": 0, "maximum": 100},
        "min_confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "confidence_decay": {"type": "number", "minimum": 0, "maximum": 1},
        "context": {"type": "object"},
        "near": near,
        "expired": {"type": "boolean"},
        "not": {"$ref": "#/$defs/Filter"},
        "or": {"type": "array", "items": {"$ref": "#/$defs/Filter"}, "minItems": 1},
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _check_filter(value: object, name: str) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be an object of conditions, not {check.short_repr(value)}.")
    check.json_object(value, name)
    try:
        return as_filter(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


FILTER = Parameter(
    'Only memories that meet these conditions, such as {"tags": ["kitchen"], "since": "2026-01-01"}. There are user, '
    "session, speaker, kind, topic, source, tags, since, until and others; not and or contain filters.",
    {"$ref": "#/$defs/Filter"},
    _check_filter,
    short_schema={"type": "object"},
)


def _check_turn(value: object, name: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or not any(set(each["required"]) <= set(value) for each in TURN["anyOf"]):
        example = '{"role": "user", "content": "Who is Kim?"}'
        raise InvalidInput(f"{name} must be a message such as {example}, not {check.short_repr(value)}.")
    return {
        "role": check.string(value.get("role") or "", f"{name}.role"),
        "text": check.string(message_text(value), f"the text of {name}"),
    }


TURN: JsonObject = {  # a message of any chat API: what else it has is passed over
    "type": "object",
    "properties": {
        "role": {"type": ["string", "null"]},
        "text": {"type": ["string", "array", "null"]},
        "content": {"type": ["string", "array", "null"]},
        "parts": {"type": ["string", "array", "null"]},
    },
    "anyOf": [{"required": [each]} for each in (*TEXT_KEYS, *WORDLESS_KEYS)],
}
SHORT_TURN: JsonObject = {
    "type": "object",
    "properties": {"role": {"type": "string"}, "content": {"type": "string"}},
    "required": ["content"],
}
HISTORY = replace(
    objects(
        "The messages of the conversation before the query, oldest first: a follow-up takes its subject from there.",
        TURN,
        _check_turn,
        least=0,
        most=1_000,
    ),
    short_schema={"type": "array", "items": SHORT_TURN, "maxItems": 1_000},
)


def check_settings(recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recipe that any caller may give: those that are plain values, not paths or services."""
    from recollect.recall.registry import BUILT_IN, get_recipe

    if settings:
        reserved = SETTINGS_OF_SERVER.get(recipe, ())
        if recipe not in BUILT_IN:
            raise InvalidInput(f"settings are for built-in recipes; {recipe!r} is configured where it runs.")
        for name in settings:
            if name in reserved:
                raise InvalidInput(f"settings.{name} of {recipe!r} is configured where it runs, not by a call.")
    try:
        get_recipe(recipe, **settings)
    except InvalidInput:
        raise
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise InvalidInput(f"settings of {recipe!r}: {error}.") from None
    return dict(settings)


# Signatures.


def read_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of an operation, from the annotations of its function."""
    hints = get_type_hints(function, include_extras=True)
    found: list[Parameter] = []
    for argument in list(signature(function).parameters.values())[1:]:  # the first is the service
        if argument.kind is Argument.VAR_KEYWORD:
            (kind,) = get_args(hints[argument.name])
            found += memory_parameters(kind)
            continue
        parameter = next(each for each in get_args(hints[argument.name]) if isinstance(each, Parameter))
        default = REQUIRED if argument.default is Argument.empty else argument.default
        optional = default is None or default == ()
        found.append(
            replace(
                parameter,
                name=argument.name.rstrip("_"),
                default=default,
                schema=nullable(parameter.schema) if optional else parameter.schema,
                short_schema=nullable(parameter.short_schema or {}) if optional else parameter.short_schema,
                check=check.optional(parameter.check) if optional else parameter.check,
            )
        )
    return tuple(found)


Id = Annotated[str, text("The id of a memory, or the beginning of it.", most=check.LONGEST_ID, least=1)]
Query = Annotated[str, text("What to look for: a question, or words.", least=1)]
