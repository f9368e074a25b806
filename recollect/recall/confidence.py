"""The confidence of a recall: how likely the first results are about the query."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from recollect.recall.answer_evidence import WordMatch, missing_value
from recollect.recall.bm25 import Bm25Query, TermScores, statistics
from recollect.recall.cues.tokens import TokensCue
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import cosines
from recollect.recall.times import format_span
from recollect.recall.trace import WHY_LOW
from recollect.store.base import Rows, Term
from recollect.text.asked_value import AskedValue, asked_value
from recollect.text.classify import count_statements
from recollect.text.entity_names import CAPITALISED_NOUNS, MAX_NAME_CHARACTERS, find_names
from recollect.text.patterns import lazy_pattern
from recollect.text.trigrams import edit_distance, word_trigrams
from recollect.text.words import is_spaceless, mostly_spaceless, stems, words

ALIKE = 0.8  # token similarity from which on a word counts as found
UNLIKE = 0.45  # token similarity below which nothing resembles a word
COMMON_TRIGRAMS, LONG_WORD = 0.4, 6  # the share of 3-grams, and the letters of a word in which two edits are a typo
MAX_FOUND, MAX_MISSING, MAX_STATEMENTS = 4, 5, 3
SOME_WORDS = 0.3  # of the query, weighted by idf
MIN_SIZE, MAX_SIZE = 10, 1000  # memories
MIN_LENGTH, MAX_LENGTH = 100, 3000  # characters of a hit
MAX_SPELLINGS = 12  # words that are compared by their spelling; the trigrams cue looks up no more
CANNOT_TELL = 0.5
MIN_CONSONANTS = 3  # of a name that is recognised in another spelling
VOWELS = lazy_pattern("[aeiouyäöüáéíóúàèìòùâêîôû]")
WEEKDAY = lazy_pattern(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:mon|diens|donners|frei|sams|sonn)tags?\b|\bmittwochs?\b"
    r"|(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]",
    re.IGNORECASE,
)


# What speaks for and against the first hits, and how much: see ``Confidence``.
WITH_VECTORS: Mapping[str, float] = {
    "cosine": 5.6,  # the highest of the first hits
    "resemblance": 7.5,  # the share of the query's words that resemble words of one of the first hits
    "found": 0.92,  # words of the query that a first hit has, in any form or meaning
    "missing": -0.11,  # words of the query that no memory has in any form, and that nothing in the first hits resembles
    "unknown name": -1.45,  # 1 if one of the words that no memory has is a name
    "in time": 1.9,  # 1 if a first hit is of the time that the query names, ½ where that is only a weekday
    "statements": 1.0,  # sentences of a message after the first
    "size": -0.92,  # ln of the number of memories that were searched
    "length": -1.2,  # ln of the characters of a first hit: in a long text, something resembles any query
    # From 0 to 1: the subject is known, and nothing that is about it has what is asked for (``missing_value``).
    "no amount": -12.0,  # of money, or of years where an age is asked for
    "no attribute": -5.9,  # “the registration number of the van”
    "no fact": -9.0,  # “where does Priya work?”
    "no choice": -4.1,  # “which hotel”: a memory with the answer may have its name alone
    "bias": 4.5,
}
WORDS_ALONE: Mapping[str, float] = {
    "covered": 2.4,  # the share of the query's words, weighted by idf, that one of the first hits has
    "missing": -0.85,
    "in time": 0.9,
    "statements": 0.1,
    "no amount": -6.0,
    "no attribute": -3.5,
    "no fact": -5.0,
    "no choice": -1.8,
    "bias": 0.65,
}
# In Chinese and Japanese, where words are not separated and most terms are pairs of characters.
PAIRS_WITH_VECTORS: Mapping[str, float] = {
    "cosine": 8.7,
    "resemblance": 3.6,
    "words": -0.67,  # ln of the number of words of the query: a long one resembles more by chance
    "no amount": -8.5,
    "no attribute": -5.5,
    "bias": -3.0,
}
PAIRS_ALONE: Mapping[str, float] = {
    "share": 15.0,  # of the query's words that a first hit has: idf tells little about a pair of characters
    "in time": 1.9,
    "statements": 0.12,
    "no amount": -9.0,
    "no attribute": -6.0,
    "bias": -2.4,
}


@dataclass(frozen=True, slots=True)
class Confidence:
    """1 ÷ (1 + e^−x), where x is the sum of the evidence, each × its coefficient, and a bias; the trace shows it.

    Where the query has no vector, or one that means little, the words decide alone, with coefficients of their own.
    A query that is only a time has confidence 1 if anything is found, as what is of that time is what was asked for.
    When the embedder can read the query but none of the first hits, or they are in different scripts (a question in
    English, memories in Chinese), they cannot be compared well, and it is one half.

    A word is found in any of its forms: its stem, a part of a compound, a similar spelling, a similar meaning (token
    similarity), and, for a follow-up, the words of its subject. In a small collection less evidence is needed, as it is
    likely to be about what is asked, and in long memories more, as something in them resembles any query; of a message
    of several sentences only some words can be expected.

    The coefficients were chosen with ``bench/confidence_fit.py``: that many questions without an answer are recognised,
    while at least 95% of the answerable questions of a set stay above the threshold. So the threshold is where
    withholding an answer is rarely wrong, not where both errors are equally frequent. They were checked on other
    questions of the same sets. Questions about something else are recognised well. Of those about something known, the
    ones that name what is missing are: a price, an age, a phone number. docs/quality.md has the figures.

    Below the threshold, the trace gives the reason in words: ``no memory about this has an age``.
    """

    with_vectors: Mapping[str, float] = field(default_factory=lambda: WITH_VECTORS)
    pairs_with_vectors: Mapping[str, float] = field(default_factory=lambda: PAIRS_WITH_VECTORS)
    words_alone: Mapping[str, float] = field(default_factory=lambda: WORDS_ALONE)
    pairs_alone: Mapping[str, float] = field(default_factory=lambda: PAIRS_ALONE)
    first: int = 5  # hits that are judged
    threshold: float = 0.2
    tokens: TokensCue = TokensCue()  # by which words are compared, where the embedder has token vectors

    def of(self, run: Run, keys: Rows) -> float:
        """Between 0 and 1; 0 when nothing was found."""
        rows = keys[keys > 0][: self.first]
        if not len(rows):
            times = " or ".join(map(format_span, run.query.times)) if run.query.only_time else ""
            run.log(WHY_LOW, f"nothing is known of {times}" if times else "nothing was found")
            return 0.0
        if run.query.only_time:
            return 1.0
        cosine = self._cosine(run, rows)
        texts = run.texts(rows)
        if cosine is not None and (why := _incomparable(run, texts)):
            run.log("cannot tell", why)
            return CANNOT_TELL
        matches = QueryWords.of(run, rows)
        by_hit = self._word_similarity(run, rows)
        similarity = {word: float(np.fmax.reduce(values)) for word, values in by_hit.items()}
        alike = {word for word, value in similarity.items() if value >= ALIKE}
        found = alike | (matches.found - similarity.keys())  # where it is known, the similarity tells more
        unknown = _without_known_names(run, rows, [word for word in matches.unknown if word not in alike])
        asked = None if run.query.subject else asked_value(run.query.text, run.query.language)
        by_form = asked.words if asked is not None and asked.is_figure else ()  # an answer need not have these words
        missing = [word for word in unknown if similarity.get(word, 0.0) < UNLIKE and word not in by_form]
        whole = matches.whole(by_hit)
        run.log("words missing", ", ".join(missing[:MAX_MISSING]) or "none")
        evidence: dict[str, float] = {} if cosine is None else {"cosine": cosine}
        evidence |= {
            "covered": matches.covered(),
            "share": matches.share(),
            "resemblance": _resemblance(whole),
            "words": math.log(1 + len(whole)),
            "found": min(len(found), MAX_FOUND),
            "missing": min(len(missing), MAX_MISSING),
            "unknown name": _has_name(run, unknown),
            "in time": _in_time(run, rows, whole),
            **_missing_value(run, rows, whole, asked),
            "statements": min(max(count_statements(run.query.text) - 1, 0), MAX_STATEMENTS),
            "size": math.log(min(max(run.scope.count, MIN_SIZE), MAX_SIZE)),
            "length": _length(texts),
        }
        coefficients = self._coefficients(run, cosine)
        x = coefficients["bias"]
        for name, value in evidence.items():
            run.log(name, round(value, 4) if isinstance(value, float) else value)
            x += coefficients.get(name, 0.0) * value
        confidence = _logistic(x)
        if confidence < self.threshold:
            run.log(WHY_LOW, _why_low(missing, asked, evidence))
        return confidence

    def _coefficients(self, run: Run, cosine: float | None) -> Mapping[str, float]:
        if mostly_spaceless(run.query.text):
            return self.pairs_alone if cosine is None else self.pairs_with_vectors
        return self.words_alone if cosine is None else self.with_vectors

    def _cosine(self, run: Run, rows: Rows) -> float | None:
        if "vectors" not in run.found or not len(run.found["vectors"].keys) or not run.embedder_reads_query():
            return None
        try:
            similarity = cosines(run.snapshot, run.vector(), rows)
        except Skip:
            return None
        known = similarity[~np.isnan(similarity)]
        return float(known.max()) if len(known) else None

    def _word_similarity(self, run: Run, rows: Rows) -> dict[str, NDArray[np.float64]]:
        """By content word of the query: its token similarity to each of the first hits; empty without token vectors."""
        if "tokens" not in run.found or not len(run.found["tokens"].keys):
            return {}
        language = run.query.language
        forms = {form: term.word for term in run.query.terms for form in stems(term.word, language)}
        highest: dict[str, NDArray[np.float64]] = {}
        for word, similarity in self.tokens.word_similarity(run, rows):
            term = next((forms[form] for form in stems(word, language) if form in forms), None)
            value = similarity[:, 0] if similarity.shape[1] == 1 else similarity.mean(axis=1)
            if term is not None and not np.isnan(value).all():
                highest[term] = np.fmax(highest.get(term, 0.0), value)
        return highest


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query, and which of them the first hits have."""

    terms: Sequence[TermScores]  # those that are words of the query itself
    subject: Sequence[TermScores]  # of a follow-up
    by_hit: dict[str, NDArray[np.bool_]]  # by word: which of the first hits have it in any form
    unknown: list[str]  # whole words that no memory in scope has in any form
    whole_words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, run: Run, rows: Rows) -> QueryWords:
        if not run.query.terms:
            return cls((), (), {}, [])
        matches = statistics(run.snapshot, run.scope, Bm25Query(run.query.terms, ALL_FIELDS)).terms
        having = run.snapshot.term_frequencies(run.query.terms, ALL_FIELDS, rows) > 0
        by_hit: dict[str, NDArray[np.bool_]] = {}
        occurs = set[str]()
        for match, has in zip(matches, having, strict=True):
            word = match.term.part_of or match.term.word
            by_hit[word] = by_hit[word] | has if word in by_hit else has
            if match.occurs:
                occurs.add(word)
        main = [match for match in matches if match.term.match != "compound" and not match.term.part_of]
        subject = {term.word for term in run.query.subject}.difference(run.query.words)
        own = [match for match in main if match.term.word not in subject]
        whole = frozenset(words(run.query.text, whole=True))  # without the bigrams by which Chinese is looked up
        absent = [
            word
            for match in own
            # Where words are not separated, what is a word is a guess.
            if (word := match.term.word) not in occurs and word in whole and not is_spaceless(word)
        ]
        similar = _similar_spellings(run, absent, rows)
        by_hit |= similar
        unknown = [word for word in absent if word not in similar]
        return cls(own, [match for match in main if match.term.word in subject], by_hit, unknown, whole)

    @property
    def found(self) -> set[str]:
        return {word for word, hits in self.by_hit.items() if hits.any()}

    def whole(self, similarity: Mapping[str, NDArray[np.float64]]) -> list[WordMatch]:
        """The query's own words, without the pairs of characters by which Chinese is looked up."""
        return [
            WordMatch(word, match.idf, self.by_hit[word], similarity.get(word))
            for match in self.terms
            if (word := match.term.word) in self.whole_words or not is_spaceless(word)
        ]

    def covered(self) -> float:
        """The highest share of the words, weighted by idf, that one hit has; for a follow-up also of its subject."""
        return max(self._share(self.terms), self._share(self.subject))

    def share(self) -> float:
        """The share of the words that any of the hits has; for a follow-up also of its subject."""
        return max(
            sum(bool(self.by_hit[match.term.word].any()) for match in terms) / max(len(terms), 1)
            for terms in (self.terms, self.subject)
        )

    def _share(self, terms: Sequence[TermScores]) -> float:
        idf = sum(match.idf for match in terms)
        if not idf:
            return 0.0
        return float(np.max(sum(match.idf * self.by_hit[match.term.word] for match in terms)) / idf)


def _similar_spellings(run: Run, absent: Sequence[str], rows: Rows) -> dict[str, NDArray[np.bool_]]:
    """By word that no memory has: which hits have a word of similar spelling that the trigrams cue found."""
    found = run.found.get("trigrams")
    if found is None or not len(found.keys) or not absent:
        return {}
    variants = list(found.detail.get("instead", ()))
    terms = tuple(Term(variant, language=run.query.language) for variant in variants)
    has = run.snapshot.term_frequencies(terms, ALL_FIELDS, rows) > 0
    similar: dict[str, NDArray[np.bool_]] = {}
    for word in absent[:MAX_SPELLINGS]:
        alike = [at for at, variant in enumerate(variants) if _spelled_alike(word, variant)]
        if alike and has[alike].any():
            similar[word] = np.asarray(has[alike].any(axis=0))
    return similar


def _spelled_alike(word: str, other: str) -> bool:
    """One edit apart, two in longer words, or with many common 3-grams."""
    if edit_distance(word, other, 2) <= (2 if len(word) >= LONG_WORD else 1):
        return True
    own, others = word_trigrams(word), word_trigrams(other)
    return len(own & others) >= COMMON_TRIGRAMS * len(own | others)


def _without_known_names(run: Run, rows: Rows, unknown: list[str]) -> list[str]:
    """Those that are not another spelling of a speaker's name, or of a name in the first hits (Muhammad, Mohamed)."""
    if not unknown:
        return []
    speakers = {part for speaker in run.snapshot.strings("speaker", rows) for part in words(speaker)}
    texts = (text[:MAX_NAME_CHARACTERS] for text in run.texts(rows))
    names = speakers | {part for text in texts for name in find_names(text) for part in words(name)}
    consonants = {each for name in names if len(each := _consonants(name)) >= MIN_CONSONANTS}
    return [
        word
        for word in unknown
        if _consonants(word) not in consonants and not any(_spelled_alike(word, speaker) for speaker in speakers)
    ]


def _consonants(word: str) -> str:
    """What the spellings of a name in other alphabets have in common: “mhmd” for Muhammad and Mohamed."""
    return "".join(letter for letter, _ in groupby(VOWELS.sub("", word)))


def _has_name(run: Run, unknown: Sequence[str]) -> bool:
    if not unknown or run.query.language in CAPITALISED_NOUNS:
        return False
    named = {part for name in find_names(run.query.text[:MAX_NAME_CHARACTERS]) for part in words(name)}
    return not named.isdisjoint(unknown)


def _incomparable(run: Run, texts: Sequence[str]) -> str:
    """Why the first hits cannot be compared with the query, if so."""
    if not any(run.embedder_reads(text) for text in texts):
        return "the embedder was not trained on the script of the first results"
    if set(map(mostly_spaceless, texts)) == {not mostly_spaceless(run.query.text)}:
        return "the query and the first results are in different scripts"
    return ""


def _resemblance(matches: Sequence[WordMatch]) -> float:
    """The words of the query, weighted by idf, each × its similarity to the nearest word of the hit that resembles it
    most: 1 if a hit has all of them."""
    idf = sum(match.idf for match in matches)
    if not idf:
        return 0.0
    return float(np.max(sum(match.idf * match.highest() for match in matches)) / idf)


def _length(texts: Sequence[str]) -> float:
    return math.log(max(sum(min(len(text), MAX_LENGTH) for text in texts) / len(texts), MIN_LENGTH))


def _in_time(run: Run, rows: Rows, matches: Sequence[WordMatch]) -> float:
    """1 if a first hit is of the time that the query names; ½ if that is a weekday and the hit has few of the words:
    something happens on every Tuesday, which says little about what is asked."""
    found = run.found.get("time")
    of_that_time = np.isin(rows, [] if found is None or not run.query.times else found.keys)
    if not of_that_time.any():
        return 0.0
    if not WEEKDAY.search(run.trace.query[:MAX_NAME_CHARACTERS]):
        return 1.0
    idf = sum(match.idf for match in matches)
    share = sum((match.idf * match.strength() for match in matches), np.zeros(len(rows)))
    return 1.0 if share[of_that_time].max() >= SOME_WORDS * idf else 0.5


def _missing_value(run: Run, rows: Rows, matches: Sequence[WordMatch], asked: AskedValue | None) -> dict[str, float]:
    """By the kind of value that the query asks for, as one of its words: how much speaks against a hit that has it."""
    missing = dict.fromkeys(("no amount", "no attribute", "no choice", "no fact"), 0.0)
    if asked is not None and matches:
        kind = "amount" if asked.is_figure else asked.kind
        missing[f"no {kind}"] = missing_value(
            asked, matches, run.texts(rows), run.snapshot.strings("speaker", rows), run.query.language
        )
    return missing


def _why_low(missing: Sequence[str], asked: AskedValue | None, evidence: Mapping[str, float]) -> str:
    """What speaks most against the first hits, in words."""
    reasons = []
    if asked is not None and any(evidence[f"no {kind}"] for kind in ("amount", "attribute", "choice", "fact")):
        words_of_value = " or ".join(f"“{word}”" for word in sorted(asked.words))
        value = {"amount": "an amount of money", "age": "an age"}.get(asked.kind, f"anything like {words_of_value}")
        reasons.append(f"no memory about this has {value}")
    if missing:
        reasons.append("no memory has " + " or ".join(f"“{word}”" for word in missing[:MAX_MISSING]))
    return "; ".join(reasons) or "no memory is similar enough to the query"


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
