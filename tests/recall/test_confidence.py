"""How sure a recall is, and when it says nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Filter, InvalidInput, Mind, NotFound
from recollect.recall.confidence import Confidence
from recollect.recall.query_cache import QueryCache
from recollect.recall.registry import RECIPES, get_recipe

from .kit import BAG, WOVEN, Moody, Woven, ids, open_mind, step, texts, told

KITCHEN = ["the blue cup is on the shelf", "the kettle boils on the stove", "a lamp hangs above the table"]
NUMBERS = Confidence()
OURS, STRANGE = "where is the blue cup?", "which submarine crossed an ocean heading north?"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember_many(KITCHEN)
        yield mind


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "plain.db", None) as mind:
        mind.remember_many(KITCHEN)
        yield mind


def sure(mind: Mind, query: str, k: int | None = None, **options: Any) -> float:
    confidence = mind.recall(query, k, **options).confidence
    assert confidence is not None
    return confidence


def evidence(mind: Mind, query: str, **options: Any) -> dict[str, Any]:
    detail: dict[str, Any] = step(mind.recall(query, track=False, **options), "confidence")["detail"]
    return detail


# Confidence.


@pytest.mark.parametrize("which", ["mind", "plain"])
def test_it_is_surer_of_a_question_about_what_it_knows(which: str, request: pytest.FixtureRequest) -> None:
    mind: Mind = request.getfixturevalue(which)
    assert 0 < sure(mind, "which cup crossed the ocean?") < sure(mind, OURS) < 1
    assert sure(mind, STRANGE) < NUMBERS.threshold < sure(mind, OURS)


def test_it_is_the_formula_of_the_evidence_in_the_trace(mind: Mind) -> None:
    detail = evidence(mind, OURS)
    x = sum(coefficient * detail.get(name, 1) for name, coefficient in NUMBERS.with_vectors.items())
    assert NUMBERS.with_vectors.keys() - detail.keys() == {"bias"}
    assert (detail["found"], detail["missing"], detail["words missing"]) == (2, 0, "none")
    assert detail["size"] == pytest.approx(math.log(10), abs=1e-4)  # of a smaller collection, too
    assert sure(mind, OURS) == pytest.approx(1 / (1 + math.exp(-x)), abs=1e-3)
    assert detail["confidence"] == pytest.approx(sure(mind, OURS), abs=1e-4)


def test_without_vectors_words_decide_alone(plain: Mind) -> None:
    detail = evidence(plain, OURS)
    x = sum(coefficient * detail.get(name, 1) for name, coefficient in NUMBERS.words_alone.items())
    assert "cosine" not in detail
    assert (detail["covered"], detail["missing"]) == (1, 0)
    assert sure(plain, OURS) == pytest.approx(1 / (1 + math.exp(-x)), abs=1e-3)


def test_a_misspelt_word_that_was_found_is_not_missing(mind: Mind, plain: Mind) -> None:
    for each in (mind, plain):
        assert evidence(each, "where is the kettel?")["missing"] == 0
        assert evidence(each, "where is the submarine cup?")["missing"] == 1
        assert sure(each, "where is the kettel?") > NUMBERS.threshold


def test_a_word_of_the_same_meaning_is_not_missing(mind: Mind) -> None:
    detail = evidence(mind, "where is the blue mug?")
    assert (detail["found"], detail["missing"]) == (2, 0)


def test_an_unknown_name_lowers_it_more_than_another_unknown_word(mind: Mind) -> None:
    mind.remember("Hannah has the red umbrella")
    assert not evidence(mind, "where did Hannah put the cup?")["unknown name"]
    assert evidence(mind, "where did Roberto put the cup?")["unknown name"]
    assert not evidence(mind, "where did giraffes put the cup?")["unknown name"]
    strange_name, strange_word = (
        sure(mind, "where did Roberto put the cup?"),
        sure(mind, "where did giraffes put the cup?"),
    )
    assert strange_name < strange_word < sure(mind, "where did Hannah put the cup?")


def test_in_a_small_collection_less_evidence_is_needed(mind: Mind) -> None:
    few = sure(mind, "where is the blue mug?")
    mind.remember_many(f"rain fell all day long on day {n}" for n in range(200))
    assert few > sure(mind, "where is the blue mug?")


def test_in_long_memories_more_evidence_is_needed(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        for collection, more in (("short", ""), ("long", ", and rain fell" * 100)):
            mind.remember_many([{"text": each + more, "collection": collection} for each in KITCHEN])
        short, long = (
            evidence(mind, "where is the mug?", filter=Filter(collection=each)) for each in ("short", "long")
        )
        assert short["length"] == pytest.approx(math.log(100), abs=1e-4), "of shorter ones, too"
        assert long["length"] > math.log(1000)
        assert short["confidence"] > long["confidence"]


def test_a_question_in_another_script_than_the_first_results_is_neither_sure_nor_unsure(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(["杯子在厨房的架子上。", "猫在院子里睡觉。"])
        assert sure(mind, OURS) == 0.5
        assert "different scripts" in evidence(mind, OURS)["cannot tell"]


def test_a_word_in_another_script_changes_neither_the_script_of_a_question_nor_of_a_memory(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KITCHEN)
        assert sure(mind, "where is the blue cup (杯子)?") != 0.5
        assert sure(mind, "which submarine crossed an ocean to Ghana or 中国?") < NUMBERS.threshold
        mind.remember_many([f"we cooked mapo tofu (麻婆豆腐) at number {at}" for at in range(5)])
        assert evidence(mind, "who cooked mapo tofu?").get("cannot tell") is None


def test_a_chinese_question_with_latin_names_is_one_in_chinese(path: Path) -> None:
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(KITCHEN)
        assert "different scripts" in evidence(mind, "Kubernetes集群的blue杯子在哪？")["cannot tell"]


def test_a_hit_of_the_time_that_was_named_is_evidence(mind: Mind) -> None:
    mind.remember("we painted the fence", created="2025-05-20T10:00")
    assert evidence(mind, "which work was done on 20 May 2025?")["in time"]
    assert not evidence(mind, "which work was done on 20 May 1999?")["in time"]


def test_a_memory_of_the_weekday_that_a_question_names_is_weak_evidence(mind: Mind) -> None:
    mind.remember("we painted the fence", created="2025-05-20T10:00")  # a Tuesday
    asked: dict[str, Any] = {"now": "2025-05-22T10:00"}
    assert evidence(mind, "what did the dentist say on Tuesday?", **asked)["in time"] == 0.5
    assert evidence(mind, "who painted the fence on Tuesday?", **asked)["in time"] == 1
    weekday, day = (
        sure(mind, f"what did the dentist say {when}?", **asked) for when in ("on Tuesday", "on 20 May 2025")
    )
    assert weekday < day


def test_somebody_who_speaks_in_the_first_results_is_no_unknown_name(mind: Mind) -> None:
    question = "where did Roberto put the cup?"
    assert evidence(mind, question)["unknown name"]
    mind.remember("I put the blue cup on the shelf", speaker="Roberto")
    detail = evidence(mind, question)
    assert (detail["unknown name"], detail["missing"]) == (False, 0)


def test_an_amount_that_no_memory_about_the_subject_has_lowers_it(plain: Mind) -> None:
    plain.remember_many(["the plumber repaired the tap on 3 May", "the roof cost 4,200"])
    question = "what did the plumber charge for the tap?"
    assert evidence(plain, question)["no amount"] == 1
    assert plain.recall(question).low_confidence
    plain.remember("the plumber wants 85 for the tap")
    assert evidence(plain, question)["no amount"] == 0
    assert not plain.recall(question).low_confidence


def test_an_attribute_that_no_memory_about_the_subject_has_lowers_it(plain: Mind) -> None:
    plain.remember_many(["the van is at the garage", "the number of the taxi is 5512"])
    question = "what is the registration number of the van?"
    assert evidence(plain, question)["no attribute"] == 1
    assert plain.recall(question).low_confidence
    plain.remember("the registration of the van is KB 21 XYZ")
    assert evidence(plain, question)["no attribute"] == 0
    assert not plain.recall(question).low_confidence


def test_of_a_subject_that_is_not_known_no_attribute_is_missed(plain: Mind) -> None:
    plain.remember("the number of the taxi is 5512")
    assert evidence(plain, "what is the registration number of the submarine?")["no attribute"] == 0


def test_of_a_message_of_several_sentences_not_every_word_is_expected(mind: Mind) -> None:
    question = "Where is the blue cup on the shelf?"
    message = "I came home late this evening. The tram broke down again today. Nobody told us the reason. "
    assert evidence(mind, question)["statements"] == 0
    assert evidence(mind, message + question)["statements"] == 3


def test_german_words_are_found_in_other_forms_and_as_parts_of_compounds(plain: Mind) -> None:
    plain.remember_many(["Die Gartenschlüssel hängen neben der Tür.", "Die Bücher haben wir im Frühling gekauft."])
    assert evidence(plain, "Wo ist der Schlüssel für den Garten?")["missing"] == 0
    assert evidence(plain, "Wann habe ich das Buch gekauft?")["missing"] == 0
    assert evidence(plain, "Wann habe ich das Klavier gekauft?")["missing"] == 1
    assert sure(plain, "Wann habe ich das Buch gekauft?") > sure(plain, "Wann habe ich das Klavier verkauft?")


def test_the_subject_of_a_follow_up_counts_as_found(mind: Mind) -> None:
    mind.remember("Marlene bought the violin in Cremona for 4200 euros")
    before = [("user", "Which violin did Marlene buy in Cremona?"), ("assistant", "An old one.")]
    assert sure(mind, "and what did it cost?", history=before) > sure(mind, "and what did it cost?")


def test_a_query_that_cannot_be_compared_with_the_results_is_neither_sure_nor_unsure(path: Path) -> None:
    class Latin(Woven):
        def can_read(self, text: str) -> bool:
            return text.isascii()

    with open_mind(path, Latin()) as mind:
        mind.remember_many(["杯子在厨房的架子上。", "猫在院子里睡觉。"])
        assert sure(mind, "Where does the cat sleep?") == 0.5
        assert "script" in evidence(mind, "Where does the cat sleep?")["cannot tell"]
        assert mind.recall("Where does the cat sleep?", abstain=True)


def test_a_rare_word_that_is_missing_counts_for_more_than_a_common_one(plain: Mind) -> None:
    plain.remember_many(f"cup number {n}" for n in range(30))
    assert sure(plain, "kettle cup") > sure(plain, "submarine cup")
    assert sure(plain, "submarine cup") < 0.5


def test_nothing_found_is_no_confidence_at_all(plain: Mind) -> None:
    assert list(plain.recall("submarine")) == []
    assert sure(plain, "submarine") == 0
    assert sure(plain, OURS, filter=Filter(user="nobody")) == 0


def test_an_empty_memory_is_sure_of_nothing(path: Path) -> None:
    with open_mind(path) as mind:
        recall = mind.recall(OURS, abstain=True)
        assert (recall.confidence, list(recall)) == (0, [])


def test_it_does_not_depend_on_how_many_are_asked_for(mind: Mind) -> None:
    mind.remember_many(f"a {word} cup" for word in "red green old new shelf".split())
    assert len({sure(mind, "old cup on the blue shelf, where?", k) for k in (1, 2, 5, 100)}) == 1


def test_it_is_about_the_memories_that_may_come_back(plain: Mind) -> None:
    plain.remember("something else stands on the shelf", user="bob")
    assert sure(plain, OURS, filter=Filter(user="bob")) < sure(plain, OURS)


def test_a_question_in_letters_that_the_embedder_does_not_read_is_judged_by_its_words(path: Path) -> None:
    class Latin(Woven):
        def can_read(self, text: str) -> bool:
            return text.isascii()

    with open_mind(path, Latin()) as mind:
        mind.remember_many([*KITCHEN, "杯子在厨房的架子上。", "猫在院子里睡觉。"])
        assert "cosine" in step(mind.recall(OURS), "confidence")["detail"]
        assert "cosine" not in step(mind.recall("杯子在架子上吗？"), "confidence")["detail"]
        assert sure(mind, "杯子在架子上吗？") > NUMBERS.threshold > sure(mind, "量子物理是什么？")
        assert texts(mind.recall("杯子在架子上吗？", abstain=True))[0] == "杯子在厨房的架子上。"
        assert texts(mind.recall("量子物理是什么？", abstain=True)) == []


def test_when_the_embedder_fails_coverage_speaks_alone(path: Path) -> None:
    moody = Moody()
    with open_mind(path, moody) as mind:
        mind.remember_many(KITCHEN)
        moody.failing = True
        recall = mind.recall(OURS, abstain=True)
        assert "cosine" not in step(recall, "confidence")["detail"]
        assert texts(recall)[0] == KITCHEN[0]


def test_a_memory_without_a_vector_leaves_the_cosine_to_the_others(path: Path) -> None:
    moody = Moody()
    with open_mind(path, moody) as mind:
        mind.remember_many(KITCHEN)
        before = step(mind.recall(OURS), "confidence")["detail"]["cosine"]
        moody.failing = True
        mind.remember("nobody knows where the blue cup is")
        moody.failing = False
        recall = mind.recall(OURS)
        assert "nobody knows where the blue cup is" in texts(recall)
        assert step(recall, "confidence")["detail"]["cosine"] == before


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_without_a_measure_has_none_and_cannot_abstain(mind: Mind, recipe: str) -> None:
    recall = mind.recall(OURS, recipe=recipe)
    assert len(recall) > 0
    if get_recipe(recipe).confidence is not None:
        assert recall.confidence is not None
        return
    assert recall.confidence is None
    assert all(each.kind != "judge" for each in recall.trace.steps)
    for abstain in (True, 0.5, 0.0):
        with pytest.raises(InvalidInput, match=f"{recipe!r} has no measure of confidence"):
            mind.recall(OURS, recipe=recipe, abstain=abstain)


def test_the_default_recipe_has_one() -> None:
    assert get_recipe("default").confidence is not None


def test_a_recipe_of_ones_own_can_have_another_threshold(mind: Mind) -> None:
    strict = replace(get_recipe("default"), name="strict", confidence=Confidence(threshold=1.0))
    assert list(mind.recall(OURS, recipe=strict, abstain=True)) == []
    assert mind.recall(OURS, recipe=strict)


@given(
    st.lists(st.sampled_from("blue cup shelf submarine 杯子 ? 🎉 the a kettle e1234".split()), min_size=1, max_size=6)
)
@settings(max_examples=40, deadline=None)
def test_it_is_between_0_and_1_whatever_is_asked(query: list[str]) -> None:
    for mind in MINDS:
        assert 0 <= sure(mind, " ".join(query), track=False) <= 1


MINDS: list[Mind] = []


@pytest.fixture(scope="module", autouse=True)
def _minds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    for name, embedder in (("bag", BAG), ("words", None)):
        mind = open_mind(tmp_path_factory.mktemp("confidence") / f"{name}.db", embedder)
        mind.remember_many([*KITCHEN, "杯子在厨房的架子上。"])
        MINDS.append(mind)
    yield
    for mind in MINDS:
        mind.close()


def test_the_tools_for_agents_tell_of_a_low_confidence_and_why(mind: Mind) -> None:
    strange, known = (mind.tools().call("recall", {"query": query}) for query in (STRANGE, OURS))
    assert (strange["low_confidence"], known["low_confidence"]) == (True, False)
    assert "“submarine”" in strange["low_confidence_reason"]
    assert known["low_confidence_reason"] == ""


# Why it is low.


PEOPLE = ["Tobias is a carpenter", "Tobias has a dog", "Ida turned 34 in May", "Ida is a nurse", "the van is red"]


def people(tmp_path: Path, *more: str) -> Mind:
    mind = open_mind(tmp_path / "people.db", None)
    mind.remember_many([*PEOPLE, *more])
    return mind


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("how old is Tobias?", "no memory about this has an age"),
        ("what did Tobias charge?", "no memory about this has an amount of money"),
        ("what is the registration of the van?", "no memory about this has anything like “registration”"),
    ],
)
def test_the_reason_names_the_value_that_is_missing(tmp_path: Path, question: str, reason: str) -> None:
    with people(tmp_path) as mind:
        recall = mind.recall(question)
    assert recall.low_confidence
    assert recall.low_confidence_reason.startswith(reason)
    assert step(recall, "confidence")["detail"]["why low"] == recall.low_confidence_reason


def test_an_age_that_is_known_is_not_missing(tmp_path: Path) -> None:
    with people(tmp_path) as mind:
        assert evidence(mind, "how old is Ida?")["no amount"] == 0
        assert evidence(mind, "how old is Tobias?")["no amount"] == 1
        recall = mind.recall("how old is Ida?")
        assert (recall.low_confidence, recall.low_confidence_reason) == (False, "")


def test_another_spelling_of_a_known_name_is_not_an_unknown_name(tmp_path: Path) -> None:
    with people(tmp_path, "We met Muhhamed at the lake") as mind:
        assert evidence(mind, "where did we meet Mohammed?")["unknown name"] == 0
        assert evidence(mind, "where did we meet Gerald?")["unknown name"] == 1


def test_what_is_counted_from_several_memories_need_not_be_in_one(tmp_path: Path) -> None:
    with people(tmp_path) as mind:
        assert evidence(mind, "what is the total number of the dogs of Tobias?")["no attribute"] == 0
        assert evidence(mind, "what is the phone number of Tobias?")["no attribute"] > 0.5


# Abstaining.


@pytest.mark.parametrize("which", ["mind", "plain"])
def test_to_a_strange_question_it_says_nothing(which: str, request: pytest.FixtureRequest) -> None:
    mind: Mind = request.getfixturevalue(which)
    mind.remember_many(
        ["wind from the north", *(f"box {n} stands in the garage" for n in range(40))]
    )  # something to find
    assert len(mind.recall(STRANGE)) > 0
    silent = mind.recall(STRANGE, abstain=True)
    assert list(silent) == []
    assert silent.confidence == sure(mind, STRANGE)
    assert told(mind.recall(OURS, abstain=True, track=False)) == told(mind.recall(OURS, track=False))


def test_a_threshold_of_ones_own_decides(mind: Mind) -> None:
    confidence = sure(mind, OURS)
    assert mind.recall(OURS, abstain=confidence), "not below it"
    assert not mind.recall(OURS, abstain=min(1.0, confidence + 1e-6))
    assert mind.recall(STRANGE, abstain=0)
    assert not mind.recall(OURS, abstain=1)


@pytest.mark.parametrize("abstain", [1.5, -0.1, float("nan"), "yes", None, [0.5]])
def test_a_threshold_that_is_none_is_refused(mind: Mind, abstain: Any) -> None:
    with pytest.raises(InvalidInput, match="abstain"):
        mind.recall(OURS, abstain=abstain)
    with pytest.raises(InvalidInput, match="abstain"):
        mind.context(OURS, abstain=abstain)


def test_why_not_names_the_step_and_the_numbers(mind: Mind) -> None:
    (cup,) = ids(mind.recall(OURS, 1))
    silent = mind.recall(STRANGE, abstain=0.5)
    verdict = silent.why_not(cup)
    assert (verdict.returned, verdict.step, verdict.threshold) == (False, "abstain", 0.5)
    assert verdict.value == silent.confidence
    assert "the confidence is below the threshold" in verdict.reason
    assert f"{silent.confidence:g} against 0.5" in verdict.reason
    assert verdict.cues
    with pytest.raises(NotFound, match="why_not"):
        silent.why(cup)
    assert mind.why_not(STRANGE, cup, abstain=0.5).step == "abstain"


def test_why_not_still_names_what_left_a_memory_out_before(mind: Mind) -> None:
    hidden = mind.remember("a submarine north", user="bob")
    silent = mind.recall("submarine way", 1, abstain=1, filter=Filter(user=""))
    assert silent.why_not(hidden.id).step == "filter"
    beyond = ids(mind.recall("submarine way", 10, filter=Filter(user="")))[1:]
    assert beyond
    assert {silent.why_not(id).step for id in beyond} == {"best 1"}


def test_the_trace_tells_of_it(mind: Mind) -> None:
    silent = mind.recall(STRANGE, abstain=True)
    judged = [(each.kind, each.name) for each in silent.trace.steps if each.kind == "judge"]
    assert judged == [("judge", "confidence"), ("judge", "abstain")]
    assert step(silent, "abstain")["out"] == 0
    assert "abstain" in str(silent.trace)


def test_what_was_not_given_back_has_no_mark_of_use(mind: Mind) -> None:
    assert not mind.recall(STRANGE, abstain=True)
    assert {memory.use.access_count for memory in mind.list()} == {0}
    mind.recall(STRANGE)
    assert {memory.use.access_count for memory in mind.list()} == {1}


def test_the_query_cache_keeps_an_answer_and_a_silence_apart(path: Path) -> None:
    with open_mind(path, WOVEN, query_cache=QueryCache()) as mind:
        mind.remember_many(KITCHEN)
        for _ in range(2):
            assert len(mind.recall(STRANGE)) == 3
            assert len(mind.recall(STRANGE, abstain=True)) == 0
            assert len(mind.recall(STRANGE, abstain=0.0)) == 3
            assert len(mind.recall(STRANGE, abstain=1.0)) == 0
        silent = mind.recall(STRANGE, abstain=True)
        assert silent.trace.steps[0].kind == "cache"
        assert silent.why_not(mind.list()[0].id).step == "abstain"


def test_a_cached_answer_is_as_sure_as_it_was(path: Path) -> None:
    with open_mind(path, WOVEN, query_cache=QueryCache()) as mind:
        mind.remember_many(KITCHEN)
        first, again = mind.recall(OURS), mind.recall(OURS)
        assert again.trace.steps[0].kind == "cache"
        assert again.confidence == first.confidence


def test_the_same_state_and_clock_give_the_same_silence(mind: Mind) -> None:
    first = mind.recall(STRANGE, abstain=True, track=False)
    with open_mind(Path(mind.path), WOVEN) as other:
        again = other.recall(STRANGE, abstain=True, track=False)
    assert (told(again), again.confidence) == (told(first), first.confidence)


def test_asked_about_an_earlier_moment_it_knows_what_was_known_then(plain: Mind) -> None:
    plain.remember("the submarine lies in the harbour", created="2025-05-01")
    assert sure(plain, "where is the submarine?", as_of="2025-05-20") > 0.5
    assert sure(plain, "where is the submarine?", as_of="2025-04-20") == 0
