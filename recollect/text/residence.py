"""Where somebody lives: questions for it, and statements of it, such as “I live in Hull” and “I moved to York”."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_CHARACTERS = 1_000  # of a text that are read
QUESTION = re.compile(
    r"\bwhere\b.{0,40}\b(?:live[sd]?|living|reside[sd]?|home)\b|\b(?:home |postal )?address\b"
    r"|\bwo\b.{0,40}\bwohn\w*|\b(?:adresse|anschrift)\b|(?:住在?|住址|地址).{0,4}(?:哪|什么|什麼|是)|(?:哪里|哪裡|哪儿|哪兒)住",
    re.IGNORECASE,
)
PLACE = r"(?P<place>(?:the\s+|der\s+|dem\s+)?[A-ZÄÖÜ0-9][\w.’'-]*)"
ADVERBS = r"(?:(?:back|over|house|home|again|recently|in|out|up|down|together|now)\s+){0,2}"
STATEMENT = re.compile(
    rf"\b(?P<subject>[\w’']+)\s+(?:(?:have|has|had|just|now|will|am|are|is|'m|'re)\s+){{0,3}}"
    rf"(?:live[sd]?|living|mov(?:e|es|ed|ing)|relocat(?:e|es|ed|ing)|settled)\s+{ADVERBS}(?:at|in|on|to|into)\s+{PLACE}"
    rf"|(?:^|[.!?]\s+)(?:Just\s+)?(?P<implied>Moved)\s+{ADVERBS}(?:to|into)\s+(?P<to>[A-ZÄÖÜ0-9][\w.’'-]*)"
    rf"|\b(?P<owner>my|our|his|her|their|[A-Z]\w+[’']s)\s+(?:new\s+)?(?:home\s+)?address\s+(?:is|was|:)\s*(?:now\s+)?(?P<at>\S+)"
    rf"|\b(?P<person>ich|wir|er|sie|[A-ZÄÖÜ]\w+)\s+(?:(?:bin|sind|ist)\s+)?(?:\w+\s+){{0,3}}?(?:wohn\w*|ziehe[nt]?)\s+(?:\w+\s+)"
    r"{0,3}?(?:in|im|am|an|auf|nach|bei)\s+(?:der\s+|dem\s+|die\s+)?(?P<ort>[A-ZÄÖÜ0-9]\S*)"
    r"|\b(?P<wer>ich|wir|er|sie|[A-ZÄÖÜ]\w+)\s+(?:bin|sind|ist)\s+(?:\w+\s+){0,3}?(?:in|im|am|an|auf|nach)\s+(?:der\s+|dem\s+|die\s+)?"
    r"(?P<wohin>[A-ZÄÖÜ0-9]\S*)\s+(?:\w+\s+){0,2}?(?:um)?gezogen"
    r"|(?P<shei>我们|我們|我|他|她)?[^，。]{0,6}?(?:住在|搬到了?|搬进了?|搬進了?|地址是)(?P<nali>[^，。,.\s]{2,})"
)
DAY = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch", re.IGNORECASE
)
FIRST_PERSON = frozenset("i we i've we've i'm we're my our ich wir 我 我们 我們 i’ve we’ve i’m we’re".split())


@dataclass(frozen=True, slots=True)
class Residence:
    """A statement of where somebody lives: who, and where. First persons are one: “I” and “we” are the speaker."""

    subject: str
    place: str


def asks_for_residence(question: str) -> bool:
    """
    >>> [asks_for_residence(each) for each in ("Where do I live now?", "Wo wohnt Ida?", "Where is the cup?")]
    [True, True, False]
    """
    return QUESTION.search(question[:MAX_CHARACTERS]) is not None


def find_residence(text: str) -> Residence | None:
    """The first statement of where somebody lives.

    >>> find_residence("I moved to 12 Harbour Road in May.")
    Residence(subject='', place='12')
    >>> find_residence("Ida lives in York.")
    Residence(subject='ida', place='york')
    >>> find_residence("The meeting moved to Tuesday.") is None
    True
    """
    for match in STATEMENT.finditer(text[:MAX_CHARACTERS]):
        found = {name: value for name, value in match.groupdict().items() if value}
        subject = next(
            (found[name] for name in ("subject", "owner", "person", "wer", "shei") if name in found), ""
        ).lower()
        place = next(
            (found[name] for name in ("place", "to", "at", "ort", "wohin", "nali") if name in found), ""
        ).lower()
        if DAY.fullmatch(place):  # “the meeting moved to Tuesday”
            continue
        subject = re.sub(r"[’']s$", "", subject)
        if subject in FIRST_PERSON or not subject:
            return Residence("", place)
        if match.group(0)[:1].isupper() or subject in ("she", "he", "they", "er", "sie", "他", "她"):
            return Residence(subject, place)
    return None
