"""The table of operations, and the service that calls them: checked input, scope, and JSON values as output.

An operation is a function of a service with annotated arguments. Its signature is the only definition of its input:
HTTP routes, OpenAPI, MCP tools, ``Mind.tools()`` and the client are made from this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Literal, get_args

from recollect.errors import AccessDenied, InvalidInput
from recollect.model import JsonObject, check
from recollect.service.parameters import Parameter, read_parameters
from recollect.service.records import ref, references, with_definitions
from recollect.store.retrying import retry

if TYPE_CHECKING:
    from recollect.mind import Mind
    from recollect.systems.openclaw.search import SearchSettings
    from recollect.systems.openclaw.workspace import Workspace

OperationScope = Literal["read", "write", "admin"]  # each includes those before it
SCOPES: tuple[OperationScope, ...] = get_args(OperationScope)
ToolSet = Literal["basic", "more", "robot", "notes"]
Handler = Callable[..., Any]
ServiceProgress = Callable[[int, int], None]  # (done, of how many); raise in it to stop the work


@dataclass(frozen=True)
class Operation:
    """One verb of the service."""

    name: str
    handler: Handler
    scope: OperationScope
    returns: JsonObject  # JSON schema of the output, which may refer to records.DEFINITIONS
    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str  # of the HTTP route, below /v1
    tools: tuple[ToolSet, ...] = ()  # the sets in which it is a tool for agents; none: it is not offered as a tool
    destructive: bool = False  # removes or replaces something
    idempotent: bool = False  # a second call with the same arguments changes nothing more
    creates: bool = False  # HTTP 201
    long: bool = False  # reports progress
    shown: tuple[str, ...] = ()  # the arguments that agents see, whose context is small; empty: all of them

    @property
    def read_only(self) -> bool:
        return self.scope == "read"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return read_parameters(self.handler)

    @cached_property
    def is_storable(self) -> bool:
        """Does the output contain no text that somebody stored?"""
        return self.returns == ref("WriteSummary") or not [*references(self.returns)]

    @cached_property
    def description(self) -> str:
        """What it does, and when to use it."""
        return cleandoc(self.handler.__doc__ or "").replace("\n\n", "\n")

    @property
    def summary(self) -> str:
        return self.description.split("\n")[0]

    @cached_property
    def input_schema(self) -> JsonObject:
        """The JSON schema of the input; it stands alone."""
        return with_definitions(self.input_object)

    @cached_property
    def input_object(self) -> JsonObject:
        return {
            "type": "object",
            "properties": {each.name: each.json_schema for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }

    @cached_property
    def tool_schema(self) -> JsonObject:
        """The JSON schema of the input as agents see it: the arguments that are shown; others are accepted, too."""
        schema = {**self.input_object}
        parameters = {each.name: each for each in self.parameters}
        schema["properties"] = {name: parameters[name].tool_schema for name in self.shown or parameters}
        return with_definitions(schema)

    @cached_property
    def output_schema(self) -> JsonObject:
        """The JSON schema of the output; it stands alone."""
        return with_definitions(self.returns)

    def default(self, argument: str) -> Any:
        return next(each.default for each in self.parameters if each.name == argument)

    def check_names(self, arguments: object, every_argument: bool = True) -> None:
        """Refuse an unknown argument; the message lists every argument, or those that agents see, required ones
        first."""
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"The arguments of {self.name} are an object, not {check.short_repr(arguments)}.")
        known = {each.name: each.required for each in self.parameters}
        for name in arguments:
            if name not in known:
                listed = sorted(known if every_argument else self.shown or known, key=lambda each: not known[each])
                raise InvalidInput(
                    f"{self.name} has no argument {check.short_repr(name)}; it has: {', '.join(listed) or 'none'}."
                )

    def check(self, arguments: object) -> dict[str, Any]:
        """Checked arguments; an InvalidInput names the first that is missing, unknown or wrong."""
        self.check_names(arguments)
        assert isinstance(arguments, Mapping)
        known = {each.name: each for each in self.parameters}
        for each in self.parameters:
            if each.required and each.name not in arguments:
                raise InvalidInput(f"{self.name} needs the argument {each.name!r}: {each.help}")
        return {name: known[name].check(value, name) for name, value in arguments.items()}

    def run(self, service: Service, arguments: Mapping[str, Any]) -> Any:
        """Check the arguments and call the function; the caller has checked the scope."""
        values = self.check(arguments)
        named = {f"{name}_" if iskeyword(name) else name: each for name, each in values.items()}
        if self.scope == "read":
            return retry(lambda: self.handler(service, **named))
        return self.handler(service, **named)


OPERATIONS: dict[str, Operation] = {}


def operation(
    method: Literal["GET", "POST", "PATCH", "DELETE"],
    path: str,
    *,
    scope: OperationScope,
    returns: JsonObject,
    tools: tuple[ToolSet, ...] = (),
    destructive: bool = False,
    idempotent: bool = False,
    creates: bool = False,
    long: bool = False,
    shown: tuple[str, ...] = (),
) -> Callable[[Handler], Handler]:
    """Enter a function into the table, under its own name."""

    def enter(function: Handler) -> Handler:
        name = function.__name__.rstrip("_")
        OPERATIONS[name] = Operation(
            name, function, scope, returns, method, path, tools, destructive, idempotent, creates, long, shown
        )
        return function

    return enter


@dataclass(frozen=True)
class Service:
    """The operations on one mind, for one caller. The bound of the mind is the caller's (B18)."""

    mind: Mind
    scope: OperationScope = "admin"
    search: SearchSettings | None = None  # of notes; None: the default ones
    progress: ServiceProgress | None = None  # of the current call, for operations that take long
    workspaces: dict[str, Workspace] = field(default_factory=dict, repr=False)  # opened so far, by collection

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call an operation by its name; the output is JSON values, or an iterator of them for ``export``."""
        found = find_operation(name)
        self.require(found)
        return found.run(self, arguments or {})

    def require(self, operation: Operation) -> None:
        """Raise AccessDenied unless the caller's scope includes the operation's."""
        if not self.allows(operation):
            raise AccessDenied(
                f"{operation.name} needs the scope {operation.scope!r}, and this access has {self.scope!r}."
            )

    def allows(self, operation: Operation) -> bool:
        return SCOPES.index(operation.scope) <= SCOPES.index(self.scope)


def find_operation(name: str) -> Operation:
    operations = all_operations()
    if name not in operations:
        raise InvalidInput(f"There is no operation {check.short_repr(name)}; there are: {', '.join(operations)}.")
    return operations[name]


@cache
def all_operations() -> dict[str, Operation]:
    """Every operation, by name."""
    for module in ("writing", "recalling", "reading", "conversations", "transfer"):
        import_module(f"recollect.service.{module}")  # enters its operations
    return OPERATIONS


def tool_operations(*sets: str) -> list[Operation]:
    """The operations that are tools of these sets: basic, robot, notes, or all."""
    known = (*get_args(ToolSet), "all")
    for each in sets:
        if each not in known or each == "more":
            raise InvalidInput(f"There is no set of tools {each!r}; there are: basic, robot, notes, all.")
    return [each for each in all_operations().values() if each.tools and ("all" in sets or {*each.tools} & {*sets})]
