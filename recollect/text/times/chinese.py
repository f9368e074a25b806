"""Times in Chinese, simplified and traditional."""

from __future__ import annotations

import re

from recollect.text.times import days as calendar
from recollect.text.times import meanings
from recollect.text.times.days import UNITS, Time, fixed, one_day, shift, unit_from
from recollect.text.times.grammar import (
    MODIFIER,
    PREPOSITION,
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
from recollect.text.times.numeric import FULL_DATES

DIGITS = {character: at for at, character in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
NUMERALS = "".join(DIGITS) + "十百廿"
NUMBER = rf"(?:\d{{1,4}}|[{NUMERALS}]{{1,5}}|几|幾|数|數|好几|半|一两|两三|三四|五六|七八)"
WEEKDAYS = {
    "一": 0,
    "二": 1,
    "三": 2,
    "四": 3,
    "五": 4,
    "六": 5,
    "日": 6,
    "天": 6,
    **{f"{at}": at - 1 for at in range(1, 8)},
}
WEEK_WORD = r"(?:周|週|星期|礼拜|禮拜)"
SEASONS = {"春": 0, "夏": 1, "秋": 2, "冬": 3}
UNIT_NAMES = {
    "天": "day", "日": "day", "周": "week", "週": "week", "星期": "week", "礼拜": "week", "禮拜": "week", "月": "month",
    "年": "year", "季度": "quarter", "小时": "hour", "小時": "hour", "钟头": "hour", "鐘頭": "hour", "分钟": "minute",
    "分鐘": "minute", "周末": "weekend", "週末": "weekend",
}  # fmt: skip
RELATIVE_DAYS = {
    "大前天": -3, "前天": -2, "前日": -2, "前晚": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "昨早": -1,
    "今天": 0, "今日": 0, "今早": 0, "今晚": 0, "今晨": 0, "今夜": 0, "明天": 1, "明日": 1, "明早": 1, "明晚": 1,
    "后天": 2, "後天": 2, "大后天": 3, "大後天": 3,
}  # fmt: skip
RELATIVE_YEARS = {
    "今年": 0, "本年": 0, "去年": -1, "上一年": -1, "前年": -2, "大前年": -3, "明年": 1, "来年": 1, "來年": 1,
    "后年": 2, "後年": 2,
}  # fmt: skip
HOLIDAY_NAMES = {
    "圣诞": "christmas", "聖誕": "christmas", "圣诞节": "christmas", "聖誕節": "christmas",
    "平安夜": "christmas eve", "圣诞夜": "christmas eve", "跨年夜": "new year's eve", "元旦": "new year's day",
    "元旦节": "new year's day", "情人节": "valentine", "情人節": "valentine", "妇女节": "women's day",
    "愚人节": "april fools", "复活节": "easter", "復活節": "easter", "耶稣受难日": "good friday", "万圣节": "halloween",
    "萬聖節": "halloween", "感恩节": "thanksgiving", "感恩節": "thanksgiving", "母亲节": "mother's day",
    "母親節": "mother's day", "父亲节": "father's day", "父親節": "father's day", "黑色星期五": "black friday",
    "春节": "spring festival", "春節": "spring festival", "春节假期": "spring festival",
    "农历新年": "spring festival", "过年": "spring festival",
   
    "大年初一": "spring festival day", "正月初一": "spring festival day", "除夕": "chinese new year's eve",
    "年三十": "chinese new year's eve", "大年三十": "chinese new year's eve", "元宵节": "lantern festival",
    "元宵節": "lantern festival", "端午": "dragon boat", "端午节": "dragon boat", "端午節": "dragon boat",
    "七夕": "double seventh", "七夕节": "double seventh", "中秋": "mid-autumn", "中秋节": "mid-autumn",
    "中秋節": "mid-autumn", "重阳节": "double ninth", "重陽節": "double ninth", "清明": "qingming",
    "清明节": "qingming", "清明節": "qingming", "劳动节": "may holiday", "勞動節": "may holiday", "五一": "may holiday",
    "五一节": "may holiday", "五一假期": "may holiday", "五一黄金周": "may holiday", "儿童节": "children's day",
    "兒童節": "children's day", "六一": "children's day", "六一儿童节": "children's day", "国庆": "china national day",
    "国庆节": "china national day", "國慶": "china national day", "國慶節": "china national day",
    "国庆假期": "china national day", "国庆黄金周": "china national day", "国庆长假": "china national day",
    "十一假期": "china national day", "十一黄金周": "china national day", "双十一": "singles day",
    "光棍节": "singles day",
}  # fmt: skip
# What may follow a time that would otherwise be part of a name: 三号线, 春天百货.
FOLLOWS = (
    r"\s*(?:$|[，。？！、,.?!；;：:\s]|我|你|您|他|她|它|咱|大家|谁|誰|那|的时候|的時候|时|時|里|裡|以|之|前|后|後|起|到|至|期|"
    r"和|与|在|有|是|去|来|來|发|發|说|說|做|干|幹|吃|买|買|怎|什|早|晚|上午|中午|下午|夜|凌晨|开始|開始|过|過|回|返|的?会)"
)
PARTS = {
    "初": "early",
    "中旬": "mid",
    "中": "mid",
    "底": "late",
    "末": "late",
    "上旬": "early",
    "下旬": "late",
    "尾": "late",
}


def number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in ("几", "幾", "数", "數", "好几"):
        return 3
    if text in ("一两", "两三", "三四", "五六", "七八"):  # one or two, two or three, …
        return DIGITS[text[0]]
    text = text.replace("廿", "二十")
    if "百" in text:
        hundreds, _, rest = text.partition("百")
        return DIGITS.get(hundreds, 1) * 100 + (number(rest.lstrip("零〇")) if rest.lstrip("零〇") else 0)
    if "十" in text:
        tens, _, ones = text.partition("十")
        if len(tens) > 1 or len(ones) > 1:
            raise ValueError
        return (DIGITS[tens] if tens else 1) * 10 + (DIGITS[ones] if ones else 0)
    if len(text) == 1 or len(text) == 4:
        return int("".join(f"{DIGITS[each]}" for each in text))
    raise ValueError


def _year(match: re.Match[str], scene: Scene) -> Time | None:
    return calendar.year(number(match["year"]))


def _relative_year(match: re.Match[str], scene: Scene) -> Time | None:
    return unit_from("year", scene.today, RELATIVE_YEARS[match[0]])


def _day_and_month(match: re.Match[str], scene: Scene) -> Time | Found | None:
    first = calendar.day_and_month(number(match["month"]), number(match["day"]))
    if match["last"]:
        last = calendar.day_and_month(number(match["month"]), number(match["last"]))
        return Found(match.start(), match.end(), first, STRONG, "range", last)
    return first


def _month(match: re.Match[str], scene: Scene) -> Time | None:
    value = number(match["month"])
    return calendar.month(value) if 1 <= value <= 12 else None


def _relative_day(match: re.Match[str], scene: Scene) -> Time:
    return one_day(scene.today + RELATIVE_DAYS[match[0]])


def _same_day(match: re.Match[str], scene: Scene) -> Time:
    return one_day(shift(scene.today, *_which_earlier(match)))


def _same_time(match: re.Match[str], scene: Scene) -> Time | None:
    return meanings.same_time(scene, *_which_earlier(match))


def _which_earlier(match: re.Match[str]) -> tuple[str, int]:
    """The unit and the steps of 去年, 前年 or 上个月."""
    return ("month", -1) if match["which"][0] == "上" else ("year", RELATIVE_YEARS[match["which"]])


def _holiday(match: re.Match[str], scene: Scene) -> Time | None:
    if match[0] in ("五一", "六一", "圣诞", "聖誕", "国庆", "國慶", "中秋", "清明") and not compiled(FOLLOWS).match(
        scene.right(match.end())
    ):
        return None
    if compiled(r"树|樹|老人|卡|礼物|歌|快乐|晚会|联欢").match(scene.right(match.end())):
        return None
    return HOLIDAYS[HOLIDAY_NAMES[match[0]]]


STEPS = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下下": 2, "下": 1}


def _relative_unit(match: re.Match[str], scene: Scene) -> Time | None:
    return unit_from(UNIT_NAMES[match["unit"]], scene.today, STEPS[match["which"]])


def _weekday(match: re.Match[str], scene: Scene) -> Time | None:
    day = match["day"]
    time = UNITS["weekend"] if day == "末" else calendar.weekday(WEEKDAYS[day])
    if not match["which"]:
        return time
    return fixed(time.kind, time.at(calendar.index_of("week", scene.today) + STEPS[match["which"]]))


def _ago(match: re.Match[str], scene: Scene) -> Time | None:
    """三天前, and 三天后 in a statement that does not tell what happened after something else."""
    unit = UNIT_NAMES[match["unit"]]
    count = 0.5 if match["count"] == "半" else number(match["count"]) + (match["half"] == "半") / 2
    if match["side"] == "前":
        return meanings.ago(scene, count, unit)
    if not scene.told or unit in ("hour", "minute") or count % 1 or search(PAST, scene.text):
        return None
    return unit_from(unit, scene.today, int(count))


def _rolling(match: re.Match[str], scene: Scene) -> Time | None:
    count = 0.5 if match["count"] == "半" else number(match["count"])
    return meanings.rolling(scene, count, UNIT_NAMES[match["unit"]], ahead=match["which"][0] in "未接")


def _quarter(match: re.Match[str], scene: Scene) -> Time:
    return calendar.quarter(number(match["number"] or match["bare"]))


def _half_year(match: re.Match[str], scene: Scene) -> Time:
    return calendar.half_year(1 if match[0][0] == "上" else 2)


def _edge(match: re.Match[str], scene: Scene) -> Time | None:
    return meanings.part_of(UNITS[UNIT_NAMES[match["unit"]]], PARTS[match["part"]])


def _season(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    strong = compiled(FOLLOWS).match(scene.right(match.end())) is not None
    return calendar.season(SEASONS[match["season"]]), STRONG if strong else PREPOSITION


def _season_of_year(match: re.Match[str], scene: Scene) -> Time | None:
    year = calendar.index_of("year", scene.today) - (match[0][0] == "去")
    return fixed("season", calendar.season(SEASONS[match["season"]]).at(year))


def _day_of_month(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    value = number(match["day"])
    place_or_size = compiled(r"(?:[a-z路街道巷弄楼栋室]\s?|[了大小])$").search(scene.left(match.start()))
    if not 1 <= value <= 31 or place_or_size:
        return None
    strong = compiled(FOLLOWS).match(scene.right(match.end())) is not None
    return calendar.day_of_month(value), STRONG if strong else MODIFIER


def _decade(match: re.Match[str], scene: Scene) -> Time | None:
    tens = number(match["decade"])
    return fixed("decade", calendar.months_of((1900 if tens >= 30 else 2000) + tens, 1, 120))


SMALL = rf"\d{{1,2}}|[{NUMERALS}]{{1,3}}"
UNIT = r"天|日|周|週|星期|礼拜|禮拜|月|年|季度|小时|小時|钟头|鐘頭|分钟|分鐘"
WHICH = r"上上|下下|上|下|[这這]|本"
BEGIN = rf"(?<![\d{NUMERALS}个個第.])"
RULES = FULL_DATES + [
    rule("", pattern, read)
    for pattern, read in (
        (rf"(?:{alternatives(HOLIDAY_NAMES)})", _holiday),
        (rf"(?<![\d第])(?P<year>(?:19|20)\d\d|[一二][{''.join(DIGITS)}]{{3}})年(?!级|級|代)", _year),
        (
            rf"{BEGIN}(?P<month>{SMALL})月(?P<day>{SMALL})[日号號](?:\s*[到至~-]\s*(?P<last>{SMALL})[日号號])?",
            _day_and_month,
        ),
        (r"(?P<which>去年|前年|上[个個]月)的?今[天日]", _same_day),
        (
            r"(?P<which>去年|前年|上[个個]月)的?(?:(?:差不多)?[这這][个個]?(?:时候|時候|时间|時間)|此[时時]|同期)",
            _same_time,
        ),
        (rf"(?<![以之目大])(?:{alternatives(RELATIVE_DAYS)})|大前天|大[后後]天", _relative_day),
        (alternatives(RELATIVE_YEARS), _relative_year),
        (r"[今去](?P<season>[春夏秋冬])(?![天季])", _season_of_year),
        # 三个月前, but 三月前 is before March.
        (
            (
                rf"(?<![\d{NUMERALS}.第])(?P<count>{NUMBER})[个個]?多?(?P<unit>(?!周末|週末)(?:{UNIT}))(?<![^个個半多]月)"
                r"(?P<half>半|多)?(?:以|之)?(?P<side>前|后|後)(?![台面年天])"
            ),
            _ago,
        ),
        (
            (
                r"(?P<which>最近|近|[过過]去|[这這](?=[几幾两兩三])|前(?=[几幾两兩]天|[几幾][个個])|未[来來]|接下[来來])的?[这這]?"
                rf"(?P<count>{NUMBER})[个個]?(?P<unit>{UNIT})(?:[以之]?[来來内內])?"
            ),
            _rolling,
        ),
        # 一周一次 is no Monday.
        (
            (
                rf"(?<![每各])(?P<which>{WHICH})?一?[个個]?{WEEK_WORD}(?P<day>[一二三四五六日天末])(?![年次个個]|一次)"
                r"(?<![一二两三四五六七八九十每]周.)"
            ),
            _weekday,
        ),
        (
            rf"(?<![每各])(?P<which>{WHICH})一?[个個]?(?P<unit>周(?![一二三四五六日天末])|週|星期|礼拜|禮拜|月(?!球)|季度)",
            _relative_unit,
        ),
        (r"(?:第(?P<number>[一二三四1-4])|(?<![\d第一二三四五六七八九十])(?P<bare>[一二三四]))[个個]?季度", _quarter),
        (r"(?<![\d一二三四五六七八九十以])[上下]半年", _half_year),
        (rf"{BEGIN}(?P<month>{SMALL})月(?:份)?(?!天(?!气|氣)|[球台光饼亮])", _month),  # 五月天 is a band
        (r"(?<![\d一二三四五六七八九十去今明前每几])(?P<unit>年)(?P<part>初|中|底|末|尾)(?![级級])", _edge),
        (
            r"(?<![\d一二三四五六七八九十个個每几])(?P<unit>月)(?P<part>初|中旬|底|末|上旬|下旬|中(?=[，。？的我你他她]))",
            _edge,
        ),
        (r"(?<![早立仲暮青])(?P<season>[春夏秋冬])(?:天|季)", _season),
        (rf"(?<![\d{NUMERALS}第个個])(?P<day>{SMALL})[号號日](?![游元本内])", _day_of_month),
        (r"(?:上世纪|上世紀|二十世纪)?(?P<decade>[二三四五六七八九]十|[2-9]0)年代", _decade),
    )
]


def _part(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.part_of(time, PARTS[match["part"]]) if time.kind != "week" else None


def _half(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    same = time.kind == UNIT_NAMES[match["unit"]]
    return meanings.half_of(time, 1 if match["which"] == "上" else 2) if same else None


def _nth(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    day = match["day"]
    unit = ("weekend" if day == "末" else f"weekday {WEEKDAYS[day]}") if day else UNIT_NAMES[match["unit"]]
    return meanings.nth_of(time, unit, number(match["number"]) if match["number"] else -1)


def _determiner(match: re.Match[str], time: Time, scene: Scene) -> Time | None:
    return meanings.determine(time, {-1: "last", 0: "this", 1: "next"}[STEPS[match["which"]]], scene)


RELATIONS = {
    "以前": "before", "之前": "before", "前": "before", "以来": "since", "以來": "since", "起": "starting",
    "开始": "starting", "開始": "starting", "至今": "since", "到现在": "since", "到現在": "since", "到今天": "since",
    "以后": "after", "以後": "after", "之后": "after", "之後": "after", "后": "after", "後": "after", "过后": "after",
    "为止": "until", "為止": "until", "截至": "until", "截止到": "until", "截至到": "until", "截止": "until",
    "到": "until", "直到": "until", "自": "since", "自从": "since", "自從": "since", "从": "from", "從": "from",
    "由": "from", "過後": "after", "過后": "after", "过後": "after",
}  # fmt: skip
PAST = r"(?<![订訂约約定预預])(?<![记記]下)了|[过過]|已经|已經|刚刚|曾"
FUTURE = (
    r"要|[订訂约約]了|会|會|将|將|打算|计划|計劃|准备|準備|预定|預定|预约|預約|安排|到期|截止|之前|约好|約好|订好|见面|"
    r"出发|下个|想|记得|記得|别忘|別忘|得去"
)
GRAMMAR = Grammar(
    rules=RULES,
    modifiers_before=[Modifier(r"(?P<which>上|[这這]|下)[个個]$", _determiner)],
    modifiers_after=[
        Modifier(
            rf"的?(?:第(?P<number>[一二三四五1-5])|最[后後]一)[个個]?"
            rf"(?:{WEEK_WORD}(?P<day>[一二三四五六日天末])|(?P<unit>{WEEK_WORD}|季度|天))",
            _nth,
        ),
        Modifier(r"的?(?P<which>[上下])半(?P<unit>月|年)", _half),
        Modifier(r"的?(?P<part>上旬|中旬|下旬|初|底|末|中(?=[，。？！的我你他她])|尾)", _part),
    ],
    at_end=r"[底末]",
    refused_before=r"(?:每[年月周週天]?|每个|每個|每逢|哪|哪个|几|幾|第)$",
    prepositions=r"[在于於从從自到至和与，、]$",
    relations_before=r"(?P<relation>截至到|截止到|截至|截止|直到|自从|自從|自|从|從|(?<![说説找感得提想走做改迟遲延定约約前挪搬])到)$",
    relations_after=(
        r"的?(?P<relation>以前|之前|以[来來]|之[后後]|以[后後]|[过過][后後]|至今|到[现現]在|到今天|[为為]止|起|[开開]始|"
        r"前(?![面台天年])|[后後](?![面台天年]))"
    ),
    relations=RELATIONS,
    join=r"\s*的?\s*|[（(]|，",
    link=r"\s*(?:(?P<and>[和与與跟])|到|至|-|~|直到)\s*",
    day_part=r"的?(?:早上|上午|中午|下午|晚上|傍晚|夜里|夜裡|凌晨|早晨|清晨|深夜|晚|早(?!就))",
    past=PAST,
    notes_are_plans=False,
    future=FUTURE,
    planned_for=r"(?:改|推迟|推遲|定|订|约|約|安排|延)(?:到|在|了)$",
    habit=r"每|总是|總是|通常|经常|經常|一般|从不|從不|平时|平時",
    between_after=r"之?[间間]|期[间間]",
)
