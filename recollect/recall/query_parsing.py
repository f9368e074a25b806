"""Query readers: they correct typos in a query and split it into the terms to look up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from recollect.embed import VocabularyEmbedder
from recollect.embed.base import knows_language
from recollect.protocols import supports
from recollect.recall.bm25 import frequencies
from recollect.store.base import Term
from recollect.store.text_fields import TEXT_FIELDS
from recollect.text.classify import asks_about_assistant, is_lookup, is_message
from recollect.text.polarity import INTOLERANCE_WORDS, asks_for_negative, asks_what_not_to_eat
from recollect.text.question_kinds import asks_for_all, strip_list_frame
from recollect.text.question_time import order_words
from recollect.text.stopwords import stop_words
from recollect.text.times import TimeSpan
from recollect.text.topics import related_words
from recollect.text.trigrams import edit_distance
from recollect.text.words import stems, visible, words

if TYPE_CHECKING:
    from recollect.recall.run import Run

MAX_WORDS = 1024  # that are looked up; questions have tens
WORD = re.compile(r"(?<!\w)[A-Za-z][a-z]+(?!\w)")  # no identifier, nor a part of one


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The text of a query, its words, the terms to look up, and what kind of question it is."""

    text: str
    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    left_out: int = 0  # words that are not looked up, because there are too many
    times: tuple[TimeSpan, ...] = ()  # that the query names
    only_time: bool = False  # it asks for nothing in particular but what is of that time
    language: str = "en"  # code of ISO 639-1
    asks_for_all: bool = False  # of something: a list
    subject: tuple[Term, ...] = ()  # of a follow-up: what the turns before it are about
    repeats: str = ""  # of “and before that?”: the earlier question, which is asked again for another time


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """Recognises a question that asks for all of something, and drops the words by which it does so (“list all the …
    I've told you about”). Where the caller gave no k, it gets ``k`` results. A question for what was
    not done or liked, or for what an assistant said, is no such question: a few memories answer it."""

    k: int = 30

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        if not asks_for_all(query.text) or asks_for_negative(query.text) or asks_about_assistant(query.text):
            return query
        text = strip_list_frame(query.text)
        run.log("asks for all", text)
        if run.k_is_default and run.recipe.clamp is None:
            run.k = max(run.k, self.k)
        return replace(query, text=text, asks_for_all=True)


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The words of the query without the stop words of its language, unless it has no others; at most ``max_words``."""

    max_words: int = MAX_WORDS

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        every, stop = tuple(dict.fromkeys(words(query.text))), stop_words(query.language)
        if order := order_words(query.text):  # “which did I buy first?” is not about what has the word first
            stop |= order
        about = tuple(word for word in every if word not in stop) or every
        run.log("words", _listed(about) or "none")
        if len(about) < len(every):
            run.log("stop words dropped", _listed([word for word in every if word in stop]))
        looked_up, left_out = _first_known(_by_stem(about, query.language), "stem", run, self.max_words)
        terms = tuple(Term(word, language=query.language) for word in looked_up)
        return replace(query, words=every, terms=terms, left_out=left_out)


@dataclass(frozen=True, slots=True)
class RelatedWords:
    """In a language that the embedder was not trained on: looks up the other words of an everyday topic along with a
    word of it (“Restaurant” finds what tells of a lunch).

    They count ``weight`` of a word of the query. A message, and the look-up of a name, have enough words of their own.
    In any language, what should not be eaten is looked up by the words for allergies, too.
    """

    weight: float = 0.5

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        if query.terms and asks_what_not_to_eat(query.text):
            source = query.terms[-1].word  # “eat”; whichever it is, it does not have to be matched as well
            added = tuple(
                Term(word, self.weight, language=language, part_of=source)
                for language, group in INTOLERANCE_WORDS.items()
                for word in group
            )
            run.log("words for allergies", _listed([term.word for term in added]))
            query = replace(query, terms=(*query.terms, *added))
        if run.embedder_reads(query.text) and knows_language(run.embedder, query.language):
            return query
        if is_lookup(query.text, query.language) or is_message(query.text, query.language):
            return query
        related = related_words([term.word for term in query.terms], query.language)
        if not related:
            return query
        run.log("related", _listed([f"{word} ({source})" for word, source in related.items()]))
        others = (Term(word, self.weight, language=query.language, part_of=source) for word, source in related.items())
        return replace(query, terms=(*query.terms, *others))


@dataclass(frozen=True, slots=True)
class Spelling:
    """Corrects typos: words that neither the memories nor the embedder know, and that are a few edits from a known one.

    Capitalised words may be names, and short words are near to many: there one edit is the limit. Without an embedder
    that knows its vocabulary nothing is corrected, as any word that the memories lack would turn into one they have;
    nor are queries that are not in English, whose words it does not know. Candidates are found by 3-grams.
    """

    max_edits: int = 2
    min_length: int = 4  # characters
    max_words: int = 8

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        embedder = run.embedder
        if not supports(embedder, VocabularyEmbedder) or query.language != "en":
            return query
        if is_lookup(query.text) or is_message(query.text):  # identifiers are no typos; a long text has enough words
            return query
        text = visible(query.text)
        long = [word for word in dict.fromkeys(WORD.findall(text)) if len(word) >= self.min_length]
        unknown = _unknown([word for word in long if not embedder.knows_word(word.lower())], run)[: self.max_words]
        corrections = {word: other for word in unknown if (other := self._nearest(word, run))}
        if not corrections:
            return query
        run.log("corrected", ", ".join(f"{word} → {other}" for word, other in corrections.items()))
        return replace(query, text=WORD.sub(lambda found: corrections.get(found[0], found[0]), text))

    def _nearest(self, word: str, run: Run) -> str | None:
        """The word with the fewest edits; of equals, one with the same letters (teh, the), then the most frequent."""
        typed = word.lower()
        max_edits = 1 if word[0].isupper() or len(word) == self.min_length else self.max_edits
        similar = run.snapshot.similar_words(typed, run.scope, 0.25, 24)
        distances = {other: edit_distance(typed, other, max_edits) for other, _ in similar if other.isalpha()}
        near = [other for other, edits in distances.items() if edits <= max_edits]
        frequency = dict(zip(near, _documents(near, "exact", run), strict=True))
        return min(
            near, key=lambda other: (distances[other], sorted(other) != sorted(typed), -frequency[other]), default=None
        )


def _unknown(words: Sequence[str], run: Run) -> list[str]:
    """The words that no memory in scope has, in any inflection."""
    return [word for word, having in zip(words, _documents(words, "stem", run), strict=True) if not having]


def _documents(words: Sequence[str], match: Literal["stem", "exact"], run: Run) -> list[int]:
    """The number of memories in scope that have each word."""
    if not words:
        return []
    terms = [Term(word.lower(), match=match) for word in words]
    return frequencies(run.snapshot, run.scope, terms, dict.fromkeys(TEXT_FIELDS, 1.0))


@dataclass(frozen=True, slots=True)
class EveryWord:
    """All words of the query, as they are or with their inflections; at most ``max_words``."""

    match: Literal["stem", "exact"] = "exact"
    max_words: int = MAX_WORDS

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        every = tuple(dict.fromkeys(words(query.text)))
        run.log("words", _listed(every) or "none")
        looked_up, left_out = _first_known(every, self.match, run, self.max_words)
        terms = tuple(Term(word, match=self.match) for word in looked_up)
        return replace(query, words=every, terms=terms, left_out=left_out)


def _first_known(
    words: Sequence[str], match: Literal["stem", "exact"], run: Run, max_words: int
) -> tuple[Sequence[str], int]:
    """The words to look up, and how many are left out. Of a query that is a whole document, these are the first
    ``max_words`` that memories have, so that it takes bounded time."""
    if len(words) <= max_words:
        return words, 0
    known = [word for word, having in zip(words, _documents(words, match, run), strict=True) if having][:max_words]
    run.log("words not looked up", len(words) - len(known))
    return known, len(words) - len(known)


def _by_stem(words: tuple[str, ...], language: str) -> list[str]:
    """The first word of each stem."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(stems(word, language)[0], word)
    return list(first.values())


def _listed(words: Sequence[str], limit: int = 40) -> str:
    shown = ", ".join(words[:limit])
    return f"{shown} and {len(words) - limit} more" if len(words) > limit else shown
