"""Labelled questions: what is asked, when and of which memories, and which of them answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recollect.mind import AnyFilterOrMapping
from recollect.model import Filter, Memory
from recollect.model import validation as check
from recollect.model.memory import When


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the memories that answer it: by id or external id, each with a grade above 0.

    When nothing answers it, ``relevant`` is empty: then a good recall knows nothing.
    """

    text: str
    relevant: Mapping[str, int] = field(default_factory=dict)
    category: str = ""
    filter: AnyFilterOrMapping | None = None
    asked: datetime | None = None  # the moment that counts as now
    as_of: When | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """Questions, and the memories to ask where the questions bring their own; a haystack is a collection."""

    name: str
    questions: Sequence[Question]
    memories: Sequence[Memory] = ()

    @property
    def answerable(self) -> list[Question]:
        return [each for each in self.questions if each.relevant]

    @property
    def unanswerable(self) -> list[Question]:
        return [each for each in self.questions if not each.relevant]

    def first(self, count: int) -> Labelled:
        """The first so many questions, and the haystacks that they are put to."""
        questions = self.questions[: check.count(count, "limit")]
        named = {each.filter.collection for each in questions if isinstance(each.filter, Filter)}
        some = len(named) > 0 and None not in named
        memories = [each for each in self.memories if not some or each.collection in named]
        return Labelled(self.name, questions, memories)
