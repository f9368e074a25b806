"""Jeffs Brain (J): fusion, modes, the spared reranker, what happens when something fails, and the trace."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Filter, InvalidInput, Mind, aio
from recollect.recall.cues import AllCues, VectorsCue
from recollect.recall.recipe import fixed
from recollect.rerank import RerankDocument
from recollect.systems.jeffsbrain.fusion import agreements
from recollect.systems.jeffsbrain.recipe import jeffsbrain
from tests.recall.kit import ids, step, texts
from tests.store.looking import sql

from .kit import RANK, Backwards, Order, ask, attempts, cup, numbers, same, shelf

FEW = settings(max_examples=25, deadline=None)
NAMES = {
    *("mode", "requestedMode", "fellBackToBM25", "originalQuery", "compiledQuery"),
    *("candidateK", "rrfK", "rerankTopN", "bm25Count", "vectorCount", "fusedCount"),
    *("bm25Elapsed", "vectorElapsed", "fusionElapsed", "rerankElapsed", "totalElapsed"),
    *("embedderUsed", "reranked", "rerankProvider", "rerankSkippedReason", "unanimity"),
    *("attempts", "errorStage", "errorDetail"),
}


# J1: reciprocal rank fusion.


@pytest.mark.contract("J1")
def test_a_score_is_the_sum_of_one_over_sixty_one_plus_the_rank() -> None:
    with shelf(cup(1), cup(2), cup(3), embedder=Order(3, 1, 2)) as mind:
        recall = ask(mind, "cup")
    assert {result.memory.id: result.score for result in recall} == {
        "cup-001": same(1 / 61 + 1 / 62),
        "cup-002": same(1 / 62 + 1 / 63),
        "cup-003": same(1 / 63 + 1 / 61),
    }
    assert numbers(recall) == [1, 3, 2]
    assert all(result.why.evaluate() == result.score for result in recall)


@pytest.mark.contract("J1")
@pytest.mark.parametrize(("given", "used"), [(60, 60), (0, 60), (-5, 60), (10, 10)])
def test_a_k_of_nothing_or_less_means_sixty(given: int, used: int) -> None:
    with shelf(cup(1)) as mind:
        recall = ask(mind, "cup", rrf_k=given)
    assert recall[0].score == 1 / (used + 1)
    assert recall.trace.facts["rrfK"] == used


@pytest.mark.contract("J1")
@FEW
@given(st.permutations(range(1, 8)))
def test_the_lists_commute_bit_for_bit(order: list[int]) -> None:
    with shelf(*map(cup, range(1, 8)), embedder=Order(*order)) as mind:
        recipe, lexical = jeffsbrain(), jeffsbrain(mode="bm25").cues
        swapped = recipe.but(cues=AllCues(VectorsCue("vector", fixed(60)), lexical))
        one, other = (mind.recall("cup", recipe=each, track=False) for each in (recipe, swapped))
    assert [(each.memory.id, each.score) for each in one] == [(each.memory.id, each.score) for each in other]


@pytest.mark.contract("J1")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"path": "b.md"}, {"path": "a.md"}, [9, 1]),
        ({"path": "a.md"}, {"path": "b.md"}, [1, 9]),
        ({"path": "a.md"}, {"path": "a.md"}, [1, 9]),
        ({"title": "Zebra number1"}, {"path": "y/a.md"}, [9, 1]),
        ({"title": "Aardvark number1"}, {"path": "y/a.md"}, [1, 9]),
        ({"path": "d.md"}, {}, [9, 1]),  # its id is cup-009
        ({"path": "b.md"}, {}, [1, 9]),
        ({}, {}, [1, 9]),
    ],
)
def test_equal_scores_go_by_path_or_the_slug_of_the_title_or_the_id_and_then_by_id(
    first: dict[str, str], second: dict[str, str], expected: list[int]
) -> None:
    with shelf(cup(1, **first), cup(9, **second), embedder=Order(9, 1)) as mind:
        recall = ask(mind, "cup")
    assert recall[0].score == recall[1].score
    assert numbers(recall) == expected


@pytest.mark.contract("J1")
def test_a_memory_is_whole_whichever_leg_brought_it() -> None:
    note = cup(1, title="Blue cup number1", summary="It is blue.", path="a/blue.md")
    other = {
        "id": "cup-002",
        "text": "number2 of something else",
        "title": "Saucer",
        "summary": "Not a drinking vessel.",
    }
    with shelf(note, other, embedder=Order(2, 1)) as mind:
        both, vector = ask(mind, "filler")
        (fuzzy,) = ask(mind, "saucre", mode="bm25", trigram_chunks=[{"id": "cup-002", "path": "x/saucer.md"}])
    assert (both.memory.title, both.memory.summary, both.memory.path) == (note["title"], note["summary"], note["path"])
    assert (vector.memory.title, vector.memory.summary, vector.text) == (
        other["title"],
        other["summary"],
        other["text"],
    )
    assert (fuzzy.memory.title, fuzzy.memory.path) == ("Saucer", "")


# J2: modes.


@pytest.mark.contract("J2")
@pytest.mark.parametrize(
    ("mode", "ran", "order"),
    [
        ("auto", "hybrid", [1, 3, 2]),
        ("hybrid", "hybrid", [1, 3, 2]),
        ("bm25", "bm25", [1, 2, 3]),
        ("semantic", "semantic", [3, 1, 2]),
    ],
)
def test_with_an_embedder_every_mode_runs_as_asked(mode: str, ran: str, order: list[int]) -> None:
    with shelf(cup(1), cup(2), cup(3), embedder=Order(3, 1, 2)) as mind:
        recall = ask(mind, "cup", mode=mode)
    facts = recall.trace.facts
    assert (facts["mode"], facts["fellBackToBM25"], facts["embedderUsed"]) == (ran, False, mode != "bm25")
    assert numbers(recall) == order
    if ran != "hybrid":
        assert [result.score for result in recall] == RANK[:3]


@pytest.mark.contract("J2")
@pytest.mark.parametrize(("mode", "fell"), [("auto", False), ("bm25", False), ("semantic", True), ("hybrid", True)])
def test_without_an_embedder_every_mode_is_bm25_and_the_trace_says_what_fell_back(mode: str, fell: bool) -> None:
    with shelf(cup(1), cup(2)) as mind:
        recall = ask(mind, "cup", mode=mode)
    facts = recall.trace.facts
    assert (facts["mode"], facts["requestedMode"], facts["fellBackToBM25"]) == ("bm25", mode, fell)
    assert numbers(recall) == [1, 2]
    assert [result.score for result in recall] == RANK[:2]


@pytest.mark.contract("J2")
def test_the_lexical_leg_and_its_ladder_run_in_every_mode() -> None:
    with shelf(cup(1), cup(2), embedder=Order(2, 1)) as mind:
        recall = ask(mind, '"cup filler" numberless', mode="semantic")
    assert [row[0] for row in attempts(recall)] == ["initial", "strongest_term", "refreshed_sanitised"]
    assert recall.trace.facts["bm25Count"] == 2
    assert numbers(recall) == [2, 1]


@pytest.mark.contract("J2")
def test_the_vector_leg_embeds_the_raw_query() -> None:
    order = Order(1)
    with shelf(cup(1), embedder=order) as mind:
        ask(mind, ' "the  CUP" NOT saucer* ')
    assert order.asked == [' "the  CUP" NOT saucer* ']


@pytest.mark.contract("J2")
@pytest.mark.parametrize("mode", ["auto", "semantic", "hybrid"])
def test_a_vector_leg_that_fails_falls_back_to_bm25_and_says_so(mode: str) -> None:
    order = Order(2, 1)
    with shelf(cup(1), cup(2), embedder=order) as mind:
        order.failing = True
        recall = ask(mind, "cup", mode=mode)
    facts = recall.trace.facts
    assert (facts["mode"], facts["fellBackToBM25"], facts["errorStage"]) == ("bm25", True, "vector")
    assert "holiday" in facts["errorDetail"]
    assert numbers(recall) == [1, 2]


@pytest.mark.contract("J2")
def test_memories_without_vectors_fall_back_to_bm25_too() -> None:
    with shelf(cup(1), cup(2)) as mind:
        mind.embedder = Order(2, 1)
        recall = ask(mind, "cup", mode="semantic")
    assert (recall.trace.facts["mode"], recall.trace.facts["fellBackToBM25"]) == ("bm25", True)
    assert recall.trace.facts["errorStage"] is None
    assert numbers(recall) == [1, 2]


@pytest.mark.contract("J2")
def test_an_unknown_mode_is_refused() -> None:
    with shelf() as mind, pytest.raises(InvalidInput, match="mode must be one of auto, bm25, semantic, hybrid"):
        ask(mind, "cup", mode="fuzzy")


# J3: numbers.


@pytest.mark.contract("J3")
def test_ten_results_of_sixty_candidates_with_twenty_reranked() -> None:
    backwards = Backwards()
    with shelf(*map(cup, range(1, 71)), embedder=Order(*range(70, 0, -1))) as mind:
        recall = ask(mind, "cup", reranker=backwards)
    facts = recall.trace.facts
    assert len(recall) == 10
    assert (facts["candidateK"], facts["bm25Count"], facts["vectorCount"]) == (60, 60, 60)
    assert facts["rerankTopN"] == 20
    assert [len(asked) for asked in backwards.asked] == [20]
    assert facts["reranked"] is True


@pytest.mark.contract("J3")
@pytest.mark.parametrize(
    "name",
    ["top_k", "candidate_k", "rerank_top_n", "min_term_length", "agree_min", "agree_window", "snippet_characters"],
)
def test_numbers_below_one_are_refused(name: str) -> None:
    with shelf() as mind, pytest.raises(InvalidInput, match="at least 1"):
        ask(mind, "cup", **{name: 0})


@pytest.mark.contract("J3", "B3")
def test_who_asks_for_more_than_the_candidates_gets_more() -> None:
    with shelf(*map(cup, range(1, 71))) as mind:
        assert numbers(ask(mind, "cup", 65)) == list(range(1, 66))


# J4: unanimity.


@pytest.mark.contract("J4")
@pytest.mark.parametrize(
    ("order", "agreed"),
    [([1, 2, 3, 4], 3), ([1, 2, 4, 3], 2), ([4, 2, 3, 1], 2), ([1, 3, 2, 4], None), ([3, 1, 2], None)],
)
def test_two_legs_that_agree_on_two_of_three_positions_spare_the_reranker(order: list[int], agreed: int | None) -> None:
    backwards = Backwards()
    with shelf(*map(cup, range(1, 5)), embedder=Order(*order)) as mind:
        facts = ask(mind, "cup", reranker=backwards).trace.facts
    assert len(backwards.asked) == (1 if agreed is None else 0)
    assert facts["reranked"] is (agreed is None)
    assert facts["rerankSkippedReason"] == (None if agreed is None else "unanimity")
    ids = ["cup-001", "cup-002", "cup-003"]  # the first three by words
    assert facts["unanimity"] == (None if agreed is None else {"ids": ids, "agreements": agreed})


@pytest.mark.contract("J4")
@pytest.mark.parametrize(
    ("memories", "options"),
    [([cup(1), cup(2)], {}), ([cup(1), cup(2), "number3 alone"], {}), ([cup(1), cup(2), cup(3)], {"mode": "bm25"})],
    ids=["two memories", "two lexical hits", "no vector leg"],
)
def test_a_leg_with_fewer_than_three_hits_spares_nobody(memories: list[Any], options: dict[str, Any]) -> None:
    backwards = Backwards()
    with shelf(*memories, embedder=Order(1, 2, 3)) as mind:
        ask(mind, "cup", reranker=backwards, **options)
    assert len(backwards.asked) == 1


@pytest.mark.contract("J4")
@given(st.lists(st.integers(1, 4), max_size=5), st.lists(st.integers(1, 4), max_size=5))
def test_the_shortcut_is_a_pure_check_of_three_positions(one: list[int], other: list[int]) -> None:
    equal = sum(a == b for a, b in zip(one[:3], other[:3], strict=False))
    enough = len(one) >= 3 and len(other) >= 3 and equal >= 2
    assert agreements(one, other) == (equal if enough else None)
    assert agreements(one, other) == agreements(other, one)


@pytest.mark.contract("J4")
@pytest.mark.parametrize(
    ("settings", "skips"),
    [
        ({}, True),
        ({"agree_min": 3}, False),
        ({"agree_min": 2, "agree_window": 2}, True),
        ({"agree_min": 2, "agree_window": 5}, False),  # there are four
        ({"agree_min": 1, "agree_window": 1}, True),
    ],
)
def test_how_many_positions_must_agree_is_a_setting(settings: dict[str, int], skips: bool) -> None:
    with shelf(*map(cup, range(1, 5)), embedder=Order(1, 2, 4, 3)) as mind:
        facts = ask(mind, "cup", reranker=Backwards(), **settings).trace.facts
    assert (facts["rerankSkippedReason"] == "unanimity") is skips
    if skips:
        assert len(facts["unanimity"]["ids"]) == settings.get("agree_window", 3)


# J5, J6: reranking.


@pytest.mark.contract("J5")
def test_the_head_is_reranked_and_the_tail_follows_unchanged() -> None:
    with shelf(*map(cup, range(1, 8))) as mind:
        plain = ask(mind, "cup")
        recall = ask(mind, "cup", reranker=Backwards(), rerank_top_n=3)
    assert numbers(plain) == [1, 2, 3, 4, 5, 6, 7]
    assert numbers(recall) == [3, 2, 1, 4, 5, 6, 7]
    assert recall.trace.facts["rerankProvider"] == "backwards"


@pytest.mark.contract("J5")
def test_a_failing_reranker_leaves_the_fused_order_and_says_so() -> None:
    class Broken:
        name = "broken"

        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            raise RuntimeError("out of order")

    with shelf(*map(cup, range(1, 4))) as mind:
        recall = ask(mind, "cup", reranker=Broken())
    facts = recall.trace.facts
    assert numbers(recall) == [1, 2, 3]
    assert (facts["reranked"], facts["rerankSkippedReason"], facts["errorStage"]) == (False, None, "rerank")
    assert "out of order" in facts["errorDetail"]


@pytest.mark.contract("J5", "J17")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rerank": False, "reranker": Backwards()}, "mode_off"),
        ({}, "no_reranker"),
        ({"reranker": None}, "no_reranker"),
    ],
)
def test_a_reranker_that_is_off_or_missing_is_a_reason_in_the_trace(options: dict[str, Any], reason: str) -> None:
    with shelf(cup(1), cup(2)) as mind:
        recall = ask(mind, "cup", **options)
    assert numbers(recall) == [1, 2]
    assert recall.trace.facts["rerankSkippedReason"] == reason


@pytest.mark.contract("J6")
def test_the_reranker_reads_title_and_summary_or_one_of_them_or_280_letters_of_content() -> None:
    backwards = Backwards()
    memories = [
        {"text": "cup 1", "title": "Cup", "summary": "A cup."},
        {"text": "cup 2 cup", "title": "Cup of tea"},
        {"text": "cup 3 is long", "summary": "Only a summary of a cup."},
        {"text": "cup " + "x" * 400},
    ]
    with shelf(*memories) as mind:
        ask(mind, "cup", reranker=backwards)
    assert set(backwards.asked[0]) == {"Cup\nA cup.", "Cup of tea", "Only a summary of a cup.", "cup " + "x" * 276}


class WithIds(Backwards):
    """A reranker that gets the ids, too."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: list[RerankDocument] = []

    def rerank_documents(self, query: str, documents: Sequence[RerankDocument]) -> list[float]:
        self.documents += documents
        return [float(document.id == "cup-002") for document in documents]


@pytest.mark.contract("J6")
def test_a_reranker_that_wants_them_gets_the_ids_beside_the_texts() -> None:
    reranker = WithIds()
    with shelf(cup(1), cup(2, title="Two"), cup(3)) as mind:
        found = ask(mind, "cup", reranker=reranker)
        fused = [each.memory for each in ask(mind, "cup")]
        assert [(each.id, each.text) for each in reranker.documents] == [
            (memory.id, memory.title or memory.text) for memory in fused
        ]
        assert numbers(found)[0] == 2
        assert not reranker.asked


@pytest.mark.contract("J3", "J6")
def test_the_number_of_results_and_the_length_of_a_snippet_are_settings() -> None:
    backwards = Backwards()
    with shelf(*map(cup, range(1, 9))) as mind:
        assert len(ask(mind, "cup", top_k=4, snippet_characters=5, reranker=backwards)) == 4
        assert len(ask(mind, "cup", 2, top_k=4)) == 2
    assert {len(text) for text in backwards.asked[0]} == {5}


# J14 – J16: failures, time, and nothing at all.


@pytest.mark.contract("J14")
def test_a_broken_lexical_search_skips_the_ladder_and_the_vector_leg_still_answers() -> None:
    with shelf(cup(1), cup(2), embedder=Order(2, 1)) as mind:
        ask(mind, "cup")
        sql(mind.path, "DROP TABLE vocabulary")
        recall = ask(mind, "a cup NOT saucer")
    facts = recall.trace.facts
    assert numbers(recall) == [2, 1]
    assert (facts["errorStage"], facts["attempts"], facts["bm25Count"]) == ("bm25", [], 0)
    assert "vocabulary" in facts["errorDetail"]
    assert facts["compiledQuery"] == "(a OR cup) AND NOT saucer"
    assert facts["mode"] == "hybrid"
    assert not {"strongest_term", "trigram_fuzzy"} & {each.name for each in recall.trace.steps}


@pytest.mark.contract("J15")
def test_one_deadline_holds_for_the_model_and_the_reranker_together() -> None:
    class Slow(Order):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            time.sleep(2.0 if query else 0.0)
            return super().embed(texts, query)

    with shelf(cup(1), cup(2), cup(3), embedder=Slow(3, 2, 1)) as mind:
        start = time.perf_counter()
        recall = ask(mind, "cup", reranker=Backwards(), deadline=0.3)
        spent = time.perf_counter() - start
    facts = recall.trace.facts
    assert spent < 1.5
    assert numbers(recall) == [1, 2, 3]
    assert (facts["mode"], facts["fellBackToBM25"], facts["rerankSkippedReason"]) == ("bm25", True, "deadline")
    assert [row[0] for row in attempts(recall)] == ["initial"]


@pytest.mark.contract("J15")
def test_a_passed_deadline_stops_every_rung() -> None:
    with shelf(cup(1)) as mind:
        recall = ask(mind, "saucre", deadline=0)
    assert len(recall) == 0
    assert {each.reason for each in recall.trace.steps if each.kind == "cue"} == {"the deadline has passed"}
    assert attempts(recall) == []


@pytest.mark.contract("J15")
def test_the_caller_can_cancel() -> None:
    class Endless(Backwards):
        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            time.sleep(1.0)
            return super().rerank(query, texts)

    async def cancelled() -> float:
        async with aio.AsyncMind(":memory:", embedder=None) as mind:
            await mind.remember("a cup")
            start = time.perf_counter()
            task = asyncio.create_task(mind.recall("cup", recipe="jeffsbrain", reranker=Endless()))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            spent = time.perf_counter() - start
            assert texts(await mind.recall("cup", recipe="jeffsbrain")) == ["a cup"]
        return spent

    assert asyncio.run(cancelled()) < 0.8


@pytest.mark.contract("J15")
def test_every_rung_is_tried_once_and_none_is_repeated() -> None:
    with shelf(cup(1)) as mind:
        recall = ask(mind, "zebra quagga")
    rungs = ["bm25", "strongest_term", "refreshed_sanitised", "refreshed_strongest", "trigram_fuzzy"]
    assert [each.name for each in recall.trace.steps if each.kind == "cue"] == [*rungs, "vector"]
    assert [row[0] for row in attempts(recall)] == ["initial", *rungs[1:]]


@pytest.mark.contract("J16")
def test_without_a_lexical_hit_hybrid_is_the_vector_list_alone() -> None:
    with shelf(cup(1), cup(2), embedder=Order(2, 1)) as mind:
        recall = ask(mind, "zebra")
    assert recall.trace.facts["mode"] == "hybrid"
    assert numbers(recall) == [2, 1]
    assert [result.score for result in recall] == RANK[:2]


@pytest.mark.contract("J16")
@pytest.mark.parametrize("embedder", [None, Order()])
def test_two_empty_legs_give_no_results_and_the_reason(embedder: Order | None) -> None:
    with shelf(embedder=embedder) as mind:
        recall = ask(mind, "zebra", reranker=Backwards())
    assert len(recall) == 0
    assert recall.trace.facts["rerankSkippedReason"] == "empty_candidates"
    assert recall.trace.failures == []


# J17: the trace.


@pytest.mark.contract("J17")
def test_the_trace_is_plain_data_under_stable_names() -> None:
    with shelf(cup(1), cup(2), cup(3), embedder=Order(3, 2, 1)) as mind:
        recall = ask(mind, "the cup?", reranker=Backwards())
    facts = json.loads(json.dumps(recall.trace.as_dict()))["facts"]
    assert facts == recall.trace.facts
    assert set(facts) == NAMES
    elapsed = {name: facts[name] for name in NAMES if name.endswith("Elapsed")}
    assert all(value > 0 for value in elapsed.values())
    assert sum(elapsed.values()) <= 2 * facts["totalElapsed"]  # the parts are within the whole
    assert {name: value for name, value in facts.items() if name not in elapsed} == {
        "mode": "hybrid",
        "requestedMode": "auto",
        "fellBackToBM25": False,
        "originalQuery": "the cup?",
        "compiledQuery": "cup",
        "candidateK": 60,
        "rrfK": 60,
        "rerankTopN": 20,
        "bm25Count": 3,
        "vectorCount": 3,
        "fusedCount": 3,
        "embedderUsed": True,
        "reranked": True,
        "rerankProvider": "backwards",
        "rerankSkippedReason": None,
        "unanimity": None,
        "attempts": [{"strategy": "initial", "query": "cup", "hits": 3}],
        "errorStage": None,
        "errorDetail": None,
    }


@pytest.mark.contract("J17")
@pytest.mark.parametrize("query", ["cup", "?", "zebra", '"', "NOT"])
@pytest.mark.parametrize("mode", ["auto", "bm25", "semantic"])
def test_the_names_are_the_same_whatever_happened(query: str, mode: str) -> None:
    with shelf(cup(1), embedder=Order(1)) as mind:
        assert set(ask(mind, query, mode=mode).trace.facts) == NAMES


@pytest.mark.contract("J17")
def test_a_changed_recipe_still_reports() -> None:
    with shelf(cup(1)) as mind:
        facts = mind.recall("cup", recipe=jeffsbrain().but(stages=[])).trace.facts
    assert set(facts) == NAMES
    assert facts["rerankSkippedReason"] == "mode_off"


@pytest.mark.contract("J17")
def test_a_recipe_without_a_report_has_no_facts() -> None:
    with shelf(cup(1)) as mind:
        trace = mind.recall("cup").trace
    assert trace.facts == {}
    assert "facts" not in trace.as_dict()


# Beside the document: filters and use.


@pytest.mark.contract("B3")
def test_a_filter_never_costs_results() -> None:
    others = [cup(n, user="bob") for n in range(1, 31)]
    mine = [cup(n, user="ann") for n in range(31, 36)]
    with shelf(*others, *mine, embedder=Order(*range(1, 36))) as mind:
        for mode in ("hybrid", "bm25", "semantic"):
            recall = ask(mind, "cup", 5, mode=mode, candidate_k=5, filter=Filter(user="ann"))
            assert sorted(numbers(recall)) == [31, 32, 33, 34, 35]


def test_what_was_returned_is_counted_as_used() -> None:
    with shelf(cup(1), cup(2)) as mind:
        mind.recall("cup", 1, recipe="jeffsbrain")
        assert [mind.show(id).use.access_count for id in ("cup-001", "cup-002")] == [1, 0]


def test_the_same_question_twice_has_the_same_answer() -> None:
    with shelf(*map(cup, range(1, 20)), embedder=Order(*range(19, 0, -1))) as mind:
        one, other = (ask(mind, "how many cups", reranker=Backwards()) for _ in range(2))
    assert [(r.memory.id, r.score, r.notes) for r in one] == [(r.memory.id, r.score, r.notes) for r in other]


def test_an_unknown_setting_is_refused_by_name(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="no setting 'topk'"):
        ask(mind, "cup", topk=3)


def test_why_not_names_the_cut_and_what_each_leg_made_of_it() -> None:
    with shelf(cup(1), cup(2), embedder=Order(1, 2)) as mind:
        recall = ask(mind, "cup", 1)
        verdict = recall.why_not("cup-002")
    assert ids(recall) == ["cup-001"]
    assert verdict.step == "best 1"
    assert "rank 2" in verdict.cues["bm25"]
    assert step(recall, "reciprocal rank")["detail"]["mode"] == "hybrid"
