"""LlamaIndex: a retriever in a query engine, and a block of long-term memory. Runs offline.

pip install '.[llamaindex]'
python examples/integrations/llamaindex_memory.py
"""

import asyncio

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine

from recollect import Mind
from recollect.integrations.llamaindex import RecollectMemoryBlock, RecollectNodeRetriever


async def talk(mind: Mind) -> None:
    memory = Memory.from_defaults(
        session_id="chat-1",
        token_limit=60,
        chat_history_token_ratio=0.5,
        token_flush_size=15,
        memory_blocks=[RecollectMemoryBlock(mind=mind, user="ada")],
        tokenizer_fn=str.split,  # LlamaIndex downloads its own
    )
    await memory.aput(ChatMessage(role="user", content="My sister Ines keeps bees on the roof of the bakery."))
    for number in range(6):
        await memory.aput(
            ChatMessage(role="user", content=f"Message {number} about nothing in particular, long enough.")
        )
    await memory.aput(ChatMessage(role="user", content="Where does Ines keep her bees?"))
    prompt = "\n".join(message.content or "" for message in await memory.aget())
    print("The prompt has the old message:", "roof of the bakery" in prompt)


def main() -> None:
    with Mind(":memory:") as mind:  # a file name keeps it
        mind.remember("The kiln is serviced every October.")
        mind.remember("Bob has the key of the boathouse.")
        engine = RetrieverQueryEngine.from_args(RecollectNodeRetriever(mind, k=1), llm=MockLLM())
        response = engine.query("when is the kiln looked after?")
        print("Source:", response.source_nodes[0].text)
        asyncio.run(talk(mind))


if __name__ == "__main__":
    main()
