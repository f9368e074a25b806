"""What a language must provide to be read: rules for times, and the words around them that change them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from recollect.text.times.days import Time

# How much must stand around a time before it is one: nothing, a preposition, or a word such as “last” or “the end of”.
STRONG, PREPOSITION, MODIFIER = 0, 1, 2
STEM = 4  # characters of a word by which rules are chosen
DIGITS = "0"  # stands for a date or year in digits among the stems
NEVER = r"(?!)"
SHORT_DOT = r"\b(?:(?<=\b\w{3})(?<!may)(?<!mai)\.|(?<=\bsept)\.)?"  # “Jan.”: the dot belongs to the word


@dataclass(frozen=True, slots=True)
class Scene:
    """The text and the day of which a time is read."""

    text: str
    now: datetime
    today: int  # the ordinal of the local day
    told: bool = False
    ahead: bool = False  # a question about what is to come

    def left(self, at: int, width: int = 48) -> str:
        return self.text[max(0, at - width) : at]

    def right(self, at: int, width: int = 32) -> str:
        return self.text[at : at + width]


@dataclass(slots=True)
class Found:
    """A time in a text, while the words around it are being read."""

    begin: int
    end: int
    time: Time
    need: int = STRONG
    relation: str = ""  # since, starting, before, after, until, from, between or range
    last_day: Time | None = None  # of a range
    at_end: bool = False  # “the end of”: what is before it includes it
    holiday: str = ""  # its name, without “last”
    between: bool = False  # a range that something happened in: “between 3 and 9 June”


Reader = Callable[[re.Match[str], Scene], Time | tuple[Time, int] | Found | None]
Change = Callable[[re.Match[str], Time, Scene], Time | None]


@dataclass(frozen=True, slots=True)
class TimeRule:
    """A pattern and how its match is read. It is tried only in texts with one of the stems, if there are any."""

    stems: frozenset[str]
    pattern: str
    read: Reader


@dataclass(frozen=True, slots=True)
class Modifier:
    """A pattern beside a time, and how it changes the time."""

    pattern: str
    change: Change


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """The rules and patterns of one language. Patterns for ``before`` end, those for ``after`` begin, at a time."""

    rules: Sequence[TimeRule]
    modifiers_before: Sequence[Modifier]
    modifiers_after: Sequence[Modifier]
    at_end: str  # in a modifier that names the end of a time
    refused_before: str  # “every Monday” is no time
    prepositions: str
    relations_before: str
    relations_after: str
    relations: dict[str, str]  # the words of a relation → its name
    join: str  # between a time and the longer one that contains it
    link: str  # between the two ends of a range; group “and” needs a “between”, group “open” a “from”
    day_part: str  # after a day: it stays the whole day
    past: str  # words that tell of the past, of the future, and of what happens again and again
    future: str
    planned_for: str  # before a time that is planned: “booked for”
    habit: str
    agreed: str = NEVER  # in the past for a time to come: “promised to call”
    arranged: str = NEVER  # before it takes place: “registered for”; the time may be that of either
    looks_back: str = NEVER  # at something that was, without a verb: “lovely evening on Saturday”
    notes_are_plans: bool = True  # “dinner on Saturday” is to come; not where a verb has no tenses
    past_after: str = ""  # of the past after a time, if not the same
    between_after: str = NEVER  # after a range, where a language says “between” there
    verb_final: bool = False  # a participle after the time says more than the verb before it,
    to_be_done: str = NEVER  # unless this does: “wird geliefert”
    have: str = NEVER  # of what is to come unless a participle follows: “habe am Freitag eine Prüfung”
    participle: str = NEVER


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: all patterns together would take a tenth of a second."""
    return re.compile(pattern, re.IGNORECASE)


@cache
def compiled_for_lower_case(pattern: str) -> re.Pattern[str]:
    """Finds in a lower-cased ASCII text what ``compiled`` finds in the text, in half of the time."""
    return re.compile(_UPPER_CASE.sub(lambda match: match["letter"].lower() if match["letter"] else match[0], pattern))


_UPPER_CASE = re.compile(
    r"\\.|\(\?P|(?P<letter>[A-Z])"
)  # \W and (?P<name>…) mean something else than \w and (?p<name>…)


def search(pattern: str, text: str) -> re.Match[str] | None:
    return compiled(pattern).search(text)


def rules_for(grammar: Grammar, stems: Iterable[str]) -> list[TimeRule]:
    """The rules that are tried in a text with these stems, in their order."""
    always, by_stem = _rules_by_stem(grammar)
    places = always.union(*(by_stem[stem] for stem in stems if stem in by_stem))
    return [grammar.rules[at] for at in sorted(places)]


@cache
def _rules_by_stem(grammar: Grammar) -> tuple[set[int], dict[str, set[int]]]:
    """The places of the rules that are always tried, and of the others by each of their stems."""
    always, by_stem = set[int](), dict[str, set[int]]()
    for at, rule in enumerate(grammar.rules):
        if not rule.stems:
            always.add(at)
        for stem in rule.stems:
            by_stem.setdefault(stem, set()).add(at)
    return always, by_stem


def stems_of(words: Iterable[str]) -> frozenset[str]:
    """What stands after an apostrophe chooses no rule: every “it's” has an s."""
    found = (re.findall(r"(?<!')[^\W\d_]+|0", phrase.lower()) for phrase in words)
    return frozenset(word[:STEM] for words in found for word in words)


def rule(words: str | Iterable[str], pattern: str, read: Reader) -> TimeRule:
    return TimeRule(stems_of(words.split() if isinstance(words, str) else words), pattern, read)


def alternatives(words: Iterable[str]) -> str:
    """The words as a pattern, the longest first."""
    return "|".join(sorted((re.escape(each).replace(r"\ ", r"\s+") for each in words), key=len, reverse=True))
