"""Labelled questions: what is asked, when and of which memories, and which memories answer it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.mind import AnyFilterOrMapping, Mind
from recollect.model import Filter, Memory, When, check

NOTE_CHARACTERS = 200  # of a memory's text in a line of a template


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and the memories that answer it: by id or external id, each with a grade above 0.

    ``relevant`` is empty when no memory answers the question: a good recall then returns nothing.
    """

    text: str
    relevant: Mapping[str, int] = field(default_factory=dict)
    category: str = ""
    filter: AnyFilterOrMapping | None = None
    asked_at: datetime | None = None  # the time that counts as now
    as_of: When | None = None
    history: Sequence[tuple[str, str]] = ()  # the turns before it, oldest first: (role, text)


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Questions, and the memories to search where the set brings its own; each haystack is a collection."""

    name: str
    questions: Sequence[LabelledQuestion]
    memories: Sequence[Memory] = ()

    @property
    def answerable(self) -> list[LabelledQuestion]:
        return [each for each in self.questions if each.relevant]

    @property
    def unanswerable(self) -> list[LabelledQuestion]:
        return [each for each in self.questions if not each.relevant]

    def first(self, count: int) -> LabelledSet:
        """The first ``count`` questions and the haystacks that they search."""
        questions = self.questions[: check.count(count, "limit")]
        collections = {each.filter.collection for each in questions if isinstance(each.filter, Filter)}
        every = not collections or None in collections
        memories = [each for each in self.memories if every or each.collection in collections]
        return LabelledSet(self.name, questions, memories)


def resolve_ids(mind: Mind, labelled: LabelledSet) -> LabelledSet:
    """The same questions with complete ids: each may name an id, the beginning of one, or an external id."""
    memories = mind.list()
    ids = sorted(memory.id for memory in memories)
    external: dict[str, list[str]] = {}
    for memory in memories:
        if memory.external_id:
            external.setdefault(memory.external_id, []).append(memory.id)

    def complete(name: str) -> str:
        at = bisect_left(ids, name)
        if at < len(ids) and ids[at] == name:
            return name
        matches = external.get(name) or [each for each in ids[at : at + 2] if name and each.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        where = f" in the collection {mind.collection!r}" if mind.collection else ""
        problem = "matches several memories" if matches else "matches no memory"
        raise InvalidInput(f"{name!r} {problem}{where}; give an id, the beginning of one, or an external id.")

    questions = []
    for question in labelled.questions:
        try:
            relevant = {complete(name): grade for name, grade in question.relevant.items()}
        except InvalidInput as problem:
            raise InvalidInput(f"“{question.text}”: {problem}") from None
        questions.append(replace(question, relevant=relevant))
    return replace(labelled, questions=questions)


def question_template(mind: Mind, count: int) -> list[dict[str, Any]]:
    """Lines to fill in: memories spread evenly over the file, each with an empty query."""
    memories = mind.list()
    step = max(1, len(memories) // max(1, count))
    return [
        {"query": "", "relevant": [each.id], "note": each.text[:NOTE_CHARACTERS]} for each in memories[::step][:count]
    ]
