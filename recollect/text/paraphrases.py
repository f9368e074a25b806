"""Do two texts say the same in other words? By rules for English, which never take another value for the same.

Two texts are compared word by word after rewriting what has one meaning: articles and copulas go, "about two hours" and
"roughly 2 h" become ≈ 2 hour, "doesn't" becomes "not", "less than 8" and "below 8" become < 8, and words of one group
of ``SYNONYMS`` count as one. Every other word must be the same, in the same order, but for a phrase that moves from
the end to the beginning ("when the floor is wet"). A model has no say: it gives "two hours" and "three hours" a cosine
of 0.97, and "husband" and "wife" one as high as "car" and "automobile".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recollect.text.languages import detect_language
from recollect.text.words import stem

MAX_CHARACTERS = 2_000  # of texts that are compared by these rules; longer ones must be equal in their words
TOKEN = re.compile(  # a sign may follow a Chinese or Korean word
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+|(?P<sign>(?<![^\W⺀-鿿가-힣])(?<![.,])[-−](?=\d)|(?<=\d)[-–](?=\d))|[^\w\s]"
)
MARKS = frozenset("#%&@*/\\?")  # punctuation that has a meaning: C#, 50 %, "It is open?"
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
MILLI_OR_MEGA = re.compile(r"[mM][A-Z][a-z]?")  # mW is not MW
SENTENCE_END = re.compile(r"[.!?;。！？；]\s*\S|\n")  # with something after it
INTRODUCTION = re.compile(r"^\W*(?:please\s+)?(?:note|remember|keep in mind|be aware)\s+that\s+", re.IGNORECASE)
POSSESSIVE = re.compile(r"\b([^\W\d_]+)'s\s+([^\W\d_]+)")
IS_NOT_OWNER = "it|that|there|he|she|what|here|who|how|where|this"
CONTRACTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (rf"\b({IS_NOT_OWNER})'s\b", r"\1 is"),
        (r"'re\b", " are"),
        (r"\b(i)'m\b", r"\1 am"),
        (r"'ll\b", " will"),
        (r"'ve\b", " have"),
    )
)


def _numbers() -> dict[str, int]:
    small = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    return {word: n for n, word in enumerate(small)} | {word: 10 * n for n, word in enumerate(tens, 2)}


NUMBERS = _numbers()
UNITS = {  # after a number; the first is what the others become
    name: names.split()[0]
    for names in (
        *("mm millimetre millimetres millimeter millimeters", "cm centimetre centimetres centimeter centimeters"),
        *("metre metres meter meters", "km kilometre kilometres kilometer kilometers"),
        *("kg kilogram kilograms kilogramme kilogrammes kilo kilos", "g gram grams gramme grammes"),
        *("second seconds sec secs", "ms millisecond milliseconds", "minute minutes min mins", "hour hours hr hrs"),
        *("day days", "week weeks", "month months", "year years yr yrs"),
        *("n newton newtons", "% percent", "litre litres liter liters", "ml millilitre millilitres milliliter"),
    )
    for name in names.split()
}
Phrases = Mapping[tuple[str, ...], tuple[str, ...]]


def _phrases(table: Mapping[str, str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {
        tuple(phrase.split()): tuple(meaning.split())
        for phrases, meaning in table.items()
        for phrase in phrases.split("|")
    }


WHERE, PLACES = ("located", "situated", "kept", "stored"), ("in", "on", "at", "under", "near", "behind")
PHRASES: Phrases = _phrases(
    {
        "a|an|the|please|is|are|am|be|being|do": "",  # "do": only before "not", see _rewrite
        **{f"{be} {where} {place}": place for be in ("is", "are") for where in WHERE for place in PLACES},
        "has to|have to": "must",
        "needs to|need to|requires to|require to": "need",
        "would like": "want",
        "in order to": "to",
        "each": "every",
        "daily": "every day",
        "hourly": "every hour",
        "nightly": "every night",
        "weekly": "every week",
        "monthly": "every month",
        "yearly|annually": "every year",
        "really|extremely|highly": "very",
    }
)
BEFORE_NUMBERS: Phrases = _phrases(
    {
        "about|roughly|approximately|approx|around|circa|ca": "≈",
        "less than|fewer than|lower than|smaller than|below|at less than|at below": "<",
        "more than|greater than|higher than|larger than|above|at more than|at above": ">",
        "at least|no less than|not less than|a minimum of": "≥",
        "at most|no more than|not more than|up to|a maximum of": "≤",
        "for": "",
        "for about|for roughly|for approximately|for around": "≈",
    }
)
LONGEST_PHRASE = 3
# Words of general English that can replace one another; none that is the opposite, a part or a kind of another.
SYNONYMS = {
    stem(word): group.split()[0]
    for group in """
    need require; big large; fast quick rapid; start begin; buy purchase; fix repair; often frequently; rarely seldom;
    grip grasp; raise lift; rotate turn; want wish; choose select; show display; happen occur; help assist; use utilise
    utilize employ; enough sufficient; maybe perhaps; nearly almost; incorrect wrong; stop halt; difficult hard; reply
    answer; couch sofa; film movie; car automobile; phone telephone; kid child; corridor hallway; trash garbage rubbish;
    photo photograph; bicycle bike; fridge refrigerator; aeroplane airplane plane; prohibited forbidden; colour
    color; grey gray; centre center; favourite favorite; behaviour behavior; stuck jammed;
    shatter break; error mistake; careful cautious
    """.replace("\n", " ").split(";")
    for word in group.split()
}
CONNECTORS = frozenset(
    """
    when whenever if while after before because since although unless until once during in on at by with without for
    from to under over near behind every between through
    """.split()
)
NOUN_OF_ACTION = ("ion", "ment", "ance", "ence")


@dataclass(frozen=True, slots=True)
class ComparedWord:
    """A word as it is compared. A capitalised one may be a name: Martin is not Martins."""

    text: str
    capital: bool = False

    def equals(self, other: ComparedWord) -> bool:
        if self.text == other.text:
            return True
        own_stem, other_stem = stem(self.text), stem(other.text)
        if own_stem in SYNONYMS and SYNONYMS[own_stem] == SYNONYMS.get(other_stem):
            return _same_tense(self.text, other.text)
        return own_stem == other_stem and not (self.capital or other.capital) and _same_tense(self.text, other.text)


def _same_tense(a: str, b: str) -> bool:
    """Restarted is not restarts, but calibrated and calibration may say the same."""
    past = [word.endswith("ed") and stem(word) != word for word in (a, b)]  # not "need"
    return past[0] == past[1] or (b if past[0] else a).endswith(NOUN_OF_ACTION)


class Paraphrase:
    """A text as it is compared with others."""

    def __init__(self, text: str) -> None:
        self.short = len(text) <= MAX_CHARACTERS
        text = unicodedata.normalize("NFKC", text)
        self.text = " ".join(text.split())
        self.plain = [word.text for word in _tokens(text)]
        self.sentences = len(SENTENCE_END.findall(text.strip())) + 1
        # The rules are English ones: its stems would take "schon" for "schön".
        english = all(each.isascii() for each in text if each.isalpha()) and detect_language(text) == "en"
        self.words = _rewrite(text) if self.short and english else []

    def sameness_reason(self, other: Paraphrase) -> str:
        """How this text is recognised as the other in other words; empty if it is not."""
        if self.plain == other.plain:
            return "the same words" if self.plain or self.text == other.text else ""
        if not self.words or len(self.words) != len(other.words):
            return ""
        if _all_equal(self.words, other.words):
            return self._difference(other)
        if self.sentences == other.sentences == 1 and (
            _moved(self.words, other.words) or _moved(other.words, self.words)
        ):
            return "the same words, a phrase moved"
        return ""

    def _difference(self, other: Paraphrase) -> str:
        own_words, other_words = set(self.plain), set(other.plain)
        here, there = (" ".join(w for w in a.plain if w not in b) for a, b in ((self, other_words), (other, own_words)))
        return f"the same words, but for {here!r} and {there!r}" if here or there else "the same words"


def _all_equal(a: Sequence[ComparedWord], b: Sequence[ComparedWord]) -> bool:
    return all(one.equals(other) for one, other in zip(a, b, strict=True))


def _moved(a: Sequence[ComparedWord], b: Sequence[ComparedWord]) -> bool:
    """Does the second text begin with a phrase that ends the first: "when it is wet"?"""
    starts = (at for at, word in enumerate(a) if at and word.text in CONNECTORS and word.equals(b[0]))
    return any(_all_equal([*a[at:], *a[:at]], b) for at in starts)


def _tokens(text: str) -> Iterator[ComparedWord]:
    after_number = False
    for found in TOKEN.finditer(text):
        token = found.group()
        if token[0].isdigit():
            yield ComparedWord(token.replace(",", "") if THOUSANDS.fullmatch(token) else token)
        elif token[0].isalpha():
            exact = after_number and MILLI_OR_MEGA.fullmatch(token)
            yield ComparedWord(token if exact else token.lower(), token[0].isupper())
        elif found.lastgroup == "sign":
            yield ComparedWord("-")
        elif token in MARKS or unicodedata.category(token).startswith("S"):
            yield ComparedWord(token)
        after_number = token[0].isdigit()


def _rewrite(text: str) -> list[ComparedWord]:
    """The words of a text with one form for each meaning."""
    text = INTRODUCTION.sub("", text.replace("’", "'"))
    for pattern, replacement in CONTRACTIONS:
        text = pattern.sub(replacement, text)
    words = list(_with_numbers([*_tokens(POSSESSIVE.sub(r"\2 of \1", text))]))
    done: list[ComparedWord] = []
    at = 0
    while at < len(words):
        length, meaning = _phrase_at(words, at)
        done += [ComparedWord(each) for each in meaning] if length else [words[at]]
        at += length or 1
    return done


def _phrase_at(words: Sequence[ComparedWord], at: int) -> tuple[int, tuple[str, ...]]:
    """The length of the longest known phrase that begins here, 0 if there is none, and what it becomes."""
    for length in range(LONGEST_PHRASE, 0, -1):
        phrase = tuple(word.text for word in words[at : at + length])
        following = words[at + length].text if at + length < len(words) else ""
        if phrase in BEFORE_NUMBERS and following[:1].isdigit():
            return length, BEFORE_NUMBERS[phrase]
        if phrase in (("do",), ("does",)):
            return (1, ()) if following == "not" else (0, ())
        if phrase in PHRASES:
            return length, PHRASES[phrase]
    return 0, ()


def _with_numbers(words: Sequence[ComparedWord]) -> Iterator[ComparedWord]:
    """Number words as digits (twenty-five: 25), and units after numbers in one form."""
    at = 0
    while at < len(words):
        word = words[at]
        number = NUMBERS.get(word.text)
        if number is not None:
            unit = NUMBERS.get(words[at + 1].text, 0) if at + 1 < len(words) else 0
            if number >= 20 and 0 < unit < 10:
                number, at = number + unit, at + 1
            word = ComparedWord(str(number))
        yield word
        at += 1
        if word.text[0].isdigit() and at < len(words) and words[at].text in UNITS:
            yield ComparedWord(UNITS[words[at].text])
            at += 1
