"""What a text is: does it ask rather than tell, does it say when, and is it a message rather than a question?"""

from __future__ import annotations

import re

from recollect.text.words import words

SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
MOMENT = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|recently|since|weekends?|weeks?|months?|years?|mornings?|"
    r"evenings?|nights?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
WHEN = re.compile(
    r"^\W*(?:when|how long|(?:in |on |at )?(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
TOLD = re.compile(r"[^.!?。！？\n]+(?:\.(?!\s|$)[^.!?。！？\n]*)*")  # a dot inside a word ends nothing
PAST = re.compile(
    r"\b(?:did|was|were|had|told|said|mentioned|talked|remember|remind)\b[^.!?\n]{0,300}\?", re.IGNORECASE
)
YOURS = re.compile(
    r"\b(?:did|had|have) you (?:say|said|tell|told|recommend|suggest|mention|advise|propose|explain|give|given)|"
    r"\byou(?:'d|'ve| had| have)? (?:said|told|recommended|suggested|mentioned|advised|proposed|explained|gave)\b|"
    r"\byour (?:advice|answers?|recommendations?|suggestions?|explanations?)\b|\bthe assistant\b",
    re.IGNORECASE,
)


def share_of_questions(text: str) -> float:
    """How much of a text are sentences that end with a question mark: 0 to 1."""
    sentences = [sentence.strip() for sentence in SENTENCE.findall(text)]
    asked = sum(
        len(sentence) for sentence in sentences if "?" in sentence or "？" in sentence
    )  # it stands at the end only: “What?!”
    return asked / max(1, sum(map(len, sentences)))


def says_when(text: str) -> bool:
    return MOMENT.search(text) is not None


def asks_when(question: str) -> bool:
    """
    >>> [asks_when(each) for each in ("When did she leave?", "In which year was it?", "What did he do when it rained?")]
    [True, True, False]
    """
    return WHEN.match(question) is not None


def statements(text: str, shortest: int = 4) -> int:
    """How many sentences it has that say something: greetings, thanks and abbreviations do not count.

    >>> statements("I'm back from the market. It took 2.5 hours to find pears! What shall we cook? Thanks!")
    3
    >>> statements("Hi! Thanks! What did Dr. J. Smith say to Mr. Lee about pears?")
    1
    """
    return sum(len(words(found, whole=True)) >= shortest for found in TOLD.findall(text))


def asks_what_was(text: str) -> bool:
    """
    >>> [asks_what_was(each) for each in ("I paid it. What did I pay?", "I did it. What shall we do?")]
    [True, False]
    """
    return PAST.search(text) is not None


def asks_assistant(text: str) -> bool:
    """
    >>> [asks_assistant(each) for each in ("What did you recommend?", "What was your advice?", "Can you tell me?")]
    [True, True, False]
    """
    return YOURS.search(text) is not None
