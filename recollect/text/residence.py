"""Where somebody lives or works: questions for it, and statements of it (“I live in Hull”, “my address is …”)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.relatives import DAY, OTHERS, SPEAKERS, Relative, find_relatives
from recollect.text.stopwords import STOP
from recollect.text.words import words

MAX_CHARACTERS = 1_000  # of a text that are read
ENGLISH_ROOMS = r"flat|house|home|apartment|place|workshop|office|studio|shop|lab|company"
GERMAN_ROOMS = r"wohnung|haus|büro|werkstatt|laden|praxis|firma"
ROOM = lazy_pattern(rf"{ENGLISH_ROOMS}|{GERMAN_ROOMS}")
QUESTION = lazy_pattern(
    r"\bwhere\b.{0,40}\b(?:live[sd]?|living|reside[sd]?|home)\b|\b(?:home |postal )?address\b"
    rf"|\bwhere (?:is|was|are|were) (?:my|our|the) (?:\w+ )?(?:{ENGLISH_ROOMS})\b"
    r"|\bwo\b.{0,40}\b(?:ge)?wohn\w*|\b(?:adresse|anschrift)\b"
    rf"|\bwo (?:ist|war|liegt|lag|sind|waren) (?:mein|unser|die|das|der)\w* (?:\w+ )?(?:{GERMAN_ROOMS})\b"
    r"|(?:住在?|住址|地址).{0,4}(?:哪|什么|什麼|是)|(?:哪里|哪裡|哪儿|哪兒)住",
    re.IGNORECASE,
)
# Addresses of other things: “the address of the clinic”.
ELSEWHERE = lazy_pattern(
    r"\b(?:e-?mail|web|ip|mail) ?address|\baddress of (?!(?:my|our|the) "
    rf"(?:{ENGLISH_ROOMS})\b)|\b(?:e-?mail|mail)-?adresse|\badresse (?:von|der|des) (?!(?:{GERMAN_ROOMS})\b)",
    re.IGNORECASE,
)
WORK = lazy_pattern(
    r"\b(?:work|workshop|office|company|lab|studio|shop|arbeit|werkstatt|büro|firma|praxis|laden)\b|公司|办公室|辦公室|工作室|单位",
    re.IGNORECASE,
)
HOME = lazy_pattern(
    r"\b(?:home|flat|apartment|house|live[sd]?|living|rent|landlord|landlady|wohn\w*|umzug|miete|vermieter\w*)\b|住|房租|宿舍",
    re.IGNORECASE,
)
ENGLISH_STREETS = (
    "Road|Rd|Street|St|Lane|Close|Avenue|Ave|Drive|Court|Way|Place|Square|Gardens|Terrace|Crescent|Hill|Row|Yard|"
)
ENGLISH_STREETS += "Park|Mews|Grove|Quay|Walk|Green"
GERMAN_STREETS = "straße|strasse|str\\.|weg|allee|gasse|platz|ufer|ring|damm|steig|markt|berg|hof|graben|zeile|chaussee"
NAME_BEGINS = r"\b(?<!\w-)(?=\w)"  # not at each part of “A-B-C”, which takes long
ADDRESS = lazy_pattern(
    rf"\b\d{{1,4}}[A-Za-z]?\s+(?:[A-Z][\w’'-]+\s+){{1,3}}(?:{ENGLISH_STREETS})\b"
    r"|\b(?:Flat|Unit|Apartment|Apt\.?|Suite)\s+\d+\w?\b"
    rf"|{NAME_BEGINS}[{UPPER_CASE}][\w.-]{{0,60}}(?:{GERMAN_STREETS}|-(?i:{GERMAN_STREETS}))\s+\d+\w?\b"
    rf"|{NAME_BEGINS}[{UPPER_CASE}][\w-]{{0,60}}er (?i:{GERMAN_STREETS})\s+\d+\w?\b"
    rf"|\b(?:Am|An der|Im|Auf der|Zum|Zur|In der)\s+[{UPPER_CASE}]\w+\s+\d+\w?\b"
    r"|[\u4e00-\u9fffA-Za-z]{1,12}(?:路|街|巷|弄|大道|胡同)\s?\d+\s?(?:号|號)|(?<![A-Za-z])[A-Z][A-Za-z]{1,30}\s?\d{1,6}\s?(?:号|號)"
)
# What makes an address one's own, beside a verb of STATEMENT.
OWN = lazy_pattern(
    r"\b(?:i['’]m|we['’]re|i am|we are|i['’]ve got|we['’]ve got|mov(?:e|ed|ing)|new (?:flat|house|place|home)|address"
    r"|sign(?:ed|ing) for|rent(?:ed|ing)?|lease|keys (?:to|for)|miete\w*|mietvertrag|schlüssel (?:für|zu)"
    r"|ab sofort|wir haben|ich habe|unsere neue|meine neue|umzug|umgezogen|ziehen?|adresse|anschrift)\b|搬|住|地址",
    re.IGNORECASE,
)
PLACE = rf"(?P<place>(?:the\s+|der\s+|dem\s+)?[{UPPER_CASE}0-9][\w.’'-]*)"
ADVERBS = r"(?:(?:back|over|house|home|again|recently|in|out|up|down|together|now)\s+){0,2}"
ENGLISH_ORIGIN = r"(?:from\s+(?:[\w’'.-]+,?\s+){1,4}?)?"  # “moved from Hull to York”
GERMAN_ORIGIN = r"(?:(?:aus|von)\s+(?:[\w’'.-]+,?\s+){1,4}?)?"
STATEMENT = lazy_pattern(
    rf"\b(?P<subject>[\w’']+)\s+(?:(?:have|has|had|just|now|will|am|are|is|'m|'re)\s+){{0,3}}"
    rf"(?:live[sd]?|living|mov(?:e|es|ed|ing)|relocat(?:e|es|ed|ing)|settled)\s+{ADVERBS}{ENGLISH_ORIGIN}(?:at|in|on|to|into)\s+{PLACE}"
    rf"|(?:^|[.!?]\s+)(?:Just\s+)?(?P<implied>Moved)\s+{ADVERBS}{ENGLISH_ORIGIN}(?:to|into)\s+(?P<to>[{UPPER_CASE}0-9][\w.’'-]*)"
    rf"|{NAME_BEGINS}(?P<owner>(?i:my|our|his|her|their)|[\w-]+[’']s)\s+(?:new\s+)?(?:home\s+)?address\s+(?:is|was|:)\s*(?:now\s+)?(?P<at>\S+)"
    rf"|\b(?P<german_person>ich|wir|er|sie|[{UPPER_CASE}]\w+)\s+(?:(?:bin|sind|ist)\s+)?(?:\w+\s+){{0,3}}?(?:wohn\w*|ziehe[nt]?|zieht|zog(?:en)?)\s+(?:\w+\s+)"
    rf"{{0,3}}?(?:in|im|am|an|auf|nach|bei)\s+(?:der\s+|dem\s+|die\s+)?(?P<german_place>[{UPPER_CASE}0-9]\S*)"
    rf"|\b(?P<german_subject>ich|wir|er|sie|[{UPPER_CASE}]\w+)\s+(?:bin|sind|ist)\s+(?:\w+\s+){{0,3}}?{GERMAN_ORIGIN}(?:in|im|am|an|auf|nach)\s+(?:der\s+|dem\s+|die\s+)?"
    rf"(?P<german_destination>[{UPPER_CASE}0-9]\S*)\s+(?:\w+\s+){{0,2}}?(?:um)?gezogen"
    r"|(?P<chinese_subject>我们|我們|我|他|她)?[^，。]{0,6}?(?:住在?|搬到了?|搬进了?|搬進了?|地址是)(?P<chinese_place>(?!哪|在哪|得|了|的)[^，。,.\s]{2,})"
)
# The subject of an earlier clause of the sentence: “周姐是我同事，就住楼上”
CHINESE_OTHER = lazy_pattern(r"(?:^|[。！？!?\s])([^我，。！？!?\s]{1,4})(?:是|叫|说|說)[^。！？!?]*$")
CONJUNCTIONS = frozenset("and but then who und aber dann".split())
FIRST_WORD = lazy_pattern(r"(?:^|[.!?]\s+)([\w’']+)[^.!?]*$")  # of the last sentence
FIRST_PERSON = frozenset("i we i've we've i'm we're my our ich wir 我 我们 我們 i’ve we’ve i’m we’re".split())
FIRST_PERSON_WORD = lazy_pattern(r"\b(?:i|we|my|our|me|us|ich|wir|mein\w*|unser\w*|mir|uns)\b|我", re.IGNORECASE)
WHERE = lazy_pattern(r"\b(?:where|wo)\b", re.IGNORECASE)
# “my old address”, “Ben's house”: no person
OF_PLACE = rf"\s+(?:[\w-]+\s+){{0,2}}?(?:{ENGLISH_ROOMS}|address|{GERMAN_ROOMS}|adresse|anschrift|zuhause)\b"
PLACE_OF = lazy_pattern(rf"[\w'’-]+{OF_PLACE}", re.IGNORECASE)
ASKER = lazy_pattern(
    rf"\b(?:i|we|me|(?-i:us)|ich|wir|mir|uns)\b|\b(?:{'|'.join(sorted(SPEAKERS))})\b(?={OF_PLACE})|我",
    re.IGNORECASE,
)
GERMAN_SPEAKER = lazy_pattern(r"\b(?:ich|wir)\b")
WORDS_BETWEEN = lazy_pattern(r"(?:\s+[\w-]+){0,2}?\s+")  # “my sister Clara has recently moved”
ADVERB = lazy_pattern(r"\w+ly|also|still|already|since|finally|soon|once|then|both|all")
QUESTION_WORD = lazy_pattern(r"(?:live|living|reside|home|address|wohn|gewohn|adress|anschrift|wo$)|.*[住址哪]")
OTHER_PERSONS = ("she", "he", "they", "er", "sie", "他", "她")
PRONOUNS = frozenset(("i", "we", "ich", "wir", *OTHER_PERSONS))

PlaceKind = Literal["home", "work", ""]


@dataclass(frozen=True, slots=True)
class Residence:
    """A statement of where somebody lives or works: who, and where. “I” and “we” are one: the speaker."""

    subject: str
    place: str
    kind: PlaceKind = ""  # empty if the text does not say
    relative: Relative | None = field(default=None, repr=False)  # if the subject is named as one: “my sister Clara”


@dataclass(frozen=True, slots=True)
class ResidenceQuestion:
    """Whose place is asked for: the speaker's, or that of somebody whom the question names; and which kind of place."""

    words: frozenset[str]  # of the question, for a follow-up with those of its subject
    first_person: bool
    kind: PlaceKind
    relative: Relative | None = None  # whom the question names by what they are to somebody: “my sister”
    names: frozenset[str] = frozenset()  # those of the relative, as far as they are known

    @property
    def names_room(self) -> bool:
        """Does it ask for a house, an office or the like, rather than for where somebody lives?"""
        return any(ROOM.fullmatch(word) for word in self.words)

    def with_names(self, texts: Iterable[str]) -> ResidenceQuestion:
        """With the names that some texts give the relative: “My sister Clara …”."""
        if self.relative is None:
            return self
        found = (each for text in texts for each in find_relatives(text[:MAX_CHARACTERS]))
        return replace(self, names=frozenset(each.name for each in found if each.name and self._is_meant(each)))

    def person(self, home: Residence, text: str, speaker: str) -> str | None:
        """Whose place it states, if that is asked for: the one who asks (""), or somebody whom the question names.

        “Ana moved, she lives in York” is about Ana for a question that names her.
        """
        if home.kind and home.kind != self.kind:
            return None
        if self.first_person:
            return None if home.subject else ""
        unnamed = not home.subject and FIRST_PERSON_WORD.search(text) is None  # “莉娜从汉堡搬到了莱比锡”
        by_pronoun = home.subject in OTHER_PERSONS or unnamed
        if self.relative is not None:
            return self._relative(home, text, speaker, by_pronoun)
        person = home.subject or speaker.lower()
        if person in self.words:
            return person
        return min(self.words.intersection(words(text)), default=None) if by_pronoun else None

    def _relative(self, home: Residence, text: str, speaker: str, by_pronoun: bool) -> str | None:
        """The name of the relative who is asked for, if it is known, else the relation."""
        if self.relative is None:
            return None
        own = speaker.lower() == self.relative.owner and home.relative is not None and not home.relative.owner
        same = home.relative is not None and home.relative.relation == self.relative.relation
        if home.subject in self.names or (same and (own or self._is_meant(home.relative))):
            return home.subject if len(self.names) > 1 else min(self.names, default=self.relative.relation)
        if by_pronoun and any(self._is_meant(each) for each in find_relatives(text)):
            return min(self.names, default=self.relative.relation)
        # “Mum lives in Leeds”
        return home.subject if home.subject == self.relative.relation and home.relative is None else None

    def _is_meant(self, other: Relative | None) -> bool:
        return (
            other is not None
            and self.relative is not None
            and (other.owner, other.relation) == (self.relative.owner, self.relative.relation)
        )


def residence_question(question: str, subject: Iterable[str] = ()) -> ResidenceQuestion | None:
    """What a question for a place asks for; of a follow-up, with the words of its subject.

    >>> [residence_question(each) is not None for each in ("Where do I live?", "Wo wohnt Ida?", "Where is the cup?")]
    [True, True, False]
    >>> residence_question("Where was our workshop?").kind
    'work'
    """
    text = question[:MAX_CHARACTERS]
    if QUESTION.search(text) is None or ELSEWHERE.search(text) is not None:
        return None
    kind: PlaceKind = "work" if WORK.search(text) else "home"
    named = frozenset(word for word in (*words(text), *subject) if word not in STOP and not QUESTION_WORD.match(word))
    start = begin.start() if (begin := WHERE.search(text)) else 0
    asker = ASKER.search(text, start)
    relatives = (each for each in find_relatives(text) if each.start >= start and each.owner not in OTHERS)
    relative = next((each for each in relatives if not PLACE_OF.match(text, each.start)), None)
    if asker and (relative is None or asker.end() <= relative.start):
        return ResidenceQuestion(named, True, kind)
    if relative is not None and relative.name:
        return ResidenceQuestion(named - {relative.relation}, False, kind)
    return ResidenceQuestion(named, False, kind, relative)


def find_residence(text: str) -> Residence | None:
    """The last statement of where somebody lives: of “from 5 Mill Lane to 12 Harbour Road” the second.

    >>> find_residence("I moved to 12 Harbour Road in May.")
    Residence(subject='', place='12 harbour road', kind='')
    >>> find_residence("Ida lives in York.")
    Residence(subject='ida', place='york', kind='home')
    >>> find_residence("Lena moved out of Hull and lives in York now.")
    Residence(subject='lena', place='york', kind='home')
    >>> find_residence("Lena ist von Hamburg nach Leipzig gezogen.")
    Residence(subject='lena', place='leipzig', kind='')
    >>> find_residence("Ab sofort also Lindenallee 27.")
    Residence(subject='', place='lindenallee 27', kind='')
    >>> find_residence("周姐是我同事，就住楼上。").subject
    '周姐'
    >>> find_residence("The meeting moved to Tuesday.") is None
    True
    """
    text = text[:MAX_CHARACTERS]
    addresses = [found[0].lower() for found in ADDRESS.finditer(text)]
    work = WORK.search(text) is not None
    kind: PlaceKind = "" if work and HOME.search(text) else "work" if work else "home" if HOME.search(text) else ""
    matches = list(STATEMENT.finditer(text))
    relatives = [each for each in find_relatives(text) if not PLACE_OF.match(text, each.start)] if matches else []
    for match in matches:
        found = {name: value for name, value in match.groupdict().items() if value}
        subject = next(
            (
                found[name]
                for name in ("subject", "owner", "german_person", "german_subject", "chinese_subject")
                if name in found
            ),
            "",
        ).lower()
        place = next(
            (
                found[name]
                for name in ("place", "to", "at", "german_place", "german_destination", "chinese_place")
                if name in found
            ),
            "",
        ).lower()
        if DAY.fullmatch(place):  # “the meeting moved to Tuesday”
            continue
        if not subject and "chinese_place" in found and (other := CHINESE_OTHER.search(text[: match.end()])):
            subject = other[1]
        subject, named = re.sub(r"[’']s$", "", subject), match.group(0)[:1].isupper()
        begin = match.start()
        if subject in CONJUNCTIONS and (first := FIRST_WORD.search(text[:begin])):
            subject, named, begin = first[1].lower(), True, first.start(1)  # “Lena left Hull and lives in York”
            if subject in STOP and subject not in PRONOUNS and subject not in SPEAKERS:
                continue
        relative = _relative_at(relatives, text, begin, subject, match.start("chinese_place"))
        if not found.keys().isdisjoint(("german_person", "german_subject")) and GERMAN_SPEAKER.search(match[0].lower()):
            subject, relative = "", None  # “Seit Mai wohne ich in York”, “Meine Schwester und ich wohnen …”
        place = addresses[-1] if addresses else place.rstrip(".,!")
        if relative is not None:
            return Residence(relative.name or relative.relation, place, kind, relative)
        if subject in FIRST_PERSON or not subject:
            return Residence("", place, kind)
        if named or subject in OTHER_PERSONS or "chinese_place" in found:
            return Residence(subject, place, kind)
    return Residence("", addresses[-1], kind) if addresses and OWN.search(text) else None


def _relative_at(relatives: Iterable[Relative], text: str, begin: int, subject: str, place: int) -> Relative | None:
    """Whom the words up to a verb name by what they are to somebody: “my sister Clara (has recently) moved”."""
    for each in relatives:
        if each.start <= begin < each.end or begin <= each.start < place:
            return each
        if each.end <= begin and ADVERB.fullmatch(subject) and WORDS_BETWEEN.fullmatch(text, each.end, begin):
            return each
    return None
