"""Tokens: question and memory compared word by word in meaning, with what was said just before and after."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Embedder, Filter, Mind
from recollect.embed import TokenVectors
from recollect.embed.local import LocalEmbedder
from tests.conftest import examples
from tests.store.looking import sql

from .kit import BAG, NOON, WOVEN, Woven, ids, nodes, open_mind, step, texts, told

LATE = "tokens: late interaction"


def likeness(mind: Mind, query: str, id: str, word: str, **options: Any) -> float:
    """How near the nearest word comes to one of the question, as the explanation has it."""
    (late,) = [node for node in nodes(mind.why(query, id, k=50, **options)) if node.label == LATE]
    (met,) = [node for node in nodes(late) if node.label == f"“{word}”"]
    (squared,) = [node.value for node in met.parts if "squared" in node.label]
    return squared


# Finding.


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    with open_mind(tmp_path_factory.mktemp("local") / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(
            [
                "Carla goes nuts when the printer jams.",
                "Dario must never touch peanuts: his throat swells up.",
                "Emma takes medicine against pollen in spring.",
                "Ben bought walnut wood for the shelf.",
                "The cat sleeps on the red chair.",
            ]
        )
        yield mind


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What food is he allergic to?", "Dario must never touch peanuts: his throat swells up."),
        ("Which pet has a favourite seat?", "The cat sleeps on the red chair."),
        ("Who gets furious about office machines?", "Carla goes nuts when the printer jams."),
    ],
)
def test_a_memory_in_other_words_is_found_by_meaning(local: Mind, question: str, answer: str) -> None:
    recall = local.recall(question, track=False)
    assert recall[0].text == answer
    assert step(recall, "tokens")["outcome"] == "ran"
    assert LATE in [node.label for node in nodes(recall[0].why)]


def test_a_word_of_like_meaning_counts_and_is_named(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember("we keep one cup there", id="cup")
        mind.remember("we keep one lamp there", id="lamp")
        recall = mind.recall("where could the mug be?", track=False)
        assert ids(recall)[0] == "cup"
        near, far = (likeness(mind, "where could the mug be?", id, "mug") for id in ("cup", "lamp"))
    assert near == pytest.approx(1, abs=0.25)
    assert far < 0.5


def test_a_question_in_letters_that_the_model_was_not_taught_is_left_to_the_words(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(["Яблоко на столе.", "Собака в саду.", "an apple on the table"])
        recall = mind.recall("Где яблоко?", track=False)
    assert recall[0].text == "Яблоко на столе."
    assert step(recall, "tokens")["outcome"] == "skipped"
    assert "not trained on" in step(recall, "tokens")["reason"]
    assert all(LATE not in str(result.why) for result in recall)


def test_an_embedder_without_token_vectors_leaves_the_tokens_out(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", BAG) as mind:
        mind.remember_many(["a red cup", "a blue door"])
        recall = mind.recall("what about the red cup?")
    assert recall[0].text == "a red cup"
    assert "no token vectors" in step(recall, "tokens")["reason"]
    assert recall.trace.failures == []


def test_no_time_left_is_no_time_for_tokens(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember_many(["a red cup", "a blue door"])
        recall = mind.recall("what about the red cup?", deadline=0)
    assert step(recall, "tokens")["outcome"] == "skipped"
    assert "deadline" in step(recall, "tokens")["reason"]


def test_memories_without_any_vector_are_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, None) as mind:
        mind.remember_many(["a red cup", "a blue door"])
    with open_mind(path, WOVEN) as mind:
        recall = mind.recall("what about the red cup?", track=False)
        assert texts(recall) == ["a red cup"]
        assert recall.trace.failures == []
        assert "no memory here" in step(recall, "tokens")["reason"]
        mind.remember("a green cup")  # a write embeds what has no vector yet
        assert step(mind.recall("what about the red cup?", track=False), "tokens")["out"] == 3


# Memories that an older version wrote, without sketches, beside new ones.


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Mind]:
    path = tmp_path / "memory.db"
    with open_mind(path, WOVEN) as mind:
        mind.remember("our red cup stands on the shelf", id="old")
        mind.remember_many({"text": f"a red w{n} hangs over that door", "id": f"new-{n}"} for n in range(9))
    sql(path, "DELETE FROM sketches WHERE row = 1")
    with open_mind(path, WOVEN) as mind:
        yield mind


def test_of_a_memory_without_tokens_the_other_cues_decide(mixed: Mind) -> None:
    recall = mixed.recall("where is the red cup on the shelf?", track=False)
    assert ids(recall)[0] == "old"
    assert recall[0].why.evaluate() == recall[0].score
    told = {node.label: node.value for node in nodes(recall[0].why)}
    assert told["tokens: cannot score it"] == 0
    assert told["all weights ÷ those that can"] == pytest.approx(1 / 0.68)
    factor = {node.value for node in nodes(recall[1].why) if node.label == "all weights ÷ those that can"}
    assert factor == {1.0}


def test_a_memory_without_tokens_is_told_why_they_say_nothing(mixed: Mind) -> None:
    verdict = mixed.recall("which w3 hangs over the door?", 1, track=False).why_not("old")
    assert "cannot score it" in verdict.cues["tokens"]


class Crooked(Woven):
    """Its tokens are not what they should be."""

    name = "toy-crooked"

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [TokenVectors(each.tokens, self.vectors, each.text_vector) for each in super().token_vectors(texts)]


@pytest.mark.parametrize(
    "vectors",
    [np.ones((3, 40)), np.ones((2, 100)), np.full((3, 100), np.nan), None, "vectors"],
    ids=["too narrow", "too few", "nan", "none", "text"],
)
def test_tokens_that_are_no_vectors_are_never_written(
    tmp_path: Path, vectors: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with open_mind(tmp_path / "memory.db", Crooked(vectors)) as mind:
        mind.remember("a red cup")
        assert "toy-crooked" in caplog.text
        assert mind.status().store.without_vector == 1
        assert texts(mind.recall("a red cup?")) == ["a red cup"]


def test_token_vectors_may_be_plain_lists(tmp_path: Path) -> None:
    plain = np.eye(3, 100).tolist()
    with open_mind(tmp_path / "memory.db", Crooked(plain)) as mind:
        mind.remember("a red cup")
        assert step(mind.recall("a red cup"), "tokens")["outcome"] == "ran"


class Long(Woven):
    """Its token vectors are no unit vectors."""

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        made = super().token_vectors(texts)
        return [TokenVectors(each.tokens, each.vectors * np.float32(1e4), each.text_vector) for each in made]


def test_token_vectors_are_brought_to_unit_length(tmp_path: Path) -> None:
    scores = []
    for embedder in (WOVEN, Long()):
        with open_mind(tmp_path / f"{type(embedder).__name__}.db", embedder) as mind:
            mind.remember_many({"text": text, "id": text} for text in ("a red cup", "a blue door"))
            scores.append(likeness(mind, "where is the red cup?", "a red cup", "cup"))
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)


# What stands around a memory.


TALK = ("the passport lies in the drawer", "then she smiled at every neighbour in our street")
ASKED = "did you ever find your passport?"


def talk(mind: Mind, **details: Any) -> None:
    """Two in one session: the first has the word, the second has a neighbour that has it."""
    mind.remember(TALK[0], id="t1", **{"session": "monday", "position": 1, **details})
    mind.remember(TALK[1], id="t2", session="monday", position=2)


@pytest.fixture
def alone(tmp_path: Path) -> float:
    """What the second makes of the word by itself."""
    with open_mind(tmp_path / "alone.db", WOVEN) as mind:
        mind.remember(TALK[1], id="t2", session="monday")
        mind.remember("a passport", id="other", session="tuesday")
        return likeness(mind, ASKED, "t2", "passport")


def test_a_memory_is_near_to_what_was_said_just_before(tmp_path: Path, alone: float) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        talk(mind)
        assert likeness(mind, ASKED, "t2", "passport") > alone + 0.2
        assert likeness(mind, ASKED, "t1", "passport") > likeness(mind, ASKED, "t2", "passport")


def test_the_nearer_a_neighbour_the_more_it_lends(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember("the passport lies in the drawer", id="first", session="monday", position=0)
        for at in range(1, 6):
            mind.remember(f"so she said {at}", id=f"after-{at}", session="monday", position=at)
        lent = [likeness(mind, ASKED, f"after-{at}", "passport") for at in range(1, 6)]
    assert lent[0] > lent[1] > lent[2]
    assert max(lent[2:]) < lent[1], "the reach ends somewhere"


def test_who_answers_need_not_repeat_what_was_said_before(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember("so she said", id="led up to it", session="monday", position=0)
        mind.remember(TALK[0], id="said", session="monday", position=1)
        mind.remember("so he said", id="answered", session="monday", position=2)
        asked, said, answered = (likeness(mind, ASKED, id, "passport") for id in ("led up to it", "said", "answered"))
    assert said > answered > asked


def test_an_assistant_ends_an_exchange_and_lends_less_to_what_follows(tmp_path: Path) -> None:
    lent: dict[str, dict[str, float]] = {}
    for role in ("user", "assistant"):
        with open_mind(tmp_path / f"{role}.db", WOVEN) as mind:
            mind.remember("so she said", id="before", session="monday", position=0, role="user")
            mind.remember(TALK[0], id="said", session="monday", position=1, role=role)
            mind.remember("so he said", id="after", session="monday", position=2, role="user")
            lent[role] = {id: likeness(mind, ASKED, id, "passport") for id in ("before", "said", "after")}
    assert lent["assistant"]["after"] < lent["user"]["after"]
    assert lent["assistant"]["before"] == lent["user"]["before"]
    assert lent["assistant"]["said"] == lent["user"]["said"]


def test_of_two_in_a_session_the_one_that_says_it_comes_first(tmp_path: Path) -> None:
    """They are next to equal by tokens: little must not be made much of."""
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        talk(mind)
        results = mind.recall(ASKED)
    assert [result.memory.id for result in results] == ["t1", "t2"]
    assert any(node.label == "0.1 below the best" for node in nodes(results[0].why))


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "of another user": ({"user": "bob"}, {"filter": Filter(user="")}),
    "with a higher classification": ({"classification": 3}, {"filter": Filter(classification=1)}),
    "with a tag that is refused": ({"tags": ["secret"]}, {"filter": ~Filter(tags=["secret"])}),
    "forgotten": ({"status": "forgotten"}, {}),
    "of a status that is not asked for": ({"status": "superseded"}, {"filter": Filter(status="active")}),
    "expired": ({"expires": NOON - timedelta(days=1)}, {}),
    "not yet true": ({"valid_from": NOON + timedelta(days=1)}, {}),
    "of another session": ({"session": "tuesday"}, {}),
    "of another collection": ({"collection": "work"}, {}),
    "of no session": ({"session": ""}, {}),
}


@pytest.mark.parametrize(("details", "options"), REFUSED.values(), ids=list(REFUSED))
def test_a_neighbour_that_is_out_of_bounds_lends_nothing(
    tmp_path: Path, alone: float, details: dict[str, Any], options: dict[str, Any]
) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        talk(mind, **details)
        assert likeness(mind, ASKED, "t2", "passport", **options) == alone


def test_a_neighbour_lends_nothing_to_the_time_before_it(tmp_path: Path, alone: float) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember(TALK[1], id="t2", session="monday", created=NOON - timedelta(days=9))
        mind.remember(TALK[0], id="t1", session="monday", created=NOON - timedelta(days=3))
        assert likeness(mind, ASKED, "t2", "passport", as_of=NOON - timedelta(days=5)) == alone
        assert likeness(mind, ASKED, "t2", "passport", as_of=NOON - timedelta(days=2)) > alone
        assert likeness(mind, ASKED, "t2", "passport") > alone


def test_a_superseded_neighbour_lends_as_long_as_it_may_be_recalled(tmp_path: Path, alone: float) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        talk(mind, status="superseded")
        assert likeness(mind, ASKED, "t2", "passport") > alone


def test_what_happens_to_a_neighbour_shows_at_once(tmp_path: Path, alone: float) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        talk(mind)
        lent = likeness(mind, ASKED, "t2", "passport")
        assert lent > alone
        mind.forget("t1")
        assert likeness(mind, ASKED, "t2", "passport") == alone
        mind.undo()
        assert likeness(mind, ASKED, "t2", "passport") == lent
        mind.edit("t1", text="the kettle stands in the drawer")
        assert likeness(mind, ASKED, "t2", "passport") < lent
        mind.edit("t1", text=TALK[0], session="tuesday")
        assert likeness(mind, ASKED, "t2", "passport") == alone
        mind.edit("t1", session="monday")
        assert likeness(mind, ASKED, "t2", "passport") == lent


def test_what_is_around_a_find_is_compared_though_there_are_too_many_to_compare_all(tmp_path: Path) -> None:
    """Over a thousand memories, and one that no other cue would bring: it stands beside one that they do."""
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember_many({"text": f"w{n} w{n + 1} w{n % 70}", "session": f"s{n % 40}"} for n in range(1500))
        mind.remember_many({"text": text, "id": f"t{at}", "session": "monday"} for at, text in enumerate(TALK, 1))
        recall = mind.recall(ASKED, 50, track=False)
        assert step(recall, "tokens")["in"] < 1000
        assert likeness(mind, ASKED, "t2", "passport") > 0.2
    assert {"t1", "t2"} <= set(ids(recall))


# Explanations, stability.


NAMES = ["Anna", "Bob Miller", ""]
WORDS = "cup mug shelf passport drawer bought purchased anna bob the said yesterday maxRetries 苹果".split()
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
records = st.fixed_dictionaries(
    {"text": sentences},
    optional={
        "session": st.sampled_from(["", "monday", "tuesday"]),
        "position": st.integers(0, 5),
        "speaker": st.sampled_from(NAMES),
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "collection": st.sampled_from(["", "work"]),
        "status": st.sampled_from(["active", "active", "superseded", "forgotten"]),
        "created": st.integers(0, 400).map(lambda days: NOON - timedelta(days=days)),
    },
)


@pytest.mark.contract("B2")
@settings(max_examples=examples(15, 40), deadline=None)
@given(written=st.lists(records, min_size=1, max_size=16), query=sentences, end=st.sampled_from(["", "?", " in May"]))
def test_every_score_is_what_its_tree_evaluates_to_bit_for_bit(
    written: list[dict[str, Any]], query: str, end: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, open_mind(Path(folder) / "memory.db", WOVEN) as mind:
        mind.remember_many(written)
        recall = mind.recall(query + end, 50, track=False)
        assert recall.trace.failures == [], str(recall.trace)
        for result in recall:
            assert result.why.value == result.score == result.why.evaluate()
            assert all(np.isfinite(node.value) and node.evaluate() == node.value for node in nodes(result.why))
            assert json.loads(json.dumps(result.why.as_dict()))["value"] == result.score
        for result in recall:  # asked for by itself, it has the score that it has among others
            assert mind.why(query + end, result.memory.id, k=50).value == result.score


def record(chance: random.Random, n: int) -> dict[str, Any]:
    words = [f"w{n}" for n in range(90)] + ["blue", "cup", "mug", "shelf", "red", "door"]
    return {
        "id": f"m{n}",
        "text": " ".join(chance.choices(words, k=chance.randint(2, 9))),
        "session": chance.choice(["", *(f"s{n}" for n in range(30))]),
        "position": chance.choice([None, 1, 2, 3]),
        "speaker": chance.choice(["", *(f"P{n}" for n in range(200))]),
        "role": chance.choice(["", "user", "assistant"]),
        "created": NOON - timedelta(days=chance.choice([0, 3, 40, 400])),
    }


QUESTIONS = (
    "what did P3 say of the blue mug and w7 on the w11 shelf?",
    "where did P150 or P151 put the red cup in April?",
    "blue mug w7 w11",
    "w3 supercalifragilisticexpialidocious w5 of the shelf?",
)


@pytest.fixture(scope="module", params=[900, 1600], ids=["all are compared", "too many to compare all"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "memory.db"
    chance = random.Random(5)
    with open_mind(path, WOVEN) as mind:
        for start in range(0, request.param, 300):
            mind.remember_many(record(chance, n) for n in range(start, min(start + 300, request.param)))
            mind.recall(QUESTIONS[0], track=False)
        for n in chance.sample(range(request.param), 40):
            mind.edit(f"m{n}", tags=["edited"])
    return path


@pytest.mark.parametrize("question", QUESTIONS)
def test_asking_for_more_never_changes_the_first(many: Path, question: str) -> None:
    with open_mind(many, WOVEN) as mind:
        longest = [(r.memory.id, r.score) for r in mind.recall(question, 1600, track=False)]
        assert len(longest) >= 900
        for k in (1, 3, 10, 50, 51, 100, 101, 200, 500):
            assert [(r.memory.id, r.score) for r in mind.recall(question, k, track=False)] == longest[:k], f"k={k}"


def test_asking_for_more_never_changes_the_first_though_few_have_tokens(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(many, path)
    sql(path, "UPDATE sketches SET sketch = x'' WHERE row % 20 > 0")
    with open_mind(path, WOVEN) as mind:
        for question in QUESTIONS:
            longest = [(r.memory.id, r.score) for r in mind.recall(question, 500, track=False)]
            for k in (1, 10, 50, 51, 200):
                assert [(r.memory.id, r.score) for r in mind.recall(question, k, track=False)] == longest[:k], f"k={k}"


LATER: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "who is named": ("did anna see the cup of tea?", {"speaker": "Bob"}, {"speaker": "Anna"}),
    "the session": ("did anna see the cup of tea?", {"session": "monday"}, {"session": "monday"}),
}


@pytest.mark.parametrize(("question", "first", "later"), LATER.values(), ids=list(LATER))
def test_what_only_a_later_page_brings_changes_nothing_on_the_first(
    tmp_path: Path, question: str, first: dict[str, Any], later: dict[str, Any]
) -> None:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember_many({"text": f"anna did see the cup of tea {n}", "id": f"f{n}", **first} for n in range(60))
        mind.remember_many({"text": f"w{n} w{n + 1} w{n + 2} w{n + 3}", "id": f"l{n}", **later} for n in range(60))
        short, long = mind.recall(question, 40, track=False), mind.recall(question, 120, track=False)
    assert all(id.startswith("f") for id in ids(short))
    assert any(id.startswith("l") for id in ids(long))
    assert [(r.memory.id, r.score) for r in short] == [(r.memory.id, r.score) for r in long][:40]


def test_the_same_state_and_clock_give_the_same_bytes(many: Path) -> None:
    with open_mind(many, WOVEN) as mind, open_mind(many, WOVEN) as other:
        for question in QUESTIONS:
            first = told(mind.recall(question, 60, track=False))
            assert told(mind.recall(question, 60, track=False)) == first
            assert told(other.recall(question, 60, track=False)) == first


def test_a_mind_that_followed_every_change_agrees_with_one_that_opens_the_file_now(tmp_path: Path) -> None:
    path, chance = tmp_path / "memory.db", random.Random(9)
    with open_mind(path, WOVEN) as old:
        for round in range(12):
            old.remember_many(record(chance, n) for n in range(round * 20, round * 20 + 20))
            old.recall(QUESTIONS[0])
            old.edit(chance.choice(old.list()).id, text="the blue mug", session=f"s{round}")
            old.forget(chance.choice(old.list()).id)
        with open_mind(path, WOVEN) as new:
            for question in QUESTIONS:
                assert told(new.recall(question, 50, track=False)) == told(old.recall(question, 50, track=False))


def test_recalls_beside_a_writer_see_one_state_each(tmp_path: Path) -> None:
    path, problems = tmp_path / "memory.db", []
    done = threading.Event()

    def ask(mind: Mind) -> None:
        try:
            while not done.is_set():
                recall = mind.recall("who has the blue mug?", 20, track=False)
                assert recall.trace.failures == [], str(recall.trace)
                assert all(result.why.evaluate() == result.score for result in recall)
                cups = [result for result in recall if "mug" in result.text]
                assert len({result.memory.session for result in cups}) <= 1, "half of a change was seen"
        except BaseException as problem:
            problems.append(problem)

    with open_mind(path, WOVEN) as mind:
        mind.remember_many({"text": f"the blue mug {n}", "id": f"m{n}", "session": "s0"} for n in range(5))
        mind.remember_many(f"w{n} w{n + 1}" for n in range(50))
        readers = [threading.Thread(target=ask, args=(mind,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        for round in range(1, 25):
            mind.remember_many(
                {"text": f"the blue mug {n} {round}", "id": f"m{n}", "session": f"s{round}"} for n in range(5)
            )
            mind.remember(f"w{round}")
        done.set()
        for reader in readers:
            reader.join()
        assert problems == []
        with open_mind(path, WOVEN) as fresh:
            mine, its = (told(each.recall("who has the blue mug?", 20, track=False)) for each in (mind, fresh))
            assert mine == its


# Other models.


class Wider(Woven):
    name, dim = "toy-wider", 136


@pytest.mark.contract("B5")
@pytest.mark.parametrize(("then", "outcome"), [(Wider(), "ran"), (BAG, "skipped")], ids=["with tokens", "without"])
def test_another_model_brings_its_own_tokens_or_none(tmp_path: Path, then: Embedder, outcome: str) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, WOVEN) as mind:
        talk(mind)
        mind.recall(ASKED)
    assert Mind.reembed(path, embedder=then) == 2
    with open_mind(path, then) as mind:
        recall = mind.recall(ASKED, track=False)
        assert recall[0].memory.id == "t1"
        assert step(recall, "tokens")["outcome"] == outcome
        assert recall.trace.failures == []


def test_a_mind_that_is_open_while_the_model_changes_says_so_in_both_cues(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, WOVEN) as mind:
        talk(mind)
        mind.recall(ASKED)
        Mind.reembed(path, embedder=Wider())
        recall = mind.recall(ASKED, track=False)
        assert recall[0].memory.id == "t1"
        assert {each.name for each in recall.trace.failures} == {"vectors", "tokens"}
        assert all("toy-wider" in each.reason for each in recall.trace.failures)
