"""LlamaIndex: a retriever over all memories, and a block of long-term memory for ``Memory``."""

from __future__ import annotations

import asyncio
from typing import Any

from recollect.integrations import missing_package
from recollect.integrations.common import checked_collection, result_metadata
from recollect.mind import Mind
from recollect.recall.results import Result

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing_package("llamaindex", error) from error


class RecollectNodeRetriever(BaseRetriever):
    """A retriever over all memories of a mind; ``filter`` and ``options`` are those of ``Mind.recall``.

    >>> RetrieverQueryEngine.from_args(RecollectNodeRetriever(Mind("memory.db"), k=5), llm=llm)

    A node's metadata is the context of its memory, and under "recollect" the reason for its score and its fields.
    """

    def __init__(self, mind: Mind, k: int = 5, *, filter: Any = None, **options: Any) -> None:
        self.mind = mind
        self.k = k
        self.filter = filter
        self.options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not query_bundle.query_str.strip():
            return []
        found = self.mind.recall(query_bundle.query_str, self.k, filter=self.filter, **self.options)
        return [_node(result) for result in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class RecollectMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory: stores the messages that leave the short-term memory, and recalls what the last ones are about.

    >>> Memory.from_defaults(session_id="s1", memory_blocks=[RecollectMemoryBlock(mind=Mind("memory.db"))])

    ``budget`` is in tokens. ``filter`` limits what is recalled, as in ``Mind.recall``.
    """

    name: str = Field(default="recollect", description="The name of the memory block.")
    mind: Mind = Field(description="Where the memories are.")
    budget: int = Field(default=1000, description="The most tokens that it adds to a prompt.")
    filter: Any = Field(default=None, description="Which memories are recalled.")
    user: str | None = Field(default=None, description="Whose messages are stored.")
    collection: str | None = Field(default=None, description="The collection that messages are stored in.")
    _details: dict[str, Any] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        self._details = {"collection": checked_collection(self.mind, self.collection, "main")}
        if self.user is not None:
            self._details["user"] = self.user

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        spoken = [message for message in messages or [] if message.content and message.content.strip()]
        if not spoken:
            return ""
        history = [(message.role.value, message.content or "") for message in spoken[:-1]]
        query = spoken[-1].content or ""
        found = await asyncio.to_thread(self.mind.context, query, self.budget, filter=self.filter, history=history)
        return found.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session, turns in _by_session(messages).items():
            details = {**self._details, "session": session} if session else self._details
            await asyncio.to_thread(self.mind.remember_turns, turns, **details)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The first lines, as many as still fit: the best memories come first."""
        shortened = content[: max(0, len(content) - 4 * tokens_to_truncate)].rpartition("\n")[0]
        return shortened or None


def _by_session(messages: list[ChatMessage]) -> dict[str, list[dict[str, str]]]:
    """The messages with text, by the session that LlamaIndex notes on them."""
    sessions: dict[str, list[dict[str, str]]] = {}
    for message in messages:
        session = str(message.additional_kwargs.get("session_id") or "")
        sessions.setdefault(session, []).append({"role": message.role.value, "content": message.content or ""})
    return sessions


def _node(result: Result) -> NodeWithScore:
    metadata = result_metadata(result)
    hidden = list(metadata)  # for people and code, not for prompts and embeddings
    node = TextNode(
        id_=result.id,
        text=result.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=result.score)
