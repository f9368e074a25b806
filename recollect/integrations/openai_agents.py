"""OpenAI Agents SDK: a session that keeps an agent's conversation, and the verbs of a mind as function tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput, RecollectError
from recollect.integrations import missing_package
from recollect.integrations.common import MessageLog
from recollect.mind import Mind
from recollect.model import Memory, check
from recollect.service.errors import error_json
from recollect.tools import Tool

try:
    from agents import FunctionTool, SessionSettings
    from agents.memory import SessionABC
except ImportError as error:
    raise missing_package("openai-agents", error) from error

if TYPE_CHECKING:
    from agents import TResponseInputItem
    from agents.tool_context import ToolContext


class RecollectSession(SessionABC):
    """The conversation of an agent as turns, which recalls find as well.

    >>> await Runner.run(agent, "Hello!", session=RecollectSession("chat-1", Mind("memory.db")))
    """

    def __init__(
        self,
        session_id: str,
        mind: Mind,
        *,
        collection: str | None = None,
        user: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._log = MessageLog(mind, session_id, collection=collection, user=user)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items, or the last ones, oldest first."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        turns = await asyncio.to_thread(self._log.read, most)
        return [turn.context["openai"] for turn in turns]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if items:
            await asyncio.to_thread(self._log.append, [_turn(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        turn = await asyncio.to_thread(self._log.pop)
        return None if turn is None else turn.context["openai"]

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._log.clear)


def function_tools(mind: Mind, *sets: str, session: RecollectSession | None = None) -> list[FunctionTool]:
    """The tools of a mind (``remember``, ``recall``, …) for ``Agent(tools=…)``; ``sets`` as in ``Mind.tools``.

    What is in ``session`` is not recalled: the model has it, and the question itself would be the best match.
    """
    return [_function_tool(tool, session.session_id if session else "") for tool in mind.tools(*sets)]


def _function_tool(tool: Tool, session: str) -> FunctionTool:
    searches = session and {"query", "filter"} <= {*tool.parameters["properties"]}

    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            values = _arguments(arguments)
            if searches:
                values["filter"] = _without_session(values.get("filter"), session)
            return json.dumps(await asyncio.to_thread(tool.call, **values), ensure_ascii=False, default=str)
        except RecollectError as error:  # the model can correct its call
            return json.dumps({"error": error_json(error)}, ensure_ascii=False)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def _arguments(arguments: str) -> dict[str, Any]:
    try:
        values = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidInput(f"The arguments are not valid JSON: {error}.") from None
    if not isinstance(values, dict):
        raise InvalidInput(f"The arguments must be a JSON object, not {check.short_repr(values)}.")
    return values


def _without_session(filter: Any, session: str) -> Any:
    if filter is not None and not isinstance(filter, dict):
        return filter  # the call refuses it
    unwanted, negated = {"session": session}, (filter or {}).get("not")
    return {**(filter or {}), "not": {"or": [negated, unwanted]} if negated else unwanted}


def _turn(item: TResponseInputItem) -> Memory:
    """An item as a memory: a message has a text, and calls and their outputs have one that names them."""
    fields: Mapping[str, Any] = item  # type: ignore[assignment]
    form = str(fields.get("type") or "message")
    text = _text(fields.get("content")) or f"({form.replace('_', ' ')}) {_call_text(fields)}".strip()
    role = str(fields.get("role") or ("tool" if form.endswith("_output") else "assistant"))
    return Memory(text=text, role=role, context=check.json_object({"openai": dict(fields)}, "item"))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _call_text(fields: Mapping[str, Any]) -> str:
    parts = (fields.get("name"), fields.get("arguments"), fields.get("output"))
    return " ".join(part if isinstance(part, str) else json.dumps(part) for part in parts if part)
