"""Classifies texts by patterns: code, a name to look up, a question, a message, a mention of time."""

from __future__ import annotations

import re

from recollect.text.stopwords import ENGLISH
from recollect.text.words import COMPOUND, words

# Stripped lines of programs, which end or begin like statements. A word is tried from its beginning only, so that one
# of many thousand characters takes linear time.
CODE_LINE = re.compile(
    r"(?:def|class|import|from|return|func|fn|function|const|let|var|public|private|static|if|for|while|elif|else|"
    r"try|except|with|raise|#include|using|package|end)\b.*|"
    r".*(?:[;{}]|\)\s*:|\b\w+\([^()]*\)|\b\w+\s*[-+*/|&]?=\s*\S.*)"
)
MAX_LINES = 30  # of a text that are examined
MAX_LOOKUP_WORDS = 4
SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
TIME_WORD = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|recently|since|weekends?|weeks?|months?|years?|mornings?|"
    r"evenings?|nights?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
ASKS_WHEN = re.compile(
    r"^\W*(?:when|how long|(?:in |on |at )?(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
ASKS_HOW_MUCH = re.compile(
    r"\bhow (?:much|heavy|tall|expensive)\b|\bwie ?viel\b|\bwie (?:teuer|hoch|schwer|groß|alt)\b|多少钱|多少錢|"
    r"多少(?!个|個|次|人)",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|hundert|tausend|halb\w*)\b|"
    r"[一二三四五六七八九十百千万两半]",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"[^.!?。！？\n]+(?:\.(?!\s|$)[^.!?。！？\n]*)*")  # a dot inside a word does not end it
ASKS_ABOUT_PAST = re.compile(
    r"\b(?:did|was|were|had|told|said|mentioned|talked|remember|remind)\b[^.!?\n]{0,300}\?", re.IGNORECASE
)
ASSISTANT_SAID = re.compile(
    r"\b(?:did|had|have) you (?:say|said|tell|told|recommend|suggest|mention|advise|propose|explain|give|given)|"
    r"\byou(?:'d|'ve| had| have)? (?:said|told|recommended|suggested|mentioned|advised|proposed|explained|gave)\b|"
    r"\byour (?:advice|answers?|recommendations?|suggestions?|explanations?)\b|\bthe assistant\b",
    re.IGNORECASE,
)


def is_code(text: str) -> bool:
    """Do most lines look like those of a program?"""
    lines = [line for each in text.splitlines()[:MAX_LINES] if (line := each.strip())]
    return len(lines) > 1 and sum(CODE_LINE.fullmatch(line) is not None for line in lines) * 2 >= len(lines)


def is_lookup(query: str) -> bool:
    """Is the query a name, or the words of one, rather than a sentence?

    >>> [is_lookup(each) for each in ("maxRetries", "created today", "is the file open?")]
    [True, True, False]
    """
    every = words(query)
    if len(query.split()) == 1 or COMPOUND.search(query):
        return len(query.split()) <= MAX_LOOKUP_WORDS
    return len(every) <= MAX_LOOKUP_WORDS and ENGLISH.isdisjoint(every) and not query.rstrip().endswith("?")


def question_share(text: str) -> float:
    """The share of a text that is sentences with a question mark: 0 to 1."""
    sentences = [sentence.strip() for sentence in SENTENCE.findall(text)]
    questions = sum(
        len(sentence) for sentence in sentences if "?" in sentence or "？" in sentence
    )  # at the end only: “What?!”
    return questions / max(1, sum(map(len, sentences)))


def mentions_time(text: str) -> bool:
    return TIME_WORD.search(text) is not None


def asks_when(question: str) -> bool:
    """
    >>> [asks_when(each) for each in ("When did she leave?", "In which year was it?", "What did he do when it rained?")]
    [True, True, False]
    """
    return ASKS_WHEN.match(question) is not None


def asks_how_much(question: str) -> bool:
    """
    >>> [asks_how_much(each) for each in ("How much was it?", "Wie teuer war das?", "How did it go?")]
    [True, True, False]
    """
    return ASKS_HOW_MUCH.search(question) is not None


def mentions_number(text: str) -> bool:
    return NUMBER.search(text) is not None


def count_statements(text: str, min_words: int = 4) -> int:
    """The number of sentences with content: greetings, thanks and abbreviations do not count.

    >>> count_statements("I'm back from the market. It took 2.5 hours to find pears! What shall we cook? Thanks!")
    3
    >>> count_statements("Hi! Thanks! What did Dr. J. Smith say to Mr. Lee about pears?")
    1
    """
    return sum(len(words(found, whole=True)) >= min_words for found in CLAUSE.findall(text))


def asks_about_past(text: str) -> bool:
    """
    >>> [asks_about_past(each) for each in ("I paid it. What did I pay?", "I did it. What shall we do?")]
    [True, False]
    """
    return ASKS_ABOUT_PAST.search(text) is not None


def asks_about_assistant(text: str) -> bool:
    """
    >>> [asks_about_assistant(each) for each in ("What did you suggest?", "What was your advice?", "Can you tell me?")]
    [True, True, False]
    """
    return ASSISTANT_SAID.search(text) is not None
