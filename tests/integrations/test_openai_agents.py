"""OpenAI Agents SDK: real runs of the SDK's Runner with a model that follows a script, offline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind
from tests.integrations.kit import need

need("agents")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage  # noqa: E402
from agents.memory import Session, SessionSettings, SQLiteSession  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from recollect.integrations.openai_agents import RecollectSession, function_tools  # noqa: E402

pytestmark = pytest.mark.contract("B22")
OFFLINE = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """Answers with the next entry of a script (a text, or a tool call) and records what it was sent."""

    def __init__(self, *script: str | tuple[str, dict[str, Any]]) -> None:
        self.script = list(script)
        self.inputs: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        self.inputs.append([dict(item) for item in input] if isinstance(input, list) else [input])
        number, step = len(self.inputs), self.script.pop(0)
        if isinstance(step, tuple):
            call = ResponseFunctionToolCall(
                arguments=json.dumps(step[1]), call_id=f"call-{number}", name=step[0], type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text=step, type="output_text", logprobs=[])
        message = ResponseOutputMessage(
            id=f"m{number}", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def outputs(items: list[Any]) -> list[Any]:
    return [json.loads(item["output"]) for item in items if item.get("type") == "function_call_output"]


def test_a_run_continues_the_session_of_an_earlier_process(path: Path) -> None:
    first = ScriptedModel("Hello Ada.")
    with Mind(path, embedder=None) as mind:
        session = RecollectSession("chat-1", mind)
        assert isinstance(session, Session)
        asyncio.run(Runner.run(Agent("a", model=first), "I am Ada.", session=session, run_config=OFFLINE))
    second = ScriptedModel("You are Ada.")
    with Mind(path, embedder=None) as mind:
        session = RecollectSession("chat-1", mind)
        result = asyncio.run(Runner.run(Agent("a", model=second), "Who am I?", session=session, run_config=OFFLINE))
        assert result.final_output == "You are Ada."
        sent = second.inputs[0]
        assert [item["role"] for item in sent] == ["user", "assistant", "user"]
        assert sent[0]["content"] == "I am Ada."
        assert sent[2]["content"] == "Who am I?"
        assert mind.recall("who is Ada?", filter={"session": "chat-1"})  # and recalls find the turns


def test_a_long_output_of_a_tool_is_stored_whole(mind: Mind) -> None:
    output = "A line of the log, which says what happened.\n" * 1_600  # 72 KB
    items: Any = [
        {"type": "function_call_output", "call_id": "1", "output": output},
        {"role": "user", "content": output},
    ]
    session = RecollectSession("chat-1", mind)
    asyncio.run(session.add_items(items))
    assert asyncio.run(session.get_items()) == items


def test_an_agent_remembers_and_recalls_through_its_tools(path: Path) -> None:
    model = ScriptedModel(
        ("remember", {"text": "Bob has the key of the boathouse."}),
        "Noted.",
        ("recall", {"query": "who can open the boathouse?"}),
        "Bob can.",
    )
    with Mind(path) as mind:
        agent = Agent("keeper", model=model, tools=[*function_tools(mind)])
        asyncio.run(Runner.run(agent, "Bob has the boathouse key.", run_config=OFFLINE))
        assert [memory.text for memory in mind.list()] == ["Bob has the key of the boathouse."]
        result = asyncio.run(Runner.run(agent, "Who can open it?", run_config=OFFLINE))
        assert result.final_output == "Bob can."
        assert "Bob has the key of the boathouse." in json.dumps(outputs(model.inputs[-1]))


@pytest.mark.parametrize(
    "filter",
    [None, {}, {"kind": ["memory", "turn"]}, {"not": {"kind": "fact"}}, {"not": {"session": "chat-0"}, "user": ""}],
)
def test_a_recall_leaves_out_the_session_that_the_model_sees(mind: Mind, filter: Any) -> None:
    mind.remember("The boathouse key is with Bob.")
    mind.remember_turns(["Where was the boathouse key in May?"], session="chat-0")
    session = RecollectSession("chat-1", mind)
    call: dict[str, Any] = {"query": "where is the boathouse key?", **({} if filter is None else {"filter": filter})}
    model = ScriptedModel(("recall", call), "With Bob.")
    agent = Agent("keeper", model=model, tools=[*function_tools(mind, session=session)])
    asyncio.run(Runner.run(agent, "where is the boathouse key?", session=session, run_config=OFFLINE))
    (output,) = outputs(model.inputs[-1])
    found = {result["memory"]["text"] for result in output["results"]}
    earlier = set() if filter and "user" in filter else {"Where was the boathouse key in May?"}
    assert found == {"The boathouse key is with Bob."} | earlier


@pytest.mark.parametrize(
    "arguments", [{"text": " "}, {"text": 7}, {"wrong": "x"}, {}], ids=["blank", "number", "unknown", "missing"]
)
def test_a_wrong_call_tells_the_model_what_is_wrong_and_the_run_goes_on(mind: Mind, arguments: dict[str, Any]) -> None:
    model = ScriptedModel(("remember", arguments), "Sorry.")
    agent = Agent("keeper", model=model, tools=[*function_tools(mind)])
    assert asyncio.run(Runner.run(agent, "Go.", run_config=OFFLINE)).final_output == "Sorry."
    assert "error" in json.dumps(outputs(model.inputs[-1]))
    assert mind.list() == []


ITEMS: list[Any] = [
    {"role": "user", "content": "Where is the kiln?"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"what": "kiln"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "in the yard"},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"role": "assistant", "content": [{"type": "output_text", "text": "In the yard.", "annotations": []}]},
    {"role": "user", "content": ""},
]


def test_a_session_behaves_as_the_sdks_own(mind: Mind) -> None:
    async def run(session: Any) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        await session.add_items([])
        seen += [await session.get_items(), await session.get_items(limit=2), await session.get_items(limit=0)]
        seen += [await session.get_items(limit=99), await session.pop_item(), await session.pop_item()]
        await session.add_items([{"role": "user", "content": "again"}])
        seen += [await session.get_items()]
        await session.clear_session()
        return [*seen, await session.get_items(), await session.pop_item()]

    assert asyncio.run(run(RecollectSession("s", mind))) == asyncio.run(run(SQLiteSession("s")))


def test_the_limit_of_the_settings_counts(mind: Mind) -> None:
    async def run() -> None:
        session = RecollectSession("s", mind, session_settings=SessionSettings(limit=1))
        await session.add_items(ITEMS[:2])
        assert await session.get_items() == ITEMS[1:2]

    asyncio.run(run())


def test_sessions_are_separate_by_id_and_user(mind: Mind) -> None:
    async def run() -> None:
        sessions = [RecollectSession("s.1", mind, user="ada"), RecollectSession("s.1", mind, user="bob")]
        sessions.append(RecollectSession("s", mind, user="ada"))
        for number, session in enumerate(sessions):
            await session.add_items([{"role": "user", "content": f"item {number}"}])
        await sessions[0].clear_session()
        assert [len(await session.get_items()) for session in sessions] == [0, 1, 1]

    asyncio.run(run())


def test_items_that_json_cannot_hold_are_refused(mind: Mind) -> None:
    session = RecollectSession("s", mind)
    with pytest.raises(InvalidInput, match="item"):
        asyncio.run(session.add_items([ITEMS[0], {"role": "user", "content": "x", "extra": object()}]))  # type: ignore[list-item, misc]
    assert asyncio.run(session.get_items()) == []
