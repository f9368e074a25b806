"""The value that a question asks for: an amount of money, an age, or an attribute. English, German and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from recollect.text.classify import asks_about_assistant
from recollect.text.entity_names import find_names
from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.question_kinds import PLURAL, asks_for_all, asks_for_opinion
from recollect.text.question_time import asks_for_change
from recollect.text.stopwords import stop_words
from recollect.text.words import SPACELESS, words

MAX_CHARACTERS = 1_000  # of a question or a memory that are read

ASKS_FOR_AMOUNT = lazy_pattern(
    r"\bhow (?:much (?:is|are|was|were)|expensive)\b"
    r"|\bhow much\b.{0,200}\b(?:costs?|charged?|pay|paid|price|rent|fees?|spend|spent|bill|salary|wages?|earn)\b"
    r"|\bwhat\b.{0,200}\b(?:costs?|price|fees?|salary|wages?)\b"
    r"|\bwhat (?:(?:is|was|did|does|will) (?:the|my|our|his|her|their) (?:\w+ ){0,2})?(?:rent|bill)\b"
    r"|\bwhat (?:do|does|did|will|would) .{0,100}\b(?:charge|pay|earn)(?: (?:me|you|him|her|us|them))?"
    r"(?: (?:for|per|each|every|a|an|in|last|this|at|to|on)\b.{0,100})?\s*[?.!]?\s*$"
    r"|\bwas (?:kostete?n?|verlangt|verdiene?n?t?|zahlt?)\b"
    r"|\bwie (?:teuer|hoch (?:ist|war) (?:die|meine|unsere) (?:miete|rechnung))\b"
    r"|\b(?:was|wie ?viel) .{0,200}\b(?:gekostet|kostete?n?|bezahlt?|gezahlt|verlangt|verdien\w{1,3}|miete|gehalt)\b"
    r"|多少[钱錢]|(?:工资|工資|薪水|价格|價格|费用?|費用?|房租|租金|收入)(?:是|要|有)?多少",
    re.IGNORECASE,
)
# By which an amount is asked for: the memory that has it need not have them.
AMOUNT_WORDS = frozenset(
    """
    much cost costs charge charged pay paid price rent fee fees spend spent bill salary wage wages earn expensive per
    viel kostet kosten kostete kosteten gekostet zahlt zahlen bezahlt bezahlen gezahlt verlangt verdiene verdient
    teuer miete gehalt rechnung 钱 錢 花 工资 工資 薪水 价格 價格 费用 費用 房租 租金 收入
    """.split()
)
CURRENCY = r"[£$€¥]|(?:euros?|eur|quid|pounds?|dollars?|bucks|francs?|franken|usd|gbp)\b|[块塊元欧歐镑鎊]"
FIGURE = r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d?)?|\d+(?:[.,]\d+)?"
# After a figure: what tells that it is no amount of money. Dates, times of day, quantities, shares; a plural, or with
# its capital letter a German noun, is what is counted: “25 sacks”, “40 Gäste”.
OTHER_UNIT = (
    rf"(?:(?!(?:{CURRENCY})|plus\b)(?:{PLURAL}|(?-i:[{UPPER_CASE}])[a-zäöüß]{{2,}}\b))|"
    r"(?:st|nd|rd|th|%|°|percent|prozent|kilos?|kg|mg|g|micro\w*|km|m|mm|cm|met(?:re|er)s?|miles?|lit(?:re|er)s?|"
    r"hours?|hrs?|h|min|minutes?|seconds?|days?|weeks?|months?|years?|o'clock|am|pm|uhr|stunden?|minuten?|sekunden?|"
    r"tagen?|wochen?|monaten?|jahren?|volts?|watts?|nm|newtons?|people|leuten?|gäste|pages?|seiten|times|mal|"
    r"jan\w*|feb\w*|mar(?:ch)?|märz|apr\w*|may|mai|jun[ei]?|jul[iy]?|aug\w*|sep\w*|o[ck]t\w*|nov\w*|de[cz]\w*)\b"
    r"|[号號月日年点點度个個次人岁歲天周週分]|毫|公"
)
AMOUNT = lazy_pattern(
    rf"(?:{CURRENCY})\s?\d|\d\s?(?:{CURRENCY})"
    rf"|(?<![A-Za-z\d_.,:/-])(?!(?:19|20)\d\d\b)(?:{FIGURE})(?![\w-]|[.,:/]\d|\.?\s?(?:{OTHER_UNIT}))"
    r"|[一二三四五六七八九十百千万两兩](?:[块塊元欧歐百千万])|[百千万][一二三四五六七八九]"
    r"|\b(?:hundred|thousand|million|grand|hundert|tausend|million(?:en)?|for free|free of charge|nothing|gratis|"
    r"kostenlos|umsonst)\b|免费|免費",
    re.IGNORECASE,
)
LABEL = lazy_pattern(r"(?<=[\w,;] )[A-Z]\w* \d+")  # the number of something, as in “from Unit 11”

ASKS_FOR_AGE = lazy_pattern(
    r"\bhow old (?:is|are|am|was|were|will|would)\b|\bwhat age (?:is|are|am|was|were|will)\b|\bwie alt\b"
    r"|\bwhat(?:['’]s| is| was) .{1,60}(?<!\w)age\s*\?|多大|[几幾多少][岁歲]|年[龄齡]",
    re.IGNORECASE,
)
AGE_WORDS = frozenset("old age years alt jahre 年龄 年齡 多大 几岁 幾歲 岁 歲".split())
NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+zehn|"
    r"\w*(?:zwan|drei|vier|fünf|sech|sieb|acht|neun)[zß]ig)"
)
AGE = lazy_pattern(
    rf"\b(?:\d+|{NUMBER_WORD})[\s-](?:and a half[\s-])?(?:years?|months?|weeks?|days?|jahren?|monaten?|wochen?)\b"
    r"|\b(?:aged?|turn(?:s|ed|ing)?|is|was|am|are|be|wird|werde|wurde|ist|war|bin)"
    rf"(?: \w+)? (?:\d{{1,3}}|{NUMBER_WORD})\b"
    r"|['’](?:s|m|re) (?:\w+ )?\d{1,3}\b|[(,] ?\d{1,3}(?=[,).])|\b(?:19|20)\d\d\b"
    r"|\b(?:birthday|born|birth|geburtstag|geboren)"
    r"|[\d一二三四五六七八九十]+个?[岁歲月年]|生日|出生",
    re.IGNORECASE,
)

VERB = r"(?:is|are|was|were|am|do|does|did|have|has|had|will|would|can|could|should|must)(?:n['’]t)?"
NO_NOUN = (
    r"(?:of|the|my|our|your|his|her|their|this|that|i|we|you|he|she|it|they|in|on|at|to|for|from|with|by|about|and|or|"
    r"when|than|now|else|all|happened|went|got|came)"
)
BEFORE_NOUN = r"(?:(?:the|my|our|his|her|their|its)|(?:\w+\.? ){0,3}\w+['’]s?(?!\w))"
# “What is the registration number of the van?”, “When is Ida's birthday?”
ATTRIBUTE = {
    "en": lazy_pattern(
        rf"\bwhat(?:['’]s| is| are| was| were) {BEFORE_NOUN} (?P<words>[\w-]+(?: [\w-]+){{0,3}})"
        r"|\bwhen(?:['’]s| is| was) (?:my|our|his|her|(?:\w+\.? ){0,3}\w+['’]s?(?!\w)) (?P<event>[\w-]+)",
        re.IGNORECASE,
    ),
    "de": lazy_pattern(
        r"\b(?:wie|was) (?:lautet|lauten|ist|war|sind) (?:das|die|der|mein\w*|unser\w*|sein\w*|ihr\w*) "
        r"(?P<words>[\w-]+)"
        r"|\bwann (?:hat|habe|haben) [\w. ]{1,40} (?P<event>\w+tag)\b",
        re.IGNORECASE,
    ),
}
PHRASE_END = lazy_pattern(rf"(?:^| )(?:{NO_NOUN}|{VERB})(?: .*)?$", re.IGNORECASE)
# “Which hotel am I staying at?”, “What grade did Ida get?”
CHOICE = {
    "en": lazy_pattern(
        rf"\b(?:what|which) (?P<words>(?:(?!(?:{VERB}|{NO_NOUN})\b)[\w-]+ ){{1,3}}){VERB}(?!\w)", re.IGNORECASE
    ),
    "de": lazy_pattern(r"\bwelche[mnrs]? (?P<words>[\w-]+)", re.IGNORECASE),
}
# What is computed from several memories, none of which need have the word: “the total number of courses”.
DERIVED = lazy_pattern(
    r"\b(?:the|what|total|overall|whole) (?:number|amount|sum|total|count|order|sequence|average|percentage|share|"
    r"difference|distance) (?:of|between|in)\b"
    r"|\b(?:anzahl|summe|gesamtzahl|gesamtsumme|reihenfolge|durchschnitt|anteil|unterschied|differenz)\b"
    r"|总数|總數|总共|總共|一共|总和|總和|平均|顺序|順序",
    re.IGNORECASE,
)
FactForm = Literal["place", "person", "count", "measure", "job"]
MAX_FACT_WORDS = (
    1  # beside the names: a longer question may be about another thing, too (“where does Ida keep the cup?”)
)
FACT_WORDS = frozenset("many has have got wo woher wohin viele hat haben".split())
POSSESSIVE = lazy_pattern(r"['’]s?$")
PLURAL_WORD = lazy_pattern(PLURAL)  # “which tools”: those of a memory with the answer have names of their own
CHINESE_VALUE = lazy_pattern(r"(?:是|要|有)?(?:多少|什么|什麼|哪天|哪年|[几幾])")  # after an attribute
CHINESE_WHICH = lazy_pattern(r"什么|什麼|哪[个個家种種条條位间間本部]")  # before a choice
# These say which value is meant, not what it is.
ORDER_WORDS = frozenset(
    """
    current latest newest new old former previous original first last next exact actual other specific total main
    favourite favorite full aktuelle aktueller aktuelles neue neuer neues alte alter altes letzte erste
    """.split()
)
# A memory that has the answer often has none of these.
GENERAL_WORDS = frozenset(
    """
    name names thing things kind kinds type types sort sorts place places city town country person people guy one ones
    time times date dates day days week weeks year years month months hours part parts way ways title result results
    outcome issue issues problem problems reason reasons idea ideas situation status details view opinion advice plan
    plans language food dish present gift job work activity event events subject topic matter deal point
    name namen ding dinge art arten sorte sorten ort orte stadt land mann frau person personen leute zeit zeiten datum
    tag tage jahr jahre monat woche teil teile grund gründe idee ergebnis problem plan pläne arbeit sprache essen
    时候 時候 时间 時間 东西 東西 事情 事 名字 意思 地方 人 问题 問題 原因 星期
    """.split()
)


# A fact about somebody who is named: “Where does Priya work?”, “Who is Tom's boss?”, “How many children has Ida?”
FACT_QUESTIONS: Mapping[FactForm, re.Pattern[str]] = {
    "place": lazy_pattern(
        r"^\W*(?:and |so )?where(?:['’]s| (?:does|is|was)) |^\W*(?:und )?(?:wo|woher|wohin) ", re.IGNORECASE
    ),
    "person": lazy_pattern(r"^\W*(?:and |so )?who(?:['’]s| is| was) |^\W*(?:und )?wer (?:ist|war) ", re.IGNORECASE),
    "count": lazy_pattern(r"^\W*(?:and |so )?how many |^\W*(?:und )?wie ?viele ", re.IGNORECASE),
    "measure": lazy_pattern(
        r"^\W*(?:and |so )?how (?:tall|heavy|big|long|high|fast) |^\W*(?:und )?wie (?:groß|schwer|lang|hoch|schnell) ",
        re.IGNORECASE,
    ),
    "job": lazy_pattern(
        r"^\W*what(?:['’]s| is| was) [\w ]{1,40}['’]s? (?:job|profession|occupation|trade|work)\b"
        r"|^\W*what (?:does|did) [\w ]{1,40} do for (?:a living|work)\b|^\W*was ist [\w ]{1,40} von beruf\b"
        r"|^\W*als was arbeitet ",
        re.IGNORECASE,
    ),
}
# What a memory that has such a fact may look like, in whatever words.
PLACE_PREPOSITION = (
    r"\b(?:at|in|into|near|by|from|to|on|under|behind|opposite|outside|inside|around|above|below|beside|between|for|"
    r"here|there|home|abroad|bei|beim|im|ins|am|an (?:de[mnr]|die|das)|auf|aus|nach|zu[mr]?|hinter|neben|hier|dort)\b"
)
FACT_FORMS: Mapping[FactForm, re.Pattern[str]] = {
    # Before a time, a preposition tells of no place: “in May”, “on Tuesday”, “for ten years”.
    "place": lazy_pattern(
        rf"{PLACE_PREPOSITION}(?! (?:the |an? |last |next |every |de[mnr] )?"
        r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|"
        r"october|november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|least|all|weekends?|times?|now|"
        r"\d|(?:\w+ )?(?:days|weeks|months|years|hours))\b)",
        re.IGNORECASE,
    ),
    "count": lazy_pattern(  # no phone number, and no time of day
        rf"(?<![\d.,:/-])\d{{1,3}}(?![\d:/-]|[.,]\d| \d)|\b{NUMBER_WORD}\b"
        r"|\b(?:no|none|both|couple|twins?|keine?n?|paar)\b",
        re.IGNORECASE,
    ),
    "measure": lazy_pattern(rf"\d|\b{NUMBER_WORD}\b", re.IGNORECASE),
    "job": lazy_pattern(
        r"\b(?:is|was|as|be|became) (?:an? |the )\w+|\b(?:work|teach|run|job)s?\b|\bat\b"
        r"|\b(?:als|arbeitet|wurde|wird)\b|\bist (?!ein)\w+",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, slots=True)
class AskedValue:
    """What is asked for, and the words of the question that name it rather than its subject.

    An ``amount`` of money; an ``age``; an ``attribute`` (“the registration number of the van”); a ``choice`` (“which
    hotel”); or a ``fact`` about ``names`` (“where does Priya work?”), which has a form.
    """

    kind: Literal["amount", "age", "attribute", "choice", "fact"]
    words: frozenset[str]
    names: frozenset[str] = frozenset()
    form: FactForm | None = None

    @property
    def is_figure(self) -> bool:
        """Is it recognised in a text by its form, rather than by its words?"""
        return self.kind in ("amount", "age")

    def may_be_in(self, text: str) -> bool:
        """Does a text have something of the form of the value: a figure, a place, another person?"""
        if self.form == "person":
            return any(self.names.isdisjoint(words(name)) for name in find_names(text[:MAX_CHARACTERS]))
        if self.form is not None:
            return FACT_FORMS[self.form].search(text[:MAX_CHARACTERS]) is not None
        return mentions_age(text) if self.kind == "age" else mentions_amount(text)


@lru_cache(maxsize=64)  # several steps ask about one query, and for each of the first hits
def asked_value(question: str, language: str = "en") -> AskedValue | None:
    """None if nothing of the kind is asked for, or in words that a memory with the answer need not have.

    >>> sorted(asked_value("What is the registration number of the van?").words)
    ['number', 'registration']
    >>> asked_value("What did Kevin charge?").kind, asked_value("Which town did we see?")
    ('amount', None)
    >>> asked_value("What is the total number of courses I took?")
    >>> asked_value("Where does Priya work?").form
    'place'
    """
    text = question[:MAX_CHARACTERS]
    if asks_about_assistant(text) or asks_for_opinion(text) or asks_for_all(text) or asks_for_change(text):
        return None
    if DERIVED.search(text):
        return None
    if ASKS_FOR_AMOUNT.search(text):
        return AskedValue("amount", AMOUNT_WORDS)
    if ASKS_FOR_AGE.search(text):
        return AskedValue("age", AGE_WORDS)
    if SPACELESS.search(text):
        return _asked_in_chinese(text)
    if language not in CHOICE:
        return None
    if fact := _asked_fact(text, language):
        return fact
    if match := CHOICE[language].search(text):
        named = words(match["words"])
        if not named:  # a dash is no word
            return None
        return None if language == "en" and PLURAL_WORD.fullmatch(named[-1]) else _specific("choice", named)
    if match := ATTRIBUTE[language].search(text):
        return _specific("attribute", words(match["event"] or PHRASE_END.sub("", match["words"])))
    return None


def _asked_fact(text: str, language: str) -> AskedValue | None:
    """A question about somebody who is named, with one more word."""
    form = next((form for form, pattern in FACT_QUESTIONS.items() if pattern.search(text)), None)
    names = frozenset(word for name in find_names(text) for word in words(POSSESSIVE.sub("", name))) if form else None
    if not names:
        return None
    left_out = stop_words(language) | names | FACT_WORDS
    told = [word for word in words(text) if word not in left_out]
    if form != "job" and not 0 < len(told) <= MAX_FACT_WORDS:
        return None
    return AskedValue("fact", frozenset(told), names, form)


def mentions_amount(text: str) -> bool:
    """Does it have a figure that may be an amount of money, and not a date, a quantity or the number of something?

    >>> [mentions_amount(each) for each in ("the saw, 389", "5.9 kilos", "on 2 June at 10:30", "it is in Unit 11")]
    [True, False, False, False]
    >>> [mentions_amount(each) for each in ("25 sacks", "28 a month", "40 Gäste", "40 Euro", "84 quid each")]
    [False, True, False, True, True]
    """
    return AMOUNT.search(LABEL.sub(" ", text[:MAX_CHARACTERS])) is not None


def mentions_age(text: str) -> bool:
    """Does it have what may be somebody's age, or tell of a birth or a year?

    >>> [mentions_age(each) for each in ("Ida turned 34", "Ida (34) sings", "Ida is nearly seven", "Ida wird vierzig")]
    [True, True, True, True]
    >>> [mentions_age(each) for each in ("Ida met Tobias at 10:30", "Tobias lives in Unit 11")]
    [False, False]
    """
    return AGE.search(text[:MAX_CHARACTERS]) is not None


def _specific(kind: Literal["attribute", "choice"], named: list[str]) -> AskedValue | None:
    told = [word for word in named if word not in ORDER_WORDS]
    if not told or told[-1] in GENERAL_WORDS:
        return None
    return AskedValue(kind, frozenset(told))


def _asked_in_chinese(text: str) -> AskedValue | None:
    """The word before “is how many” or “is what”, or the one after “which”."""
    named = {word for word in words(text, whole=True) if len(word) > 1} - stop_words("zh") - GENERAL_WORDS
    ends = [match.start() for match in CHINESE_VALUE.finditer(text)]
    starts = [match.end() for match in CHINESE_WHICH.finditer(text)]
    for word in sorted(named, key=lambda each: (-len(each), each)):
        if any(text.endswith(word, 0, end) for end in ends):
            return AskedValue("attribute", frozenset({word}))
        if any(text.startswith(word, start) for start in starts):
            return AskedValue("choice", frozenset({word}))
    return None
