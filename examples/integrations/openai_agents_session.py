"""OpenAI Agents SDK: a session that survives the process, and memory tools. Runs offline with a scripted model.

pip install '.[openai-agents]'
python examples/integrations/openai_agents_session.py
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from recollect import Mind
from recollect.integrations.openai_agents import RecollectSession, function_tools


class ScriptedModel(Model):
    """Stands in for a model: it recalls first, then answers with what the tool returned."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        last = input[-1]
        output: Any
        if last.get("type") == "function_call_output":
            best = json.loads(last["output"])["results"][0]["memory"]["text"]
            text = ResponseOutputText(annotations=[], text=f"I remember: {best}", type="output_text", logprobs=[])
            output = ResponseOutputMessage(
                id="m1", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            arguments = json.dumps({"query": last["content"]})
            output = ResponseFunctionToolCall(
                arguments=arguments, call_id=f"call-{len(input)}", name="recall", type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def run(mind: Mind) -> None:
    session = RecollectSession("chat-1", mind, user="ada")
    agent = Agent("keeper", model=ScriptedModel(), tools=[*function_tools(mind, session=session)])
    question = "who can open the boathouse?"
    result = await Runner.run(agent, question, session=session, run_config=RunConfig(tracing_disabled=True))
    print(question, result.final_output)
    print("Items in the session:", [item.get("type") or item["role"] for item in await session.get_items()])


def main() -> None:
    with Mind(":memory:") as mind:  # a file name keeps it
        mind.remember("Bob has the key of the boathouse.")
        asyncio.run(run(mind))


if __name__ == "__main__":
    main()
