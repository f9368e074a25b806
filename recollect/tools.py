"""The verbs of a mind as tools for a language model: definitions with a JSON schema, and the functions to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from recollect.records import dataclass

if TYPE_CHECKING:
    from recollect.mind import Mind


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call. ``call(**arguments)`` returns plain JSON values."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # a JSON schema
    call: Callable[..., Any]

    def for_openai(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def for_anthropic(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "input_schema": dict(self.parameters)}


def make_tools(mind: Mind) -> list[Tool]:
    """``remember``, ``recall`` and ``forget`` of a mind."""

    def remember(text: str) -> dict[str, Any]:
        return {"id": mind.remember(text).id}

    def recall(query: str, history: list[Any] | None = None, k: int | None = None) -> list[dict[str, Any]]:
        found = mind.recall(query, k, history=history or ())
        return [
            {
                "id": result.id,
                "text": result.text,
                "created": result.memory.created.isoformat() if result.memory.created else None,
                "score": result.score,
                "why": result.why.summary(),
                "low_confidence": found.low_confidence,
            }
            for result in found
        ]

    def forget(id: str) -> dict[str, Any]:
        forgotten = mind.forget(id)
        return {"forgotten": forgotten} if forgotten else {"forgotten": 0, "message": f"{id} was forgotten before."}

    text, whole_number = {"type": "string"}, {"type": "integer", "minimum": 1}
    turn = _object({"role": text, "text": text}, "text")
    turns = {"type": "array", "items": turn, "description": "The turns before the query, oldest first."}
    return [
        Tool("remember", "Store a fact, a preference or an event.", _object({"text": text}, "text"), remember),
        Tool(
            "recall",
            "Find what is remembered about a question. Pass the turns before it when it is a follow-up. "
            "Results with low_confidence are probably not about it.",
            _object({"query": text, "history": turns, "k": whole_number}, "query"),
            recall,
        ),
        Tool("forget", "Forget a memory by its id.", _object({"id": text}, "id"), forget),
    ]


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
