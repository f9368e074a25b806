"""Finds times in a text with the grammars of all languages and resolves them to spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from recollect.text.patterns import lazy_pattern
from recollect.text.times.days import Days, Time, fixed, midnight
from recollect.text.times.grammar import (
    PREPOSITION,
    STRONG,
    Found,
    Grammar,
    Scene,
    compiled,
    compiled_for_lower_case,
    rules_for,
    search,
)

MAX_CHARACTERS = 10_000  # of a text are read
RECENT_DAYS = 14  # after a holiday its name alone means that one: “Christmas was lovely”
MAX_EXPRESSIONS = 100
MAX_MODIFIERS = 4  # “before the end of the first week of June”
AGREED, ARRANGED = 2, 3  # signs of what was settled in the past, beside 1 for the future and −1 for the past
FAR = 3  # so many times as far away, a time to come is not what was agreed
NEAR = ("weekday", "day", "day of month")  # read in a statement even if nothing tells past from future
EXACT = (*NEAR, "holiday")  # a range between two of these covers each of its days: “from 19 to 27 June”
DATES = ("day", "day of month", "month", "holiday")  # after one of these, “back on the 27th” is the next 27th
# “Plan B. On Friday …”: what may begin a sentence after a capital letter, and is no name.
NO_NAME = (
    r"(?!(?:On|In|At|The|We|You|He|She|It|They|An|My|Our|His|Her|Their|This|That|There|Then|Next|Last|After|Before|By|From"
    r"|Since|But|And|So|When|If|As|Am|Im|Ab|Bis|Seit|Vom|Der|Die|Das|Den|Dem|Ein|Eine|Wir|Ich|Er|Sie|Es|Und|Aber|Dann|Mein"
    r"|Meine|Unser|Unsere|Nach|Vor|Heute|Gestern|Morgen|Today|Yesterday|Tomorrow"
    r"|\w{3,6}day|\w{3,7}tag|Mittwoch)\b)"
)
FULL_STOP = (  # not that of “Dr. Noor” and “J. Smith”
    r"(?<!\b[DM]r)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)\.(?=\s|$)"
    rf"(?!(?<=\b[A-Z]\.)\s+{NO_NAME}[A-Z][\w.])"
)
SENTENCE_END = lazy_pattern(rf"[!?;。！？；，\n]|{FULL_STOP}")
CLAUSE_END = lazy_pattern(rf"[!?;,。！？；，\n]|{FULL_STOP}")
DATE_END = lazy_pattern(rf"[!?。！？\n]|{FULL_STOP}")  # a date counts for a day after it up to here
# After a date a day may belong to it only where a word says so: “we fly on 19 December, back on the 27th”.
CONTINUES = lazy_pattern(
    r"(?<!\bcall )(?<!\bring )(?<!\bpay )(?<!\bgive )(?<!\bbring )(?<!\bhim )(?<!\bher )(?<!\bthem )\bback\b"
    r"|\breturn(?:s|ed|ing)?\b(?!\s+(?:the|an?|my|our|his|her|their|it|them|this|that)\b)|\b(?:until|till|then|through)\b"
    r"|,\s*(?:flying|leaving|arriving|departing)\b|\bto(?: the)?\s*$|\b(?:zurück|heim|bis|dann)\b|到\s*$"
    r"|[回返](?![电電复復信话話])",
    re.IGNORECASE,
)
CONTINUES_AFTER = lazy_pattern(
    r"^\W*(?:\w+\s+){0,2}?(?:back(?!\s+(?:pain|ache))|return(?:s|ed|ing)?\b(?!\s+(?:the|an?|my|our|his|her|their|it|them)\b)"
    r"|zurück)\b|^[^\W\d_]{0,2}[回返](?![电電复復信话話])",
    re.IGNORECASE,
)
MONTH_DAYS = 28  # the shortest month has so many
DATE_REACH = 31  # days from the moment of writing: a date so near counts for a day after it without such a word
PLAN_END = lazy_pattern(rf"[?;。？；\n]|{FULL_STOP}")  # “Fifty years on Friday! We had guests” is no plan
WEEKDAY_NAME = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|"
    r"(?:周|星期)[一二三四五六日天])"
)
LIST_BEFORE = lazy_pattern(rf"{WEEKDAY_NAME}\s*(?:,|、|\band\b|\bund\b|和|,\s*and)\s*$", re.IGNORECASE)
LIST_AFTER = lazy_pattern(rf"\s*(?:,|、|\band\b|\bund\b|和|,\s*and)\s*{WEEKDAY_NAME}", re.IGNORECASE)
HOUR = lazy_pattern(
    r"\bat (?:\d{1,2}(?:[:.]\d\d)?(?!\d|[.,:]\d)|noon\b|midday\b|half past\b)(?! ?(?:%|percent|degrees|miles|km|[£$€]))"
    r"|\b\d{1,2}(?:[:.]\d\d)? ?(?:[ap]m|uhr|o'clock)\b|\bum (?:halb |viertel )?(?:\d{1,2}\b|zehn|elf|zwölf)"
    r"|(?:\d{1,2}|[一二三四五六七八九十两兩]{1,2})(?:[点點](?!\d)|[时時](?![候间間]))",
    re.IGNORECASE,
)
FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF1A)}  # digits
SAME_LENGTH = FULL_WIDTH | str.maketrans("’‘ʼ´`\u00a0\u202f\u2009‐‑–—−～／．", "'''''   -----~/.")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From ``start`` up to but not including ``end``; None where a side is open."""

    start: datetime | None
    end: datetime | None

    def __str__(self) -> str:
        start, end = (f"{each:%Y-%m-%d}" if each else "…" for each in (self.start, self.end))
        return f"{start} to {end}"


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time as a text names it, with its place in the text."""

    text: str
    begin: int
    end: int
    span: TimeSpan
    holiday: str = ""  # its name, without “last”
    is_period: bool = False  # from one named day to another, not something between them


def normalised(text: str) -> str:
    """A text with one kind of apostrophe, dash and digit, each in its place.

    >>> normalised("New Year’s Eve")
    "New Year's Eve"
    """
    return text.translate(SAME_LENGTH)


def read_times(
    text: str, now: datetime, grammars: Sequence[Grammar], stems: set[str], told: bool, ahead: bool
) -> list[TimeExpression]:
    """The times in a text by the grammars, of which earlier ones win."""
    scene = Scene(normalised(text[:MAX_CHARACTERS]), now, now.toordinal(), told, ahead)
    taken = bytearray(len(scene.text))
    found: list[tuple[Found, Grammar]] = []
    for grammar in grammars:
        found += [(each, grammar) for each in _read_grammar(grammar, scene, stems, taken)]
    expressions = []
    date: tuple[int, Days] | None = None  # where the last date ends, and its days
    for each, grammar in sorted(found, key=lambda pair: pair[0].begin)[:MAX_EXPRESSIONS]:
        if date is not None and DATE_END.search(scene.text, date[0], each.begin):
            date = None
        with suppress(ValueError, OverflowError):  # before the year 1 or after 9999
            direction = _direction_of(each, grammar, scene)
            days = None if direction is None else _resolve(each, scene, direction, date)
            span = None if direction is None or days is None else _span(each, days, scene, direction)
            if days is not None and span is not None:
                kinds = (each.time.kind, None if each.last_day is None else each.last_day.kind)
                expressions.append(
                    TimeExpression(
                        text[each.begin : each.end],
                        each.begin,
                        each.end,
                        span,
                        holiday=each.holiday if kinds[0] == "holiday" else "",
                        is_period=not each.between and all(kind in EXACT for kind in kinds),
                    )
                )
                if kinds[0] in DATES and each.relation in ("", "from", "range"):
                    date = each.end, days
    return expressions


def _continues(each: Found, following: Days, date: tuple[int, Days], scene: Scene) -> bool:
    """Whether a day of the month is counted from a date before it: the date is near, or a word says so."""
    end, days = date
    inside = 1 < days.end - days.start < MONTH_DAYS and following.end <= days.end  # “5 to 9 June, dinner on the 7th”
    if inside or abs(days.start - scene.today) <= DATE_REACH:
        return True
    after = CLAUSE_END.split(scene.right(each.end, 40))[0]
    return CONTINUES.search(scene.text[end : each.begin]) is not None or CONTINUES_AFTER.search(after) is not None


def _read_grammar(grammar: Grammar, scene: Scene, stems: set[str], taken: bytearray) -> list[Found]:
    found = [
        each
        for each in _find(grammar, scene, stems, bytearray(taken))
        if not search(grammar.refused_before, scene.left(each.begin)) and not _is_title(each, scene)
    ]
    for each in found:
        _modify(each, grammar, scene)
    found = _without_covered(found)
    found = _join(found, grammar, scene)
    found = _link(found, grammar, scene)
    accepted = []
    for each in found:
        if each.relation == "range":
            _include_range_words(each, grammar, scene)
        elif not each.relation:
            _relate(each, grammar, scene)
        if each.need == PREPOSITION and (each.relation or search(grammar.prepositions, scene.left(each.begin))):
            each.need = STRONG
        if each.need == STRONG and not any(taken[each.begin : each.end]):
            taken[each.begin : each.end] = b"\1" * (each.end - each.begin)
            accepted.append(each)
    return accepted


def _is_title(each: Found, scene: Scene) -> bool:
    """Whether a time alone stands between quotation marks, as the title of a book or song does."""
    around = scene.text[each.begin - 1 : each.begin] + scene.text[each.end : each.end + 1]
    return around in ('""', "“”", "„“", "«»", "《》", "「」")


def _find(grammar: Grammar, scene: Scene, stems: set[str], taken: bytearray) -> list[Found]:
    found: list[Found] = []
    lowered = scene.text.lower() if scene.text.isascii() else None
    for rule in rules_for(grammar, stems):
        if lowered is not None and not compiled_for_lower_case(rule.pattern).search(lowered):
            continue  # as most rules
        for match in compiled(rule.pattern).finditer(scene.text):
            if len(found) == MAX_EXPRESSIONS:
                break
            if any(taken[match.start() : match.end()]):
                continue  # part of a longer time
            time = None
            with suppress(ValueError, OverflowError):  # a month 13; a time before the year 1
                time = rule.read(match, scene)
            if time is None:
                continue
            if isinstance(time, Time):
                time = (time, STRONG)
            if isinstance(time, tuple):
                time = Found(match.start(), match.end(), *time)
            taken[time.begin : time.end] = b"\1" * (time.end - time.begin)
            if time.time.kind in ("day", "weekday", "day of month", "holiday") and (
                more := compiled(grammar.day_part).match(scene.right(time.end))
            ):
                time.end += more.end()
            if time.time.kind == "holiday":
                time.holiday = match[0]
            found.append(time)
    return sorted(found, key=lambda each: each.begin)


def _modify(each: Found, grammar: Grammar, scene: Scene) -> None:
    """Apply what stands directly before or after a time: “last”, “early”, “the first week of”."""
    for _ in range(MAX_MODIFIERS):
        for after, modifiers in ((False, grammar.modifiers_before), (True, grammar.modifiers_after)):
            around = scene.right(each.end) if after else scene.left(each.begin)
            for modifier in modifiers:
                pattern = compiled(modifier.pattern)
                match = pattern.match(around) if after else pattern.search(around)
                changed = None if match is None else modifier.change(match, each.time, scene)
                if match is not None and changed is not None:
                    each.at_end = search(grammar.at_end, match[0]) is not None
                    each.time, each.need = changed, STRONG
                    each.end += match.end() if after else 0
                    each.begin -= 0 if after else len(around) - match.start()
                    break
            else:
                continue
            break
        else:
            return


def _without_covered(found: list[Found]) -> list[Found]:
    """Without times that are words of another: the Friday of “the last Friday in June”."""
    return [
        each
        for at, each in enumerate(found)
        if not any(
            other.begin <= each.begin and each.end <= other.end and (other.end - other.begin > each.end - each.begin)
            for other in (*found[max(0, at - 3) : at], *found[at + 1 : at + 4])
        )
    ]


def _join(found: list[Found], grammar: Grammar, scene: Scene) -> list[Found]:
    """One time of “December last year”, “Friday, 3 June” and “Tuesday of last week”."""
    joined: list[Found] = []
    for each in found:
        while joined and each.begin - joined[-1].end <= 16:
            before = joined[-1]
            gap = scene.text[before.end : each.begin]
            time = _common(before.time, each.time, scene.today) if compiled(grammar.join).fullmatch(gap) else None
            if time is None:
                break
            joined.pop()
            holiday = each.holiday
            each = Found(before.begin, each.end, time, STRONG, at_end=before.at_end or each.at_end)
            each.holiday = before.holiday or holiday
        joined.append(each)
    return joined


def _common(first: Time, second: Time, today: int) -> Time | None:
    """What two times have in common if one is part of the other."""
    for part, whole in ((first, second), (second, first)):
        if part.kind == "weekday" and whole.kind in ("day", "day of month", "holiday"):
            return whole
        if part.fixed or not whole.fixed:
            continue
        days = whole.days()
        if days is None:
            continue
        longest = {"week": 7, "month": 31, "year": 366}.get(part.period, 0)
        if days.end - days.start > longest or part.kind == whole.kind:
            continue
        inside = part.first(days.start, begins=True)
        if inside is not None and inside.start < days.end:
            return fixed(part.kind, inside)
    return None


def _link(found: list[Found], grammar: Grammar, scene: Scene) -> list[Found]:
    """One time of the two ends of a range: “from October to January”, “between 3 June and 9 June”."""
    linked: list[Found] = []
    for each in found:
        before = linked[-1] if linked else None
        gap = scene.text[before.end : each.begin] if before is not None and each.begin - before.end <= 16 else None
        match = None if gap is None else compiled(grammar.link).fullmatch(gap)
        if before is not None and match is not None and before.last_day is None:
            _relate(before, grammar, scene)
            same = before.time.kind == each.time.kind and each.time.kind not in ("week", "holiday")
            closes = compiled(grammar.between_after).match(scene.right(each.end))
            usable = {
                "and": before.relation == "between" or closes is not None,
                "open": before.relation in ("from", "between"),
            }
            supported = (
                before.relation or STRONG in (before.need, each.need) or _has_preposition(before, grammar, scene)
            )
            if usable.get(match.lastgroup or "", same or before.relation in ("from", "between")) and supported:
                between = before.relation == "between" or (
                    closes is not None and closes[0][0] != "期"
                )  # 期间 is “during”
                linked[-1] = Found(
                    before.begin,
                    each.end,
                    before.time,
                    STRONG,
                    "range",
                    each.time,
                    holiday=before.holiday,
                    between=between,
                )
                continue
        linked.append(each)
    return linked


def _has_preposition(each: Found, grammar: Grammar, scene: Scene) -> bool:
    return search(grammar.prepositions, scene.left(each.begin)) is not None


def _relate(each: Found, grammar: Grammar, scene: Scene) -> None:
    """Read “since”, “before” and the like, before or after a time."""
    before = None if each.relation else search(grammar.relations_before, scene.left(each.begin))
    if before is not None:
        each.relation = _relation(before, grammar)
        each.begin -= len(before[0])
    after = compiled(grammar.relations_after).match(scene.right(each.end))
    if after is not None:
        each.end += after.end()
        each.need = STRONG
        if each.relation in ("", "from"):
            each.relation = _relation(after, grammar)


def _include_range_words(each: Found, grammar: Grammar, scene: Scene) -> None:
    """Include the “from” or “between” of a range in its words."""
    before = search(grammar.relations_before, scene.left(each.begin))
    if before is not None and _relation(before, grammar) in ("from", "between"):
        each.begin -= len(before[0])
    if after := compiled(grammar.between_after).match(scene.right(each.end)):
        each.end += after.end()


def _relation(match: re.Match[str], grammar: Grammar) -> str:
    return grammar.relations[" ".join(match["relation"].lower().split())]


def _direction_of(each: Found, grammar: Grammar, scene: Scene) -> int | None:
    """Whether a time is to come (1), is over (−1), or may be either (0); None where it is a habit."""
    if not scene.told:
        return _asked_direction(each, grammar, scene)
    return None if _is_habit(each, grammar, scene) else _direction(each, grammar, scene)


def _resolve(each: Found, scene: Scene, direction: int, date: tuple[int, Days] | None) -> Days | None:
    """The days of a time, which may follow a date in the same sentence."""
    days = _days(each.time, scene, direction)
    if date is not None and each.time.kind == "day of month" and not each.time.fixed:
        following = each.time.first(date[1].start)
        if following is not None and not _continues(each, following, date, scene):
            following = None
        over = following is not None and following.end <= scene.today
        if following is not None and (not direction or over == (direction < 0) or following.start == scene.today):
            days = following
    if each.last_day is not None:
        days = _range(each, days, scene)
    return None if days is None or days.end <= days.start or days.end <= 1 else days


def _span(each: Found, days: Days, scene: Scene, direction: int) -> TimeSpan | None:
    start, end = midnight(scene.now, days.start), midnight(scene.now, days.end)
    match each.relation:
        case "since" | "starting":
            return TimeSpan(start, None)
        case "after":
            return TimeSpan(end, None) if end is not None else None
        case "before":
            return TimeSpan(None, end if each.at_end else start)
        case "until" | "by":
            return TimeSpan(midnight(scene.now, scene.today) if scene.ahead and direction > 0 else None, end)
    return TimeSpan(start, end)


def _days(time: Time, scene: Scene, direction: int) -> Days | None:
    """The days of a time; of one that comes again the last, or the nearest in a statement that does not say."""
    if time.fixed:
        return time.days()
    past = time.latest(scene.today, ended=time.kind == "weekday")
    if direction < 0:
        return past
    future = time.first(scene.today + (time.kind == "weekday"))
    if direction > 0:
        return future
    if time.kind == "weekday" or past is None or future is None:
        return past
    return past if scene.today - past.start <= future.start - scene.today else future


def _range(each: Found, first: Days | None, scene: Scene) -> Days | None:
    last = each.last_day
    if last is None:
        return None
    if last.fixed:
        final = last.days()
        if final is not None and not each.time.fixed:
            first = each.time.latest(final.start)
    else:
        final = None if first is None else last.first(first.start)
        if final is not None and first is not None and final.start < first.start:
            final = last.first(first.end)
    return None if first is None or final is None else Days(first.start, final.end)


def _direction(each: Found, grammar: Grammar, scene: Scene) -> int:
    """Whether the words around a time speak of the future (1) or the past (−1); 0 where they do not say."""
    if each.relation == "since":
        return -1
    before = SENTENCE_END.split(scene.left(each.begin, 120))[-1]
    after = CLAUSE_END.split(scene.right(each.end, 60))[0]
    if each.relation == "by" or search(grammar.planned_for, before):
        return 1
    if grammar.verb_final:
        clause = f"{CLAUSE_END.split(before)[-1]} {after}"
        if sign := AGREED * bool(search(grammar.agreed, clause)) or ARRANGED * bool(search(grammar.arranged, clause)):
            return _towards(each.time, sign, scene)
        if search(grammar.past, after):
            return 1 if search(grammar.to_be_done, clause) else -1
        if search(grammar.have, clause) and not search(grammar.participle, after):
            return 1
    if grammar.past_after and search(rf"^\W*(?:{grammar.past})", after):  # “the meeting on Friday went well”
        return -1
    words_of_past = grammar.past_after or grammar.past
    kinds = ((grammar.future, 1), (grammar.past, -1), (grammar.agreed, AGREED), (grammar.arranged, ARRANGED))
    if found := [each for pattern, sign in kinds for each in _signs(pattern, before, sign)]:
        return _towards(each.time, max((end, sign) for _, end, sign in found)[1], scene)
    if found := [*_signs(grammar.future, after, 1), *_signs(words_of_past, after, -1)]:
        return -min((begin, -sign) for begin, _, sign in found)[1]
    # A note without a verb that names an hour is a plan: “haircut on Friday at 3”.
    if each.relation in ("until", "starting") or HOUR.search(f"{before} {after}"):
        return 1
    return 1 if each.time.kind == "weekday" and _is_plan(each, before, grammar, scene) else 0


def _is_plan(each: Found, before: str, grammar: Grammar, scene: Scene) -> bool:
    """Whether a sentence has no word that looks back, and more than a time: “dinner with Ada on Saturday”."""
    if not grammar.notes_are_plans:
        return False
    sentence = f"{before} {PLAN_END.split(scene.right(each.end, 120))[0]}"
    looks_back = search(grammar.past, sentence) or search(grammar.looks_back, sentence)
    return not looks_back and search(r"\w", sentence) is not None


def _towards(time: Time, sign: int, scene: Scene) -> int:
    """The direction that the words of a sign mean. What is agreed is to come, and what is arranged nearest, but a date
    that has just been is not one of next year."""
    if sign not in (AGREED, ARRANGED):
        return sign
    if time.fixed or time.kind == "weekday":
        return 1 if sign == AGREED else -1
    past, future = time.latest(scene.today), time.first(scene.today)
    if past is None or future is None:
        return 1
    nearer = (scene.today - past.start) * (FAR if sign == AGREED else 1)
    return -1 if nearer < future.start - scene.today else 1


def _asked_direction(each: Found, grammar: Grammar, scene: Scene) -> int:
    """Of a question: the future (1) if it is about what is to come. “Since” looks back; so do “before” and “after”,
    unless something will be, or must be done, then."""
    if not scene.ahead or each.relation == "since":
        return -1
    return 1 if each.relation not in ("before", "after") or _direction(each, grammar, scene) > 0 else -1


def _in_list(each: Found, scene: Scene) -> bool:
    """Whether a weekday stands beside another one, as in a timetable: “Monday, Wednesday and Friday”."""
    before, after = LIST_BEFORE.search(scene.left(each.begin, 24)), LIST_AFTER.match(scene.right(each.end, 24))
    return before is not None or after is not None


def _signs(pattern: str, text: str, sign: int) -> list[tuple[int, int, int]]:
    return [(*match.span(), sign) for match in compiled(pattern).finditer(text)]


def _is_habit(each: Found, grammar: Grammar, scene: Scene) -> bool:
    """“Usually on Monday”, “in summer”, “Monday to Friday” of a statement: no time, unless it tells what happened."""
    if each.time.fixed:
        return False
    around = (
        SENTENCE_END.split(scene.left(each.begin, 120))[-1] + " " + SENTENCE_END.split(scene.right(each.end, 60))[0]
    )
    if search(grammar.habit, around):
        return True
    if each.time.kind == "weekday" and (each.last_day is not None or _in_list(each, scene)):
        return _direction(each, grammar, scene) >= 0
    if each.time.kind == "holiday" and not each.relation and not _has_preposition(each, grammar, scene):
        last = each.time.latest(scene.today)
        recent = last is not None and scene.today - last.start <= RECENT_DAYS
        return not recent and _direction(each, grammar, scene) >= 0
    return each.time.kind not in NEAR and not _direction(each, grammar, scene)
