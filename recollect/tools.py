"""The operations of the service as tools for a language model: definitions with a JSON schema, and what to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.service import Operation, Service, tool_operations

if TYPE_CHECKING:
    from recollect.mind import Mind


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call. ``call(**arguments)`` returns plain JSON values."""

    operation: Operation
    service: Service

    @property
    def name(self) -> str:
        return self.operation.name

    @property
    def description(self) -> str:
        return self.operation.description

    @property
    def parameters(self) -> JsonObject:
        """The JSON schema of the arguments."""
        return self.operation.tool_schema

    def call(self, **arguments: Any) -> Any:
        return self.run(arguments)

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Call it with the arguments that a model gave; InvalidInput if they are wrong."""
        self.operation.check_names(arguments, every_argument=False)
        return self.operation.run(self.service, arguments)

    def for_openai(self) -> JsonObject:
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def for_anthropic(self) -> JsonObject:
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


class Tools(Sequence[Tool]):
    """Tools of one mind, in the shape that each API takes, with one ``call`` for all of them.

    >>> tools = mind.tools()
    >>> client.chat.completions.create(tools=tools.for_openai(), …)
    >>> tools.call("recall", {"query": "where is the cup?"})["results"]
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = list(tools)

    def for_openai(self) -> list[JsonObject]:
        return [tool.for_openai() for tool in self]

    def for_anthropic(self) -> list[JsonObject]:
        return [tool.for_anthropic() for tool in self]

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool by its name, as a model asks for it; plain JSON values."""
        for tool in self:
            if tool.name == name:
                return tool.run({} if arguments is None else arguments)
        raise InvalidInput(f"There is no tool {name!r} here; there are: {', '.join(tool.name for tool in self)}.")

    @overload
    def __getitem__(self, at: int) -> Tool: ...
    @overload
    def __getitem__(self, at: slice) -> list[Tool]: ...
    def __getitem__(self, at: int | slice) -> Tool | list[Tool]:
        return self._tools[at]

    def __len__(self) -> int:
        return len(self._tools)


def make_tools(mind: Mind, sets: Sequence[str] = ("basic",)) -> Tools:
    """The tools of these sets: basic, robot, notes, or all."""
    service = Service(mind)
    return Tools([Tool(operation, service) for operation in tool_operations(*sets)])
