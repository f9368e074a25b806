"""eval, as typed: own questions, public layouts, reports and gates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

Keep = Callable[..., str]
pytestmark = pytest.mark.contract("B11")


def asked(*lines: dict[str, Any]) -> str:
    Path("questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "questions.jsonl"


@pytest.fixture
def questions(recollect: Command, keep: Keep) -> str:
    """By words alone: the first is found at rank 1, the second at rank 2, the third not at all."""
    cup = keep("The blue cup is on the shelf.")
    keep("The cat sleeps by the door, the door to the garden.", "--external-id", "cat")
    keep("The door is green.", "--external-id", "door")
    keep("Dogs like long walks.", "--external-id", "dogs")
    return asked(
        {"query": "where is the cup?", "relevant": [cup], "category": "place"},
        {"query": "cat, garden, door", "relevant": {"door": 1}, "category": "place"},
        {"query": "submarine", "relevant": "dogs", "category": "other"},
    )


def test_the_json_holds_every_measure_of_every_recipe(recollect: Command, questions: str) -> None:
    told = recollect("eval", questions, "--json").json
    figures = told["recipes"]["default"]
    assert told["questions"] == 3
    assert figures["R@10"] == round(2 / 3, 4)
    assert figures["Hit@1"] == round(1 / 3, 4)
    assert figures["MRR"] == 0.5  # (1 + 1/2 + 0) / 3
    assert figures["categories"]["place"]["MRR"] == 0.75
    assert figures["intervals"]["MRR"][0] <= 0.5 <= figures["intervals"]["MRR"][1]
    assert told["worst"][0]["query"] == "submarine"


def test_a_table_shows_recipes_side_by_side(recollect: Command, questions: str) -> None:
    outcome = recollect("eval", questions, "-r", "default", "-r", "openmem")
    assert outcome.code == 0
    (head,) = [line for line in outcome.out.splitlines() if "default" in line and "openmem" in line]
    assert head.split() == ["questions", "default", "openmem"]
    assert "0.500" in next(line for line in outcome.out.splitlines() if line.strip().startswith("MRR"))
    assert "place: R@10 1.000" in outcome.out


def test_a_gate_lets_pass_or_ends_with_1(recollect: Command, questions: str) -> None:
    assert recollect("eval", questions, "--fail-below", "mrr=0.5", "--fail-below", "R@10=0.6").code == 0
    outcome = recollect("eval", questions, "--fail-below", "mrr=0.51")
    assert (outcome.code, "default: MRR is 0.5000, below 0.51" in outcome.err) == (1, True)


def test_a_report_is_written_in_markdown(recollect: Command, questions: str) -> None:
    assert recollect("eval", questions, "--report", "report.md").code == 0
    report = Path("report.md").read_text("utf-8")
    for part in ("# Recall quality of questions", "| MRR | 0.500 [", "## By category", "- submarine (expected"):
        assert part in report


def test_measuring_leaves_no_mark_of_use(recollect: Command, questions: str) -> None:
    recollect("eval", questions)
    for line in recollect("export").out.splitlines():
        assert "use" not in json.loads(line)


def test_a_template_is_filled_in_and_asked(recollect: Command, keep: Keep) -> None:
    keep("The blue cup is on the shelf.")
    line = json.loads(recollect("eval", "--template").out)
    assert (line["query"], line["note"]) == ("", "The blue cup is on the shelf.")
    told = recollect("eval", asked({**line, "query": "cup"}), "--json").json
    assert told["recipes"]["default"]["Hit@1"] == 1


def test_questions_without_an_answer_are_told_apart(recollect: Command, keep: Keep) -> None:
    id = keep("The blue cup is on the shelf.")
    file = asked({"query": "cup", "relevant": [id]}, {"query": "submarine", "relevant": []})
    told = recollect("eval", file, "--json").json
    assert (told["questions"], told["unanswerable"], told["silence"]) == (1, 1, {"default": 1.0})


def test_filters_and_moments_of_a_question_hold(recollect: Command, keep: Keep) -> None:
    old = keep("The cup is red.", "--session", "monday", "--valid-to", "2024-01-01", "--created", "2023-01-01")
    new = keep("The cup is blue.", "--session", "tuesday", "--valid-from", "2024-01-01", "--created", "2023-01-01")
    file = asked(
        {"query": "which cup?", "relevant": [old], "as_of": "2023-06-01"},
        {"query": "which cup?", "relevant": [new], "filter": {"session": "tuesday"}},
    )
    told = recollect("eval", file, "--json").json
    assert told["recipes"]["default"]["Hit@1"] == 1


def test_a_beir_folder_is_measured_in_a_file_of_its_own(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "corpus.jsonl").write_text(
        '{"_id": "d1", "text": "Blue cups."}\n{"_id": "d2", "text": "Plates."}\n'
    )
    (tmp_path / "tiny" / "queries.jsonl").write_text('{"_id": "q1", "text": "cups"}\n')
    (tmp_path / "tiny" / "qrels.tsv").write_text("q1\td1\t1\n")
    for options in ((), ("--store", "kept.db"), ("--store", "kept.db")):  # the third finds the second's file
        told = recollect("eval", "tiny", "--json", *options).json
        assert told["recipes"]["default"]["Hit@1"] == 1
    assert not Path("memory.db").exists()
    assert len(recollect("--db", "kept.db", "list", "--json").json) == 2


def test_what_is_wrong_is_told(recollect: Command, questions: str) -> None:
    for words, problem in (
        (("eval",), "--template > questions.jsonl"),
        (("eval", "nowhere.jsonl"), "There is no file or folder nowhere.jsonl"),
        (("eval", questions, "-r", "soup"), "There is no recipe 'soup'"),
        (("eval", questions, "--fail-below", "x=1"), "A quality gate is a measure"),
        (("eval", asked({"query": "q", "relevant": ["gone"]})), "'gone' matches no memory"),
    ):
        outcome = recollect(*words)
        assert (outcome.code, problem in outcome.err) == (2, True), outcome.err
