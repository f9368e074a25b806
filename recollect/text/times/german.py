"""Times in German."""

from __future__ import annotations

import re

from recollect.text.times import days as calendar
from recollect.text.times import meanings
from recollect.text.times.days import UNITS, Time, fixed, one_day, shift, unit_from
from recollect.text.times.german_words import (
    AGREED,
    AND_A_HALF,
    ARRANGED,
    BEFORE_YEAR,
    DAY_PART,
    DECADES,
    EDGES,
    EVENTS,
    FUTURE,
    HAVE,
    HOLIDAY_NAMES,
    HOLIDAY_STEMS,
    LOOKS_BACK,
    MONTHS,
    NUMBER,
    NUMBERS,
    ORDINAL,
    ORDINAL_STEMS,
    PARTICIPLE,
    PARTS,
    PAST,
    RELATIONS,
    RELATIVE_DAYS,
    SEASON_PARTS,
    SEASONS,
    SHORT_MONTHS,
    SHORT_WEEKDAYS,
    TO_BE_DONE,
    UNIT_NAMES,
    WEEKDAYS,
)
from recollect.text.times.grammar import (
    MODIFIER,
    NEVER,
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
from recollect.text.times.numeric import FULL_DATES, OLD_YEAR, SHORT_DATE, YEAR

# Before “Morgen”, which then is the noun for the morning.
MORNING = (
    r"\b(?:guten|heute|gestern|jede[nrm]?|am|der|den|dem|des|eine?[ns]?|diese[nr]|schönen|nächsten|frühen|späten|zum|vom|"
    r"gegen|tag|nacht)\s+$|tag\s+$"
)
AT_THE_WEEKEND = r"\b(?:am|übers?|seit\s+dem|vor\s+dem|nach\s+dem|bis\s+zum)\s+$"
PERSON_AFTER = r"'s|\s+tai\b|-|\s+(?:ist|hat|sagt|sagte|kommt|kam|mag|war|will|kann|heißt)\b"


def number(text: str) -> int:
    text = " ".join(text.lower().split())
    return int(text) if text.isdigit() else NUMBERS[text]


def ordinal(text: str) -> int:
    text = text.lower().rstrip(".")
    if text.startswith("letzt"):
        return -1
    return int(text) if text.isdigit() else ORDINAL_STEMS[re.sub(r"e[nrsm]?$", "", text)]


def month_number(text: str) -> int:
    return MONTHS.get(text.lower()) or SHORT_MONTHS[text.lower()]


def _day_and_month(match: re.Match[str], scene: Scene) -> Time:
    return calendar.day_and_month(month_number(match["month"]), ordinal(match["day"]))


def _days_of_month(match: re.Match[str], scene: Scene) -> Found:
    month = match["month"]
    at = int(month) if month.isdigit() else month_number(month)
    return meanings.days_of_month(match, scene, at, ordinal(match["first"]), ordinal(match["last"]))


def _holiday(match: re.Match[str], scene: Scene) -> Time:
    return HOLIDAYS[HOLIDAY_NAMES[" ".join(match[0].lower().split())]]


def _nicholas(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """The day, if the words before it are not said of a person."""
    return (
        (HOLIDAYS["nicholas"], STRONG)
        if search(r"\b(?:an|zu|seit|vor|nach|bis)\s+$", scene.left(match.start()))
        else None
    )


def _relative_day(match: re.Match[str], scene: Scene) -> Time:
    return one_day(scene.today + RELATIVE_DAYS[" ".join(match[0].lower().split())])


def _tomorrow(match: re.Match[str], scene: Scene) -> Time | None:
    left, right = scene.left(match.start()), scene.right(match.end())
    begins = search(r"(?:^|[.!?:\n]\s*|-\s*)$", left) is not None
    if search(MORNING, left) or (match[0][0].isupper() and not begins):
        return None
    if begins and compiled(r"\s*(?:[!,.]|zusammen|allerseits)").match(right):
        return None  # a greeting
    return one_day(scene.today + 1)


def _this_time(match: re.Match[str], scene: Scene) -> Time | None:
    """“Letztes Jahr um diese Zeit”."""
    return meanings.same_time(scene, UNIT_NAMES[(match["unit"] or match["last_unit"]).lower()])


def _ago(match: re.Match[str], scene: Scene) -> Time | None:
    if match["and_half"]:
        count = AND_A_HALF[match["and_half"].lower()] + 0.5
    else:
        count = 0.5 if match["half_a"] else number(match["count"])
    return meanings.ago(
        scene, count, UNIT_NAMES[match["unit"].lower()], more=bool(match["more"]), exact=bool(match["exact"])
    )


def _ahead(match: re.Match[str], scene: Scene) -> Time | None:
    """“In zwei Wochen”, unless it is how long something took."""
    if search(PAST, scene.left(match.start(), 80)) or search(PAST, scene.right(match.end())):
        return None
    return unit_from(UNIT_NAMES[match["unit"].lower()], scene.today, number(match["count"]))


def _rolling(match: re.Match[str], scene: Scene) -> Time | None:
    count = number(match.groupdict().get("count") or "paar")
    ahead = match["which"].lower().startswith(("nächst", "kommend"))
    return meanings.rolling(scene, count, UNIT_NAMES[match["unit"].lower()], ahead=ahead)


def _since_so_long(match: re.Match[str], scene: Scene) -> Found | None:
    unit = UNIT_NAMES[match["unit"].lower()]
    if unit in ("hour", "minute"):
        return None
    start = one_day(shift(scene.today, unit, -number(match["count"])))
    return Found(match.start(), match.end(), start, STRONG, "since")


def _part_of_year(match: re.Match[str], scene: Scene) -> Time | None:
    which, is_quarter = ordinal(match["number"]), match["unit"].lower() == "quartal"
    if not 1 <= which <= (4 if is_quarter else 2):
        return None
    return calendar.quarter(which) if is_quarter else calendar.half_year(which)


def _decade(match: re.Match[str], scene: Scene) -> Time | None:
    text = match["decade"].lower()
    tens = int(text.rstrip("ern")) if text[0].isdigit() else 0
    start = DECADES.get(text) or (tens if tens > 100 else tens + (1900 if tens >= 30 else 2000))
    return fixed("decade", calendar.months_of(start, 1, 120))


def _calendar_week(match: re.Match[str], scene: Scene) -> Time:
    return calendar.calendar_week(int(match["number"]))


def _compound(match: re.Match[str], scene: Scene) -> Time | None:
    """“Erste Juniwoche”, “zweite Maihälfte”."""
    time, which = calendar.month(month_number(match["month"])), ordinal(match["number"])
    if match["what"].lower() == "hälfte":
        return meanings.half_of(time, 1 if which == 1 else 2)
    return meanings.nth_of(time, UNIT_NAMES[match["what"].lower()], which)


def _edge(match: re.Match[str], scene: Scene) -> Time | None:
    """“Monatsende”, “Jahresbeginn”."""
    return meanings.part_of(UNITS[EDGES[match["unit"].lower()]], PARTS[match["part"].lower()])


def _previous(match: re.Match[str], scene: Scene) -> Time | None:
    return unit_from(UNIT_NAMES[match["unit"].lower()], scene.today, -1)


def _season(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    time = calendar.season(SEASONS[match["season"].lower()])
    part = meanings.part_of(time, SEASON_PARTS[match["part"].lower()]) if match["part"] else time
    return None if part is None else (part, PREPOSITION)


def _month(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    name = match["month"].lower()
    sure = search(r"\b(?:im|diesen|letzten|anfang|mitte|ende)\s+$", scene.left(match.start()))
    if (
        name in ("mai", "april", "august", "jan")
        and not sure
        and compiled(PERSON_AFTER).match(scene.right(match.end()))
    ):
        return None
    short = name in SHORT_MONTHS and match["month"].islower()
    return calendar.month(month_number(name)), MODIFIER if short else PREPOSITION


def _weekday(match: re.Match[str], scene: Scene) -> Time:
    return calendar.weekday(WEEKDAYS[match["name"].lower()])


def _short_weekday(match: re.Match[str], scene: Scene) -> Time | None:
    followed = re.match(r"\s+[A-ZÄÖÜ]", scene.right(match.end()))
    return calendar.weekday(SHORT_WEEKDAYS[match["name"].lower()]) if match["name"].istitle() and not followed else None


def _unit(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    unit = UNIT_NAMES[match[0].lower()]
    at_the = unit == "weekend" and search(AT_THE_WEEKEND, scene.left(match.start()))
    return UNITS[unit], STRONG if at_the else MODIFIER


def _day_of_month(match: re.Match[str], scene: Scene) -> Time | None:
    """“Am 12.”, unless a thing follows: “am 12. Spieltag”. “I am 12.” is English."""
    left, right = scene.text[max(0, match.start() - 5) : match.start()], scene.right(match.end())
    if re.search(r"\bI\s+am\s+$", left) or re.match(r"\s+(?!Ich\b|Wir\b|Letzten\b)[A-ZÄÖÜ]", right):
        return None
    return calendar.day_of_month(ordinal(match["day"]))


def _year(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    """A bare year stands between words such as “habe ich” and a verb, or after what happens (“Urlaub 2023”); after
    another noun it is a number."""
    left, right = scene.left(match.start()), scene.right(match.end())
    time = calendar.year(int(match["year"]))
    if time is None or re.match(r"\s+[A-ZÄÖÜ][a-zäöüß]+|\s*[€%]", right):
        return None
    before = compiled(r"([^\W\d_]+)\s+$").search(left)
    bare = before is not None and (before[1] in BEFORE_YEAR or (not scene.told and before[1].lower().endswith(EVENTS)))
    return time, STRONG if bare and re.match(r"\s+[a-zäöü]|\s*[?.!,]|\s*$", right) else PREPOSITION


MONTH = alternatives([*MONTHS, *SHORT_MONTHS])
MONTH_WORDS = [*MONTHS, *SHORT_MONTHS]
WEEKDAY = alternatives(WEEKDAYS)
UNIT = alternatives(UNIT_NAMES)
DAY = rf"\d{{1,2}}\.|{ORDINAL}"
LINK = r"\s*(?:-|\bbis\s+(?:zum\s+)?|\bund\s+(?:dem\s+)?|\bauf\s+den\s+)\s*"
ABOUT = r"(?:(?:etwa|ungefähr|rund|ca\.?|circa|gut|knapp|genau|fast)\s+)?"
NTH = r"[1-5]\.|(?:erste|zweite|dritte|vierte|fünfte|letzte)[nrs]?"
LAST_UNIT = r"(?:letzte[sn]?|vorige[sn]?|vergangene[sn]?)\s+(?P<{}>jahr|monat|woche)"
RULES = [
    *FULL_DATES,
    rule(
        MONTH_WORDS,
        rf"(?<![\w.:/-])(?P<first>\d{{1,2}}\.?|{ORDINAL}){LINK}(?P<last>{DAY})\s*(?P<month>{MONTH}){SHORT_DOT}",
        _days_of_month,
    ),
    rule(
        "0", rf"(?<![\w.:/-])(?P<first>\d{{1,2}})\.{LINK}(?P<last>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.", _days_of_month
    ),
    rule(HOLIDAY_STEMS, rf"\b(?:{alternatives(HOLIDAY_NAMES)})\b", _holiday),
    rule("nikolaus", r"\bnikolaus\b", _nicholas),
    rule(MONTH_WORDS, rf"(?<![\w.:/-])(?P<day>{DAY})\s*(?P<month>{MONTH}){SHORT_DOT}", _day_and_month),
    SHORT_DATE,
    rule(
        "vor",
        rf"(?P<exact>\bheute\s+)?\bvor\s+(?P<more>(?:mehr\s+als|über)\s+)?{ABOUT}"
        rf"(?:(?P<half_a>einem\s+halben)|(?P<and_half>{alternatives(AND_A_HALF)})halb(?:en)?|(?P<count>{NUMBER}))\s+"
        rf"(?P<unit>{UNIT})\b",
        _ago,
    ),
    rule(
        "vorvorgestern vorgestern gestern heute heut übermorgen uebermorgen nacht",
        rf"\b(?:{alternatives(RELATIVE_DAYS)})\b",
        _relative_day,
    ),
    rule("morgen", r"\bmorgen\b", _tomorrow),
    rule(
        "seit",
        rf"\bseit\s+(?:über\s+|mehr\s+als\s+)?{ABOUT}(?P<count>{NUMBER})\s+(?P<unit>{UNIT})\b",
        _since_so_long,
    ),
    rule(
        UNIT_NAMES,
        rf"\bin\s+(?P<count>{NUMBER})\s+(?P<unit>tag|tagen|woche|wochen|monat|monaten|jahr|jahren)\b",
        _ahead,
    ),
    rule(
        UNIT_NAMES,
        rf"\b(?:in\s+)?(?:den\s+|die\s+|der\s+)?(?P<which>letzten|vergangenen|nächsten|kommenden|vorigen)\s+"
        rf"(?P<count>{NUMBER})\s+(?P<unit>{UNIT})\b",
        _rolling,
    ),
    rule(
        UNIT_NAMES,
        r"\b(?:in\s+)?(?:den|die)\s+(?P<which>letzten|vergangenen)\s+(?P<unit>tagen?|wochen|monaten?|jahren?)\b",
        _rolling,
    ),
    rule(
        "quartal halbjahr",
        r"\b(?P<number>[1-4]\.|(?:erste|zweite|dritte|vierte)[nsr]?)\s+(?P<unit>quartal|halbjahr)(?:e?s)?\b",
        _part_of_year,
    ),
    rule(
        ["er ern", *DECADES],
        rf"(?<=\bden\s)(?P<decade>(?:19|20)?\d0ern?|{alternatives(DECADES)})\b(?:\s+jahren)?",
        _decade,
    ),
    rule("kw kalenderwoche", r"\b(?:kw|kalenderwoche)\s*(?P<number>\d{1,2})\b", _calendar_week),
    rule(
        [*MONTHS, "maiwoche maihälfte"],
        rf"\b(?P<number>{NTH})\s+(?P<month>{alternatives(MONTHS)})(?P<what>wochenende|woche|hälfte)\b",
        _compound,
    ),
    rule(
        EDGES,
        r"\b(?P<unit>jahres|monats|wochen|quartals)(?P<part>anfang|beginn|mitte|ende|schluss)\b(?<!wochenende)",
        _edge,
    ),
    rule(
        "zeit",
        rf"\b(?:{LAST_UNIT.format('unit')}\s+um\s+(?:diese|die\s+gleiche|dieselbe)\s+zeit"
        rf"|(?:um\s+)?diese\s+zeit\s+(?:im\s+)?{LAST_UNIT.format('last_unit')})\b",
        _this_time,
    ),
    rule("vorjahr vormonat vorwoche vorquartal", r"\bvor(?P<unit>jahr|monat|woche|quartal)(?:e?s)?\b", _previous),
    rule(
        [*SEASONS, *SEASON_PARTS],
        rf"\b(?P<part>{alternatives(SEASON_PARTS)})?(?P<season>{alternatives(SEASONS)})s?\b",
        _season,
    ),
    rule(MONTH_WORDS, rf"\b(?P<month>{MONTH})s?{SHORT_DOT}", _month),
    rule(WEEKDAYS, rf"\b(?P<name>{WEEKDAY})(?:{DAY_PART})?\b", _weekday),
    rule("am", rf"(?<=\bam\s)(?P<name>{alternatives(SHORT_WEEKDAYS)})\b\.?", _short_weekday),
    rule(UNIT_NAMES, r"\b(?:woche|monats?|jahr|jahres|quartals?|wochenendes?)\b", _unit),
    rule("0", r"(?:(?<=\bam\s)|(?<=\b(?:dem|den|vom)\s))(?P<day>\d{1,2}\.)(?!\d)", _day_of_month),
    rule("0", rf"(?<![\w.,:/#'-])(?P<year>{YEAR})(?![\w:/%]|[.,-]\d)", _year),
    rule("jahr", rf"(?<=\bim\sjahr\s)(?P<year>{OLD_YEAR})(?![\w:/%]|[.,-]\d)", _year),
]


def _part(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.part_of(time, PARTS[match["part"].lower()])


def _half(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.half_of(time, 1 if ordinal(match["number"]) == 1 else 2)


def _nth(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    name = match["unit"].lower()
    unit = f"weekday {WEEKDAYS[name]}" if name in WEEKDAYS else UNIT_NAMES[name]
    return meanings.nth_of(time, unit, ordinal(match["number"]))


def _around(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.around(time, UNIT_NAMES[match["unit"].lower()])


def _beside(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.beside(time, UNIT_NAMES[match["unit"].lower()], 1 if match["side"].lower() == "nach" else -1)


def _course(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    """“Im Laufe der Woche”."""
    return meanings.determine(time, "this", scene) if time.kind in UNITS else None


def _determiner(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    word = match["word"].lower()
    for which, beginnings in (
        ("before last", ("vorletzt",)),
        ("last", ("letzt", "vergangen", "vorig")),
        ("after next", ("übernächst",)),
        ("next", ("nächst", "naechst", "kommend")),
    ):
        if word.startswith(beginnings):
            return meanings.determine(time, which, scene)
    return meanings.determine(time, "this", scene)


ARTICLE = r"(?:(?:des|der|vom|von|im|dem|den)\s+)?"
GRAMMAR = Grammar(
    rules=RULES,
    modifiers_before=[
        Modifier(
            rf"\b(?P<number>{NTH})\s+(?P<unit>woche|tag|wochenende|quartal|{WEEKDAY})\s+{ARTICLE}(?:monats\s+)?$", _nth
        ),
        Modifier(rf"\b(?P<number>{NTH})\s+hälfte\s+{ARTICLE}$", _half),
        Modifier(rf"\b(?P<part>anfang|beginn|mitte|ende)\s+{ARTICLE}(?:monats?\s+)?$", _part),
        Modifier(r"\blaufe\s+(?:der|des)\s+$", _course),
        Modifier(r"\b(?P<unit>woche|wochenende)\s+(?:um|vom|mit)\s+(?:den\s+|dem\s+)?$", _around),
        Modifier(r"\b(?P<unit>tag|woche|wochenende)\s+(?P<side>vor|nach)\s+(?:dem\s+)?$", _beside),
        Modifier(
            r"(?:\b(?:der|dem|den|des|das|die)\s+)?\b"
            r"(?P<word>(?:(?:vor)?letzte|vergangene|vorige|diese|(?:über)?nächste|naechste|kommende)[nrsm]?)\s+$",
            _determiner,
        ),
    ],
    modifiers_after=[],
    at_end=r"\bende\b",
    refused_before=(
        r"\b(?:jede[nrsm]?|alle|welche[nrsm]?|keine?[nrsm]?|manche[nrsm]?|eine?[nmrs]?|pro|herrn?|frau|familie|onkel|"
        r"tante|opa|oma|nachbar|kollege|kollegin|dr\.|seite|kapitel|zimmer|version|modell|nummer)\s+$"
    ),
    prepositions=(
        r"\b(?:im|am|an|zu|zum|über|übers|während|um|für|gegen|den|dem|der|des|das|die|jahre?|und|oder|schon|noch|"
        r"erst|vom|von|monat)\s+$"
    ),
    relations_before=(
        rf"\b(?P<relation>{alternatives(RELATIONS)})\s+(?:de[mnrs]\s+|die\s+|das\s+)?(?:jahre?\s+|monat\s+)?$"
    ),
    relations_after=NEVER,
    relations=RELATIONS,
    join=(r",?\s+(?:(?:der|des|den|dem|im|am|vom|von|in\s+der|in)\s+)?(?:jahre?s?\s+)?|,\s*|\s*\("),
    link=(r"\s*(?:(?P<and>\bund)|-|\bbis\b)\s*(?:(?:zum|zur|zu|dem|den|in\s+den|einschließlich|im)\s+)?"),
    day_part=rf"\s+(?:am\s+)?(?:{DAY_PART})\b",
    past=PAST,
    looks_back=LOOKS_BACK,
    future=FUTURE,
    agreed=AGREED,
    arranged=ARRANGED,
    have=HAVE,
    participle=PARTICIPLE,
    planned_for=r"\b(?:für|auf|bis)\s+(?:den\s+|zum\s+)?$",
    habit=r"\b(?:immer|meistens|normalerweise|gewöhnlich|nie|niemals|oft|jede[nrsm]?|üblicherweise|wöchentlich)\b",
    verb_final=True,
    to_be_done=TO_BE_DONE,
)
