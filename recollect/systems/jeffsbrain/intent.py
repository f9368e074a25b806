"""Query intent: queries for advice favour preferences, queries for facts favour single events (J7–J10).

The patterns are those of Jeffs Brain, character for character, and are English only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from recollect.model import Memory
from recollect.recall.expressions import Expression, leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip

# re.ASCII for \b. White space beyond ASCII, which \s should match, is turned into tabs by ``normalise``.
_pattern = partial(re.compile, flags=re.IGNORECASE | re.ASCII)
BLANKS = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF], "\t")

PREFERENCE_QUERY_RE = _pattern(
    r"\b(?:recommend|suggest|recommendation|suggestion|tips?|advice|ideas?|what should i|which should i)\b"
)
ENUMERATION_OR_TOTAL_QUERY_RE = _pattern(r"\b(?:how many|count|total|in total|sum|add up|list|what are all)\b")
FIRST_PERSON_FACT_LOOKUP_RE = _pattern(r"\b(?:did i|have i|was i|were i)\b")
FACT_LOOKUP_VERB_RE = _pattern(
    r"\b(?:pick(?:ed)? up|bought|ordered|spent|earned|sold|drove|travelled|traveled|watched|visited|completed|finished|submitted|booked)\b"  # noqa: E501
)
PREFERENCE_NOTE_RE = _pattern(
    r"\b(?:prefer(?:s|red)?|like(?:s|d)?|love(?:s|d)?|want(?:s|ed)?|need(?:s|ed)?|avoid(?:s|ed)?|dislike(?:s|d)?|hate(?:s|d)?|enjoy(?:s|ed)?|interested in|looking for)\b"  # noqa: E501
)
GENERIC_NOTE_RE = _pattern(
    r"\b(?:tips?|advice|suggest(?:ion|ed)?s?|recommend(?:ation|ed)?s?|ideas?|options?|guide|tracking|tracker|checklist)\b"
)
ROLLUP_NOTE_RE = _pattern(
    r"\b(?:roll-?up|summary|recap|overview|aggregate|combined|overall|in total|totalled?|totalling)\b"
)
ATOMIC_EVENT_NOTE_RE = _pattern(
    r"\b(?:i|we)\s+(?:picked up|bought|ordered|spent|earned|sold|drove|travelled|traveled|went|watched|visited|completed|finished|started|booked|got|took|submitted)\b"  # noqa: E501
)
DATE_TAG_RE = _pattern(r"\[(?:date|observed on):")

Rule = tuple[float, str]  # a rule that applies: its factor and its name
GLOBAL = "memory/global/"


@dataclass(frozen=True, slots=True)
class IntentFactors:
    """The factors of all rules: of a query for advice (J8), and of one for facts (J9)."""

    user_preference: float = 2.35
    global_preference: float = 2.1
    generic_for_preference: float = 0.82
    rollup_for_preference: float = 0.9
    single_fact: float = 2.2
    rollup_for_fact: float = 0.45
    generic_for_fact: float = 0.75


FACTORS = IntentFactors()


@dataclass(frozen=True, slots=True)
class IntentText:
    """A memory as the patterns see it: its path, and path, title, summary and text joined, in lower case."""

    path: str
    text: str

    @classmethod
    def of(cls, memory: Memory) -> IntentText:
        joined = "\n".join((memory.path, memory.title, memory.summary, memory.text))
        return cls(memory.path.lower(), normalise(joined))


def normalise(text: str) -> str:
    return text.lower().translate(BLANKS)


def is_preference_query(query: str) -> bool:
    return bool(PREFERENCE_QUERY_RE.search(normalise(query)))


def is_concrete_fact_query(query: str) -> bool:
    text = normalise(query)
    personal = FIRST_PERSON_FACT_LOOKUP_RE.search(text) and FACT_LOOKUP_VERB_RE.search(text)
    return bool(ENUMERATION_OR_TOTAL_QUERY_RE.search(text) or personal)


def preference_rules(note: IntentText, factors: IntentFactors = FACTORS) -> list[Rule]:
    """J8: the rules that apply. The first two exclude each other."""
    rules: list[Rule] = []
    is_global = GLOBAL in note.path
    if is_global and "user-preference-" in note.path:
        rules.append((factors.user_preference, "a user's preference"))
    elif is_global and PREFERENCE_NOTE_RE.search(note.text):
        rules.append((factors.global_preference, "a global note of a preference"))
    if not is_global and GENERIC_NOTE_RE.search(note.text):
        rules.append((factors.generic_for_preference, "a generic note"))
    if ROLLUP_NOTE_RE.search(note.text):
        rules.append((factors.rollup_for_preference, "a roll-up"))
    return rules


def concrete_fact_rules(note: IntentText, factors: IntentFactors = FACTORS) -> list[Rule]:
    """J9: the rules that apply. The documented table wins over its prose: 0.75 needs the generic pattern."""
    rules: list[Rule] = []
    rollup = bool(ROLLUP_NOTE_RE.search(note.text))
    dated = DATE_TAG_RE.search(note.text) or ATOMIC_EVENT_NOTE_RE.search(note.text)
    concrete = "user-fact-" in note.path or "milestone-" in note.path or bool(not rollup and dated)
    if concrete:
        rules.append((factors.single_fact, "a single fact"))
    if rollup:
        rules.append((factors.rollup_for_fact, "a roll-up"))
    if not concrete and GLOBAL not in note.path and GENERIC_NOTE_RE.search(note.text):
        rules.append((factors.generic_for_fact, "a generic note"))
    return rules


INTENTS: tuple[tuple[str, Callable[[str], bool], Callable[[IntentText, IntentFactors], list[Rule]]], ...] = (
    ("preference", is_preference_query, preference_rules),
    ("concrete fact", is_concrete_fact_query, concrete_fact_rules),
)


@dataclass(frozen=True, slots=True)
class Intent:
    """× the factors of the rules of each intent of the query; ties keep their order (J10)."""

    factors: IntentFactors = FACTORS
    name: str = "intent"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        intents = [(name, rules) for name, detects, rules in INTENTS if detects(run.query.text)]
        if not intents:
            raise Skip("the query shows no intent")
        run.log("intents", [name for name, _ in intents])
        notes = [IntentText.of(memory) for memory in run.memories(hits.keys)]
        factors = [self._factor(name, [rules(note, self.factors) for note in notes]) for name, rules in intents]
        factor = factors[0] if len(factors) == 1 else product("both intents", *factors)
        return [Rescore(product("after intent", hits.score, factor))]

    def _factor(self, name: str, rules: list[list[Rule]]) -> Expression:
        values = np.array([np.prod([1.0, *(factor for factor, _ in applying)]) for applying in rules])

        def label(at: int) -> str:
            return f"{name}: " + (" × ".join(f"{factor:g} ({why})" for factor, why in rules[at]) or "nothing applies")

        return leaf(values, label)
