"""Measuring recall: values worked out by hand, questions on real files, and benchmarks that give nothing away."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import datasets
from bench.baselines import BASELINES
from bench.families import removals
from bench.peers.quality import client
from bench.quality_results import QualityResults
from bench.tables import floor, headline
from recollect import Filter, InvalidInput, Memory, Mind
from recollect.errors import RecollectError
from recollect.evaluation import (
    LabelledQuestion,
    LabelledSet,
    QualityGate,
    RecallAnswer,
    RecipeScores,
    bootstrap_interval,
    build_report,
    open_runner,
    paired_difference,
    question_template,
    read,
    resolve_ids,
    roc_auc,
    score_answers,
)
from recollect.recall.registry import get_recipe

DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def answered(*found: str, confidence: float = 1.0) -> RecallAnswer:
    return RecallAnswer(found, confidence, 0.001)


# Two relevant, graded 2 and 1, at ranks 2 and 4; one of two, at rank 1; one at rank 6; none.
QUESTIONS = [
    LabelledQuestion("first", {"a": 2, "b": 1}, "graded"),
    LabelledQuestion("second", {"c": 1, "d": 1}, "plain"),
    LabelledQuestion("third", {"e": 1}, "plain"),
    LabelledQuestion("fourth", {"f": 1}, "plain"),
]
ANSWERS = [answered("x", "a", "y", "b"), answered("c"), answered("u", "v", "w", "x", "y", "e"), answered()]
BY_HAND: dict[str, list[float]] = {
    "R@5": [1, 1 / 2, 0, 0],
    "R@10": [1, 1 / 2, 1, 0],
    "all@5": [1, 0, 0, 0],
    "any@5": [1, 1, 0, 0],
    "NDCG@10": [(2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3)), 1 / (1 + 1 / log2(3)), 1 / log2(7), 0],
    "MRR": [1 / 2, 1, 1 / 6, 0],
    "Hit@1": [0, 1, 0, 0],
}


@pytest.mark.contract("B11")
@pytest.mark.parametrize("measure", BY_HAND)
def test_every_measure_is_what_it_is_by_hand(measure: str) -> None:
    scores = score_answers("hand", QUESTIONS, ANSWERS)
    assert scores.values[measure] == pytest.approx(BY_HAND[measure], abs=1e-6)
    assert scores.mean(measure) == pytest.approx(np.mean(BY_HAND[measure]), abs=1e-6)
    assert scores.mean(measure, "plain") == pytest.approx(np.mean(BY_HAND[measure][1:]), abs=1e-6)


def test_the_order_of_the_answer_counts_and_not_the_names() -> None:
    asked = [LabelledQuestion("q", {"z": 1})]
    for found in (("z", "a"), ("z", "zz")):
        assert score_answers("order", asked, [answered(*found)]).mean("Hit@1") == 1


def test_questions_without_an_answer_are_not_in_the_means() -> None:
    scores = score_answers("with", [*QUESTIONS, LabelledQuestion("nothing")], [*ANSWERS, answered("x")])
    assert scores.values["R@10"].tolist() == [1, 0.5, 1, 0]
    with pytest.raises(RecollectError, match="nothing to measure"):
        score_answers("only", [LabelledQuestion("nothing")], [answered("x")])


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    spread = bootstrap_interval(np.array([0.0, 1.0] * 50))
    assert spread.low < spread.mean == 0.5 < spread.high
    assert spread == bootstrap_interval(np.array([0.0, 1.0] * 50))  # seeded
    assert spread.low > 0.3  # a hundred coins: 0.5 ± 0.1
    assert spread.high < 0.7


def test_a_few_perfect_answers_do_not_promise_that_all_are() -> None:
    three, many = bootstrap_interval(np.ones(3)), bootstrap_interval(np.ones(300))
    assert (three.mean, three.high, many.mean, many.high) == (1, 1, 1, 1)
    assert three.low < 0.5 < 0.98 < many.low < 1
    assert bootstrap_interval(np.ones(3), minimum=-1.0).low < 0  # three questions that were won are no proof of a gain


@pytest.mark.parametrize("count", [3, 10, 19, 40])
def test_an_interval_holds_the_truth_about_as_often_as_it_says(count: int) -> None:
    drawn = np.random.default_rng(count).random((200, count)) < 0.9
    spans = [bootstrap_interval(each.astype(np.float64)) for each in drawn]
    assert sum(span.low <= 0.9 <= span.high for span in spans) > 0.9 * len(spans)


def test_differences_are_paired() -> None:
    """Questions that differ much from each other do not blur a gain that is the same for all of them."""
    values = np.linspace(0, 0.8, 40)
    low, high = (RecipeScores("s", {"R@10": each}, ("",) * 40, values) for each in (values, values + [0.1, 0.2] * 20))
    gain = paired_difference(high, low, "R@10")
    assert gain.mean == pytest.approx(0.15)
    assert 0.1 < gain.low < gain.mean < gain.high < 0.2


def test_separation_is_the_share_of_pairs_in_the_right_order() -> None:
    assert roc_auc([0.9, 0.5], [0.5, 0.1]) == 0.875  # three pairs of four, and one tie
    assert roc_auc([1.0], [0.0]) == 1.0


def test_abstention_is_scored_when_there_are_questions_without_an_answer() -> None:
    asked = [LabelledQuestion("q", {"a": 1}), LabelledQuestion("nothing")]
    outcome = build_report(
        LabelledSet("set", asked), {"r": [answered("a", confidence=0.9), answered("b", confidence=0.2)]}
    )
    assert (outcome.abstention, outcome.unanswerable) == ({"r": 1.0}, 1)


@pytest.mark.contract("B11")
def test_a_gate_names_what_is_below_it() -> None:
    outcome = build_report(LabelledSet("set", QUESTIONS), {"r": ANSWERS})
    assert outcome.failed([QualityGate.parse("R@10=0.6")]) == []  # (1 + 0.5 + 1 + 0) / 4
    assert outcome.failed([QualityGate.parse("r@10=0.7")]) == ["r: R@10 is 0.6250, below 0.7"]
    for wrong in ("foo=0.5", "mrr", "mrr=2", "mrr=x"):
        with pytest.raises(InvalidInput, match="A quality gate is a measure and a number"):
            QualityGate.parse(wrong)


def test_the_worst_questions_come_first_and_complete_ones_not_at_all() -> None:
    outcome = build_report(LabelledSet("set", QUESTIONS), {"r": ANSWERS})
    assert [asked.text for asked, _ in outcome.worst] == ["fourth", "second"]


# Asking.


def test_a_haystack_is_asked_alone_and_no_mark_is_left(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(
            [
                Memory("The cup is blue.", collection="a", external_id="1"),
                Memory("The cup is red.", collection="b", external_id="2"),
            ]
        )
    with open_runner(path, None) as asker:
        (answer,) = asker.answers([LabelledQuestion("which cup?", {"2": 1}, filter=Filter(collection="b"))])
        assert answer.ids == ("2",)
        assert [memory.use.access_count for memory in asker.mind.list()] == [0, 0]


def test_the_clock_shows_when_the_question_is_asked(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember("The cup is blue.", external_id="1", expires="2024-01-01")
    with open_runner(path, None) as asker:
        asked = [LabelledQuestion("cup", asked_at=datetime(year, 6, 1, tzinfo=UTC)) for year in (2023, 2025, 2023)]
        assert [answer.ids for answer in asker.answers(asked)] == [("1",), (), ("1",)]


# A user's own questions.


def test_own_questions_name_memories_by_id_its_beginning_or_external_id(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        first, second = mind.remember("A cup."), mind.remember("A plate.", external_id="plate-1")
        asked = LabelledQuestion("q", {first.id: 1, "plate-1": 2})
        for given in (asked, LabelledQuestion("q", {first.id[:6]: 1, second.id: 2})):
            (question,) = resolve_ids(mind, LabelledSet("mine", [given])).questions
            assert question.relevant == {first.id: 1, second.id: 2}
        with pytest.raises(InvalidInput, match="“q”: 'nope' matches no memory"):
            resolve_ids(mind, LabelledSet("mine", [LabelledQuestion("q", {"nope": 1})]))


def test_a_template_waits_for_a_question_a_memory(path: Path, tmp_path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        ids = [mind.remember(f"Memory {n}.").id for n in range(6)]
        lines = question_template(mind, 3)
        assert len(lines) == 3
        assert {line["relevant"][0] for line in lines} < set(ids)
        lines[0]["query"] = "which memory?"
        file = tmp_path / "mine.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (question,) = read(file).questions  # the others are blank still
        assert list(question.relevant) == lines[0]["relevant"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1 is no JSON"),
        ("[]", "line 1 must be a JSON object"),
        ('{"query": "q", "relevent": []}', "unknown field 'relevent'"),
        ('{"query": "q"}', "relevant must name the memories"),
        ('{"query": "q", "relevant": {"a": 0}}', "the grade of 'a' must be at least 1"),
        ('{"query": "q", "relevant": [], "filter": {"colour": "red"}}', "A filter has no condition 'colour'"),
        ('{"query": "q", "relevant": [], "as_of": "soon"}', "as_of is not a date"),
        ('{"query": "", "relevant": []}', "has no questions"),
    ],
)
def test_a_wrong_line_is_told_with_what_would_be_right(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(line)
    with pytest.raises(InvalidInput, match=problem):
        read(file)


# Public benchmarks.


def beir(folder: Path, qrels: str = "qrels/test.tsv") -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Cups", "text": "Blue ones."}\n{"_id": "d2", "title": "", "text": "Plates."}\n'
    )
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "cups?"}\n{"_id": "q2", "text": "not judged"}\n')
    (folder / qrels).write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    return folder


@pytest.mark.contract("B11")
@pytest.mark.parametrize("qrels", ["qrels/test.tsv", "qrels.tsv"])
def test_a_folder_in_beir_layout_is_read(tmp_path: Path, qrels: str) -> None:
    labelled = read(beir(tmp_path / "tiny", qrels))
    first, second = labelled.memories
    assert (labelled.name, first.title, first.text, second.text) == ("tiny", "Cups", "Blue ones.", "Plates.")
    (question,) = labelled.questions
    assert (question.text, question.relevant) == ("cups?", {first.id: 2})


def test_a_split_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="It has the splits test"):
        read(beir(tmp_path / "tiny"), split="dev")
    with pytest.raises(InvalidInput, match="no BEIR layout"):
        read(tmp_path)


LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "How long is my commute?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["chat_1", "answer_7"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hello."}],
            [
                {"role": "user", "content": "My commute takes 45 minutes.", "has_answer": True},
                {"role": "assistant", "content": "That is long."},
            ],
        ],
        "answer_session_ids": ["answer_7"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "single-session-user",
        "question": "What is my cat called?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["answer_9_abs"],
        "haystack_sessions": [[{"role": "user", "content": "My dog is called Rex."}]],
        "answer_session_ids": ["answer_9_abs"],
    },
]


@pytest.mark.contract("B11")
def test_longmemeval_as_published_is_read_by_session_or_turn_and_gives_nothing_away(tmp_path: Path) -> None:
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    by_session, by_turn = read(file), read(file, unit="turn")
    gold = by_session.memories[1]
    assert gold.text == "user: My commute takes 45 minutes.\nassistant: That is long."
    assert gold.created == datetime(2023, 5, 21, 10, tzinfo=UTC)
    asked, silent = by_session.questions
    assert asked.relevant == {gold.id: 1}
    assert asked.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert not silent.relevant
    turn = by_turn.memories[1]
    assert (turn.text, turn.role, turn.position) == ("user: My commute takes 45 minutes.", "user", 0)
    assert by_turn.questions[0].relevant == {turn.id: 1}
    assert "answer_" not in repr((by_session, by_turn))


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi Ben!"},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a photo of a dog"},
            ],
        },
        "qa": [
            {"question": "Who showed a dog?", "answer": "Ben", "evidence": ["D1:02"], "category": 4},
            {"question": "Both?", "answer": "", "evidence": ["D1:1; D1:2"], "category": 1},
            {"question": "No evidence?", "answer": "", "evidence": [], "category": 3},
        ],
    }
]


@pytest.mark.contract("B11")
def test_locomo_as_published_is_read_with_the_slips_of_its_evidence(tmp_path: Path) -> None:
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps(LOCOMO))
    labelled = read(file)
    first, second = labelled.memories
    assert (second.text, second.speaker, second.position) == ("Ben: Look! [shares a photo of a dog]", "Ben", 1)
    one, both = labelled.questions
    assert (one.category, one.relevant) == ("single-hop", {second.id: 1})
    assert both.relevant == {first.id: 1, second.id: 1}
    assert one.filter == Filter(collection=first.collection)


def test_the_first_questions_bring_their_own_haystacks_only(tmp_path: Path) -> None:
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    assert len(read(file).memories) == 3
    assert len(read(file).first(1).memories) == 2


@pytest.mark.parametrize(
    ("text", "problem"), [("{}", "neither LongMemEval's nor LoCoMo's"), ('[{"conversation": 1}]', "not as published")]
)
def test_another_json_file_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        read(file)


# The benchmark's own datasets.


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56)),
        ("29.12.2023, 00:51:12", datetime(2023, 12, 29, 0, 51, 12)),
        ("March-15-2024", datetime(2024, 3, 15)),
        ("2023/07/12 (Wed) 10:14", datetime(2023, 7, 12, 10, 14)),
        ("2025-12-19 (Friday)", datetime(2025, 12, 19)),
        ("2024年04月01日 周一 08:51", datetime(2024, 4, 1, 8, 51)),
        ("2023-05-30", datetime(2023, 5, 30)),
    ],
)
def test_dates_are_understood_in_every_way_that_sets_write_them(text: str, when: datetime) -> None:
    assert datasets.moment(text) == when.replace(tzinfo=UTC)


def test_a_set_becomes_memories_without_its_labels(tmp_path: Path) -> None:
    records = [
        {
            "_id": f"answer_{n}",
            "text": f"Turn {n}.",
            "group": "g",
            "meta": {"date": "2023-05-30", "session": f"answer_{n % 2}", "has_answer": True, "place": "x"},
        }
        for n in range(3)
    ]
    query = {"_id": "q", "text": "Turn?", "group": "g", "category": "c", "meta": {"exclude_session": "answer_1"}}
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    (tmp_path / "queries.jsonl").write_text(json.dumps(query) + "\n")
    (tmp_path / "qrels.tsv").write_text("query_id\tdoc_id\tgrade\nq\tanswer_2\t1\n")
    labelled = datasets.read(tmp_path).labelled
    assert "answer" not in repr((labelled.memories, labelled.questions))
    assert [memory.position for memory in labelled.memories] == [0, 0, 1]
    assert labelled.memories[0].context == {"place": "x"}
    with Mind(":memory:", embedder=None) as mind:
        mind.remember_many(labelled.memories)
        found = mind.recall("turn", filter=labelled.questions[0].filter)
        assert {result.text for result in found} == {"Turn 0.", "Turn 2."}  # the question leaves a session out


def test_a_removal_lacks_one_part_of_the_recipe() -> None:
    recipe = get_recipe("default")
    variants = removals(recipe)
    assert {stage.name for stage in recipe.stages} | {type(each).__name__ for each in recipe.read} <= variants.keys()
    for stage in recipe.stages:
        without = variants[stage.name].change(recipe)
        assert [each for each in recipe.stages if each is not stage] == list(without.stages)


@pytest.mark.skipif(not DATA.exists(), reason=f"the labelled sets are not at {DATA.name}/ beside the project")
def test_words_alone_find_most_of_a_real_set(path: Path) -> None:
    set_ = datasets.read(DATA / "precisionmem")
    with Mind(path, embedder=None) as mind:
        mind.remember_many(set_.labelled.memories)
    with open_runner(path, None) as asker:
        questions = set_.labelled.answerable
        scores = score_answers("BM25", questions, asker.answers(questions, BASELINES["BM25"]))
    assert scores.mean("R@10") > 0.85  # vectors and better recipes go beyond; bench/quality.py tells by how much


def test_a_set_that_falls_below_the_baselines_is_flagged(tmp_path: Path) -> None:
    def told(value: float, kind: str = "baseline") -> dict[str, Any]:
        return {"kind": kind, "R@10": value, "NDCG@10": value}

    systems = {"BM25": told(0.4), "vectors": told(0.6), "fusion": told(0.5), "default": told(0.595, "recipe")}
    found = {"files": {}, "haystacks": 1, "documents": 9, "questions": 3, "systems": systems}
    findings = QualityResults(tmp_path / "quality.json")
    findings.add("near", found)
    findings.add("below", {**found, "systems": {**systems, "default": told(0.58, "recipe")}})
    findings.add("unmeasured", {**found, "systems": {"default": told(0.1, "recipe")}})
    assert findings.below_the_floor() == ["below"]
    assert floor(systems) == {"R@10": -0.005, "NDCG@10": -0.005}
    near, below, unmeasured = headline(findings.kept["sets"]).splitlines()[2:]
    assert (near.split()[-2], below.split()[-2], unmeasured.split()[-2]) == ("yes", "**NO**", "|")


class Flat:
    """An embedder to whom all texts are the same."""

    name, dim = "flat", 384

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        return np.ones((len(texts), self.dim), dtype=np.float32)


def test_a_peer_answers_from_its_own_process_and_one_that_breaks_says_why(tmp_path: Path) -> None:
    memories = [
        Memory("The cup is blue.", id="blue", collection="a", session="s"),
        Memory("The cup is red, the red cup.", id="red", collection="a", session="t"),
        Memory("The cup of another.", id="other", collection="b"),
    ]
    here = Filter(collection="a")
    asked = [
        LabelledQuestion("which red cup?", {"red": 1}, filter=here),
        LabelledQuestion("which red cup?", {"blue": 1}, filter=here & ~Filter(session="t")),
    ]
    orders = client.PeerRequest(datasets.Dataset(LabelledSet("tiny", asked, memories), {}), Flat(), tmp_path)
    told = client.ask(client.PEERS["SQLite FTS5"], orders, tmp_path)
    assert [answer.ids for answer in told.answers] == [("red", "blue"), ("blue",)]
    assert (told.problem, told.version) == ("", sqlite3.sqlite_version)
    broken = client.ask(client.Peer("no_such_program"), orders, tmp_path)
    assert broken.problem.startswith("answered 0 of 2: ")
    assert "no_such_program" in broken.problem
