"""Times in English."""

from __future__ import annotations

import re

from recollect.text.times import days as calendar
from recollect.text.times import meanings
from recollect.text.times.days import UNITS, Time, fixed, shift, unit_from
from recollect.text.times.english_words import (
    AGREED,
    AMBIGUOUS_MONTHS,
    ARRANGED,
    DECADES,
    FOLLOWS,
    FUTURE,
    HOLIDAY_NAMES,
    HOLIDAY_STEMS,
    LONG_UNIT,
    LOOKS_BACK,
    MONTHS,
    NUMBER,
    NUMBERS,
    ORDINAL,
    ORDINALS,
    PARTS,
    PAST,
    PAST_AFTER,
    RELATIONS,
    RELATIONS_AFTER,
    RELATIVE_DAYS,
    SEASONS,
    SHORT_MONTHS,
    SHORT_UNITS,
    SHORT_WEEKDAYS,
    UNIT,
    VERB_AFTER,
    WEEKDAYS,
)
from recollect.text.times.grammar import (
    MODIFIER,
    PREPOSITION,
    SHORT_DOT,
    STRONG,
    Found,
    Grammar,
    Modifier,
    Scene,
    alternatives,
    compiled,
    rule,
    search,
)
from recollect.text.times.holidays import HOLIDAYS
from recollect.text.times.numeric import FULL_DATES, OLD_YEAR, YEAR, read_year

SURE_MONTH = r"\b(?:in|during|early|mid|late|last|throughout|(?:middle|end|start|beginning|half|week|day) of)[\s-]+$"
SURE_MONTH += rf"|\b(?:in|during)\s+(?:{alternatives(MONTHS)})\s+(?:and|or)\s+$"
SURE_MONTH += r"|\b(?:planned|scheduled|booked|due)\s+(?:for|by)\s+$|\b(?:postponed|moved)\s+(?:to|until)\s+$"
PERSON_BEFORE = r"\b(?:for|of|from|to|by|with|about|at|on|over|around|and|or|that|not)\s+$"
PRONOUN_BEFORE = r"\b(?:this|that|it|next|which|who|i|we|you|he|she|they|there|and|or|a|the|to)\s+$"
COUNTED = (
    r"\s+(?:(?!(?:was|is|as|has|does|this|his|its|us|yes|always|perhaps)\b)[a-z]+s|people|men|women|percent)\b|\s*[%€$]"
)
THE_DAY = r"\b(?:on|since|until|till|by|before|after|from|between|and|to|for)\s+the\s+$"
AT_THE_WEEKEND = r"\b(?:at|on|over|during|since|before|after|until|for|by)\s+the\s+$"
AT_NEW_YEAR = r"\b(?:at|over|since|after|before|until|around|for|and)\s+(?:the\s+)?$"
PLANS = r"\b(?:will|going\s+to|happening|happens|planned|coming|scheduled|due|on)\b"


def number(text: str) -> int:
    text = " ".join(text.lower().replace("-", " ").split())
    return int(text) if text.isdigit() else NUMBERS.get(text) or sum(NUMBERS[word] for word in text.split())


def ordinal(text: str) -> int:
    text = "-".join(text.lower().split())
    return -1 if text in ("last", "final", "latter") else ORDINALS.get(text) or int(text.rstrip("stndrh"))


def month_number(text: str) -> int:
    return MONTHS.get(text.lower()) or SHORT_MONTHS[text.lower()]


def named(text: str) -> Time:
    """A weekday or season by its name."""
    text = text.lower()
    return calendar.weekday(WEEKDAYS[text]) if text in WEEKDAYS else calendar.season(SEASONS[text])


def _before_noun(scene: Scene, at: int) -> bool:
    word = compiled(r"\s*([^\W\d_]+)").match(scene.right(at))
    return word is not None and word[1].lower() not in FOLLOWS and word[1].lower() not in MONTHS


def _day_and_month(match: re.Match[str], scene: Scene) -> Time:
    return calendar.day_and_month(month_number(match["month"]), ordinal(match["day"]))


def _days_of_month(match: re.Match[str], scene: Scene) -> Found:
    return meanings.days_of_month(
        match, scene, month_number(match["month"]), ordinal(match["first"]), ordinal(match["last"])
    )


def _holiday(match: re.Match[str], scene: Scene) -> Time | None:
    name = " ".join(match[0].lower().split())
    if _before_noun(scene, match.end()) or (name == "new year" and not search(AT_NEW_YEAR, scene.left(match.start()))):
        return None  # “the Christmas tree”
    return HOLIDAYS[HOLIDAY_NAMES[name]]


def _relative_day(match: re.Match[str], scene: Scene) -> Time:
    return calendar.one_day(scene.today + RELATIVE_DAYS[" ".join(match[0].lower().split())])


def _ago(match: re.Match[str], scene: Scene) -> Time | None:
    count = 0.5 if match["half_a"] else number(match["count"]) + bool(match["half"] or match["and_half"]) / 2
    more, exact, unit = bool(match["more"]), bool(match["exact"]), match["unit"].lower()
    return meanings.ago(scene, count, SHORT_UNITS.get(unit, unit), more=more, exact=exact)


def _named_ago(match: re.Match[str], scene: Scene) -> Time | None:
    return meanings.so_many_ago(named(match["name"]), number(match["count"]), scene)


def _ahead(match: re.Match[str], scene: Scene) -> Time | None:
    """“In two weeks”, unless it is how long something took."""
    took = search(PAST, scene.left(match.start(), 80)) or not (scene.told or search(PLANS, scene.text))
    if took and not match["sure"]:
        return None
    count, unit = number(match["count"]), match["unit"].lower()
    return unit_from("week", scene.today, 2 * count) if unit == "fortnight" else unit_from(unit, scene.today, count)


def _rolling(match: re.Match[str], scene: Scene) -> Time | None:
    groups = match.groupdict()
    count = 0.5 if groups.get("half_a") else number(groups.get("count") or "1")
    return meanings.rolling(scene, count, match["unit"].lower(), ahead=match["which"].lower() in ("next", "coming"))


def _calendar_week(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """“Week 12” alone may be one of a course or a pregnancy: in a statement it is none."""
    if scene.told and not match["sure"]:
        return None
    return calendar.calendar_week(int(match["number"])), STRONG if match["sure"] else PREPOSITION


def _part_of_year(match: re.Match[str], scene: Scene) -> Time | None:
    year = calendar.year(int(match["year"]))
    return None if year is None else meanings.part_of(year, PARTS[match["part"].lower()])


def _before_last(match: re.Match[str], scene: Scene) -> Time | None:
    name = match["name"].lower()
    which = "before last" if "before" in match["which"].lower() else "after next"
    return meanings.determine(UNITS[name] if name in UNITS else named(name), which, scene)


def _this_time(match: re.Match[str], scene: Scene) -> Time | None:
    """“This time last year” is the month, “this day last year” the day."""
    unit = match["unit"].lower()
    by_day = match["what"].lower() == "day"
    return calendar.one_day(shift(scene.today, unit, -1)) if by_day else meanings.same_time(scene, unit)


def _quarter(match: re.Match[str], scene: Scene) -> Time:
    return calendar.quarter(ordinal(match["number"]))


def _letter(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    count = int(match["number"])
    return (calendar.quarter(count), STRONG) if match["letter"] in "qQ" else (calendar.half_year(count), PREPOSITION)


def _decade(match: re.Match[str], scene: Scene) -> Time | None:
    text = match["decade"].lower()
    short = int(text) if text.isdigit() else 0
    start = DECADES.get(text) or (short if short > 100 else short + (1900 if short >= 30 else 2000))
    return fixed("decade", calendar.months_of(start, 1, 120))


def _season(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    return calendar.season(SEASONS[match[0].lower()]), PREPOSITION


def _month(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """A month without a day; “may”, “march” and names of people only after words that go with months."""
    written, name = match["month"], match["month"].lower()
    left, right = scene.left(match.start()), scene.right(match.end())
    time = calendar.month(month_number(name))
    if search(SURE_MONTH, left):
        person = right.startswith("'s") or (name == "march" and search(r"\b(?:the|a)\s+last\s+$", left))
        return None if person and name in AMBIGUOUS_MONTHS else (time, PREPOSITION)
    if written.islower() and name in SHORT_MONTHS:
        return time, PREPOSITION if search(r"\bsince\s+$", left) else MODIFIER
    if name not in AMBIGUOUS_MONTHS:
        return time, PREPOSITION
    if right.startswith("'s") or compiled(VERB_AFTER).match(right):
        return None
    if written.islower() and name in ("may", "march"):
        if search(r"\b(?:and|to)\s+$", left):
            return time, MODIFIER  # the end of a range
        return None if search(PRONOUN_BEFORE, left) or not search(r"\bsince\s+$", left) else (time, PREPOSITION)
    return time, MODIFIER if name not in ("august", "march") and search(PERSON_BEFORE, left) else PREPOSITION


def _weekday(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """Between capitalised words it is a part of a name: “at Ruby Tuesday”, “Wednesday Addams”."""
    left, right = scene.left(match.start()), scene.right(match.end())
    if re.search(r"[a-z,]\s+(?!Last|Next|This|On|Since|Until)[A-Z][a-z]+\s+$", left):
        return None
    if compiled(r"\s+(?:mornings|afternoons|evenings|nights)\b").match(right):
        return None  # a habit
    if scene.told and left.lower().endswith("the ") and _before_noun(scene, match.end()):
        return None  # “the Thursday group”
    in_name = match[0].istitle() and re.match(r"\s+[A-Z][a-z]+", right)
    return named(match[0]), PREPOSITION if in_name else STRONG


def _short_weekday(match: re.Match[str], scene: Scene) -> Time | None:
    name = match["name"]
    if name == "sun" or not (name.istitle() or name.islower()) or _before_noun(scene, match.end()):
        return None
    return calendar.weekday(SHORT_WEEKDAYS[name.lower()])


def _unit(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    name = match[0].lower()
    at_the = name == "weekend" and search(AT_THE_WEEKEND, scene.left(match.start()))
    return UNITS[name], STRONG if at_the else MODIFIER


def _day_of_month(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """“On the 12th”, unless a thing follows: “on the 12th floor”."""
    of_month = compiled(r"\s+of\s+(?:last|this|next|the)\s").match(scene.right(match.end()))
    on_the = search(THE_DAY, scene.left(match.start()))
    if not of_month:
        if _before_noun(scene, match.end()) or compiled(r"\s+of\b|-").match(scene.right(match.end())):
            return None
        if not match["day"][0].isdigit() and (
            scene.told or not (on_the and compiled(r"\s*(?:[?.!,;]|$)").match(scene.right(match.end())))
        ):
            return None
    return calendar.day_of_month(ordinal(match["day"])), STRONG if on_the or of_month else MODIFIER


def _year(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    left = scene.left(match.start()).lower()
    if compiled(COUNTED).match(scene.right(match.end())) or (
        left.endswith("the ") and _before_noun(scene, match.end())
    ):
        return None  # “2000 boxes”, “the 2000 model”
    time = calendar.year(read_year(match["year"]))
    return None if time is None else (time, PREPOSITION if len(match["year"]) == 4 else MODIFIER)


MONTH = alternatives([*MONTHS, *SHORT_MONTHS])
WEEKDAY = alternatives(WEEKDAYS)
SHORT_WEEKDAY = alternatives(SHORT_WEEKDAYS)
NAMED = alternatives([*WEEKDAYS, *SEASONS])
DAY = rf"\d{{1,2}}(?:st|nd|rd|th)?|{alternatives(ORDINALS)}"
LINK = r"\s*(?:-|\bto\b|\band\b|\buntil\b|\btill\b|\bthrough\b|\bthru\b)\s*(?:the\s+)?"
NTH = r"first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|last|final"
ABOUT = r"(?:(?:about|around|roughly|some|almost|nearly|exactly)\s+)?"
MONTH_WORDS = [*MONTHS, *SHORT_MONTHS]
RULES = [
    *FULL_DATES,
    rule(
        MONTH_WORDS,
        rf"(?<![\w.:/-])(?P<first>{DAY}){LINK}(?P<last>{DAY})\s+(?:of\s+)?(?P<month>{MONTH}){SHORT_DOT}",
        _days_of_month,
    ),
    rule(
        MONTH_WORDS,
        rf"\b(?P<month>{MONTH}){SHORT_DOT}\s+(?:the\s+)?(?P<first>{DAY}){LINK}(?P<last>{DAY})(?![\w:/]|[.,]\d)(?!\s+(?:{MONTH})\b)",
        _days_of_month,
    ),
    rule(HOLIDAY_STEMS, rf"\b(?:{alternatives(HOLIDAY_NAMES)})(?!\w)", _holiday),
    rule(
        MONTH_WORDS,
        rf"(?<![\w.:/-])(?P<day>{DAY})\s+(?:day\s+)?(?:of\s+)?(?P<month>{MONTH}){SHORT_DOT}(?!'s)",
        _day_and_month,
    ),
    rule(
        MONTH_WORDS, rf"\b(?P<month>{MONTH}){SHORT_DOT}\s+(?:the\s+)?(?P<day>{DAY})(?![\w:/%]|[.,]\d)", _day_and_month
    ),
    rule(
        "ago back earlier",
        rf"\b(?P<more>(?:more\s+than|over)\s+)?{ABOUT}(?:(?P<half_a>half\s+an?)|(?P<count>{NUMBER})(?P<half>\s+and\s+a\s+half)?)\s+"
        rf"(?P<unit>{UNIT}|{alternatives(SHORT_UNITS)})s?(?P<and_half>\s+and\s+a\s+half)?\s+(?:ago|back|earlier)\b(?!\s+(?:to|in|from|on)\s+the\b)"
        r"(?P<exact>\s+today)?",
        _ago,
    ),
    rule(
        "yesterday last today tonight tomorrow morning afternoon evening night",
        rf"\b(?:{alternatives(RELATIVE_DAYS)})\b",
        _relative_day,
    ),
    rule("ago", rf"\b(?P<count>{NUMBER})\s+(?P<name>{NAMED})s\s+ago\b", _named_ago),
    rule(
        LONG_UNIT.replace("|", " ") + " days",
        rf"\bin\s+(?P<count>{NUMBER})\s+(?P<unit>{LONG_UNIT})s?'?(?P<sure>\s+time|\s+from\s+now)?\b(?!\s+(?:or|of)\b)",
        _ahead,
    ),
    rule(
        "now today hence",
        rf"\b(?P<count>{NUMBER})\s+(?P<unit>{LONG_UNIT})s?\s+(?P<sure>from\s+(?:now|today)|hence)\b",
        _ahead,
    ),
    rule(
        "last past previous next coming",
        rf"\b(?:(?:the|these|this)\s+)?(?P<which>last|past|previous|next|coming)\s+(?:(?P<half_a>half(?:\s+an?)?)|(?P<count>{NUMBER}))\s+"
        rf"(?P<unit>{UNIT})s?\b(?!\s+of\b)",
        _rolling,
    ),
    rule(
        "last past",
        r"\b(?:(?:in|over|during|within|throughout|for)\s+the\s+(?=last|past)|(?:the|this)\s+(?=past))(?P<which>last|past)\s+"
        r"(?P<unit>day|week|fortnight|month|year|decade|hour)\b(?!\s+(?:of|in)\b|'s)",
        _rolling,
    ),
    rule(
        "fortnight",
        r"\b(?:(?:in|over|during)\s+)?(?:(?:the|this)\s+)?(?P<which>last|past|previous|next|coming)\s+(?P<unit>fortnight)\b",
        _rolling,
    ),
    rule(
        "week cw",
        r"\b(?:(?P<sure>(?:calendar|iso)\s+week\s+|cw\s?)|week\s+)(?P<number>\d{1,2})\b(?!\s*(?:of\b|%|[.,/:-]\d))",
        _calendar_week,
    ),
    rule("early mid late", rf"\b(?P<part>early|mid|late)-(?P<year>{YEAR})\b", _part_of_year),
    rule(
        "last next",
        rf"\b(?:the\s+)?(?P<name>week|weekend|month|year|quarter|{NAMED})\s+(?P<which>before\s+last|after\s+next)\b",
        _before_last,
    ),
    rule("last", r"\bthis\s+(?P<what>time|day)\s+last\s+(?P<unit>week|month|year)\b", _this_time),
    rule(
        "quarter",
        r"\b(?:the\s+)?(?P<number>first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter\b"
        r"(?!\s+(?:of\s+(?:an?|the\s+(?!year))|mile|note|inch|finals?))",
        _quarter,
    ),
    rule("q", r"(?<![\w-])(?P<letter>Q)(?P<number>[1-4])\b", _letter),
    rule("h", r"(?<![\w-])(?P<letter>H)(?P<number>[12])\b", _letter),
    rule("0", r"\bthe\s+'?(?P<decade>(?:19|20)?\d0)'?s\b", _decade),
    rule(DECADES, rf"\bthe\s+(?P<decade>{alternatives(DECADES)})\b", _decade),
    rule(SEASONS, rf"\b(?:{alternatives(SEASONS)})\b(?!')", _season),
    rule(MONTH_WORDS, rf"\b(?P<month>{MONTH}){SHORT_DOT}", _month),
    rule(WEEKDAYS, rf"\b(?:{WEEKDAY})\b", _weekday),
    *(
        rule(SHORT_WEEKDAYS, rf"(?<=\b{word}\s)(?P<name>{SHORT_WEEKDAY})\b\.?", _short_weekday)
        for word in ("on", "last", "next", "this", "since", "until")
    ),
    rule("week month quarter year", r"\b(?:weekend|week|month|quarter|year)\b(?!-)", _unit),
    rule([*ORDINALS, "st nd rd th"], rf"(?<=\bthe\s)(?P<day>{ORDINAL})\b", _day_of_month),
    rule("0", rf"(?<![\w.,:/#'-])(?P<year>{YEAR})(?![\w:/%]|[.,-]\d)", _year),
    rule([*MONTH_WORDS, *SEASONS], r"(?<=[a-z]\s)'(?P<year>\d\d)\b", _year),
    rule("0", rf"(?<=\bin\s)(?P<year>{OLD_YEAR})(?![\w:/%]|[.,-]\d)", _year),
]


def _part(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.part_of(time, PARTS[" ".join(match["part"].lower().split())])


def _half(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.half_of(time, 1 if ordinal(match["number"]) == 1 else 2)


def _nth(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    unit = match["unit"].lower()
    return meanings.nth_of(time, f"weekday {WEEKDAYS[unit]}" if unit in WEEKDAYS else unit, ordinal(match["number"]))


def _around(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.around(time, match["unit"].lower())


def _beside(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.beside(time, match["unit"].lower(), 1 if match["side"].lower() == "after" else -1)


def _rest(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.rest_of(time, scene, later=match["side"].lower() == "later")


def _last(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.determine(time, "last", scene)


def _this(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.determine(time, "this", scene)


def _next(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    """“Next Friday” and “next weekend” are those of next week, “the coming Friday” is the first after today."""
    of_next_week = time.kind in ("weekday", "weekend") and match["word"].lower() == "next"
    return meanings.determine(time, "of next week" if of_next_week else "next", scene)


GRAMMAR = Grammar(
    rules=RULES,
    modifiers_before=[
        Modifier(
            rf"(?:\bthe\s+)?\b(?P<number>{NTH})\s+(?P<unit>week|weekend|day|month|quarter|{WEEKDAY})\s+(?:of|in)\s+(?:the\s+)?$",
            _nth,
        ),
        Modifier(r"(?:\bthe\s+)?\b(?P<number>first|second|1st|2nd|latter|last)\s+half\s+of\s+(?:the\s+)?$", _half),
        Modifier(
            r"(?:\bthe\s+)?\b(?:very\s+)?(?P<part>beginning|start|first\s+(?:part|days)|middle|end|close|latter\s+part|last\s+days)\s+(?:of|in)\s+(?:the\s+)?$",
            _part,
        ),
        Modifier(
            r"(?:\bthe\s+)?\b(?<!too )(?<!so )(?<!very )(?P<part>early|mid|middle|late)(?:-|\s+)(?:in\s+|on\s+)?"
            r"(?:the\s+)?$",
            _part,
        ),
        Modifier(
            r"(?:\bthe\s+)?\b(?P<unit>week|weekend)\s+(?:of|around|containing|starting|beginning)\s+(?:the\s+)?$",
            _around,
        ),
        Modifier(r"\bthe\s+(?P<unit>day|week|weekend|month|year)\s+(?P<side>before|after)\s+(?:the\s+)?$", _beside),
        Modifier(r"\b(?P<side>earlier|later|so\s+far)\s+(?:in\s+)?$", _rest),
        Modifier(r"(?:\bthe\s+|\bthis\s+)?\b(?:last|past|previous|preceding)\s+$", _last),
        Modifier(r"\b(?:this|the\s+current|the\s+present)\s+$", _this),
        Modifier(r"(?:\bthe\s+|\bthis\s+)?\b(?P<word>next|coming|upcoming)\s+$", _next),
    ],
    modifiers_after=[Modifier(r"\s+(?P<side>so\s+far|to\s+date)\b", _rest)],
    at_end=r"\b(?:end|close)\b",
    refused_before=(
        r"\b(?:every|each|any|most|some|which|what|no|per|another|other|these|those|many|a|an|one)\s+"
        r"(?:other\s+|single\s+|second\s+)?$"
    ),
    prepositions=(
        r"\b(?:in|on|during|over|at|around|about|throughout|of|for|within|towards|from|to|that|and|or|not|year|back\s+in|as\s+(?:early|late|far\s+back)\s+as)\s+"
        r"(?:the\s+)?(?:year\s+)?$"
    ),
    # “What was I up to yesterday?” names no end.
    relations_before=r"\b(?:(?<!\bI\s)(?<!\bwe\s)(?<!\byou\s)(?<!\bhe\s)(?<!\bshe\s)(?<!\bthey\s)(?<!\bbeen\s)(?<!\bget\s)"
    r"|(?!up\s+to\b))"
    rf"(?P<relation>{alternatives(RELATIONS)})\s+(?:the\s+)?$",
    relations_after=(
        r"\s+(?P<relation>onwards?|forward|(?:and|or)\s+later|(?:and|or)\s+earlier|(?:and|or)\s+before|on(?=\s*[?.!,;]|\s*$))\b"
    ),
    relations=RELATIONS | RELATIONS_AFTER,
    join=r",?\s+(?:of\s+|in\s+|on\s+|from\s+)?(?:the\s+)?(?:year\s+)?|,\s*|\s*\(|'s\s+|\s*/\s*",
    link=(
        r"\s*(?:(?P<and>\band|&)|(?P<open>\buntil|\btill|\bup\s+to)|-|~|\bto\b|\bthrough\b|\bthru\b)\s*(?:the\s+)?(?:in\s+)?"
    ),
    day_part=r"\s+(?:(?:in\s+the\s+)?(?:morning|afternoon|evening)|(?:at\s+)?(?:night|noon|lunchtime|lunch))\b",
    past=PAST,
    past_after=PAST_AFTER,
    looks_back=LOOKS_BACK,
    future=FUTURE,
    agreed=AGREED,
    arranged=ARRANGED,
    planned_for=r"(?<!thanks )(?<!thank you )(?<!paid )\b(?:for|to|until|by)\s+(?:the\s+)?$",
    habit=r"\b(?:always|usually|normally|typically|generally|never|often|every|each|weekly|monthly|yearly)\b",
)
