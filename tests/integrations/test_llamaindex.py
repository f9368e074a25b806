"""LlamaIndex: a retriever in a query engine, and a memory block in its Memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from tests.integrations.kit import need

need("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage  # noqa: E402
from llama_index.core.llms import MockLLM  # noqa: E402
from llama_index.core.memory import Memory  # noqa: E402
from llama_index.core.query_engine import RetrieverQueryEngine  # noqa: E402
from llama_index.core.schema import MetadataMode  # noqa: E402

from recollect.integrations.llamaindex import RecollectMemoryBlock, RecollectNodeRetriever  # noqa: E402

pytestmark = pytest.mark.contract("B22")


def words(text: str) -> list[str]:
    return text.split()  # LlamaIndex's own tokenizer is downloaded


@pytest.fixture
def notes(path: Path) -> Any:
    with Mind(path) as mind:
        mind.remember("The kiln is serviced every October.", user="ada", context={"page": 3})
        mind.remember("Bob has the key of the boathouse.", user="bob")
        yield mind


def test_a_query_engine_answers_from_the_memories(notes: Mind) -> None:
    engine = RetrieverQueryEngine.from_args(RecollectNodeRetriever(notes, k=1), llm=MockLLM())
    response = engine.query("when is the kiln looked after?")
    assert [node.node.get_content() for node in response.source_nodes] == ["The kiln is serviced every October."]
    assert "The kiln is serviced every October." in str(response)  # the mock repeats its prompt


def test_nodes_have_scores_reasons_and_the_fields_of_the_memory(notes: Mind) -> None:
    (node,) = RecollectNodeRetriever(notes, k=5, filter={"user": "ada"}).retrieve("kiln boathouse")
    assert node.score == node.metadata["recollect"]["score"]
    assert node.metadata["page"] == 3
    assert node.metadata["recollect"]["user"] == "ada"
    assert node.metadata["recollect"]["why"]
    assert (
        node.node.get_content(MetadataMode.LLM) == "The kiln is serviced every October."
    )  # fields do not reach the prompt


def test_asynchronous_and_blank_queries(notes: Mind) -> None:
    retriever = RecollectNodeRetriever(notes, k=1)
    (node,) = asyncio.run(retriever.aretrieve("who has the boathouse key?"))
    assert node.text == "Bob has the key of the boathouse."
    assert retriever.retrieve("  ") == []


def test_what_leaves_the_short_term_memory_is_recalled_later(path: Path) -> None:
    async def talk(mind: Mind) -> str:
        block = RecollectMemoryBlock(mind=mind, user="ada")
        memory = Memory.from_defaults(
            session_id="chat-1",
            token_limit=60,
            chat_history_token_ratio=0.5,
            token_flush_size=15,
            memory_blocks=[block],
            tokenizer_fn=words,
        )
        await memory.aput(ChatMessage(role="user", content="My sister Ines keeps bees on the roof of the bakery."))
        await memory.aput(ChatMessage(role="assistant", content="How lovely."))
        for number in range(6):
            await memory.aput(ChatMessage(role="user", content=f"Filler number {number} about nothing in particular."))
        await memory.aput(ChatMessage(role="user", content="Where does Ines keep her bees?"))
        messages = await memory.aget()
        return "\n".join(message.content or "" for message in messages)

    with Mind(path) as mind:
        prompt = asyncio.run(talk(mind))
        stored = mind.list({"session": "chat-1", "user": "ada"})
        assert "My sister Ines keeps bees on the roof of the bakery." in [memory.text for memory in stored]
    assert "My sister Ines keeps bees on the roof of the bakery." in prompt


def test_a_block_takes_the_last_message_as_the_query_and_fits_its_budget(notes: Mind) -> None:
    block = RecollectMemoryBlock(mind=notes, budget=30)
    messages = [
        ChatMessage(role="user", content="Tell me about the kiln."),
        ChatMessage(role="user", content="Who has the boathouse key?"),
    ]
    text = asyncio.run(block.aget(messages))
    assert "Bob has the key" in text
    assert len(text) <= 4 * 30
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget([ChatMessage(role="user", content=None)])) == ""


def test_a_block_sees_only_what_its_filter_allows(notes: Mind) -> None:
    block = RecollectMemoryBlock(mind=notes, filter={"user": "ada"})
    text = asyncio.run(block.aget([ChatMessage(role="user", content="Who has the boathouse key?")]))
    assert "Bob" not in text


def test_a_block_is_cut_at_lines(notes: Mind) -> None:
    block = RecollectMemoryBlock(mind=notes)
    assert asyncio.run(block.atruncate("first line\nsecond line", 1)) == "first line"
    assert asyncio.run(block.atruncate("first line", 100)) is None
