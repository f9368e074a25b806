"""The rule by which two memories state the same thing: same owner and speaker, near in meaning, a different value.

It is used to put the present value first (``stages/statements.py``) and to report possible conflicts
(``upkeep/conflicts.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.recall.similarity import pairwise_products
from recollect.store.base import Floats, Rows, Snapshot
from recollect.text.entity_names import find_names
from recollect.text.polarity import is_negative
from recollect.text.residence import ResidenceQuestion, find_residence
from recollect.text.statements import (
    find_places,
    find_values,
    is_correction,
    is_opinion,
    is_question,
    numbered_thing,
    tells_change,
    tells_end,
    value_kinds,
)
from recollect.text.stopwords import STOP
from recollect.text.words import stem, words

NOT_STATED = frozenset({"assistant", "system", "tool"})  # roles that repeat what a user stated
MAX_CHARACTERS = 300  # of a statement: a longer text states many things
FEW_PAIRS, FEW_MEDIAN = 45, 0.2  # ten memories; the usual cosine of English ones
SAMPLE = 200  # memories of an owner from which the usual cosine is taken
MINUTE = 60e6  # microseconds
DAY_WORDS = frozenset("yesterday today tomorrow tonight gestern heut heute morgen 昨天 今天 明天 前天".split())
OWNER_FIELDS = ("collection", "user", "speaker")

MAX_OTHER_WORDS = 2  # by which a sentence that tells of a change differs from the earlier one

Difference = Literal["value", "name", "end", "word"]  # what differs between two statements of the same thing
ConflictRule = Literal["correction", "change", "value", "polarity"]
CONFLICT_REASONS: Mapping[ConflictRule, str] = {
    "correction": "the newer one corrects what was said shortly before",
    "change": "near in meaning with different values, and the newer one tells of a change",
    "value": "near in meaning, in the same words, with different values",
    "polarity": "opposite opinions of the same thing",
}
DECIDED_EDGES = ("supersedes", "contradicts", "same_as", "distinct_from")  # somebody has decided about the two


class NearnessOfRows:
    """The nearness of some rows, by pair; computed when the first one is needed, as most queries need none."""

    def __init__(self, snapshot: Snapshot, rows: Rows, median: float | None) -> None:
        self._snapshot, self._rows, self._median = snapshot, rows, median

    def __getitem__(self, pair: tuple[int, int]) -> float:
        return self._nearness.item(pair)

    @cached_property
    def _nearness(self) -> NDArray[np.float64]:
        return nearness(self._snapshot.vectors(self._rows), self._median)


class TextsOnDemand(Sequence[str]):
    """The texts of some rows, each read when it is asked for, where few are needed."""

    def __init__(self, read: Callable[[Rows], list[str]], rows: Rows) -> None:
        self._read, self._rows = read, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._read(self._rows[[at]])[0]


class Stated:
    """Which of some texts state something: no question, nothing of an assistant, no part of a file, and not long. Each
    is decided when it is asked for, as most queries ask for few."""

    def __init__(self, texts: Sequence[str], roles: list[str], paths: list[str]) -> None:
        self._texts, self._roles, self._paths = texts, roles, paths
        self._known: dict[int, bool] = {}

    def __getitem__(self, at: int) -> bool:
        known = self._known.get(at)
        if known is None:
            known = self._known[at] = self._decide(at)
        return known

    def _decide(self, at: int) -> bool:
        text = self._texts[at]
        stated = self._roles[at] not in NOT_STATED and not self._paths[at] and len(text) <= MAX_CHARACTERS
        return stated and not is_question(text)


@dataclass(frozen=True, slots=True)
class Statements:
    """Some memories, compared as statements.

    Nearness is the cosine above what two of these memories have in common anyway: (cosine − median) ÷ (1 − median).
    The median differs between languages and models: .15 for English, .4 for German, .6 for Chinese with the local one.
    """

    texts: Sequence[str]
    moments: Floats  # microseconds
    sessions: list[str]
    owners: list[tuple[str, ...]]
    stated: Stated
    nearness: NearnessOfRows | Mapping[tuple[int, int], float]  # by pair
    near: float = 0.3  # with a common word
    very_near: float = 0.5  # without one
    near_change: float = 0.4  # without one, where the newer tells of a change
    near_end: float = 0.1  # where one tells the end of what the other names
    correction_minutes: float = 30.0
    _values: dict[int, tuple[frozenset[str], frozenset[str], frozenset[str]]] = field(default_factory=dict)
    _homes: dict[int, bool] = field(default_factory=dict)
    _numbered: dict[int, tuple[str, str] | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        rows: Rows,
        median: float | None = None,
        nearness_of: Mapping[tuple[int, int], float] | None = None,
        texts: Sequence[str] | None = None,
    ) -> Statements:
        """The statements of these rows. Each began to hold at its ``valid_from``, else at its creation.

        ``nearness_of`` is for many: the pairs that will be compared, both ways round. ``texts`` are read, unless given.
        """
        texts = snapshot.texts(rows) if texts is None else texts
        owners = list(zip(*(snapshot.strings(name, rows) for name in OWNER_FIELDS), strict=True))
        roles, paths = (snapshot.strings(name, rows) for name in ("role", "path"))
        begins = snapshot.numbers("valid_from", rows)
        moments = np.where(np.isnan(begins), snapshot.numbers("created", rows), begins)
        near = NearnessOfRows(snapshot, rows, median) if nearness_of is None else nearness_of
        stated = Stated(texts, roles, paths)
        return cls(texts, moments, snapshot.strings("session", rows), owners, stated, near)

    def best(
        self, scores: Floats, share: float = 1.0, limit: int = 1, having: Callable[[str], bool] | None = None
    ) -> list[int]:
        """The statements with the highest scores, at least a share of the best one's; only texts for which ``having``
        is true."""
        order = (at for at in np.argsort(-scores, kind="stable").tolist() if scores[at] > 0 and self.stated[at])
        first = list(islice((at for at in order if having is None or having(self.texts[at])), limit))
        return [at for at in first if scores[at] >= share * scores[first[0]]]

    def residences(self, scores: Floats, question: ResidenceQuestion) -> dict[int, str]:
        """Where one person lives, by statement: that of the highest score, and the others about the same person."""
        homes: dict[int, str] = {}
        question = question.with_names(text for at, text in enumerate(self.texts) if self.stated[at])
        whose: tuple[object, ...] | None = None
        for at in np.argsort(-scores, kind="stable").tolist():
            text, owner = self.texts[at], self.owners[at]
            home = find_residence(text) if self.stated[at] else None
            person = question.person(home, text, owner[2] or owner[1]) if home is not None else None
            if home is not None and person is not None:
                whose = whose or (person, owner)
                homes |= {at: home.place} if whose == (person, owner) else {}
        return homes

    def corrections(self, members: Sequence[int]) -> dict[int, int]:
        """The corrections of some of the statements, and what each corrects."""
        return {
            at: member
            for member in members
            if self.sessions[member]
            for at, session in enumerate(self.sessions)
            if session == self.sessions[member] and self.corrects(at, member)
        }

    def difference(self, at: int, other: int) -> Difference | None:
        """What differs, if both state the same thing at different times; None if they do not.

        Within a session nobody tells of a change: two values there are of two things, or one is a correction.
        """
        if not self.may_differ(at, other) or (near := self.nearness[at, other]) < self.near:
            return None
        (values, names, content), (other_values, other_names, other_content) = self._parts(at), self._parts(other)
        if content.isdisjoint(other_content) and near < self.very_near:
            return None
        if self._states_home(at) != self._states_home(other):  # “Ana moved to York” is no newer job of hers
            return None
        if values != other_values and not _comparable_kinds(values).isdisjoint(_comparable_kinds(other_values)):
            return "value"
        if names - other_names and other_names - names:
            return "name"
        newer, older = (at, other) if self.moments[at] > self.moments[other] else (other, at)
        shared = self._shared_names(newer, older)
        if shared and self.tells_end(newer, older, shared):
            return "end"
        if values & other_values and tells_end(self.texts[newer]) and not tells_end(self.texts[older]):
            return "value"
        changed = self._other_word(at, other) or self._tells_change_of(newer, older) or self._other_place(newer, older)
        return "word" if changed else None

    def share_a_topic(self, at: int, other: int, names: frozenset[str]) -> bool:
        """Have two statements a word in common that is none of these names, none of theirs, and not what both begin
        with? Or does the later one, which is near, tell of a change?"""
        newer = at if self.moments[at] > self.moments[other] else other
        if self.nearness[at, other] >= self.near_change and tells_change(self.texts[newer]):
            return True
        first = [next(iter(words(self.texts[each])), "") for each in (at, other)]
        subject = {*names, *self.name_words(at), *self.name_words(other), *(first[:1] if first[0] == first[1] else ())}
        return bool((self._parts(at)[2] & self._parts(other)[2]) - {stem(word) for word in subject})

    def _shared_names(self, newer: int, older: int) -> frozenset[str]:
        """The words of the newer's names that the older has, too, perhaps at the beginning of a sentence."""
        if not tells_end(self.texts[newer]):
            return frozenset()
        return self.name_words(newer) & frozenset(words(self.texts[older]))

    def name_words(self, at: int) -> frozenset[str]:
        """The words of the names in a text."""
        return frozenset(word for name in self._parts(at)[1] for word in words(name))

    def _capitalised(self, at: int) -> frozenset[str]:
        """The words that may be names, also at the beginning of a sentence (“Bello died.”)."""
        begun = (word for word in self.texts[at].split() if word[:1].isupper())
        return self.name_words(at) | {word for each in begun for word in words(each) if word not in STOP}

    def tells_end(self, newer: int, older: int, names: frozenset[str]) -> bool:
        """Does the newer tell that something of these names is over, which the older does not? (“I quit Acme”)"""
        return (  # what is decided quickly comes first
            bool(self.moments[newer] > self.moments[older])
            and self.may_differ(newer, older)
            and any(map(self.texts[newer].lower().__contains__, names))
            and tells_end(self.texts[newer])
            and not tells_end(self.texts[older])
            and not names.isdisjoint(self._capitalised(newer))
            and self.nearness[newer, older] >= self.near_end
        )

    def _tells_change_of(self, newer: int, older: int) -> bool:
        """Does the newer tell of a change or an end, with a word of the older and very near to it in meaning?"""
        return (
            self.nearness[newer, older] >= self.very_near
            and (tells_change(self.texts[newer]) or tells_end(self.texts[newer]))
            and not self._parts(newer)[2].isdisjoint(self._parts(older)[2])
        )

    def _other_place(self, newer: int, older: int) -> bool:
        """Does the newer name another place, in the words of the older but for one? (where the cup was, and is)"""
        places, old_places = ({stem(word) for word in find_places(self.texts[at])} for at in (newer, older))
        content, old_content = self._parts(newer)[2] - places, self._parts(older)[2] - old_places
        return (
            bool(places and old_places)
            and places.isdisjoint(old_places)
            and self.nearness[newer, older] >= self.very_near
            and not content.isdisjoint(old_content)
            and len(old_content - content) <= 1
        )

    def _other_word(self, at: int, other: int) -> bool:
        """Does the newer tell of a change, in the words of the older but for one or two? (tea, and now coffee)"""
        newer, older = (at, other) if self.moments[at] > self.moments[other] else (other, at)
        now, before = self._parts(newer)[2], self._parts(older)[2]
        return (
            tells_change(self.texts[newer])
            and self.nearness[at, other] >= (self.very_near if len(now & before) < 2 else self.near + 0.1)
            and not now.isdisjoint(before)
            and 0 < len(before - now) <= MAX_OTHER_WORDS
            and 0 < len(now - before) <= MAX_OTHER_WORDS
        )

    def may_differ(self, at: int, other: int) -> bool:
        """Are both statements of the same owner, of different times and sessions?"""
        return not self.sessions[at] == self.sessions[other] != "" and self._comparable(at, other)

    def _comparable(self, at: int, other: int) -> bool:
        """Are both statements of the same owner and of different times?"""
        return (
            self.owners[at] == self.owners[other]  # what is decided quickly comes first
            and bool(self.moments[at] != self.moments[other])
            and self.stated[at]
            and self.stated[other]
            and not self._is_other_number(at, other)
        )

    def _is_other_number(self, at: int, other: int) -> bool:
        """Does each begin with another one of several numbered things? (“Oven 2 …”, “Oven 3 …”)"""
        for each in (at, other):
            if each not in self._numbered:
                self._numbered[each] = numbered_thing(self.texts[each])
        first, second = self._numbered[at], self._numbered[other]
        return first is not None and second is not None and first[0] == second[0] and first[1] != second[1]

    def conflict(self, newer: int, older: int) -> ConflictRule | None:
        """The rule by which two statements may conflict; stricter than ``difference``: no query says what is meant."""
        if self.corrects(newer, older):
            return "correction"
        if not self._comparable(newer, older) or (near := self.nearness[newer, older]) < self.near:
            return None
        if self._states_home(newer) != self._states_home(older):
            return None
        (values, names, content), (old_values, old_names, old_content) = self._parts(newer), self._parts(older)
        common = len((content & old_content) - values - old_values - DAY_WORDS)
        other_value = bool(value_kinds(values - old_values) & value_kinds(old_values))
        changed = tells_change(self.texts[newer])
        other_name = values.isdisjoint(old_values) and names - old_names and old_names - names
        if changed and common and near >= (0.35 if common > 1 else 0.4) and (other_value or other_name):
            return "change"
        if near >= 0.6 and values == old_values and self._other_word(newer, older):
            return "change"
        restated = values.isdisjoint(old_values) or old_values <= values  # nothing but the old value in common
        if common > 1 and near >= 0.6 and other_value and restated:
            return "value"
        opinions = is_opinion(self.texts[newer]) and is_opinion(self.texts[older])
        opposite = is_negative(self.texts[newer]) != is_negative(self.texts[older])
        same = not self.other_subject(newer, older)
        return "polarity" if common and near >= 0.5 and opinions and opposite and same else None

    def conflicts(self) -> Iterator[tuple[int, int, ConflictRule]]:
        """The pairs among these that may conflict: the older, the newer, and the rule."""
        for one, other in combinations(range(len(self.texts)), 2):
            older, newer = (one, other) if self.moments[one] <= self.moments[other] else (other, one)
            rule = self.conflict(newer, older)
            if rule is not None:
                yield older, newer, rule

    def other_subject(self, at: int, other: int) -> bool:
        """Does each begin with a name or noun that the other does not have? (“Tom likes …”, “Priya likes …”)"""
        first, other_first = ([*words(self.texts[each])[:1], ""][0] for each in (at, other))
        return (
            first not in STOP
            and other_first not in STOP
            and first not in words(self.texts[other])
            and other_first not in words(self.texts[at])
        )

    def _states_home(self, at: int) -> bool:
        """Does it tell where somebody lives?"""
        if at not in self._homes:
            self._homes[at] = find_residence(self.texts[at]) is not None
        return self._homes[at]

    def _parts(self, at: int) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """The values, the names and the content words of a text."""
        if at not in self._values:
            text = self.texts[at]
            content = frozenset(stem(word) for word in words(text) if len(word) > 1 and word not in STOP)
            names = frozenset(name.casefold() for name in find_names(text))
            self._values[at] = find_values(text), names, content
        return self._values[at]

    def corrects(self, at: int, other: int) -> bool:
        """Does it correct the other, shortly after it in the same session?"""
        return (
            self.owners[at] == self.owners[other]
            and self.sessions[at] == self.sessions[other] != ""
            and 0 < self.moments[at] - self.moments[other] <= self.correction_minutes * MINUTE
            and self.stated[at]
            and is_correction(self.texts[at])
            and "number" in value_kinds(self._parts(other)[0])
        )


def _comparable_kinds(values: frozenset[str]) -> frozenset[str]:
    """The kinds of values, where a number is one kind whether in digits or as a word: a day is no newer amount."""
    return frozenset("number" if kind == "word" else kind for kind in value_kinds(values))


def nearness(vectors: NDArray[np.float32], median: float | None = None) -> NDArray[np.float64]:
    """By pair: (cosine − median) ÷ (1 − median); −1 where one has no vector. The median is that of these, or given."""
    count = len(vectors)
    if not vectors.size:
        return np.full((count, count), -1.0)
    cosines = pairwise_products(vectors).astype(np.float64)
    if median is None:
        median = median_cosine(cosines)
    near = (cosines - median) / (1 - median)
    return np.where(np.isnan(near), -1.0, near)


def usual_cosine(snapshot: Snapshot, rows: Rows) -> float | None:
    """The usual cosine of two of these memories, from a sample (it differs by language); None without vectors."""
    vectors = snapshot.vectors(rows[:: max(1, len(rows) // SAMPLE)])
    return median_cosine(pairwise_products(vectors).astype(np.float64)) if vectors.size else None


@lru_cache(maxsize=4)  # most recalls compare the same number of hits
def _pairs(count: int) -> NDArray[np.int64]:
    """The places of all pairs in a flat square."""
    return np.flatnonzero(np.triu(np.ones((count, count), dtype=np.bool_), 1))


def median_cosine(cosines: NDArray[np.float64]) -> float:
    """The median of a square of cosines without its diagonal; at most .95, so that equal texts do not hide others.

    A few memories do not show what is usual: there it is at most FEW_MEDIAN.
    """
    known = cosines.ravel()[_pairs(len(cosines))]
    known = known[~np.isnan(known)]
    highest = 0.95 if len(known) >= FEW_PAIRS else FEW_MEDIAN
    if not len(known):
        return 0.0
    middle = (len(known) - 1) // 2, len(known) // 2  # np.median gives the same, but loads masked arrays (8 ms)
    return min(float(np.partition(known, middle)[[*middle]].mean()), highest)
