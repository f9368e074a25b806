"""A user's own questions, for a memory that is there already: one JSON object a line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import Labelled, Question
from recollect.evaluation.json_files import json_lines
from recollect.mind import Mind
from recollect.model import validation as check
from recollect.model.filter import as_filter

FIELDS = ("query", "relevant", "category", "filter", "as_of", "note")


def own(file: Path) -> Labelled:
    """One question a line; a line whose query is still blank, as in a template, is left out."""
    questions = []
    for where, record in json_lines(file):
        if unknown := record.keys() - set(FIELDS):
            raise InvalidInput(f"{where}: there is no {min(unknown)!r} in a question; there are: {', '.join(FIELDS)}.")
        try:
            query = check.string(record.get("query", ""), "query").strip()
            question = Question(
                text=query,
                relevant=_grades(record.get("relevant")),
                category=check.string(record.get("category", ""), "category"),
                filter=as_filter(record.get("filter")),
                as_of=None if record.get("as_of") is None else check.moment(record["as_of"], "as_of"),
            )
        except InvalidInput as problem:
            raise InvalidInput(f"{where}: {problem}") from None
        if query:
            questions.append(question)
    if not questions:
        raise InvalidInput(f'{file} has no questions. Each is a line such as {{"query": "…", "relevant": ["id"]}}.')
    return Labelled(file.stem, questions)


def _grades(said: Any) -> dict[str, int]:
    if isinstance(said, str):
        said = [said]
    if isinstance(said, Mapping):
        return {check.string(id, "an id"): _grade(id, grade) for id, grade in said.items()}
    if not isinstance(said, Sequence):
        raise InvalidInput(
            "relevant must name the memories that answer: a list of ids, or an object of ids with grades. "
            "An empty list says that nothing does."
        )
    return {check.string(id, "an id"): 1 for id in said}


def _grade(id: str, grade: Any) -> int:
    if check.whole(grade, f"the grade of {id!r}") < 1:
        raise InvalidInput(f"the grade of {id!r} must be at least 1, not {grade}; leave out what is not relevant.")
    return int(grade)


def resolved(mind: Mind, labelled: Labelled) -> Labelled:
    """The same questions with whole ids: an id, the beginning of one, or an external id may have been given."""
    memories = mind.list()
    ids = sorted(memory.id for memory in memories)
    external: dict[str, list[str]] = {}
    for memory in memories:
        if memory.external_id:
            external.setdefault(memory.external_id, []).append(memory.id)

    def whole(name: str) -> str:
        at = bisect_left(ids, name)
        if at < len(ids) and ids[at] == name:
            return name
        fitting = external.get(name) or [each for each in ids[at : at + 2] if name and each.startswith(name)]
        if len(fitting) == 1:
            return fitting[0]
        where = f" in the collection {mind.collection!r}" if mind.collection else ""
        problem = "is the name of several" if fitting else "is the name of no"
        raise InvalidInput(f"{name!r} {problem} memory{where} (id, its beginning, or external id).")

    questions = []
    for question in labelled.questions:
        try:
            relevant = {whole(name): grade for name, grade in question.relevant.items()}
        except InvalidInput as problem:
            raise InvalidInput(f"“{question.text}”: {problem}") from None
        questions.append(replace(question, relevant=relevant))
    return replace(labelled, questions=questions)


def template(mind: Mind, count: int) -> list[dict[str, Any]]:
    """Lines to fill in: memories spread over all that there are, each waiting for the question that it answers."""
    memories = mind.list()
    step = max(1, len(memories) // max(1, count))
    return [{"query": "", "relevant": [each.id], "note": each.text[:200]} for each in memories[::step][:count]]
