"""LangChain: a vector store, a retriever over all memories, and a chat message history."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recollect.errors import InvalidInput
from recollect.integrations import missing_package
from recollect.integrations.common import KeyedMemories, MessageLog, Test, checked_collection, result_metadata
from recollect.mind import Mind
from recollect.model import Filter, FilterExpression, Memory, as_filter, check

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
    from pydantic import ConfigDict
except ImportError as error:
    raise missing_package("langchain", error) from error

DocumentFilter = FilterExpression | Mapping[str, Any] | Callable[[Document], bool] | None
ROLES = {"human": "user", "ai": "assistant"}  # LangChain's names for them


class LangChainEmbedder:
    """LangChain embeddings as the embedder of a Mind: ``Mind("memory.db", embedder=LangChainEmbedder(embeddings))``.

    ``name`` is stored with the vectors. It must change when the model changes.
    """

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        self.embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        self.name = name or ":".join(["langchain", type(embeddings).__name__, *([str(model)] if model else [])])
        self._dim: int | None = None

    @property
    def known_dim(self) -> int | None:
        return self._dim

    @property
    def dim(self) -> int:
        if self._dim is None:
            self._dim = len(self.embeddings.embed_query("dimensions"))
        return self._dim

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if query:
            return [self.embeddings.embed_query(text) for text in texts]
        return self.embeddings.embed_documents(list(texts))


class RecollectVectorStore(VectorStore):
    """Documents as memories of kind "document", found by words and meaning with the default recipe.

    >>> store = RecollectVectorStore(Mind("memory.db"))
    >>> store.add_texts(["The kiln fires at 1240 degrees."], [{"page": 3}], ids=["kiln"])
    >>> store.similarity_search("how hot is the kiln?", k=1, filter={"page": 3})

    Metadata is the context of a memory. ``filter`` is conditions on the metadata (dot paths and the operators of
    docs/filters.md), a ``recollect.Filter``, or a function of a Document.
    """

    def __init__(self, mind: Mind, *, collection: str | None = None, recipe: str = "default") -> None:
        self.mind = mind
        self.recipe = recipe
        self._documents = KeyedMemories(mind, checked_collection(mind, collection, "langchain"), "document")

    @property
    def embeddings(self) -> Embeddings | None:
        embedder = self.mind.embedder
        return embedder.embeddings if isinstance(embedder, LangChainEmbedder) else None

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str = ":memory:",
        mind: Mind | None = None,
        **options: Any,
    ) -> RecollectVectorStore:
        """A store with these texts, in a file or in an open mind. Without ``embedding`` the local model is used."""
        if mind is None:
            mind = Mind(path, embedder="local" if embedding is None else LangChainEmbedder(embedding))
        store = cls(mind, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **unknown: Any,
    ) -> list[str]:
        """Add texts, all or none; the same id again replaces a document. Returns the ids."""
        _check_options("add_texts", unknown)
        listed = list(texts)
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(listed):
                raise InvalidInput(f"{name} has {len(values)} entries for {len(listed)} texts; give one for each.")
        names = [name or str(uuid.uuid4()) for name in ids or [None] * len(listed)]
        self._documents.put(
            [
                Memory(text=text, id=self._documents.id(name), external_id=name, context=metadata or {})
                for text, metadata, name in zip(listed, metadatas or [{}] * len(listed), names, strict=True)
            ]
        )
        return names

    def delete(self, ids: list[str] | None = None, **unknown: Any) -> bool | None:
        """Delete these documents, or all of this store; ids that do not exist are no error."""
        _check_options("delete", unknown)
        chosen = self._documents.all() if ids is None else None
        self._documents.delete([each.id for each in chosen] if chosen else [self._documents.id(id) for id in ids or ()])
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        found = [self._documents.get(self._documents.id(id)) for id in ids]
        return [_document(memory) for memory in found if memory is not None]

    def similarity_search(
        self, query: str, k: int = 4, filter: DocumentFilter = None, **options: Any
    ) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: DocumentFilter = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Documents with their scores, highest first; ``options`` are those of ``Mind.recall``."""
        if not check.string(query, "query").strip():
            return []
        conditions, test = _split_filter(filter)
        found = self._documents.search(query, k, conditions, test, **{"recipe": self.recipe, **options})
        return [(_document(memory), score) for memory, score in found]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(max(score, 0.0), 1.0)

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: DocumentFilter = None,
        **options: Any,
    ) -> list[Document]:
        """The best documents, chosen so that they differ from one another."""
        found = self.similarity_search(query, fetch_k, filter, **options)
        if not found or self.mind.embedder is None:
            return found[:k]
        import numpy as np

        vectors = self.mind.embedder.embed([document.page_content for document in found])
        (query_vector,) = np.asarray(self.mind.embedder.embed([query], query=True))
        return [found[at] for at in maximal_marginal_relevance(query_vector, list(np.asarray(vectors)), lambda_mult, k)]


class RecollectRetriever(BaseRetriever):
    """A retriever over all memories of a mind: notes, turns, facts and documents.

    A document's metadata is the context of its memory, and under "recollect" the score, its reason and the fields.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    mind: Mind
    k: int = 4
    filter: Any = None
    recipe: str = "default"
    options: dict[str, Any] = {}  # noqa: RUF012  pydantic copies it

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        if not query.strip():
            return []
        found = self.mind.recall(query, k or self.k, filter=self.filter, recipe=self.recipe, **self.options)
        return [Document(id=each.id, page_content=each.text, metadata=result_metadata(each)) for each in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        manager = run_manager.get_sync()
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=manager, k=k)


class RecollectChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session as turns, which recalls find as well.

    >>> RunnableWithMessageHistory(chain, lambda session: RecollectChatMessageHistory(mind, session))
    """

    def __init__(self, mind: Mind, session_id: str, *, collection: str | None = None, user: str | None = None) -> None:
        self._log = MessageLog(mind, session_id, collection=collection, user=user)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        return messages_from_dict([turn.context["langchain"] for turn in self._log.read()])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._log.append([_turn(message) for message in messages])

    def clear(self) -> None:
        self._log.clear()


def _turn(message: BaseMessage) -> Memory:
    text = str(message.text) if str(message.text).strip() else f"({message.type} message without text)"
    context = check.json_object({"langchain": message_to_dict(message)}, "message")
    return Memory(text=text, role=ROLES.get(message.type, message.type), speaker=message.name or "", context=context)


def _document(memory: Memory) -> Document:
    return Document(id=memory.external_id, page_content=memory.text, metadata=memory.context)


def _split_filter(filter: DocumentFilter) -> tuple[FilterExpression | None, Test | None]:
    """Conditions for a recall, and what only a function can test."""
    if filter is None or isinstance(filter, FilterExpression):
        return filter, None
    if isinstance(filter, Mapping):
        return as_filter(Filter(context=filter)) if filter else None, None
    if callable(filter):
        return None, lambda memory: bool(filter(_document(memory)))
    raise InvalidInput(
        f"filter must be conditions on the metadata, a Filter or a function of a Document, not {filter!r}."
    )


def _check_options(method: str, unknown: Mapping[str, Any]) -> None:
    if unknown:
        raise InvalidInput(f"{method} has no argument {next(iter(unknown))!r}.")
