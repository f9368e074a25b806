"""Jeffs Brain (J7 – J10): what a question is after, and the factors that follow from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.systems.jeffsbrain import intent
from tests.recall.kit import ids, step

from .kit import RANK, ask, same, shelf

FEW = settings(max_examples=25, deadline=None)
PREFERENCE, FACT, BOTH = "recommend a tea", "how many teas", "how many tips about tea"
PATTERNS = {  # the document's, character for character
    "PREFERENCE_QUERY_RE": r"\b(?:recommend|suggest|recommendation|suggestion|tips?|advice|ideas?|what should i|which should i)\b",  # noqa: E501
    "ENUMERATION_OR_TOTAL_QUERY_RE": r"\b(?:how many|count|total|in total|sum|add up|list|what are all)\b",
    "FIRST_PERSON_FACT_LOOKUP_RE": r"\b(?:did i|have i|was i|were i)\b",
    "FACT_LOOKUP_VERB_RE": r"\b(?:pick(?:ed)? up|bought|ordered|spent|earned|sold|drove|travelled|traveled|watched|visited|completed|finished|submitted|booked)\b",  # noqa: E501
    "PREFERENCE_NOTE_RE": r"\b(?:prefer(?:s|red)?|like(?:s|d)?|love(?:s|d)?|want(?:s|ed)?|need(?:s|ed)?|avoid(?:s|ed)?|dislike(?:s|d)?|hate(?:s|d)?|enjoy(?:s|ed)?|interested in|looking for)\b",  # noqa: E501
    "GENERIC_NOTE_RE": r"\b(?:tips?|advice|suggest(?:ion|ed)?s?|recommend(?:ation|ed)?s?|ideas?|options?|guide|tracking|tracker|checklist)\b",  # noqa: E501
    "ROLLUP_NOTE_RE": r"\b(?:roll-?up|summary|recap|overview|aggregate|combined|overall|in total|totalled?|totalling)\b",  # noqa: E501
    "ATOMIC_EVENT_NOTE_RE": r"\b(?:i|we)\s+(?:picked up|bought|ordered|spent|earned|sold|drove|travelled|traveled|went|watched|visited|completed|finished|started|booked|got|took|submitted)\b",  # noqa: E501
    "DATE_TAG_RE": r"\[(?:date|observed on):",
}


def factor(query: str, path: str, text: str, settings: Any = None, **details: Any) -> float:
    """What a note's score is multiplied by: it is the only one, so its rank is 0."""
    with shelf({"text": text, "path": path, **details}) as mind:
        (result,) = ask(mind, query, **(settings or {}))
    assert result.why.evaluate() == result.score
    return result.score / RANK[0]


# J7: detection.


@pytest.mark.contract("J7")
@pytest.mark.parametrize("name", PATTERNS)
def test_the_patterns_are_those_of_the_document(name: str) -> None:
    assert getattr(intent, name).pattern == PATTERNS[name]


@pytest.mark.contract("J7")
@pytest.mark.parametrize(
    ("query", "preference", "fact"),
    [
        ("Recommend a tea", True, False),
        ("any SUGGESTION?", True, False),
        ("tip", True, False),
        ("What should I drink?", True, False),
        ("which should i take", True, False),
        ("suggested", False, False),
        ("tipsy", False, False),
        ("How many cups?", False, True),
        ("what's the total", False, True),
        ("add up the bills", False, True),
        ("a list", False, True),
        ("listen", False, False),
        ("Did I buy tea?", False, False),
        ("did I finish? I bought it", False, True),
        ("have I visited Rome", False, True),
        ("was I there when she bought it", False, True),
        ("who bought it", False, False),
        ("what did I pick up", False, True),
        ("how many tips", True, True),
        ("what  should i", False, False),  # one blank, as in the pattern
        ("what\u00a0should i", False, False),
        ("éideas", True, False),  # \b knows ASCII only: é is no letter to it
        ("tips_", False, False),
        ("ſuggest", False, False),  # and case-insensitive means ASCII, too
        ("wie viele Tassen empfiehlst du?", False, False),
        ("几个建议", False, False),
    ],
)
def test_what_a_question_is_after(query: str, preference: bool, fact: bool) -> None:
    assert (intent.is_preference_query(query), intent.is_concrete_fact_query(query)) == (preference, fact)


@pytest.mark.contract("J7")
def test_a_question_in_another_language_keeps_the_fused_score() -> None:
    with shelf({"text": "Tee: a guide, a summary", "path": "memory/global/user-preference-tee.md"}) as mind:
        recall = ask(mind, "welchen Tee empfiehlst du?")
    assert recall[0].score == RANK[0]
    assert step(recall, "intent")["reason"] == "the query shows no intent"


@pytest.mark.contract("J7")
@pytest.mark.parametrize("field", ["title", "summary", "path"])
def test_path_title_and_summary_are_read_as_the_content_is(field: str) -> None:
    said = {"path": "n/x.md", field: "n/tea/overview.md" if field == "path" else "OVERVIEW"}
    assert factor(FACT, text="tea", **said) == same(0.45)


@pytest.mark.contract("J7")
def test_the_intent_is_decided_once_and_told_in_the_trace() -> None:
    with shelf({"text": "tea one"}, {"text": "tea two"}) as mind:
        assert step(ask(mind, BOTH), "intent")["detail"] == {"intents": ["preference", "concrete fact"]}


# J8: preferences.


@pytest.mark.contract("J8")
@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("memory/global/user-preference-tea.md", "tea", 2.35),
        ("Brain/Memory/Global/User-Preference-Tea.md", "tea", 2.35),
        ("memory/global/drinks.md", "she likes tea", 2.1),
        ("memory/global/user-preference-tea.md", "she likes tea", 2.35),
        ("memory/global/drinks.md", "tea", 1.0),
        ("memory/project/user-preference-tea.md", "she likes tea", 1.0),
        ("notes/drinks.md", "a guide to tea", 0.82),
        ("memory/global/drinks.md", "a guide to tea", 1.0),
        ("memory/global/drinks.md", "tea recap", 0.9),
        ("notes/drinks.md", "tea recap", 0.9),
        ("notes/drinks.md", "a guide to tea, an overview", 0.82 * 0.9),
        ("memory/global/user-preference-tea.md", "tea summary", 2.35 * 0.9),
        ("memory/global/drinks.md", "wants tea, overall", 2.1 * 0.9),
        ("notes/drinks.md", "tea", 1.0),
        ("", "tea", 1.0),
    ],
)
def test_a_question_for_advice_multiplies_by_every_row_that_holds(path: str, text: str, expected: float) -> None:
    assert factor(PREFERENCE, path, text) == same(expected)


# J9: concrete facts.


@pytest.mark.contract("J9")
@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("notes/user-fact-tea.md", "tea", 2.2),
        ("notes/milestone-tea.md", "tea", 2.2),
        ("notes/x.md", "[date: 2024-05-01] tea", 2.2),
        ("notes/x.md", "[Observed on: Monday] tea", 2.2),
        ("notes/x.md", "Today I bought tea", 2.2),
        ("notes/x.md", "we\u00a0ordered tea", 2.2),
        ("notes/x.md", "we\u3000\n ordered tea", 2.2),
        ("notes/x.md", "they ordered tea", 1.0),
        ("notes/x.md", "[dated] tea", 1.0),
        ("notes/x.md", "tea overview", 0.45),
        ("notes/x.md", "tea roll-up", 0.45),
        ("notes/x.md", "tea rollup", 0.45),
        ("notes/x.md", "[date: 2024-05-01] I bought tea in total", 0.45),
        ("notes/user-fact-tea.md", "tea overview", 0.99),
        ("notes/x.md", "a tea tracker", 0.75),
        ("memory/global/x.md", "a tea tracker", 1.0),
        ("notes/user-fact-tea.md", "a tea tracker", 2.2),
        ("notes/x.md", "a tea tracker, the overview", 0.45 * 0.75),
        ("memory/global/x.md", "a tea tracker, the overview", 0.45),
        ("notes/x.md", "just tea", 1.0),  # not generic: the table wins over the prose
    ],
)
def test_a_question_for_facts_multiplies_by_every_row_that_holds(path: str, text: str, expected: float) -> None:
    assert factor(FACT, path, text) == same(expected)


# J10: both, and order.


@pytest.mark.contract("J10")
@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("notes/x.md", "a tea guide", 0.82 * 0.75),
        ("notes/x.md", "a tea guide, the overview", 0.82 * 0.9 * 0.45 * 0.75),
        ("memory/global/user-preference-tea.md", "tea overview", 2.35 * 0.9 * 0.45),
        ("memory/global/milestone-tea.md", "I bought the tea I like", 2.1 * 2.2),
        ("notes/x.md", "tea", 1.0),
    ],
)
def test_two_intents_multiply(path: str, text: str, expected: float) -> None:
    assert factor(BOTH, path, text) == same(expected)


@pytest.mark.contract("J10")
@FEW
@given(
    st.lists(
        st.sampled_from(["tea", "tea guide", "tea recap", "I bought tea", "tea recap guide"]), min_size=2, max_size=8
    )
)
def test_what_scores_the_same_keeps_the_fused_order(notes: list[str]) -> None:
    memories: list[dict[str, Any]] = [{"id": f"note-{n}", "text": text + " filler" * n} for n, text in enumerate(notes)]
    with shelf(*memories) as mind:
        fused = ids(ask(mind, "tea"))
        recall = ask(mind, FACT)
    factors = {note["id"]: _product(note["text"]) for note in memories}
    expected = sorted(fused, key=lambda id: -(RANK[fused.index(id)] * factors[id]))  # sorted is stable
    assert ids(recall) == expected


@pytest.mark.contract("J10")
def test_one_factor_for_all_changes_no_order() -> None:
    with shelf(*({"id": f"{n}", "text": "tea recap" + " filler" * n} for n in range(6))) as mind:
        assert ids(ask(mind, FACT)) == ids(ask(mind, "tea")) == [f"{n}" for n in range(6)]


@pytest.mark.contract("J10", "B2")
def test_the_rows_that_held_are_named_in_the_explanation() -> None:
    with shelf({"text": "tea overview", "path": "notes/user-fact-tea.md"}) as mind:
        (result,) = ask(mind, FACT)
    assert [part.label for part in result.why.parts][1] == "concrete fact: 2.2 (a single fact) × 0.45 (a roll-up)"


def _product(text: str) -> float:
    product = 1.0
    for value, _ in intent.concrete_fact_rules(intent.IntentText("", text.lower())):
        product *= value
    return product


@pytest.mark.contract("J8", "J9")
@pytest.mark.parametrize(
    ("name", "query", "path", "text"),
    [
        ("user_preference_factor", PREFERENCE, "memory/global/user-preference-tea.md", "tea"),
        ("global_preference_factor", PREFERENCE, "memory/global/tea.md", "likes tea"),
        ("generic_for_preference_factor", PREFERENCE, "notes/tea.md", "tea guide"),
        ("rollup_for_preference_factor", PREFERENCE, "notes/tea.md", "tea overview"),
        ("single_fact_factor", FACT, "notes/user-fact-tea.md", "teas"),
        ("rollup_for_fact_factor", FACT, "notes/tea.md", "overview of teas"),
        ("generic_for_fact_factor", FACT, "notes/tea.md", "guide to teas"),
    ],
)
def test_every_factor_is_a_setting(name: str, query: str, path: str, text: str) -> None:
    assert factor(query, path, text, {name: 0.625}) == same(0.625)
    with pytest.raises(InvalidInput, match=name):
        factor(query, path, text, {name: -1.0})
