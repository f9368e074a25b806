"""LangChain: its own suites for vector stores and retrievers, chains, histories and bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, InvalidInput, Mind
from recollect.model.limits import changed_limits
from tests.integrations.kit import need

need("langchain_core")
need("langchain_tests")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import DeterministicFakeEmbedding  # noqa: E402
from langchain_core.language_models import FakeListChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder  # noqa: E402
from langchain_core.runnables import RunnablePassthrough  # noqa: E402
from langchain_core.runnables.history import RunnableWithMessageHistory  # noqa: E402
from langchain_tests.integration_tests import (  # noqa: E402
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from recollect.integrations.langchain import (  # noqa: E402
    LangChainEmbedder,
    RecollectChatMessageHistory,
    RecollectRetriever,
    RecollectVectorStore,
)

pytestmark = [
    pytest.mark.contract("B22"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"),
]


class TestStandardSuiteWithItsEmbeddings(VectorStoreIntegrationTests):
    """LangChain's suite, sync and async, with the embeddings that it brings."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[RecollectVectorStore]:  # type: ignore[override]
        with Mind(tmp_path / "memory.db", embedder=LangChainEmbedder(self.get_embeddings())) as mind:
            yield RecollectVectorStore(mind)


class TestStandardSuiteWithTheLocalModel(VectorStoreIntegrationTests):
    """The same with Recollect's own model, beside another store of the same file with the same ids."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[RecollectVectorStore]:  # type: ignore[override]
        with Mind(tmp_path / "memory.db") as mind:
            RecollectVectorStore(mind, collection="other").add_texts(["foo", "bar"], ids=["1", "2"])
            yield RecollectVectorStore(mind)


class TestStandardSuiteOfRetrievers(RetrieversIntegrationTests):
    mind: Mind

    @pytest.fixture(autouse=True)
    def memories(self, tmp_path: Path) -> Iterator[None]:
        with Mind(tmp_path / "memory.db", embedder=None) as self.mind:
            self.mind.remember_many(f"Kettle number {number} is blue." for number in range(5))
            yield

    @property
    def retriever_constructor(self) -> type[RecollectRetriever]:
        return RecollectRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"mind": self.mind}

    @property
    def retriever_query_example(self) -> str:
        return "Which kettle is blue?"


@pytest.fixture
def store(mind: Mind) -> RecollectVectorStore:
    store = RecollectVectorStore(mind)
    store.add_texts(
        ["The kiln fires at 1240 degrees.", "The kiln is serviced in October.", "The kiln stands in the yard."],
        [{"page": 1, "meta": {"lang": "en"}}, {"page": 2, "meta": {"lang": "de"}}, {"page": 3}],
        ids=["hot", "service", "place"],
    )
    return store


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"page": 2}, {"service"}),
        ({"page": {"$gte": 2}}, {"service", "place"}),
        ({"meta.lang": "en"}, {"hot"}),
        ({"$or": [{"page": 1}, {"page": 3}]}, {"hot", "place"}),
        (~Filter(context={"page": 2}), {"hot", "place"}),
        (lambda document: document.metadata["page"] != 2, {"hot", "place"}),
        ({}, {"hot", "service", "place"}),
        ({"page": 99}, set()),
    ],
)
def test_filters_are_conditions_filters_or_functions(store: RecollectVectorStore, filter: Any, expected: Any) -> None:
    assert {*ids(store.similarity_search("kiln", k=10, filter=filter))} == expected


def test_a_function_filters_before_the_limit(store: RecollectVectorStore) -> None:
    store.add_texts(
        [f"The kiln has brick {number}." for number in range(200)], [{"n": number} for number in range(200)]
    )
    found = store.similarity_search("kiln brick", k=3, filter=lambda document: document.metadata.get("n", 0) >= 197)
    assert sorted(document.metadata["n"] for document in found) == [197, 198, 199]


def test_scores_are_the_recalls_own_and_relevance_is_between_0_and_1(mind: Mind, store: RecollectVectorStore) -> None:
    scores = [score for _, score in store.similarity_search_with_score("when is the kiln serviced?", k=3)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(mind.recall("when is the kiln serviced?", 3)[0].score, rel=1e-6)  # a little older
    relevance = store.similarity_search_with_relevance_scores("kiln serviced", k=3, score_threshold=0.0)
    assert all(0 <= score <= 1 for _, score in relevance)


def test_max_marginal_relevance_prefers_what_differs(path: Path) -> None:
    with Mind(path) as mind:
        store = RecollectVectorStore(mind)
        store.add_texts(["The kiln is hot today.", "Today the kiln is hot.", "Bob painted a boat near the kiln."])
        found = store.max_marginal_relevance_search("is the kiln hot?", k=2, lambda_mult=0.1)
        assert "Bob painted a boat near the kiln." in [document.page_content for document in found]
        assert store.as_retriever(search_type="mmr", search_kwargs={"k": 1}).invoke("kiln")


def test_from_texts_opens_a_file_with_the_given_embeddings(path: Path) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    made = RecollectVectorStore.from_texts(["a kettle"], embeddings, [{"n": 1}], ids=["k"], path=str(path))
    assert made.embeddings is embeddings
    made.mind.close()
    with Mind(path, embedder=LangChainEmbedder(embeddings)) as mind:
        assert RecollectVectorStore(mind).get_by_ids(["k"]) == [
            Document(id="k", page_content="a kettle", metadata={"n": 1})
        ]


def test_two_stores_of_a_file_do_not_see_each_other(mind: Mind, store: RecollectVectorStore) -> None:
    other = RecollectVectorStore(mind, collection="other")
    other.add_texts(["Another kiln."], ids=["hot"])
    other.delete()
    assert other.similarity_search("kiln") == []
    assert len(store.similarity_search("kiln", k=10)) == 3
    assert store.delete() is True
    assert store.get_by_ids(["hot"]) == []


def test_a_prefix_of_an_id_is_another_id(mind: Mind, store: RecollectVectorStore) -> None:
    store.add_texts(["x"], ids=["names.with/dots and spaces"])
    assert store.get_by_ids(["names", "ho", ""]) == []
    assert ids(store.get_by_ids(["names.with/dots and spaces"])) == ["names.with/dots and spaces"]


@pytest.mark.parametrize("metadata", [{"when": date(2026, 1, 1)}, {"x": float("nan")}, {"x": {1: 2}}, {"x": b"bytes"}])
def test_metadata_that_json_cannot_hold_is_refused_and_nothing_is_stored(
    store: RecollectVectorStore, metadata: Any
) -> None:
    with pytest.raises(InvalidInput, match="context"):
        store.add_texts(["good kiln", "bad kiln"], [{}, metadata], ids=["good", "bad"])
    assert store.get_by_ids(["good", "bad"]) == []


def test_large_metadata_comes_back_whole(store: RecollectVectorStore) -> None:
    metadata = {f"key.{number}": "x" * 1000 for number in range(2000)}
    with pytest.raises(InvalidInput, match="memory_bytes"):
        store.add_texts(["large"], [metadata], ids=["large"])
    with changed_limits(memory_bytes=4_000_000):
        store.add_texts(["large"], [metadata], ids=["large"])
    assert store.get_by_ids(["large"])[0].metadata == metadata


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.add_texts(["a", "b"], [{}]),
        lambda store: store.add_texts(["a"], ids=["1", "2"]),
        lambda store: store.add_texts([" "]),
        lambda store: store.add_texts(["a"], batch_size=3),
        lambda store: store.similarity_search("kiln", filter=7),
        lambda store: store.similarity_search("kiln", filter={"page": {"$near": 1}}),
        lambda store: store.similarity_search("kiln", colour="red"),
        lambda store: RecollectVectorStore(store),
    ],
)
def test_wrong_calls_are_refused(store: RecollectVectorStore, call: Any) -> None:
    with pytest.raises(InvalidInput):
        call(store)


# Retriever and chain.


def test_a_retriever_answers_in_a_chain(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("The kiln is serviced every October.", user="ada", source="diary")
        mind.remember("Bob has the key of the boathouse.", user="bob")
        retriever = RecollectRetriever(mind=mind, k=1)
        prompt = ChatPromptTemplate.from_template("Answer from: {memories}\n\n{question}")
        model = FakeListChatModel(responses=["In October."])
        seen: list[str] = []

        def note(found: list[Document]) -> list[Document]:
            seen.extend(document.page_content for document in found)
            return found

        context = retriever | note
        chain = {"memories": context, "question": RunnablePassthrough()} | prompt | model
        assert chain.invoke("when is the kiln looked after?").content == "In October."
        assert seen == ["The kiln is serviced every October."]
        assert asyncio.run(chain.ainvoke("who can open the boathouse?")).content == "In October."
        assert seen[1:] == ["Bob has the key of the boathouse."]
        (document,) = RecollectRetriever(mind=mind, k=5, filter={"user": "ada"}).invoke("kiln boathouse")
        details = document.metadata["recollect"]
        assert (details["user"], details["source"]) == ("ada", "diary")
        assert details["why"]


# Chat history.


def test_a_history_returns_the_messages_it_got(mind: Mind) -> None:
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("Where is the kiln?", name="ada"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"what": "kiln"}, "id": "1"}]),
        ToolMessage("in the yard", tool_call_id="1"),
        AIMessage([{"type": "text", "text": "In the yard."}], response_metadata={"tokens": 3}),
    ]
    history = RecollectChatMessageHistory(mind, "chat-1")
    history.add_messages(messages[:2])
    history.add_messages(messages[2:])
    history.add_user_message("Thanks!")
    assert RecollectChatMessageHistory(mind, "chat-1").messages == [*messages, HumanMessage("Thanks!")]
    assert "In the yard." in [result.text for result in mind.recall("in which yard?")]
    history.clear()
    assert history.messages == []


def test_histories_are_separate_by_session_and_user(mind: Mind) -> None:
    histories = [
        RecollectChatMessageHistory(mind, session, user=user)
        for session, user in (("chat-1", "ada"), ("chat-1", "bob"), ("chat-2", "ada"), ("chat-1", None))
    ]
    for number, history in enumerate(histories):
        history.add_user_message(f"message {number}")
    histories[0].clear()
    assert [[message.content for message in history.messages] for history in histories] == [
        [],
        ["message 1"],
        ["message 2"],
        ["message 3"],
    ]


@pytest.mark.parametrize("session", ["", "  ", None, 7])
def test_a_history_needs_a_session(mind: Mind, session: Any) -> None:
    with pytest.raises(InvalidInput, match="session_id"):
        RecollectChatMessageHistory(mind, session)


def test_a_chain_with_history_continues_the_conversation(mind: Mind) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["Hello Ada.", "You are Ada."]),
        lambda session: RecollectChatMessageHistory(mind, session),
        input_messages_key="input",
        history_messages_key="history",
    )
    for text in ("I am Ada.", "Who am I?"):
        chain.invoke({"input": text}, {"configurable": {"session_id": "chat-1"}})
    contents = [message.content for message in RecollectChatMessageHistory(mind, "chat-1").messages]
    assert contents == ["I am Ada.", "Hello Ada.", "Who am I?", "You are Ada."]
