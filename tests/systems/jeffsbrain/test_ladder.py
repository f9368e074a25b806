"""Jeffs Brain (J11 – J13): the retry ladder for questions without a lexical hit, and its last rung, the slugs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Filter, InvalidInput
from recollect.recall.cues import RetryLadder
from recollect.recall.hits import Candidates
from recollect.recall.run import Run
from recollect.systems.jeffsbrain.cues import QueryLanguageCue, query_tokens, sanitise_query, strongest_term
from recollect.systems.jeffsbrain.recipe import jeffsbrain
from recollect.text.slugs import SlugIndex, slug_grams, slug_text
from recollect.text.trigrams import word_trigrams
from tests.recall.kit import ids, step, texts

from .kit import RANK, Order, ask, attempts, shelf

BLUE = {"id": "blue", "text": "a blue lamp", "path": "notes/lamp.md"}
ZEPPELIN = {"id": "airship", "text": "it flew over the lake", "path": "Notes/Zeppelin.md"}


# J11: the rungs.


@pytest.mark.contract("J11")
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("a blue vase", [("initial", "blue OR vase", 1)]),
        ('"red lamp"', [("initial", '"red lamp"', 0), ("strongest_term", "lamp", 1)]),
        (
            '"blue saucepan"',
            [
                ("initial", '"blue saucepan"', 0),
                ("strongest_term", "saucepan", 0),
                ("refreshed_sanitised", "blue saucepan", 1),
            ],
        ),
        (
            "Zepelin",
            [
                ("initial", "zepelin", 0),
                ("refreshed_sanitised", "Zepelin", 0),
                ("refreshed_strongest", "zepelin", 0),
                ("trigram_fuzzy", "zepelin", 1),
            ],
        ),
        (
            "where's my Zepelin?!",
            [
                ("initial", "zepelin", 0),
                ("strongest_term", "zepelin", 0),
                ("refreshed_sanitised", "where s my Zepelin", 0),
                ("refreshed_strongest", "zepelin", 0),
                ("trigram_fuzzy", "zepelin", 1),
            ],
        ),
        (
            "quagga qux",
            [
                ("initial", "quagga OR qux", 0),
                ("strongest_term", "quagga", 0),
                ("refreshed_sanitised", "quagga qux", 0),
                ("refreshed_strongest", "quagga", 0),
                ("trigram_fuzzy", "quagga qux", 0),
            ],
        ),
        ("who is it", [("initial", "", 0), ("refreshed_sanitised", "who is it", 0)]),
        ("?!", [("initial", "", 0)]),
    ],
    ids=["found", "strongest", "sanitised", "one word", "slug", "nothing", "stop words", "no words"],
)
def test_the_ladder_stops_at_the_first_hit_and_has_a_row_for_every_rung_that_ran(
    query: str, rows: list[tuple[str, str, int]]
) -> None:
    with shelf(BLUE, ZEPPELIN) as mind:
        recall = ask(mind, query)
    assert attempts(recall) == rows
    assert len(recall) == recall.trace.facts["bm25Count"] == rows[-1][2]


@pytest.mark.contract("J11")
def test_the_find_of_a_rung_is_the_lexical_leg_that_is_fused() -> None:
    with shelf(BLUE, {**ZEPPELIN, "text": "number1 flew"}, embedder=Order(1)) as mind:
        recall = ask(mind, "zepelin")
    assert [(result.memory.id, result.score) for result in recall] == [
        ("airship", RANK[0] + RANK[0]),
        ("blue", RANK[1]),
    ]


@pytest.mark.contract("J11")
def test_the_ladder_can_be_skipped() -> None:
    with shelf(BLUE, ZEPPELIN) as mind:
        recall = ask(mind, "where's my Zepelin?", skip_retry_ladder=True)
    assert attempts(recall) == [("initial", "zepelin", 0)]
    assert len(recall) == 0


@pytest.mark.contract("J11")
def test_the_strongest_term_is_skipped_when_it_is_the_lowered_and_trimmed_query() -> None:
    with shelf(BLUE) as mind:
        assert "strongest_term" not in [row[0] for row in attempts(ask(mind, "  QUAGGA "))]
        assert "strongest_term" in [row[0] for row in attempts(ask(mind, "QUAGGA?"))]


@pytest.mark.contract("J11", "J18")
def test_every_rung_asks_with_the_aliases() -> None:
    with shelf(BLUE) as mind:
        recall = ask(mind, '"green luminaire"', aliases={"luminaire": ["lamp"]})
    assert attempts(recall) == [("initial", '"green luminaire"', 0), ("strongest_term", "luminaire", 1)]


@pytest.mark.contract("J11", "J14")
def test_a_rung_that_breaks_ends_the_ladder() -> None:
    class Broken(QueryLanguageCue):
        def find(self, run: Run) -> Candidates:
            raise OSError("the disk is gone")

    rungs = RetryLadder(
        QueryLanguageCue("bm25"), Broken("strongest_term"), QueryLanguageCue("refreshed_sanitised", sanitise_query)
    )
    with shelf(BLUE) as mind:
        recall = mind.recall("quagga", recipe=jeffsbrain(mode="bm25").but(cues=rungs))
    assert attempts(recall) == [("initial", "quagga", 0)]
    assert recall.trace.facts["errorStage"] == "bm25"
    assert "the disk is gone" in recall.trace.facts["errorDetail"]


# J12: simpler forms of a question.


@pytest.mark.contract("J12")
@pytest.mark.parametrize(
    ("query", "sanitised"),
    [
        ("where's  the cup?!", "where s the cup"),
        ("a+b=c $5 ©", "a b c 5"),
        ("  «красная» чашка… ", "красная чашка"),
        ("杯子，在哪里？", "杯子 在哪里"),
        ("snake_case-and-more", "snake case and more"),
        ("…!?", ""),
        ("tab\tand\u00a0nbsp", "tab and nbsp"),
    ],
)
def test_punctuation_and_symbols_become_one_space(query: str, sanitised: str) -> None:
    assert sanitise_query(query) == sanitised


@pytest.mark.contract("J12")
@pytest.mark.parametrize(
    ("query", "strongest"),
    [
        ("What is the capital of France?", "capital"),
        ("red cup", "red"),  # the first of equals
        ("Is it of the", ""),
        ("ab cd", ""),  # three letters or more
        ("het een the lamp", "lamp"),
        ("DE lamp?", "lamp"),
        ("themselves lamp", "lamp"),  # longest, but a stop word
        ("co-operation", "operation"),
        ("Где моя чашка?", "чашка"),
    ],
)
def test_the_strongest_term_is_the_first_longest_word_that_is_no_stop_word(query: str, strongest: str) -> None:
    assert strongest_term(query) == strongest


@pytest.mark.contract("J12")
@pytest.mark.parametrize("word", ["de", "het", "een", "en", "of"])
def test_the_five_dutch_words_are_stop_words(word: str) -> None:
    other = "xyz"[: len(word)]  # as long, and after it: it is the strongest term only if the first is a stop word
    with shelf("a lamp") as mind:
        tried = attempts(ask(mind, f"{word} {other}!", min_term_length=2))
    assert ("strongest_term", other, 0) in tried


@pytest.mark.contract("J12")
def test_how_long_a_strongest_term_must_be_is_a_setting() -> None:
    with shelf("a lamp") as mind:
        assert ("strongest_term", "xyzzy", 0) in attempts(ask(mind, "xyzzy!", min_term_length=5))
        assert [row[0] for row in attempts(ask(mind, "xyzzy!", min_term_length=6))] == [
            *("initial", "refreshed_sanitised")
        ]


@pytest.mark.contract("J12")
@given(st.text())
def test_sanitising_twice_changes_nothing_and_the_strongest_term_survives_it(query: str) -> None:
    once = sanitise_query(query)
    assert sanitise_query(once) == once
    assert strongest_term(once) == strongest_term(query)
    assert strongest_term(query) == max(query_tokens(query), key=len, default="")


# J13: slugs.


@pytest.mark.contract("J13")
@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("memory/global/User-Preference_Tea.md", "user preference tea"),
        ("Zeppelin.MD", "zeppelin"),
        ("a.b/c.d.txt", "c d txt"),
        ("日記/東京.md", "東京"),
        ("caf\u0065\u0301.md", "café"),
        ("dir/", ""),
        (".md", ""),
    ],
)
def test_a_slug_is_the_last_segment_in_lower_case_without_md_as_words(path: str, slug: str) -> None:
    assert slug_text(path) == slug


@pytest.mark.contract("J13")
def test_grams_are_padded_word_by_word_and_no_word_is_too_short() -> None:
    assert slug_grams("x/cup-a.md") == {"$cu", "cup", "up$", "$a$"}


@pytest.mark.contract("J13")
@given(
    st.lists(st.text(alphabet="abcü-/. 東", max_size=12), max_size=8),
    st.text(alphabet="abcü東", min_size=1, max_size=6),
)
def test_likeness_is_the_jaccard_of_two_sets_of_grams(paths: list[str], word: str) -> None:
    def jaccard(a: set[str], b: set[str]) -> float:
        return len(a & b) / len(a | b)

    expected = [
        jaccard({gram for each in slug_text(path).split() for gram in word_trigrams(each)}, word_trigrams(word))
        for path in paths
    ]
    assert SlugIndex(paths).similar(word).tolist() == expected


@pytest.mark.contract("J13")
def test_a_likeness_of_three_tenths_is_enough_and_less_is_not() -> None:
    # abcdef has 6 grams and shares 3 with each: 3 of 10, and 3 of 11.
    near, far = {"text": "one", "path": "n/abcdxyz.md"}, {"text": "two", "path": "n/abcdwxyz.md"}
    with shelf(near, far) as mind:
        recall = ask(mind, "abcdef")
        lower = ask(mind, "abcdef", trigram_threshold=0.27)
    assert texts(recall) == ["one"]
    assert recall.trace.facts["attempts"][-1] == {"strategy": "trigram_fuzzy", "query": "abcdef", "hits": 1}
    assert texts(lower) == ["one", "two"]  # the minimum is a setting


@pytest.mark.contract("J13")
def test_slugs_come_by_likeness_then_path_then_id_and_are_cut_at_the_candidates() -> None:
    notes = [
        {"id": "d", "text": "4", "path": "b/zeppelins-of-old.md"},
        {"id": "c", "text": "3", "path": "b/zeppelin.md"},
        {"id": "b", "text": "2", "path": "a/zeppelin.md"},
        {"id": "a", "text": "1", "path": "b/zeppelin.md"},
    ]
    with shelf(*notes) as mind:
        assert ids(ask(mind, "zepelin")) == ["b", "a", "c", "d"]
        assert ids(ask(mind, "zepelin", 2, candidate_k=2)) == ["b", "a"]


@pytest.mark.contract("J13")
def test_any_word_of_the_question_may_be_the_one_that_is_alike() -> None:
    with shelf(BLUE, ZEPPELIN) as mind:
        recall = ask(mind, "quagga zepelin")
    assert ids(recall) == ["airship"]
    assert attempts(recall)[-1] == ("trigram_fuzzy", "quagga zepelin", 1)


@pytest.mark.contract("J13")
def test_without_a_path_the_title_is_the_slug_and_without_a_title_the_id() -> None:
    with shelf({"id": "x", "text": "1", "title": "The Zeppelin"}, {"id": "gondola", "text": "2"}) as mind:
        assert texts(ask(mind, "zepelins")) == ["1"]
        assert texts(ask(mind, "gondolla")) == ["2"]


@pytest.mark.contract("J13")
def test_slugs_follow_writes() -> None:
    with shelf(BLUE) as mind:
        assert ids(ask(mind, "zepelin")) == []
        mind.remember_many([ZEPPELIN])
        assert ids(ask(mind, "zepelin")) == ["airship"]
        mind.edit("airship", path="notes/balloon.md")
        assert ids(ask(mind, "zepelin")) == []
        assert ids(ask(mind, "baloon")) == ["airship"]
        mind.forget("airship")
        assert ids(ask(mind, "baloon")) == []
        mind.undo()
        assert ids(ask(mind, "baloon")) == ["airship"]


@pytest.mark.contract("J13", "B3")
def test_the_filter_holds_before_the_cut_of_the_slugs() -> None:
    others = [{"text": f"{n}", "path": f"a{n}/zeppelin.md", "user": "bob"} for n in range(5)]
    with shelf(*others, {**ZEPPELIN, "user": "ann"}) as mind:
        recall = ask(mind, "zepelin", 1, candidate_k=1, filter=Filter(user="ann"))
    assert ids(recall) == ["airship"]


@pytest.mark.contract("J13")
def test_the_callers_chunks_take_the_place_of_the_stores_slugs() -> None:
    chunks: list[Any] = [{"id": "blue", "path": "x/zeppelin.md"}]
    with shelf(BLUE, ZEPPELIN) as mind:
        assert ids(ask(mind, "zepelin", trigram_chunks=chunks)) == ["blue"]
        assert ids(ask(mind, "zepelin", trigram_chunks=[])) == []


@pytest.mark.contract("J13")
def test_a_chunk_that_is_not_stored_comes_back_as_it_was_given_unless_a_filter_cannot_judge_it() -> None:
    chunk = {"id": "elsewhere", "path": "x/zeppelin.md", "title": "Airship", "content": "It flew."}
    with shelf(BLUE) as mind:
        (found,) = ask(mind, "zepelin", trigram_chunks=[chunk])
        assert (found.memory.id, found.memory.title, found.text) == ("elsewhere", "Airship", "It flew.")
        assert len(ask(mind, "zepelin", trigram_chunks=[chunk], filter=Filter(user="ann"))) == 0
        assert len(ask(mind, "zepelin", trigram_chunks=[chunk], filter=Filter(path="x/"))) == 1


@pytest.mark.contract("J13", "M9")
def test_a_chunk_of_a_forgotten_memory_does_not_bring_it_back() -> None:
    with shelf(BLUE, ZEPPELIN) as mind:
        mind.forget("airship")
        assert len(ask(mind, "zepelin", trigram_chunks=[ZEPPELIN])) == 0


@pytest.mark.contract("J13")
@pytest.mark.parametrize("chunks", [["x"], [{"path": "x.md"}], [{"id": "x", "colour": "blue"}], [{"id": 3}]])
def test_what_is_no_chunk_is_refused(chunks: list[Any]) -> None:
    with shelf() as mind, pytest.raises(InvalidInput):
        ask(mind, "zepelin", trigram_chunks=chunks)


@pytest.mark.contract("J13", "B2")
def test_a_slug_explains_itself() -> None:
    with shelf(BLUE, ZEPPELIN) as mind:
        recall = ask(mind, "zepelin", mode="bm25")
        verdict = recall.why_not("blue")
    assert recall[0].why.evaluate() == recall[0].score == RANK[0]
    assert step(recall, "trigram_fuzzy")["detail"]["query"] == "zepelin"
    assert verdict.step == "cues"
    assert set(verdict.cues) == {
        "bm25",
        "strongest_term",
        "refreshed_sanitised",
        "refreshed_strongest",
        "trigram_fuzzy",
    }
