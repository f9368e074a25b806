"""Google ADK: the memory service in a real Runner, beside ADK's own in-memory service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind, NotFound
from tests.integrations.kit import need

need("google.adk")

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.memory.memory_entry import MemoryEntry  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_request import LlmRequest  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.adk.tools.load_memory_tool import load_memory_tool  # noqa: E402
from google.genai.types import Content, FunctionCall, Part  # noqa: E402

from recollect.integrations.google_adk import RecollectMemoryService  # noqa: E402

pytestmark = [pytest.mark.contract("B22"), pytest.mark.filterwarnings("ignore::UserWarning")]


class ScriptedLlm(BaseLlm):
    """Answers with the next part of a script and keeps what it was sent."""

    model: str = "scripted"
    script: list[Part] = []  # noqa: RUF012  pydantic copies it
    requests: list[str] = []  # noqa: RUF012

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(" ".join(content.model_dump_json() for content in llm_request.contents))
        yield LlmResponse(content=Content(role="model", parts=[self.script.pop(0)]))


async def say(runner: Runner, session: Any, text: str) -> None:
    message = Content(role="user", parts=[Part(text=text)])
    async for _ in runner.run_async(user_id=session.user_id, session_id=session.id, new_message=message):
        pass


def texts(response: Any) -> list[str]:
    return [entry.content.parts[0].text for entry in response.memories]


def test_an_agent_finds_what_was_told_in_another_session(path: Path) -> None:
    async def run(mind: Mind) -> str:
        sessions = InMemorySessionService()
        memory = RecollectMemoryService(mind)
        call = Part(function_call=FunctionCall(name="load_memory", args={"query": "who can open the boathouse?"}))
        model = ScriptedLlm(script=[Part(text="Noted."), call, Part(text="Bob can.")])
        agent = LlmAgent(name="keeper", model=model, tools=[load_memory_tool])
        runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
        first = await sessions.create_session(app_name="app", user_id="ada")
        await say(runner, first, "Bob has the key of the boathouse.")
        done = await sessions.get_session(app_name="app", user_id="ada", session_id=first.id)
        assert done is not None
        await memory.add_session_to_memory(done)
        await memory.add_session_to_memory(done)  # a session may be added again: nothing is stored twice
        second = await sessions.create_session(app_name="app", user_id="ada")
        await say(runner, second, "Who can open it?")
        return model.requests[-1]

    with Mind(path) as mind:
        request = asyncio.run(run(mind))
        assert "Bob has the key of the boathouse." in request
        assert [memory.text for memory in mind.list(sort="oldest")] == ["Bob has the key of the boathouse.", "Noted."]


def test_apps_and_users_do_not_see_each_other(mind: Mind) -> None:
    async def run() -> None:
        service = RecollectMemoryService(mind)
        for app, user in (("app", "ada"), ("app", "bob"), ("other.app", "ada")):
            entry = MemoryEntry(content=Content(parts=[Part(text=f"The kettle of {user} in {app}.")]), id="1")
            await service.add_memory(app_name=app, user_id=user, memories=[entry], custom_metadata={"app": app})
        (found,) = (await service.search_memory(app_name="app", user_id="ada", query="kettle")).memories
        assert texts(await service.search_memory(app_name="app", user_id="ada", query="kettle")) == [
            "The kettle of ada in app."
        ]
        assert found.custom_metadata == {"app": "app"}
        assert found.timestamp is not None
        with pytest.raises(NotFound):
            await service.delete_memory(app_name="app", user_id="bob", memory_id=found.id)
        await service.delete_memory(app_name="app", user_id="ada", memory_id=found.id)
        assert texts(await service.search_memory(app_name="app", user_id="ada", query="kettle")) == []
        assert len(texts(await service.search_memory(app_name="app", user_id="bob", query="kettle"))) == 1
        assert texts(await service.search_memory(app_name="nobody", user_id="ada", query="kettle")) == []
        assert texts(await service.search_memory(app_name="app", user_id="bob", query=" ")) == []

    asyncio.run(run())


def test_metadata_that_json_cannot_hold_is_refused(mind: Mind) -> None:
    entry = MemoryEntry(content=Content(parts=[Part(text="x")]), custom_metadata={"x": object()})
    with pytest.raises(InvalidInput, match="custom_metadata"):
        asyncio.run(RecollectMemoryService(mind).add_memory(app_name="a", user_id="u", memories=[entry]))
    with pytest.raises(InvalidInput, match="memory_id"):
        asyncio.run(RecollectMemoryService(mind).delete_memory(app_name="a", user_id="u"))
