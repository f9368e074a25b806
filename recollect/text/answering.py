"""What a text is: does it ask rather than tell, does it say when, and is it a message rather than a question?"""

from __future__ import annotations

import re

SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
MOMENT = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|recently|since|weekends?|weeks?|months?|years?|mornings?|"
    r"evenings?|nights?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
END = re.compile(r"[.!?](?=\s|$)|[。！？]")
WHEN = re.compile(
    r"^\W*(?:when|how long|(?:in |on |at )?(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
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


def sentences(text: str) -> int:
    """How many sentences end in it.

    >>> sentences("I'm back. It took 2.5 hours! What is next?")
    3
    """
    return len(END.findall(text))
