"""LangGraph's BaseStore on a Mind: documented behaviour, and the same answers as LangGraph's own InMemoryStore."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Mind
from recollect.model.limits import changed_limits
from tests.conftest import Clock
from tests.integrations.kit import need

need("langgraph")

from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp  # noqa: E402
from langgraph.store.memory import InMemoryStore  # noqa: E402

from recollect.integrations.langgraph import RecollectStore  # noqa: E402

pytestmark = pytest.mark.contract("B22")
ADA = ("users", "ada")


@pytest.fixture
def store(mind: Mind) -> RecollectStore:
    return RecollectStore(mind)


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


# The same operations give the same answers as LangGraph's own store.

LABELS = st.sampled_from(["users", "ada", "bob", "a-b", "ü", "x" * 300])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "k.1", "", "k/2", "Schlüssel", "*"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["red", "blue", "", "3"]), st.sampled_from([0.5, 2.0])
)
VALUES = st.dictionaries(
    st.sampled_from(["color", "size", "a.b", "deep", "$odd"]),
    st.one_of(
        SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(["x", "y"]), SCALARS, max_size=2)
    ),
    max_size=4,
)
NUMBERS = st.integers(-3, 3)
CONDITIONS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.fixed_dictionaries({"x": SCALARS}),
    st.tuples(st.sampled_from(["$eq", "$ne"]), SCALARS).map(lambda pair: dict([pair])),
)
FILTERS = st.none() | st.dictionaries(st.sampled_from(["color", "size", "a.b", "deep"]), CONDITIONS, max_size=2)
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), NAMESPACES, KEYS, VALUES),
    st.tuples(st.just("put"), NAMESPACES, KEYS, VALUES),
    st.tuples(st.just("delete"), NAMESPACES, KEYS),
    st.tuples(st.just("get"), NAMESPACES, KEYS),
    st.tuples(st.just("search"), st.lists(LABELS, max_size=2).map(tuple), FILTERS),
    st.tuples(st.just("query"), st.lists(LABELS, max_size=2).map(tuple), FILTERS),
    st.tuples(
        st.just("namespaces"), st.none() | st.integers(1, 3), st.none() | st.sampled_from([("users",), ("*", "ada")])
    ),
)


def answer(store: Any, operation: Any) -> Any:
    match operation:
        case ("put", namespace, key, value):
            return store.put(namespace, key, value)
        case ("delete", namespace, key):
            return store.delete(namespace, key)
        case ("get", namespace, key):
            item = store.get(namespace, key)
            return None if item is None else (item.namespace, item.key, item.value)
        case ("search" | "query" as verb, prefix, filter):
            found = store.search(prefix, filter=filter, query="red ada" if verb == "query" else None, limit=100)
            return sorted((item.namespace, item.key, repr(item.value)) for item in found)
        case ("namespaces", depth, part):
            alive = {item.namespace for item in store.search((), limit=1000)}  # InMemoryStore lists emptied ones, too
            cut = {namespace[:depth] for namespace in alive}
            return [
                [each for each in store.list_namespaces(max_depth=depth, prefix=part) if each in cut],
                [each for each in store.list_namespaces(suffix=part) if each in alive],
            ]


@pytest.fixture(scope="module")
def shared_mind(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Mind(tmp_path_factory.mktemp("store") / "memory.db", embedder=None) as mind:
        yield mind


@settings(max_examples=60, deadline=None)
@given(operations=st.lists(OPERATIONS, min_size=3, max_size=14), number=st.integers(0, 10**12))
def test_any_operations_give_the_answers_of_the_in_memory_store(
    shared_mind: Mind, operations: list[Any], number: int
) -> None:
    ours = RecollectStore(shared_mind, collection=f"example-{number}")
    for item in ours.search((), limit=1000):
        ours.delete(item.namespace, item.key)
    theirs = InMemoryStore()
    for operation in operations:
        assert answer(ours, operation) == answer(theirs, operation), operation


@pytest.mark.parametrize(
    "condition", [{"$gt": 2}, {"$gte": 3}, {"$lt": 3}, {"$lte": 2}, {"$gt": 1, "$lt": 3}, {"$ne": 3}]
)
def test_comparisons_give_the_answers_of_the_in_memory_store(store: RecollectStore, condition: dict[str, Any]) -> None:
    theirs = InMemoryStore()
    for number in range(5):
        for each in (store, theirs):
            each.put(("n",), str(number), {"size": number if number % 2 else str(number)})
    assert keys(store.search(("n",), filter={"size": condition})) == keys(
        theirs.search(("n",), filter={"size": condition})
    )


# Documented behaviour.


def test_an_item_has_namespace_key_value_and_times(path: Path, clock: Clock) -> None:
    with Mind(path, embedder=None, clock=clock) as mind:
        store = RecollectStore(mind)
        store.put(ADA, "food", {"text": "no nuts", "sure": True})
        first = store.get(ADA, "food")
        assert first is not None
        assert (first.namespace, first.key, first.value) == (ADA, "food", {"text": "no nuts", "sure": True})
        later = clock.advance(hours=1)
        store.put(ADA, "food", {"text": "no nuts, no milk"})
        second = store.get(ADA, "food")
        assert second is not None
        assert (second.created_at, second.updated_at) == (first.created_at, later)
        assert second.value == {"text": "no nuts, no milk"}


def test_items_survive_the_process(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        RecollectStore(mind).put(ADA, "food", {"text": "no nuts"})
    with Mind(path, embedder=None) as mind:
        assert keys(RecollectStore(mind).search(("users",))) == ["food"]


def test_an_item_that_is_put_again_after_deletion_is_new(path: Path, clock: Clock) -> None:
    with Mind(path, embedder=None, clock=clock) as mind:
        store = RecollectStore(mind)
        store.put(ADA, "a", {"n": 1})
        store.put(ADA, "b", {"n": 2})
        store.delete(ADA, "a")
        assert store.get(ADA, "a") is None
        assert keys(store.search(ADA)) == ["b"]
        later = clock.advance(minutes=1)
        store.put(ADA, "a", {"n": 3})
        item = store.get(ADA, "a")
        assert item is not None
        assert (item.value, item.created_at) == ({"n": 3}, later)
        assert keys(store.search(ADA)) == ["b", "a"]


def test_a_search_ranks_by_meaning_and_the_rest_follows_without_a_score(path: Path) -> None:
    with Mind(path) as mind:
        store = RecollectStore(mind)
        store.put(ADA, "food", {"text": "Ada is allergic to nuts and shellfish."})
        store.put(ADA, "home", {"text": "She lives in a small flat by the harbour."})
        store.put(ADA, "raw", {"blob": "allergic allergic allergic"}, index=False)
        found = store.search(("users",), query="what must she not eat?", limit=10)
        assert found[0].key == "food"
        assert found[-1].key == "raw"
        assert found[0].score is not None
        assert found[-1].score is None
        assert keys(store.search(("users",), query="where is her apartment?", limit=1)) == ["home"]


def test_only_the_indexed_fields_are_searched(mind: Mind) -> None:
    store = RecollectStore(mind, fields=["note"])
    store.put(ADA, "a", {"note": "kettle", "other": "lamp"})
    store.put(ADA, "b", {"note": "sofa", "other": "kettle"})
    store.put(ADA, "c", {"note": "rug", "other": "kettle"}, index=["other", "tags[*].name"])
    scored = [item.key for item in store.search(ADA, query="kettle") if item.score is not None]
    assert sorted(scored) == ["a", "c"]


def test_filters_apply_before_the_limit(store: RecollectStore) -> None:
    for number in range(60):
        store.put(ADA, f"k{number}", {"text": f"note about the kettle {number}", "size": number, "a.b": number % 2})
    found = store.search(ADA, query="kettle", filter={"size": {"$gte": 57}, "a.b": 1}, limit=5)
    assert sorted(keys(found)) == ["k57", "k59"]


def test_limit_and_offset_page_through_all_items_once(store: RecollectStore) -> None:
    names = [f"k{number}" for number in range(25)]
    store.batch([PutOp(ADA, name, {"text": f"{name} is a note"}) for name in names])
    pages = [keys(store.search(ADA, limit=10, offset=offset)) for offset in (0, 10, 20, 30)]
    assert [*pages[0], *pages[1], *pages[2]] == names
    assert pages[3] == []
    by_score = [keys(store.search(ADA, query="note", limit=10, offset=offset)) for offset in (0, 10, 20)]
    assert sorted(key for page in by_score for key in page) == sorted(names)


def test_a_batch_reads_before_it_writes_and_the_last_write_of_a_key_counts(store: RecollectStore) -> None:
    store.put(ADA, "a", {"n": 1})
    results = store.batch([PutOp(ADA, "a", {"n": 2}), PutOp(ADA, "a", {"n": 3}), GetOp(ADA, "a"), SearchOp(ADA)])
    assert results[2].value == {"n": 1}  # type: ignore[union-attr]
    item = store.get(ADA, "a")
    assert item is not None
    assert item.value == {"n": 3}


def test_a_bad_item_stores_nothing_of_its_batch(store: RecollectStore) -> None:
    with pytest.raises(InvalidInput, match="'b'"):
        store.batch([PutOp(ADA, "a", {"n": 1}), PutOp(ADA, "b", {"when": timedelta(days=1)})])
    assert store.search(ADA) == []


def test_async_calls_do_the_same(store: RecollectStore) -> None:
    async def session() -> None:
        await asyncio.gather(*(store.aput(ADA, f"k{number}", {"n": number}) for number in range(8)))
        item = await store.aget(ADA, "k3")
        assert item is not None
        assert item.value == {"n": 3}
        assert len(await store.asearch(("users",), filter={"n": {"$lt": 4}})) == 4
        assert await store.alist_namespaces() == [ADA]
        await store.adelete(ADA, "k3")
        assert await store.aget(ADA, "k3") is None

    asyncio.run(session())


# Time to live.


def test_an_item_is_gone_after_its_time_to_live(path: Path, clock: Clock) -> None:
    with Mind(path, embedder=None, clock=clock) as mind:
        store = RecollectStore(mind, ttl={"refresh_on_read": False})
        store.put(ADA, "code", {"text": "the code is 4711"}, ttl=10)
        store.put(ADA, "food", {"text": "the food is nuts"})
        clock.advance(minutes=9)
        assert keys(store.search(ADA, query="code")) == ["code", "food"]
        clock.advance(minutes=2)
        assert store.get(ADA, "code") is None
        assert keys(store.search(ADA, query="code")) == ["food"]
        assert keys(store.search(ADA)) == ["food"]
        assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)


def test_reading_starts_the_time_to_live_again_unless_told_not_to(path: Path, clock: Clock) -> None:
    with Mind(path, embedder=None, clock=clock) as mind:
        store = RecollectStore(mind, ttl={"default_ttl": 10, "refresh_on_read": True})
        for key in ("read", "searched", "left"):
            store.put(ADA, key, {"n": key})
        written = store.get(ADA, "read", refresh_ttl=False)
        clock.advance(minutes=8)
        again = store.get(ADA, "read")
        assert written is not None
        assert again is not None
        assert again.updated_at == written.updated_at  # it was read, not changed
        store.search(ADA, filter={"n": "searched"})
        store.get(ADA, "left", refresh_ttl=False)
        clock.advance(minutes=8)
        assert sorted(keys(store.search(ADA))) == ["read", "searched"]


# Bounds and bad input.


def test_equal_keys_of_two_users_collections_and_kinds_do_not_meet(path: Path) -> None:
    with Mind(path, embedder=None, user="ada") as ada, Mind(path, embedder=None, user="bob") as bob:
        RecollectStore(ada).put(("prefs",), "k", {"of": "ada"})
        RecollectStore(bob).put(("prefs",), "k", {"of": "bob"})
        RecollectStore(bob, collection="other").put(("prefs",), "k", {"of": "other"})
        assert [item.value for item in RecollectStore(ada).search(())] == [{"of": "ada"}]
        RecollectStore(bob).delete(("prefs",), "k")
        assert [item.value for item in RecollectStore(ada).search(())] == [{"of": "ada"}]
        assert [item.value for item in RecollectStore(bob, collection="other").search(())] == [{"of": "other"}]


def test_other_memories_of_the_mind_are_no_items(mind: Mind, store: RecollectStore) -> None:
    mind.remember("A plain memory about kettles.", collection="langgraph")
    store.put(ADA, "k", {"text": "kettle"})
    assert keys(store.search((), query="kettle")) == ["k"]


@pytest.mark.parametrize("namespace", [("a.b",), ("",), (), ("langgraph", "x"), (7,)])
def test_namespaces_that_langgraph_refuses_are_refused(store: RecollectStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})
    assert store.list_namespaces() == []


def test_unknown_namespaces_have_nothing(store: RecollectStore) -> None:
    assert store.get(("nobody",), "k") is None
    assert store.search(("nobody",), query="anything") == []
    store.delete(("nobody",), "k")
    assert store.list_namespaces(prefix=("nobody",)) == []


def test_a_value_below_the_limit_is_stored_although_its_text_is_searched_too(store: RecollectStore) -> None:
    value = {"text": "The kettle is on. " * 6_000}
    store.put(ADA, "long", value)
    item = store.get(ADA, "long")
    assert item is not None
    assert item.value == value


def test_a_large_value_comes_back_whole(store: RecollectStore) -> None:
    value = {"text": "kettle " * 50_000, "numbers": list(range(20_000)), "deep": {"a": {"b": {"c.d": "ü\u2028"}}}}
    with pytest.raises(InvalidInput, match="memory_bytes"):
        store.put(ADA, "large", value)
    with changed_limits(memory_bytes=4_000_000):
        store.put(ADA, "large", value)
    item = store.get(ADA, "large")
    assert item is not None
    assert item.value == value


@pytest.mark.parametrize("value", [{"x": object()}, {"x": float("nan")}, {1: "x"}, ["x"]])
def test_what_json_cannot_hold_is_refused_by_name(store: RecollectStore, value: Any) -> None:
    with pytest.raises(InvalidInput, match="value of 'k'"):
        store.put(ADA, "k", value)
    assert store.get(ADA, "k") is None


def test_an_unknown_operator_names_those_that_exist(store: RecollectStore) -> None:
    store.put(ADA, "k", {"size": 1})
    with pytest.raises(InvalidInput, match=r"\$regex.*\$gte"):
        store.search(ADA, filter={"size": {"$regex": "1"}})


# As users of LangGraph use it.


def test_a_graph_remembers_between_threads(path: Path) -> None:
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.store.base import BaseStore

    def answer_from_memory(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        question = str(state["messages"][-1].content)
        if question.startswith("Remember: "):
            store.put(ADA, question, {"text": question.removeprefix("Remember: ")})
            return {"messages": [("ai", "Noted.")]}
        (best,) = store.search(("users",), query=question, limit=1)
        return {"messages": [("ai", best.value["text"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer_from_memory)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)

    def ask(text: str) -> str:
        with Mind(path) as mind:  # a new process would do the same
            agent = graph.compile(store=RecollectStore(mind))
            state: Any = {"messages": [("user", text)]}
            return str(agent.invoke(state)["messages"][-1].content)

    ask("Remember: The kiln is serviced every October.")
    ask("Remember: Bob has the key of the boathouse.")
    assert ask("Who can open the boathouse?") == "Bob has the key of the boathouse."
