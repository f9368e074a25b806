"""Jeffs Brain (J18): the query language asked of real memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Mind
from recollect.text.query_language import And, AndNot, Or, Phrase, Prefix, QueryTree, Word, format_query
from tests.recall.kit import ids, step, texts

from .kit import RANK, Order, ask, attempts, shelf

pytestmark = pytest.mark.contract("J18")
SMALL = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIGNS = st.sampled_from([*"()\"*'-“ ", " AND ", " OR ", " NOT ", "ant", "bee", "é", "杯子", "\0"])
ANIMALS = ["ant", "bee", "cat", "dog"]
LEAVES: st.SearchStrategy[QueryTree] = st.one_of(
    st.sampled_from(ANIMALS).map(Word),
    st.sampled_from(["an", "be", "ca", "c"]).map(Prefix),
    st.lists(st.sampled_from(ANIMALS), min_size=2, max_size=3).map(" ".join).map(Phrase),
)
ZOO = [
    *("ant", "bee", "cat", "dog", "ant bee", "bee ant", "ant cat bee", "cat dog ant", "dog cat bee ant"),
    *("ant bee cat", "bee cat dog", "candle", "antelope bee", "cat cat dog", "ant, bee. Cat!", "ANT-BEE"),
]


def joined(inner: st.SearchStrategy[QueryTree]) -> st.SearchStrategy[QueryTree]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return several.map(And) | several.map(Or) | st.builds(AndNot, inner, inner)


@pytest.fixture(scope="module")
def zoo() -> Iterator[Mind]:
    with shelf(*({"id": text, "text": text} for text in ZOO)) as mind:
        yield mind


def lexical(mind: Mind, query: str, **options: Any) -> list[str]:
    """What the query itself finds, without ladder or vectors."""
    return texts(ask(mind, query, 100, **{"mode": "bm25", "skip_retry_ladder": True, **options}))


def holds(tree: QueryTree, text: str) -> bool:
    """The same question, asked of a text word by word."""
    here = text.lower().replace(",", "").replace(".", "").replace("!", "").replace("-", " ").split()
    match tree:
        case Word(word):
            return word in here
        case Prefix(begin):
            return any(word.startswith(begin) for word in here)
        case Phrase(phrase):
            return f" {phrase} " in f" {' '.join(here)} "
        case And(of):
            return all(holds(each, text) for each in of)
        case Or(of):
            return any(holds(each, text) for each in of)
        case AndNot(these, those):
            return holds(these, text) and not holds(those, text)


@SMALL
@given(st.recursive(LEAVES, joined, max_leaves=6))
def test_a_query_finds_exactly_what_it_describes(zoo: Mind, tree: QueryTree) -> None:
    query = f"({format_query(tree)}) AND (ant OR bee OR cat OR dog OR c*)"  # all of them: so that it has an operator
    assert sorted(lexical(zoo, query)) == sorted(text for text in ZOO if holds(tree, text))


@SMALL
@given(st.one_of(st.text(min_size=1), st.lists(SIGNS | st.text(max_size=2), min_size=1, max_size=20).map("".join)))
def test_every_text_that_is_not_blank_is_a_query(zoo: Mind, query: str) -> None:
    if query.strip():
        recall = ask(zoo, query)
        assert recall.trace.failures == []
        assert all(result.why.evaluate() == result.score for result in recall)
    else:
        with pytest.raises(InvalidInput, match="blank"):
            ask(zoo, query)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("blue cup", {"blue cup", "blue lamp", "cup of tea", "cups, blue"}),
        ('"blue cup"', {"blue cup"}),
        ("blue AND cup", {"blue cup", "cups, blue"}),
        ("blue NOT cup", {"blue lamp"}),
        ("blue AND NOT cup", {"blue lamp"}),
        ("NOT blue", {"blue cup", "blue lamp", "cups, blue"}),
        ("lam*", {"blue lamp", "café lamps"}),
        ('"cafe lamps"', {"café lamps"}),
        ('"café lamp"', set()),
        ("cafe", {"café lamps"}),
        ("caf\u0065\u0301", {"café lamps"}),
        ("CAFÉ*", {"café lamps"}),
        ("(blue OR tea) AND cup", {"blue cup", "cup of tea", "cups, blue"}),
        ("blue and lamp", {"blue cup", "blue lamp", "cups, blue", "café lamps"}),
        ('"cup of"', {"cup of tea"}),
        ("of", set()),
        ("of AND tea", {"cup of tea"}),
    ],
)
def test_words_phrases_prefixes_and_operators(query: str, found: set[str]) -> None:
    with shelf("blue cup", "blue lamp", "cup of tea", "cups, blue", "café lamps") as mind:
        assert set(lexical(mind, query)) == found


def test_a_phrase_is_found_in_one_field_and_never_across_two() -> None:
    memories: list[dict[str, Any]] = [
        {"id": "title", "text": "x", "title": "The Blue Cup"},
        {"id": "tag", "text": "x", "tags": ["blue cup"]},
        {"id": "path", "text": "x", "path": "shelf/blue-cup.md"},
        {"id": "across fields", "text": "cup", "title": "blue"},
        {"id": "across tags", "text": "x", "tags": ["blue", "cup"]},
        {"id": "not searched", "text": "x", "keywords": ["blue cup"]},
    ]
    with shelf(*memories) as mind:
        found = ask(mind, '"blue cup"', mode="bm25", skip_retry_ladder=True)
    assert set(ids(found)) == {"title", "tag", "path"}


def test_a_phrase_counts_as_one_term_with_its_own_rarity() -> None:
    with shelf("blue cup", "blue blue cup cup", "cup blue", "cup of blue") as mind:
        recall = ask(mind, '"blue cup"', mode="bm25")
    assert step(recall, "bm25")["detail"]["terms"] == {'"blue cup"': 2}
    assert texts(recall) == ["blue cup", "blue blue cup cup"]


def test_chinese_phrases_are_found() -> None:
    with shelf("我在北京大学读书", "北京有很多大学") as mind:
        assert lexical(mind, '"北京大学"') == ["我在北京大学读书"]
        assert set(lexical(mind, "北京 NOT 读书")) == {"北京有很多大学"}


def test_title_summary_tags_path_and_content_weigh_10_5_4_3_and_1() -> None:
    fields: list[dict[str, Any]] = [
        {"id": "content", "text": "zebra", "title": "one", "summary": "one", "tags": ["one"], "path": "one"},
        {"id": "path", "text": "one", "title": "one", "summary": "one", "tags": ["one"], "path": "zebra"},
        {"id": "tags", "text": "one", "title": "one", "summary": "one", "tags": ["zebra"], "path": "one"},
        {"id": "summary", "text": "one", "title": "one", "summary": "zebra", "tags": ["one"], "path": "one"},
        {"id": "title", "text": "one", "title": "zebra", "summary": "one", "tags": ["one"], "path": "one"},
        {
            "id": "nine",
            "text": " ".join(["zebra"] * 9),
            "title": "one",
            "summary": "one",
            "tags": ["one"],
            "path": "one",
        },
    ]
    with shelf(*fields) as mind:
        order = ids(ask(mind, "zebra"))
    assert [id for id in order if id != "nine"] == ["title", "summary", "tags", "path", "content"]
    assert order.index("title") < order.index("nine")  # longer, and 9 × 1 is less than 1 × 10


def test_a_word_in_the_title_counts_as_ten_in_the_text() -> None:
    ten = {"id": "ten", "text": "zebra " * 10, "title": "x"}
    title = {"id": "title", "text": "x " * 10, "title": "zebra"}
    nine = {"id": "nine", "text": "zebra " * 9 + "x", "title": "x"}
    for memories in ([nine, title, ten], [ten, nine, title]):  # of one moment: equal scores in the order of their ids
        with shelf(*memories) as mind:
            assert ids(ask(mind, "zebra")) == ["ten", "title", "nine"]


def test_aliases_find_the_other_names_of_a_word() -> None:
    with shelf("kubernetes is up", "the container platform", "k8s notes", "platform for containers") as mind:
        aliases = {"K8s": ["Kubernetes", "container-platform"]}
        assert set(lexical(mind, "k8s", aliases=aliases)) == {"kubernetes is up", "the container platform", "k8s notes"}
        assert lexical(mind, "k8s", aliases={"k8s": "kubernetes"}) != lexical(mind, "k8s")
        recall = ask(mind, "k8s NOT notes", aliases=aliases)
    assert recall.trace.facts["compiledQuery"] == '(k8s OR kubernetes OR "container-platform") AND NOT notes'


@pytest.mark.parametrize("aliases", [["k8s"], {"k8s": 3}, {3: ["k8s"]}, "k8s"])
def test_what_are_no_aliases_are_refused(aliases: Any) -> None:
    with shelf() as mind, pytest.raises(InvalidInput, match="alias"):
        ask(mind, "k8s", aliases=aliases)


def test_what_is_refused_comes_back_from_no_leg_and_no_rung() -> None:
    with shelf("cup number1 broken", "cup number2", "number3 broken", embedder=Order(1, 3, 2)) as mind:
        recall = ask(mind, "cup NOT broken")
        ladder = ask(mind, "saucer NOT broken")
        verdict = recall.why_not(mind.list()[2].id)
    assert texts(recall) == texts(ladder) == ["cup number2"]
    assert [result.score for result in ladder] == [RANK[0]]
    assert attempts(ladder)[1] == ("strongest_term", "saucer", 0)
    assert verdict.reason == "Left out before the search: the query excludes it: NOT broken."


def test_what_is_refused_inside_parentheses_is_refused_there_alone() -> None:
    with shelf("cup broken", "lamp broken", "lamp", "cup") as mind:
        assert set(lexical(mind, "cup OR (lamp NOT broken)")) == {"cup broken", "lamp", "cup"}


def test_a_question_of_many_words_is_no_trouble() -> None:
    with shelf("cup", "lamp") as mind:
        assert texts(ask(mind, "cup " + " ".join(f"word{n}" for n in range(1000)))) == ["cup"]
        assert set(lexical(mind, " OR ".join(["cup", "lamp"] * 500) + " NOT word1")) == {"cup", "lamp"}
