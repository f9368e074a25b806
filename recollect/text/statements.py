"""What a statement gives: values (numbers, days, times), a change, a correction, an opinion.

Most patterns are in lower case, as are the texts they are tried on: ignoring case takes two to three times as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.text.entity_names import find_names
from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.words import mostly_spaceless, words

MAX_CHARACTERS = 2_000  # of a text that are read
MAX_CONFIRMATION = 300  # characters of a confirmation, and of what it confirms
HAN_NUMBER = "一二三四五六七八九十百千万两零〇"
VALUE = lazy_pattern(
    r"\d+(?:[.,:/-]\d+)*"
    rf"|[{HAN_NUMBER}]+(?=[点點号號月日度元块塊欧歐个個次年周岁歲层層楼樓杯片])"
    r"|(?:周|星期|礼拜|禮拜)[一二三四五六日天]"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)s?\b"
    r"|\b(?:january|february|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:januar|februar|märz|mai|juni|juli|oktober|dezember)\b"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|once|twice|half)\b"
    r"|\b(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|einmal|zweimal|dreimal|halb)\b",
)
# Days and months, and verbs and the like that numbers follow: “May 3”, “only 3”.
VALUE_WORD = lazy_pattern(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwoch|sonnabend"
    r"|jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|april?|ma[yi]|june?i?|july?i?|aug(?:ust)?|sept?(?:ember)?"
    r"|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|only|about|nearly|almost|over|just|paid|bought|got|had|ate|ran|nur|etwa"
)
# “Oven 3 …”, “Today the room no. 4 …”, “三号炉 …”: what a statement begins with.
NUMBERED = lazy_pattern(
    r"(?:(?:today|yesterday|heute|gestern|now|jetzt)[\s,:]+)?(?:(?:the|our|my|der|die|das|unser\w*|mein\w*)\s+)?"
    r"([^\W\d_]{3,})\s+(?:no\.?\s*|nr\.?\s*|number\s+|#)?(\d{1,3})(?![\w.:,/%-]*\d|\s*(?:am|pm|uhr|euros?|€|%))\b"
    rf"|(?:今天|昨天|现在|現在|[给給把])*([\d{HAN_NUMBER}]{{1,3}})[号號]([\u4e00-\u9fff])",
)
LONG_NUMBER = lazy_pattern(r"(?<![0-9A-Za-z.,:/-])\+?(?:\d ?){6,}\d(?![\w.,:/-]\d)")
DIGIT = lazy_pattern(r"\d")
DAY = lazy_pattern(
    r"周|星期|礼拜|禮拜|.*(?:day|tag|mittwoch|sonnabend|abend)$|.*(?:ry|ril|mber|ber|uar|jun|jul|mai|märz|august).*"
)
CHANGE = lazy_pattern(
    r"\b(?:now|new|mov(?:es?|ed|ing)|changed|instead|from (?:today|tomorrow|now)|no longer|any ?more|switched|updated"
    r"|again|back (?:to|on|up|down)|(?:up|down) to|raised?|lowered|increased|reduced|doubled|halved|renewed|replaced"
    r"|postponed|extended|cancelled|after all|these days|nowadays|since (?:yesterday|today|this|last))\b"
    r"|\b(?:jetzt|neue?[rsnm]?|ab (?:sofort|heute|morgen)|verschoben|geändert|umgezogen|inzwischen|statt(?:dessen)?"
    r"|wieder|erhöht|gesenkt|verdoppelt|halbiert|verlängert|verlegt|ersetzt|abgesagt|mittlerweile|neuerdings|doch)\b"
    r"|改[到成为為了]|[换換][了成到]|搬[到完进進]|现在|現在|不再|[涨漲升降调調]到|加量|减量|減量|又|其实|其實|戒了|重新|跳槽|[转轉][到去]|如今",
)
ENDING = lazy_pattern(
    r"\b(?:quit|(?<!my )(?<!your )(?<!his )(?<!her )(?<!its )(?<!our )(?<!their )(?<!the )(?<!is )(?<!are )left(?= \w)"
    r"|leaving|resigned|sold|g(?:ave|iven) (?:up|away)|got rid of|(?:broke|split) up|divorced|retired|died|passed away"
    r"|cancell?ed|stopped"
    r"|dropped|ended|swapped|traded|no longer|not? .{1,40}any ?more|t(?:ook|aken|akes) over|migrated|replaced"
    r"|(?:moved|switched|changed) (?:away )?from)\b"
    r"|\b(?:gekündigt|verlassen|verkauft|aufgegeben|aufgehört|abgemeldet|getrennt|(?:nicht|kein\w{0,2}) .{0,40}mehr"
    r"|übernommen|abgelöst|ersetzt|umgestiegen|gewechselt|geschieden|gestorben|in rente|im ruhestand)\b"
    r"|辞[了掉职職]|離開|离开|[卖賣][了掉]|不再|退[了出掉]|停了|接替|接手|取代|[换換]成|跳槽|分手|离婚|離婚|去世|退休",
)
# “in the kitchen”, “auf dem Regal”, “放在厨房”: a noun after a preposition of place, which may be of a time, too.
# “The key hangs behind the fridge”; “Ben is in a bad mood” tells of no place.
STANDS = r"(?:is|are|was|were|hangs?|hung|lies|lay|stands?|sits?|moved|went|liegt|lag|hängt|steht|ist|sind)"
AT = r"(?:in|into|inside|on|onto|at|under|behind|beside|above|below|near|next to|to|auf|[ia]m|an|beim?|hinter|neben)\b"
NO_PLACE = r"(?!.{0,20}\b(?:moods?|hurry|trouble|pain|love|doubt|fact|general|state|shape|danger|order|use)\b)"
DESTINATION = lazy_pattern(rf"\b(?:to|nach) (?:the )?((?=[{UPPER_CASE}])[^\W\d_]+)")
PLACE = lazy_pattern(
    r"\b(?:in|into|inside|on|onto|at|under|behind|beside|above|below|near|next to)\s+"
    r"(?:(?:the|a|an|my|our|his|her|their|your)\s+)?((?:[^\W\d_]+\.?\s+)?[^\W\d_]{3,})"
    r"|\b(?:in|ins|im|am|an|ans|auf|aufs|unter|neben|hinter|vor|bei|beim)\s+"
    r"(?:(?:de[rmn]|die|das|meine?[rmn]?|unsere?[rmn]?)\s+)?([^\W\d_]{3,})"
    r"|[在到进進]([\u4e00-\u9fff]{2,6})",
)
TIME_WORD = lazy_pattern(
    r"(?:morning|afternoon|evening|night|noon|midnight|weekend|week|month|year|time|moment|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn"
    r"|winter|morgen|abend|mittag|nachmittag|wochenende|\w*tags?|januar|februar|märz|mai|juni|juli|oktober|dezember"
    r"|[上下]午|早上|晚上|周.|星期.)$",
)
CORRECTION = lazy_pattern(
    r"^\W*(?:(?:oh|ah|uh|um|hm|ach|äh)\b[\s,.:;!–-]*)?(?:(?:sorry|oops|whoops|no|nope|wait|hang on|hold on|actually"
    r"|correction|scratch that|i meant?|quatsch|nein|moment|halt|falsch|korrektur|ich mein(?:t?e)?|ups|entschuldigung"
    r"|pardon)\b[\s,.:;!–-]*)+.*\d|^.{0,3}(?:不对|不對|说错|說錯|更正|记错|記錯|写错|寫錯).*\d",
    re.IGNORECASE,
)
OPINION = lazy_pattern(
    r"\b(?:i|we|i'm|i've|we're)\b.{0,40}\b(?:like|love|hate|dislike|prefer|enjoy|want|need|eat|drink|take|think|trust|believe"
    r"|back on|given up|gave up|stopped|started)\b|\b(?:ich|wir)\b.{0,40}\b(?:\w*mag|liebe|hasse|will|esse|trinke|nehme"
    r"|finde|halte|glaube)\b|\b(?:mag|liebe|hasse|esse|trinke|nehme|finde) (?:ich|wir)\b"
    r"|我.{0,10}(?:喜欢|喜歡|爱|愛|讨厌|討厭|吃|喝|想|觉得|覺得|认为|認為)",
)


def find_values(text: str) -> frozenset[str]:
    """The numbers, days and times of a text, as they are written.

    >>> sorted(find_values("The dentist is on Tuesday at 9:30, room 4."))
    ['4', '9:30', 'tuesday']
    """
    return frozenset([found.rstrip("s") for found in VALUE.findall(text[:MAX_CHARACTERS].lower())])


def find_places(text: str) -> frozenset[str]:
    """The words by which it names a place, or where something went, as far as prepositions tell.

    >>> sorted(find_places("The cup is on the top shelf in the kitchen.")), find_places("We meet in the morning.")
    (['kitchen', 'shelf', 'top'], frozenset())
    >>> find_places("The office moved to Leeds."), find_places("The club moved to Thursdays.")
    (frozenset({'leeds'}), frozenset())
    """
    text = text[:MAX_CHARACTERS]
    phrases = [match[match.lastindex or 0] for match in PLACE.finditer(text.lower())]
    phrases += [match[1].lower() for match in DESTINATION.finditer(text)]
    return frozenset(word for phrase in phrases if not TIME_WORD.search(phrase) for word in words(phrase))


def tells_where(text: str, subject: Sequence[str]) -> bool:
    """Does it tell where something is, or was put? The subject is given by its words, in lower case.

    >>> key = ["spare", "key"]
    >>> [tells_where(each, key) for each in ("The spare key is now in the shed.", "Moved the spare key into the hall.")]
    [True, True]
    >>> [tells_where(each, key) for each in ("We had the spare key in the car.", "The spare key is in a bad state.")]
    [False, False]
    """
    text, name = text[:MAX_CHARACTERS].lower(), r"\s+".join(map(re.escape, subject))
    if not name:
        return False
    if mostly_spaceless(text):
        return re.search(rf"{name}(?:我|现在|現在|已经|已經|都|就){{0,2}}(?:在|放|收|搬|移|挂|掛)", text) is not None
    adverb = r"(?:(?:now|back|always|jetzt|wieder|immer)\s+)?"
    found = re.search(
        rf"\b{name}\s+{adverb}{STANDS}\s+{adverb}(?:(?:kept|parked|stored|put)\s+)?{AT}{NO_PLACE}"
        rf"|\b(?:moved|put|placed|left|keep|kept|hid|stored|hung)\s+(?:(?:the|my|our)\s+)?{name}\s+{adverb}{AT}",
        text,
    )
    return found is not None


def number_formats(text: str) -> frozenset[str]:
    """The formats of its long numbers, which are alike for all phone numbers of a place, or all numbers of customers.

    >>> number_formats("My number is 0176 5550233.") == number_formats("New SIM: 0176 5550871")
    True
    """
    return frozenset(DIGIT.sub("0", found) for found in LONG_NUMBER.findall(text[:MAX_CHARACTERS]))


def tells_change(text: str) -> bool:
    """
    >>> [tells_change(each) for each in ("I moved to York.", "Yoga ist jetzt donnerstags.", "I live in York.")]
    [True, True, False]
    """
    return CHANGE.search(text[:MAX_CHARACTERS].lower()) is not None


def tells_end(text: str) -> bool:
    """Does it tell that something is over?

    >>> [tells_end(each) for each in ("I quit Acme.", "Den Golf habe ich verkauft.", "I like Acme.")]
    [True, True, False]
    >>> [tells_end(each) for each in ("She left Acme in May.", "He broke his left wrist.")]
    [True, False]
    """
    return ENDING.search(text[:MAX_CHARACTERS].lower()) is not None


def value_kinds(values: frozenset[str]) -> frozenset[str]:
    """The kinds of these values: a number in digits, a day or month, or a number as a word.

    >>> sorted(value_kinds(find_values("Two rooms, from Monday on, 480 a month.")))
    ['day', 'number', 'word']
    """
    return frozenset("number" if value[0].isdigit() else "day" if DAY.match(value) else "word" for value in values)


def is_correction(text: str) -> bool:
    """
    >>> [is_correction(each) for each in ("No wait, it was 52.", "Quatsch, 702.", "No bread left, 2 rolls.")]
    [True, True, True]
    >>> is_correction("It was 52.")
    False
    """
    return CORRECTION.search(text[:MAX_CHARACTERS]) is not None


def is_opinion(text: str) -> bool:
    """Does it tell what somebody likes, takes, wants or thinks?

    >>> [is_opinion(each) for each in ("I really like olives.", "Ich trinke keinen Kaffee.", "The bus was late.")]
    [True, True, False]
    """
    return OPINION.search(text[:MAX_CHARACTERS].lower().replace("’", "'")) is not None


def confirms(reply: str, text: str) -> bool:
    """Does a short reply repeat a value or a name of a short text?

    >>> confirms("Levothyroxine back to 75 micrograms.", "Dr Anand has taken me back down, 75 from today.")
    True
    >>> confirms("That sounds painful.", "Dr Anand has taken me back down, 75 from today.")
    False
    """
    if max(len(reply), len(text)) > MAX_CONFIRMATION:
        return False
    if not find_values(reply).isdisjoint(find_values(text)):
        return True
    names = {name.casefold() for name in find_names(reply)}
    return not names.isdisjoint(name.casefold() for name in find_names(text))


def is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def numbered_thing(text: str) -> tuple[str, str] | None:
    """The thing that a text begins with and its number: “Oven 3 is broken” tells of another one than “Oven 2 …”.

    >>> [numbered_thing(each) for each in ("Oven 3 is broken.", "三号炉坏了。", "May 3 is fine.", "Rent: 3 euros.")]
    [('oven', '3'), ('炉', '三'), None, None]
    """
    found = NUMBERED.match(text[:MAX_CHARACTERS].lower())
    if found is None:
        return None
    noun, number, han_number, han_noun = found.groups()
    return None if noun and VALUE_WORD.fullmatch(noun) else (noun or han_noun, number or han_number)
