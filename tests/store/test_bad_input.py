"""Input that is wrong, odd or hostile: a refusal that helps and changes nothing, or the right answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, InvalidInput, Memory, Mind, Near, NotFound, RecollectError
from recollect.model.limits import changed_limits
from tests.store.looking import held, texts


@pytest.fixture(autouse=True)
def large_limits() -> Iterator[None]:
    """What is below the limits must work wherever they are; tests/test_limits.py has the limits themselves."""
    large = {"memory_bytes": 50_000_000, "query_bytes": 10_000_000, "name_bytes": 500_000, "results": 2**63 - 1}
    with changed_limits(**large):
        yield


Call = Callable[[Any], Any]  # the mind is Any here: most of these calls are what a type checker would refuse
LONE = "\ud800"  # half of a surrogate pair: legal in a str, impossible in UTF-8
REPLACED = "\ufffd"


@pytest.fixture
def filled(path: Path) -> Iterator[Mind]:
    with Mind(path, embedder=None) as mind:
        mind.remember("The cup is on the shelf.", id="cup", context={"pose": [1.0, 2.0], "force": 3}, external_id="c")
        mind.remember("The plate is in the sink.", id="plate")
        mind.remember("Another cup altogether.", id="other", collection="elsewhere", external_id="c")
        mind.link("cup", "plate")
        mind.relate("cup", "stands_on", "shelf")
        yield mind


def filtered(**conditions: Any) -> Call:
    return lambda mind: mind.recall("cup", filter=conditions)


def remembered(**details: Any) -> Call:
    return lambda mind: mind.remember("something", **details)


REFUSED_QUESTIONS: dict[str, tuple[Call, str]] = {
    "blank query": (lambda mind: mind.recall(""), "blank"),
    "query of spaces": (lambda mind: mind.recall(" \n\t "), "blank"),
    "query None": (lambda mind: mind.recall(None), "query must be a string"),
    "query bytes": (lambda mind: mind.recall(b"cup"), "query must be a string"),
    "k=0": (lambda mind: mind.recall("cup", 0), "k must be at least 1"),
    "k=-1": (lambda mind: mind.recall("cup", -1), "k must be at least 1"),
    "k='3'": (lambda mind: mind.recall("cup", "3"), "k (must be a whole number|is too large)"),
    "k=3.0": (lambda mind: mind.recall("cup", 3.0), "k (must be a whole number|is too large)"),
    "k=True": (lambda mind: mind.recall("cup", True), "k (must be a whole number|is too large)"),
    "k=10**30": (lambda mind: mind.recall("cup", 10**30), "k (must be a whole number|is too large)"),
    "unknown recipe": (lambda mind: mind.recall("cup", recipe="grandma's"), "no recipe.*there are: default"),
    "recipe that is no name": (lambda mind: mind.recall("cup", recipe=["default"]), "recipe"),
    "unknown setting": (lambda mind: mind.recall("cup", colour="blue"), "no setting 'colour'"),
    "as_of no date": (lambda mind: mind.recall("cup", as_of="yesterday-ish"), "as_of is not a date"),
    "deadline below 0": (lambda mind: mind.recall("cup", deadline=-1), "deadline"),
    "deadline NaN": (lambda mind: mind.recall("cup", deadline=math.nan), "deadline"),
    "filter a string": (lambda mind: mind.recall("cup", filter="kitchen"), "filter must be"),
    "filter a list": (lambda mind: mind.list([("kind", "memory")]), "filter must be"),
    "unknown filter key": (filtered(colour="blue"), "no condition 'colour'; it has: .*tags"),
    "unknown key in a negation": (lambda mind: mind.recall("cup", filter={"not": {"colour": "x"}}), "no condition"),
    "session a number": (filtered(session=5), "session must be a string or a list of strings"),
    "tags an object": (filtered(tags={"a": 1}), "tags must be a string or a list of strings, not {'a': 1}"),
    "tags of numbers": (filtered(tags=[1]), r"tags must be a string or a list of strings, not \[1\]"),
    "since no date": (filtered(since="soon"), "since is not a date"),
    "until NaN": (filtered(until=math.nan), "until is not a date"),
    "classification a string": (filtered(classification="secret"), "classification must be a whole number"),
    "min_confidence 2": (filtered(min_confidence=2), "between 0 and 1"),
    "confidence_decay 2": (filtered(min_confidence=0.5, confidence_decay=2), "confidence_decay must be between"),
    "expired a string": (filtered(expired="yes"), "expired"),
    "context filter a list": (filtered(context=["force"]), "object of dot paths"),
    "unknown operator": (filtered(context={"force": {"$near": 3}}), r"\$near.*not an operator.*\$lt"),
    "operator beside a plain key": (filtered(context={"force": {"$lt": 5, "unit": "N"}}), "unit"),
    "context path a number": (filtered(context={5: 1}), "context"),
    "context key a number": (filtered(context={"force": {5: 1}}), "context"),
    "context filter NaN": (filtered(context={"force": math.nan}), "JSON"),
    "near without target": (filtered(near={"field": "pose", "within": 1}), "near needs field, target and within"),
    "near with more": (filtered(near={"field": "pose", "target": [1], "within": 1, "by": 2}), "near needs field"),
    "near no object": (filtered(near=5), "near"),
    "near target a string": (filtered(near={"field": "pose", "target": "here", "within": 1}), "list of numbers"),
    "near target empty": (filtered(near={"field": "pose", "target": [], "within": 1}), "list of numbers"),
    "near target NaN": (filtered(near={"field": "pose", "target": [math.nan, 0], "within": 1}), "list of numbers"),
    "near target of strings": (filtered(near={"field": "pose", "target": ["1", "2"], "within": 1}), "list of numbers"),
    "near within -1": (filtered(near={"field": "pose", "target": [1, 2], "within": -1}), "near.within"),
    "near within NaN": (filtered(near={"field": "pose", "target": [1, 2], "within": math.nan}), "near.within"),
    "Near target None": (lambda mind: mind.recall("cup", filter=Filter(near=Near("pose", None, 1))), "list of numbers"),  # type: ignore[arg-type]
    "limit -1": (lambda mind: mind.list(limit=-1), "limit"),
    "limit a string": (lambda mind: mind.list(limit="3"), "limit"),
    "offset -1": (lambda mind: mind.list(offset=-1), "offset"),
}

REFUSED_MEMORIES: dict[str, tuple[Call, str]] = {
    "blank text": (lambda mind: mind.remember("  \n"), "text is blank"),
    "empty text": (lambda mind: mind.remember(""), "text is blank"),
    "text None": (lambda mind: mind.remember(None), "text must be a string"),
    "text bytes": (lambda mind: mind.remember(b"cup"), "text must be a string"),
    "text a list": (lambda mind: mind.remember(["cup"]), "text must be a string"),
    "no text": (lambda mind: mind.remember_many([{"title": "only"}]), "Item 1: .*blank"),
    "unknown detail": (remembered(colour="blue"), r"no field 'colour'.*It has: text.*context=\{…\}"),
    "confidence 2": (remembered(confidence=2), "confidence must be between 0 and 1"),
    "confidence -0.1": (remembered(confidence=-0.1), "confidence must be between 0 and 1"),
    "confidence NaN": (remembered(confidence=math.nan), "confidence must be a number"),
    "confidence a string": (remembered(confidence="high"), "confidence must be a number"),
    "strength inf": (remembered(strength=math.inf), "strength must be a number"),
    "importance too large for a float": (remembered(importance=10**400), "importance must be"),
    "classification a float": (remembered(classification=1.5), "classification must be a whole number"),
    "trust too large": (remembered(trust=2**63), "trust (must be a whole number|is too large)"),
    "status none of ours": (remembered(status="asleep"), "status must be one of active, superseded"),
    "created yesterday-ish": (remembered(created="yesterday-ish"), "created is not a date.*ISO date"),
    "created NaN": (remembered(created=math.nan), "created is not a date"),
    "created 1e30": (remembered(created=1e30), "created is not a date"),
    "created too large for a float": (remembered(created=10**400), "created is not a date"),
    "created True": (remembered(created=True), "created is not a date"),
    "created a list": (remembered(created=[2025, 1, 1]), "created is not a date"),
    "valid backwards": (remembered(valid_from="2025-02-01", valid_to="2025-01-01"), "valid_from must come before"),
    "valid for no time": (remembered(valid_from="2025-01-01", valid_to="2025-01-01"), "valid_from must come before"),
    "context a list": (remembered(context=[1, 2]), r"context must be a JSON object \(a dict\)"),
    "context a string": (remembered(context="{}"), "context must be a JSON object"),
    "context with a set": (remembered(context={"parts": {1, 2}}), "context must contain only JSON values"),
    "context with NaN": (remembered(context={"force": math.nan}), "context must contain only JSON values"),
    "context with a date": (remembered(context={"at": datetime(2025, 1, 1, tzinfo=UTC)}), "only JSON values"),
    "context in itself": (lambda mind: mind.remember("x", context=endless()), "only JSON values"),
    "tags a string": (remembered(tags="kitchen"), "tags must be a list of strings"),
    "tags of numbers": (remembered(tags=[1]), r"tags must be a list of strings, not \[1\]"),
    "lines backwards": (remembered(lines=(5, 2)), "lines must be two line numbers"),
    "lines from 0": (remembered(lines=(0, 2)), "lines must be two line numbers"),
    "id a number": (remembered(id=5), "id must be a string"),
    "items that are one string": (lambda mind: mind.remember_many("hello"), "list"),
    "items that are one mapping": (lambda mind: mind.remember_many({"text": "hello"}), "list"),
    "an item that is a number": (lambda mind: mind.remember_many(["fine", 5]), "Item 2: text must be a string"),
    "edit to blank": (lambda mind: mind.edit("cup", text=" "), "cannot become blank; use forget"),
    "edit unknown field": (lambda mind: mind.edit("cup", colour="blue"), "no field 'colour'"),
    "edit confidence": (lambda mind: mind.edit("cup", confidence=7), "confidence must be between"),
    "edit valid backwards": (
        lambda mind: mind.edit("cup", valid_from="2025-02-01", valid_to="2025-01-01"),
        "valid_from",
    ),
    "edit the id": (lambda mind: mind.edit("cup", id="mug"), "id"),
    "edit the use": (lambda mind: mind.edit("cup", use={"access_count": 9}), "use"),
    "edit created away": (lambda mind: mind.edit("cup", created=None), "created"),
    "edit into another's external id": (lambda mind: mind.edit("other", collection="main"), "external"),
    "remember with another's external id": (remembered(id="plate", external_id="c"), "external"),
    "reason a number": (lambda mind: mind.forget("cup", reason=5), "reason must be a string"),
}

REFUSED_EDGES: dict[str, tuple[Call, str]] = {
    "weight 9": (lambda mind: mind.link("cup", "plate", weight=9), "weight must be between 0 and 1, not 9"),
    "weight -1": (lambda mind: mind.link("cup", "plate", weight=-1), "weight must be between 0 and 1"),
    "weight NaN": (lambda mind: mind.link("cup", "plate", weight=math.nan), "weight must be a number"),
    "weight a string": (lambda mind: mind.link("cup", "plate", weight="1"), "weight must be a number"),
    "to itself": (lambda mind: mind.link("cup", "cup"), "cannot be linked to itself"),
    "to itself by its beginning": (lambda mind: mind.link("cup", "cu"), "cannot be linked to itself"),
    "blank kind": (lambda mind: mind.link("cup", "plate", kind=" "), "needs a kind"),
    "kind a number": (lambda mind: mind.link("cup", "plate", kind=5), "kind must be a string"),
    "relate blank": (lambda mind: mind.relate("cup", " ", "shelf"), "needs a relation"),
    "relate to a blank": (lambda mind: mind.relate("cup", "on", ""), "needs an object"),
    "import_ of a path": (lambda mind: mind.import_("a.jsonl"), r"import_from\('a.jsonl'\)"),
    "relate None": (lambda mind: mind.relate(None, "on", "shelf"), "subject must be a string"),
    "relate weight 9": (lambda mind: mind.relate("cup", "on", "shelf", weight=9), "weight must be between"),
    "relate weight NaN": (lambda mind: mind.relate("cup", "on", "shelf", weight=math.nan), "weight must be a number"),
    "relate unknown owner": (
        lambda mind: mind.relate("cup", "on", "shelf", colour="blue"),
        "relate has no argument 'colour'",
    ),
    "relate in a collection that is a list": (lambda mind: mind.relate("a", "b", "c", collection=["x"]), "collection"),
    "relate for a user that is a number": (lambda mind: mind.relate("a", "b", "c", user=5), "user"),
}

REFUSED_IMPORTS: dict[str, tuple[list[Any], str]] = {
    "a string": (["text"], "Record 1"),
    "None": ([{"text": "fine"}, None], "Record 2"),
    "an edge of an unknown memory": (
        [{"text": "new"}, {"type": "edge", "source": "cup", "target": "nonesuch", "kind": "supports"}],
        "Record 2: There is no memory with the id 'nonesuch'",
    ),
    "an unknown type": ([{"type": "dream", "text": "x"}], "Record 1: 'dream' is not a type"),
    "a newer format": ([{"type": "recollect", "format": 99}], "format 99"),
    "an edge without target": ([{"type": "edge", "source": "cup", "kind": "supports"}], "Record 1: Edge needs"),
    "an edge of weight 9": (
        [{"type": "edge", "source": "cup", "target": "plate", "kind": "supports", "weight": 9}],
        "Record 1: weight",
    ),
    "an edge from a list": (
        [{"type": "edge", "source": ["cup"], "target": "plate", "kind": "supports"}],
        "Record 1: source",
    ),
    "a bad date": ([{"text": "fine"}, {"text": "x", "created": "soon"}], "Record 2: created is not a date"),
    "use that is none": ([{"text": "x", "use": {"recall_times": 5}}], "Record 1: use"),
    "use below 0": ([{"text": "x", "use": {"access_count": -1}}], "Record 1: use"),
    "use unheard of": ([{"text": "x", "use": {"naps": 1}}], "Record 1: use has no field 'naps'"),
}

UNKNOWN: dict[str, Call] = {
    "show": lambda mind: mind.show("nonesuch"),
    "edit": lambda mind: mind.edit("nonesuch", text="else"),
    "forget": lambda mind: mind.forget("nonesuch"),
    "forget one of two": lambda mind: mind.forget("cup", "nonesuch"),
    "link from": lambda mind: mind.link("nonesuch", "cup"),
    "link to": lambda mind: mind.link("cup", "nonesuch"),
    "unlink": lambda mind: mind.unlink("cup", "nonesuch"),
    "why": lambda mind: mind.why("cup", "nonesuch"),
    "why_not": lambda mind: mind.why_not("cup", "nonesuch"),
    "history": lambda mind: mind.history("nonesuch"),
    "edges": lambda mind: mind.edges("nonesuch"),
}

NO_IDS: dict[str, Any] = {
    "empty": "",
    "a space": " ",
    "a lone surrogate": LONE,
    "NUL": "\0",
    "a wildcard": "%",
    "a quote": "'",
    "None": None,
    "a number": 5,
    "a list": ["cup"],
    "a megabyte": "x" * 1_000_000,
}


def endless() -> dict[str, Any]:
    ring: dict[str, Any] = {}
    ring["ring"] = ring
    return ring


def assert_refused(mind: Mind, call: Call, kind: type[RecollectError], message: str) -> None:
    before, version = held(mind), mind.status().store.version
    with pytest.raises(kind, match=f"(?s){message}") as refusal:
        call(mind)
    assert held(mind) == before
    assert mind.status().store.version == version
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("case", REFUSED_QUESTIONS)
def test_a_wrong_question_is_refused_with_a_word_of_help(filled: Mind, case: str) -> None:
    assert_refused(filled, REFUSED_QUESTIONS[case][0], InvalidInput, REFUSED_QUESTIONS[case][1])


@pytest.mark.parametrize("case", REFUSED_MEMORIES)
def test_a_wrong_memory_is_refused_and_nothing_is_written(filled: Mind, case: str) -> None:
    assert_refused(filled, REFUSED_MEMORIES[case][0], InvalidInput, REFUSED_MEMORIES[case][1])


@pytest.mark.parametrize("case", REFUSED_EDGES)
def test_a_wrong_edge_is_refused_and_nothing_is_written(filled: Mind, case: str) -> None:
    assert_refused(filled, REFUSED_EDGES[case][0], InvalidInput, REFUSED_EDGES[case][1])


@pytest.mark.parametrize("case", REFUSED_IMPORTS)
def test_a_wrong_import_is_refused_as_a_whole_and_names_the_record(filled: Mind, case: str) -> None:
    records, message = REFUSED_IMPORTS[case]
    assert_refused(filled, lambda mind: mind.import_(records), InvalidInput, message)


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_id_is_not_found_and_nothing_is_written(filled: Mind, case: str) -> None:
    assert_refused(filled, UNKNOWN[case], NotFound, "nonesuch")


@pytest.mark.parametrize("case", NO_IDS)
def test_what_can_be_no_id_is_refused(filled: Mind, case: str) -> None:
    assert_refused(filled, lambda mind: mind.show(NO_IDS[case]), RecollectError, "id")


def test_a_beginning_that_several_ids_share_is_refused(filled: Mind) -> None:
    filled.remember("A cupboard.", id="cupboard")
    assert filled.show("cup").id == "cup"
    assert filled.show("cupb").id == "cupboard"
    assert_refused(filled, lambda mind: mind.show("c"), InvalidInput, "Several ids begin with 'c'")


# Odd, and right.

ODD_QUESTIONS = [
    '"',
    "'",
    "''''",
    '"unbalanced cup',
    "NEAR(",
    "NEAR(cup shelf, 2)",
    "AND OR NOT *",
    "cup AND",
    "cup*",
    "^cup",
    "text:cup",
    "{cup shelf}:",
    "-cup",
    "cup) OR (1=1",
    "'; DROP TABLE memories; --",
    "%",
    "_",
    "\\",
    "cup\0shelf",
    "\0",
    LONE,
    f"cup {LONE}",
    "?",
    "🤖",
    "🏳️‍🌈",
    "كوب",
    "\u202ecup\u202c",
    "a\u0301",
    "\ufeffcup",
    "杯子在架子上",
    "คัพ",
    "x" * 100_000,
]


@pytest.mark.parametrize("question", ODD_QUESTIONS, ids=lambda question: ascii(question[:30]))
def test_an_odd_question_is_answered_and_every_step_runs(filled: Mind, question: str) -> None:
    answer = filled.recall(question)
    assert answer.trace.failures == []
    assert ("cup" in [result.memory.id for result in answer]) == ("cup" in question)


def test_a_question_to_an_empty_memory_is_answered_with_nothing(mind: Mind) -> None:
    answer = mind.recall("where is the cup?")
    assert list(answer) == []
    assert answer.trace.failures == []


def test_a_deadline_that_has_passed_is_answered_with_what_there_is(filled: Mind) -> None:
    answer = filled.recall("cup", deadline=0)
    assert answer.trace.failures == []
    assert {step.reason for step in answer.trace.steps if step.kind == "cue"} == {"the deadline has passed"}


def test_a_million_results_may_be_asked_for(filled: Mind) -> None:
    assert {result.memory.id for result in filled.recall("cup", 1_000_000)} == {"cup", "other", "plate"}
    assert {result.memory.id for result in filled.recall("cup", 2**63 - 1)} == {"cup", "other", "plate"}


ODD_TEXTS = {
    "NUL": ("before\0after", "after"),
    "only NUL": ("\0", None),
    "quotes": ("she said \"it's 'fine'\"", "fine"),
    "operators": ("NEAR( AND OR NOT *", "near"),
    "emoji": ("🤖🎉", "🎉"),
    "flag": ("🇩🇪", "🇩🇪"),
    "right to left": ("הכוס על המדף", "הכוס"),
    "Arabic with marks": ("الكُوبُ على الرَّفّ", "الكوب"),
    "Chinese": ("蓝色的杯子在架子上", "杯子"),
    "Thai": ("ถ้วยอยู่บนชั้น", "ถ้วย"),
    "Hindi": ("कप शेल्फ पर है", "कप"),
    "combining": ("cafe\u0301", "café"),
    "no words at all": ("?! … —", None),
    "a long word": ("x" * 70_000, "x" * 70_000),
    "a word a hundred thousand times": ("cup " * 100_000, "cup"),
    "control letters": ("bell\x07 escape\x1b", "escape"),
    "byte order mark": ("\ufeffmarked", "marked"),
    "astral": ("𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈", "unicode"),
    "noncharacters": ("end\uffff \U0010ffff", "end"),
    "newlines": ("one\r\ntwo\rthree\u2028four", "three"),
}


@pytest.mark.parametrize("case", ODD_TEXTS)
def test_an_odd_text_is_kept_as_it_is_and_found(path: Path, mind: Mind, case: str) -> None:
    text, question = ODD_TEXTS[case]
    kept = mind.remember(text, title=text, tags=[text], context={text: text}, speaker=text)
    with Mind(path, embedder=None) as other:
        assert other.show(kept.id) == kept
        assert (kept.text, kept.title, kept.tags, kept.context) == (text, text, (text,), {text: text})
        assert [memory.id for memory in other.list(Filter(tags=[text], speaker=text))] == [kept.id]
        if question is not None:
            assert [result.memory.id for result in other.recall(question)] == [kept.id]


def test_different_emoji_are_different_words(mind: Mind) -> None:
    mind.remember("❤️")
    assert texts(mind, "❤️") == ["❤️"]
    assert texts(mind, "⭐️") == []


def test_lone_surrogates_become_replacement_characters_everywhere(path: Path, mind: Mind) -> None:
    kept = mind.remember(
        f"lone {LONE} half",
        title=LONE,
        tags=[LONE, "\udfff"],
        context={LONE: [{"deep": LONE}]},
        id=f"id{LONE}",
        external_id=LONE,
        session=LONE,
    )
    assert kept.text == f"lone {REPLACED} half"
    assert kept.tags == (REPLACED, REPLACED)
    assert kept.context == {REPLACED: [{"deep": REPLACED}]}
    assert mind.remember("a whole \ud83d\ude00 pair").text == "a whole 😀 pair"
    assert mind.show(f"id{LONE}") == kept
    assert [memory.id for memory in mind.list({"session": LONE, "tags": [LONE]})] == [kept.id]
    assert texts(mind, f"lone {LONE}") == [f"lone {REPLACED} half"]
    assert mind.relate(LONE, "is", f"half{LONE}").subject == REPLACED
    with Mind(path, embedder=None) as other:
        assert held(other) == held(mind)


@pytest.mark.parametrize("id", ["a\0b", "with space", "ünïcödé", "'quoted'", '"', "%", "\U0010ffff", "x" * 5000])
def test_an_odd_id_serves_as_well_as_any(mind: Mind, id: str) -> None:
    kept, other = mind.remember("odd one", id=id), mind.remember("another")
    assert kept.id == id
    assert mind.show(id) == kept
    assert mind.link(id, other.id).source == id
    assert [edge.source for edge in mind.edges(id)] == [id]
    assert mind.edit(id, text="odd still").text == "odd still"
    assert mind.why("odd", id).value > 0
    assert mind.forget(id) == 1
    assert mind.why_not("odd", id).step == "filter"


@pytest.mark.parametrize("megabytes", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_megabytes_are_remembered_and_recalled(mind: Mind, megabytes: int) -> None:
    text = "\n".join(f"line {number % 3000} of a very long log" for number in range(37_000 * megabytes)) + " unicorn"
    assert len(text) > 1_000_000 * megabytes
    kept = mind.remember(text, id="log")
    assert mind.show("log") == kept
    assert [result.memory.id for result in mind.recall("unicorn")] == ["log"]
    assert [result.memory.id for result in mind.recall(text)] == ["log"]
    assert mind.edit("log", text="now short").text == "now short"
    assert texts(mind, "unicorn") == []
    mind.undo()
    assert mind.show("log").text == text


@pytest.mark.parametrize("megabytes", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_megabytes_without_a_space_are_remembered_and_recalled(mind: Mind, megabytes: int) -> None:
    text = "x" * 1_000_000 * megabytes
    mind.remember(text, id="long")
    assert [result.memory.id for result in mind.recall(text)] == ["long"]


def test_numbers_at_the_edge_come_back_as_they_went_in(path: Path, mind: Mind) -> None:
    kept = mind.remember(
        "extreme",
        importance=10,
        relevance=5e-324,
        emotion=-0.1,
        classification=100,
        position=-(2**63),
        mentions=2**63 - 1,
        confidence=None,
        context={"large": 10**30, "tiny": 5e-324, "deep": [[[[[{}]]]]]},
        created=datetime.min.replace(tzinfo=UTC),
        expires=datetime.max.replace(tzinfo=UTC),
    )
    with Mind(path, embedder=None) as other:
        assert other.show(kept.id) == kept
        assert texts(other, "extreme") == ["extreme"]


def test_a_memory_object_and_a_mapping_say_the_same_as_keywords(mind: Mind) -> None:
    one = mind.remember("equal", tags=["a"], created="2025-01-01")
    two = mind.remember(Memory("equal", tags=("a",), created=datetime(2025, 1, 1, tzinfo=UTC)))
    three = mind.show(mind.remember_many([{"text": "equal", "tags": ["a"], "created": 1735689600}]).ids[0])
    plain = {(memory.text, memory.tags, memory.created) for memory in (one, two, three)}
    assert plain == {("equal", ("a",), datetime(2025, 1, 1, tzinfo=UTC))}


def test_true_is_not_one_when_content_is_compared(mind: Mind) -> None:
    kept = mind.remember("typed", context={"done": 1}, external_id="typed")
    assert mind.edit(kept.id, context={"done": True}).context["done"] is True
    assert mind.remember("typed", context={"done": 1}, external_id="typed").context["done"] is not True


def test_what_the_caller_changes_later_does_not_reach_the_memory(mind: Mind) -> None:
    context, tags = {"parts": ["cup"]}, ["kitchen"]
    kept = mind.remember("private", context=context, tags=tags)
    context["parts"].append("plate")
    tags.append("sink")
    assert kept.context == {"parts": ["cup"]}
    assert mind.show(kept.id).tags == ("kitchen",)
