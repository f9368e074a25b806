"""Which statement of several a question asks for: the present one, an earlier one, the first or the last.

In English, German and Chinese, by words that say so ("now", "früher", "最初") and by the tense of the question.
The patterns of such words are in lower case, as is the text they are tried on: ignoring case takes longer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from recollect.text.patterns import UPPER_CASE, lazy_pattern

QuestionTime = Literal["now", "before", "first", "last", "during", ""]  # "during" a time that is named

MAX_CHARACTERS = 1_000  # of a question that are read
UNIT = r"(?:second|minute|hour|day|night|week|weekend|month|year|quarter|spring|summer|autumn|fall|winter|season|time"
UNIT += r"|morning|afternoon|evening|christmas|easter|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february"
UNIT += r"|march|april|may|june|july|august|september|october|november|december)s?\b"
EINHEIT = r"(?:sekunde|minute|stunde|tag|nacht|woche|wochenende|monat|jahr|quartal|frühling|frühjahr|sommer|herbst"
EINHEIT += r"|winter|mal|weihnachten|ostern|\w+tag|januar|februar|märz|april|mai|juni|juli|august|september|oktober"
EINHEIT += r"|november|dezember)\w{0,2}\b"
ORDINAL_NAME = r"(?:names?|floor|aid|class|language|half|person|lady|vornamen?)\b"

FIRST = lazy_pattern(
    rf"\bfirst\b(?!\s+(?:{ORDINAL_NAME}|(?:(?:few|\d+|two|three|four|five|six)\s+)?{UNIT}))"
    r"|\b(?:originally|initially|earliest|original|to begin with)\b"
    r"|\b(?:in|at) the (?:very )?(?:beginning|start|outset)\b"
    r"|\b(?:zuerst|anfangs|anfänglich\w*|ursprünglich\w*|zu (?:aller)?erst|als erstes|am anfang|zu (?:beginn|anfang))\b"
    rf"|\b(?:aller)?erste[rsnm]?\b(?!\s+(?:{ORDINAL_NAME}|{EINHEIT}))"
    r"|最初|最开始|最開始|一开始|一開始|起初|最先|最早|第一(?:次|个|個|家|本|份|台|部|条|條|位|名|间|間|款|辆|輛|只|隻)",
)
LAST = lazy_pattern(
    rf"\blast\b(?!\s+(?:{ORDINAL_NAME}|(?:few|couple|\d+|two|three|four|five|six)\b|{UNIT}))"
    r"|\b(?:latest|newest|(?:most|more) recent(?:ly)?|finally|eventually|in the end|ultimately)\b"
    rf"|\bletzte[rsnm]?\b(?!\s+(?:{EINHEIT}))"
    r"|\b(?:zuletzt|neue?ste[rsnm]?|jüngste[rsnm]?|am ende|schließlich|letztlich|letztendlich|endgültig\w*)\b"
    r"|最新|最近(?:一|的|买|買|去|看|读|讀|做|说|說)|最后|最後|上一?次|上一[个個]",
)
NEXT = lazy_pattern(
    rf"\b(?:next\b(?!\s+(?:to|door)\b)|upcoming)\b(?!\s+(?:(?:few|\d+|two|three|four|five|six)\s+)?{UNIT})"
    rf"|\b(?:nächste[rsnm]?|kommende[rsnm]?)\b(?!\s+(?:{EINHEIT}))"
    r"|下(?:一[次个個场場趟班位]|[次场場趟班])",
)
BEFORE = lazy_pattern(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|used to|prior|back then|in the past|until recently|no longer)\b"
    r"|(?<!how )\bold\b(?! (?:is|are|am|was|were)\b)"
    r"|\b(?:früher\w*|vorher\w*|zuvor|ehemalig\w*|damals|bisherig\w*|einst|alte[rsnm]?|bevor)\b"
    r"|\bvor (?:de[rmn]|meine[rmn]|unsere[rmn]|ihre[rmn]|seine[rmn])\b"
    r"|以前|之前|原来|原來|原先|过去|過去|从前|從前|曾经|曾經|旧|舊|老(?:的|号|號|地址)|(?:涨|搬|换|換|改|变|變)前",
)
NOW = lazy_pattern(
    r"\b(?:now|nowadays|currently|current|at the moment|these days|presently|at present|still|right now|up to date)\b"
    r"|\b(?:jetzt|jetzig\w*|derzeit\w*|zurzeit|zur zeit|momentan\w*|aktuell\w*|inzwischen|mittlerweile|heutzutage"
    r"|gegenwärtig\w*|im moment|immer noch|noch immer)\b"
    r"|现在|現在|目前|如今|当前|當前|眼下|现(?:住|任)|還在|还在|这阵子|這陣子",
)
# “What changed about the rent?” asks for the newest statement, and not for an amount.
CHANGED = lazy_pattern(
    r"\bwhat(?:['’]s|\s+(?:is|has|have|had|was|got))?(?:\s+\w+){0,3}?\s+(?:changed?|different)\b"
    r"|\bhow\b.{0,60}\bchanged\b|\bhow (?:did|does|will)\b(?! (?:i|you|we)\b).{0,60}\bchange\b"
    r"|\bwas\b.{0,60}\b(?:ge|ver)ändert\b|\bwas ist (?:jetzt )?anders\b|\bwie\b.{0,60}\b(?:ge|ver)ändert\b"
    r"|什么(?:变化|改变|变动|不同)|什麼(?:變化|改變|變動|不同)|怎么变|怎麼變|变了|變了",
)
# “What came first, the move or the wedding?” asks for both.
COMPARISON = lazy_pattern(
    r"\b(?:first|earlier|later|last|before|after)\b[^?!]{0,200}\bor\b"
    r"|\b(?:zuerst|zuletzt|früher|später|eher|vorher)\b[^?!]{0,200}\boder\b|哪个在(?:前|后|先)|哪個在(?:前|後|先)",
)
# “Have I ever been there before?” asks for any, not for an earlier one.
EVER = lazy_pattern(r"\bever\b|\b(?:jemals|schon (?:ein)?mal)\b|曾经.*[吗嗎]|曾經.*嗎")
# “Who is Solveig?” asks for what introduces her, not for the newest about her.
WHO_IS_NAME = lazy_pattern(
    r"^\W*(?:[Aa]nd |[Ss]o |[Uu]nd )?(?:[Ww]ho(?:['’]s| is| was)|[Ww]er (?:ist|war)) "
    rf"(?:(?:Mr|Mrs|Ms|Dr|Herr|Frau)\.? )?[{UPPER_CASE}][\w’'-]+(?: [{UPPER_CASE}][\w’'-]+){{0,2}}\W*$"
)
# The first finite verb of an English question gives its tense; "have" and "has" begin a perfect.
AUXILIARY = lazy_pattern(
    r"\b(?:(?P<present>is|isn|are|aren|am|do|don|does|doesn|can|(?-i:may)|must|should|will)|"
    r"(?P<past>was|wasn|were|weren|did|didn|had|hadn|have|haven|has|hasn|could|would))\b|(?P<short>['’](?:s|re|m)\b)",
    re.IGNORECASE,
)
SUBJECT_QUESTION = lazy_pattern(
    r"^\W*(?:who|what|which(?: \w+){1,3}?) \w+[^s\W]s\b", re.IGNORECASE
)  # who looks after it
ENGLISH_QUESTION = lazy_pattern(
    r"\b(?:what|where|when|who|whose|which|how|why|do|does|is|are|am|can|my|the)\b", re.IGNORECASE
)
GERMAN_QUESTION = lazy_pattern(
    r"\b(?:was|wo|wann|wer|wem|wen|wessen|welche[rsnm]?|wie|wieso|warum|wohin|woher|worüber|womit|ich|wir|mein\w*|der|das"
    r"|ist|sind|bin|habe|hat|und|für)\b",
    re.IGNORECASE,
)
GERMAN_PAST = lazy_pattern(
    r"\b(?:war|waren|warst|wart|hatten?|hattest|wurden?|konnten?|wollten?|musste?n?|sollten?|durften?|gab|ging|kam|(?:be)?kamen|bekam"
    r"|(?:fuhr|aß|trank|traf|nahm|schrieb|fand|blieb|flog|verlor|hieß|sprach|half|rief)(?:en|t|st)?"
    r"|(?:(?:be)?zahl|koste|(?:ver)?kauf|mach|sag|brauch|wohn|leb|bestell|besuch|hol|schenk|feier|arbeite|heirate|miete|"
    r"verdien|gehör|erzähl|reparier)te(?:n|st|t)?)\b"
    r"|\b(?:habe?|hast|hat|haben|habt|bin|bist|ist|sind|seid)\b.{0,200}?\b(?:\w{0,12}ge\w{2,20}(?:t|en)"
    r"|(?:be|ver|er|ent|emp|zer|über|unter|miss)\w{2,20}(?:t|en)|\w{2,20}iert)\b",
    re.IGNORECASE,
)
CHINESE = lazy_pattern(r"[\u4e00-\u9fff]")
CHINESE_PAST = lazy_pattern(r"了|过(?!敏)|過(?!敏)|当时|當時|那天|那次|上次|昨天|前天|去年")


@lru_cache(maxsize=64)  # several steps ask about one question
def question_time(question: str) -> QuestionTime:
    """
    >>> [question_time(each) for each in ("Where do I live?", "Where did I live before?", "What was my first job?")]
    ['now', 'before', 'first']
    >>> [question_time(each) for each in ("Where did we eat in Rome?", "Who is Ida Brandt?", "Who is my boss?")]
    ['', '', 'now']
    """
    text = question[:MAX_CHARACTERS].lower()
    if COMPARISON.search(text) or EVER.search(text) or WHO_IS_NAME.search(question[:MAX_CHARACTERS]):
        return ""
    for pattern, time in ((FIRST, "first"), (LAST, "last"), (BEFORE, "before"), (NOW, "now"), (CHANGED, "last")):
        if pattern.search(text):
            return time  # type: ignore[return-value]
    return "now" if in_present_tense(question) else ""


# Words by which a question asks for the first, the last or a change, which the right memory need not have.
ORDER_WORDS = frozenset(
    """
    first earliest last latest newest most more recent recently zuerst erste erster erstes ersten erstem zuletzt letzte
    letzter letztes letzten letztem neueste neuester neuestes neuesten 最初 最先 最早 最新 最近 最后 最後
    change changed different geändert verändert anders 变化 改变 变动 變化 改變 變動
    """.split()
)


def order_words(question: str) -> frozenset[str]:
    """The words of a question that only say which of several is asked for.

    >>> sorted(order_words("Which tool did I buy first?")), sorted(order_words("Who gave first aid?"))
    (['first'], [])
    """
    text = question[:MAX_CHARACTERS].lower()
    present = [word for word in ORDER_WORDS if word in text]
    if not present:  # quicker than the patterns
        return frozenset()
    found = [match[0] for pattern in (FIRST, LAST, CHANGED) for match in pattern.finditer(text)]
    return frozenset(word for word in present if any(word in each for each in found))


# “What did I drive before the Volvo?”, “Welches Auto hatten wir vor der Zoe?”: what a thing or a person came in place
# of. It has a name, so that “before the meeting” stays an event.
PREDECESSOR = {
    "en": lazy_pattern(
        r"^\W*(?i:(?:and|so) )?(?i:what|which|who|whose|where|how)\b.{1,150}?(?P<phrase>\b"
        r"(?i:before|prior to) "
        r"(?:(?:the|my|our|his|her|their) )?(?:(?:new|current|present) )?"
        rf"(?P<name>[{UPPER_CASE}][\w’'&-]*"
        rf"(?: (?:(?:&|and|of) )?[{UPPER_CASE}\d][\w’'&-]*){{0,3}}))\s*(?=[?.,!]|and\b|$)"
    ),
    "de": lazy_pattern(
        r"^\W*(?i:und )?(?i:mit |bei |von )?(?i:we[rmn]|wo|womit|welche[mnrs]?|was für|was (?:hatten?|fuhren?))\b"
        r".{1,150}?(?P<phrase>\bvor (?:(?:dem|der|meine[mr]|unsere[mr]|seine[mr]|ihre[mr]) )?(?:(?:neuen|jetzigen) )?"
        rf"(?P<name>[{UPPER_CASE}][\w-]*(?: (?:(?:&|und|von) )?[{UPPER_CASE}\d][\w-]*){{0,3}}))"
    ),
    "zh": lazy_pattern(
        r"^\W*在?(?P<phrase>(?P<name>[^\W\d_\u2e80-\uffff][^\W\u2e80-\uffff]*?(?:[ -][^\W\u2e80-\uffff]+){0,3})"
        r"(?:之前|以前))"
        r"(?=.*(?:谁|誰|哪|什么|什麼|啥))",
    ),
}


def find_predecessor(question: str, language: str = "en") -> tuple[str, str] | None:
    """The name before which something was, and the phrase that says so.

    >>> find_predecessor("What did I drive before the Volvo?"), find_predecessor("What did I eat before the race?")
    (('Volvo', 'before the Volvo'), None)
    >>> find_predecessor("Welches Auto hatten wir vor der Zoe?", "de")
    ('Zoe', 'vor der Zoe')
    """
    pattern = PREDECESSOR.get(language)
    match = pattern.search(question[:MAX_CHARACTERS]) if pattern else None
    return (match["name"], match["phrase"]) if match else None


# A sentence that is no statement although it has no question mark: a request, or a question word at its beginning.
REQUEST = lazy_pattern(
    r"^\W*(?:(?:please|and|so|ok|okay|hi|hello|hey|bitte|und|also)\W+)*(?:what|which|when|where|who|whom|whose|why|how|did|"
    r"do|does|was|were|is|are|am|have|has|had|can|could|would|will|should|tell|show|list|find|give|remind|name|recall|"
    r"summari[sz]e|search|look|count|describe|explain|"
    r"was|wann|wo|wer|wem|wen|wessen|welche\w?|wie|wieso|warum|wohin|woher|worüber|womit|hat|habe|haben|hast|ist|sind|war|"
    r"waren|gab|gibt|kann|kannst|sag|sage|zeig|zeige|nenne?|liste?|finde?|such|suche|erzähle?|erinnere?|fasse?|zähle?)\b"
    r"|(?:什么|什麼|哪|谁|誰|几|幾|多少|怎么|怎麼|为什么|為什麼|吗|嗎|呢|告诉|告訴|列出|说说|說說|找|总结|總結|显示|顯示)",
    re.IGNORECASE,
)
STATEMENT_END = (".", "!", "。", "！")
# Advice is asked for a time to come, from memories of any time: “a film for tonight?”
ADVICE = lazy_pattern(
    r"\b(?:recommend\w*|suggest\w*|advi[cs]e\w*|tips?|ideas?|help me|how (?:can|could|should|would) (?:i|we|you)|"
    r"empfiehl\w*|empfehl\w*|vorschl\w+|tipps?|ideen?|hilf)\b|推荐|推薦|建议|建議|主意|怎么办|怎麼辦|帮我|幫我",
    re.IGNORECASE,
)
PLAN = lazy_pattern(
    r"\b(?:plan(?:s|ned|ning)?|intend\w*|going to|want(?:ed)? to|meant to|supposed to|hop(?:e|ed|ing) to|geplant\w*|"
    r"plant?e?n?|vorhat\w*|vorgehabt|vorhaben|wollten?|wolltest)\b|打算|计划|計劃|准备|準備",
    re.IGNORECASE,
)
# “Anything on Friday?”, “due by the end of the month”, “Termine am Freitag?” have no verb that tells of a time.
COMING = lazy_pattern(
    r"\b(?:anything|something|appointments?|meetings?|plans|schedule|agenda|due|deadlines?|bookings?|reminders?"
    r"|termine?|etwas|irgendwas|irgendetwas|verabredung(?:en)?|fällig\w*|fristen|erinnerungen)\b"
    r"|安排|日程|到期|截止|约会|約會|有(?:什么|什麼|没有|沒有)?(?:事|会|會|活动|活動)",
    re.IGNORECASE,
)
# “Where will I be on 22 December?”, “is the fair on 22 November?” never mean the last one. “My will” is a noun, and
# “did Will say” a name.
FUTURE = lazy_pattern(
    r"(?<!\bmy )(?<!\bour )(?<!\bthe )(?<!\bher )(?<!\bhis )(?<!\btheir )(?<!\ba )(?<!['’]s )(?<!\bdid )(?<!\bdoes )"
    r"(?<!\bhas )(?<!\bwas )(?<!\bto )(?<!\bwith )(?<!\bfrom )\b(?-i:will|shall|won['’]?t)\b"
    r"|^\W*(?:will|won['’]?t|shall)\b|\w['’]ll\b"
    r"|(?:\b(?:is|are|am)\b(?: [\w'’-]+){0,4}?|['’](?:s|re|m)) (?:going|about) to\b",
    re.IGNORECASE,
)
# “Is the fair on 22 November?”; not “are you sure that …”, “is that what Tom said”.
IS_IT = lazy_pattern(
    r"^\W*(?:(?:is|are|am|isn['’]?t|aren['’]?t)\b(?! (?:there|that (?:what|where|when|who|why|how)|you (?:sure|certain)"
    r"|i right|(?:it|that) (?:true|right|correct|possible|likely|certain|the case)\b(?! to\b))\b)"
    r"|(?:ist|sind|bin)\b(?! (?:(?:es|das) (?:wahr|richtig|möglich|so)|du (?:dir )?sicher|ich richtig)\b))"
    r"(?!.*\b(?:from|since|of|before|vom|von|seit|vor)\b)"
    r"(?!.*\b(?:i|we|you|he|she|they|that|who|which) (?:\w+ed|had|was|were)\b)",
    re.IGNORECASE,
)
# What is to be at a time that is still to come, though it looks like the past: “is the dentist booked for 3 May?”
ARRANGED = lazy_pattern(
    r"\b(?:booked|planned|scheduled|rescheduled|arranged|reserved|expected|supposed|closed|invited|cancelled|shut|held|set)\b",
    re.IGNORECASE,
)
GERMAN_FUTURE = lazy_pattern(
    r"\b(?:werde|wirst|wird|werdet|werden)\b"
    r"(?!.*\b(?:(?:vor)?gelesen|genannt|erwähnt|gesagt|beschrieben|aufgeführt|aufgelistet|angegeben|berichtet|erzählt"
    r"|geschrieben|gezeigt|ausgewiesen|behauptet|gemeint|zitiert|notiert)\b)",
    re.IGNORECASE,
)
# Not the 会 of a meeting (运动会, 音乐会) or a misunderstanding, nor the 要 of “I want to see the bill”.
CHINESE_FUTURE = lazy_pattern(
    r"[将將](?![军軍])|(?<=[我你您他她它们們还還都也就])[会會]"
    r"|(?<![开開聚機机約约社晚宴大年例运運博展协協工国國学學议議委误誤动動乐樂唱面生])(?<!生日)(?<!家[长長])"
    r"[会會](?![议議员員计計所费費场場长長面谈談话話在是上的有谁誰说說什]|\W|$)"
    r"|(?<![重需主必想只])要(?![求点點紧緊找查问問]|知道|看(?!医|醫|牙|病|望))"
)

# What lasts, of a time that is over: “where was I living in March?” It was told before that time, or during it.
PAST_STATE = lazy_pattern(
    r"\b(?:was|were) (?:\w+ ){1,2}?(?:still )?(?:(?:liv|work|stay|rent|driv|pay|tak|us|earn|study|commut)ing|on|with)\b"
    r"|\bdid (?:\w+ ){1,3}?(?:still )?(?:live|work|rent|own|weigh|earn|use|drive|commute)\b"
    r"|\b(?:wohnten?|lebten?|arbeiteten?|verdienten?|besaß(?:en)?|wog(?:en)?)\b"
    r"|\b(?:gewohnt|gelebt|gearbeitet|verdient|besessen|gewogen)\b"
    r"|住在|住的|[在做][^？?]{0,6}工作|上班|[用吃开開]的是",
    re.IGNORECASE,
)

# “How much was the rent in May?”, “who was my boss in 2024?”: what something was is what was stated of it last.
PAST_VALUE = lazy_pattern(
    r"\b(?:what|who|which|where|when|how (?:much|many|big|high|old|long|expensive|often))(?: \w+)? (?:was|were) "
    r"(?:the|my|our|his|her|their|\w+['’]s?)\b"
    r"|\bhow (?:much|many)\b.{0,40}\bdid (?:the|my|our|his|her|their|\w+['’]s?) .{1,40}\bcost\b"
    r"|\b(?:was|wer|wo|wann|welche[rsnm]?|wie(?: (?:hoch|teuer|viel|groß|lang|alt|oft))?)(?: \w+)? "
    r"(?:war|waren|betrug) (?:de[rmn]|die|das|mein\w*|unser\w*|sein\w*|ihr\w*)\b"
    r"|(?:是|要|有)多少|是(?:谁|誰|什么|什麼|哪)",
    re.IGNORECASE,
)


def is_statement(sentence: str) -> bool:
    """Does a sentence of a query tell something, rather than ask for it? What is short is looked up.

    >>> [is_statement(each) for each in ("My plan renewed today.", "What happened today", "Show me today.", "today")]
    [True, False, False, False]
    """
    text = sentence[:MAX_CHARACTERS].strip()
    return text.endswith(STATEMENT_END) and REQUEST.search(text) is None


def asks_for_next(question: str) -> bool:
    """Does it ask for what is still to come?

    >>> [asks_for_next(each) for each in ("When is my next exam?", "下次看牙是什么时候？")]
    [True, True]
    >>> [asks_for_next(each) for each in ("What is on next week?", "What happened next?", "Who lives next to us?")]
    [False, False, False]
    """
    text = question[:MAX_CHARACTERS]
    return NEXT.search(text.lower()) is not None and in_present_tense(text)


def asks_for_change(question: str) -> bool:
    """
    >>> [asks_for_change(each) for each in ("What changed about the rent?", "Was hat sich geändert?", "What is new?")]
    [True, True, False]
    >>> [asks_for_change(each) for each in ("How did the rent change?", "How do I change the oil?", "How much change?")]
    [True, False, False]
    """
    return CHANGED.search(question[:MAX_CHARACTERS].lower()) is not None


def asks_for_advice(question: str) -> bool:
    """
    >>> [asks_for_advice(each) for each in ("Any tips for the weekend?", "What did I do at the weekend?")]
    [True, False]
    """
    return ADVICE.search(question[:MAX_CHARACTERS]) is not None


def asks_about_plan(question: str) -> bool:
    """
    >>> [asks_about_plan(each) for each in ("Whom did she plan to invite in June?", "Whom did she invite in June?")]
    [True, False]
    """
    return PLAN.search(question[:MAX_CHARACTERS]) is not None


def asks_what_is_to_come(question: str) -> bool:
    """Does it ask for plans, in words that tell of no past?

    >>> [asks_what_is_to_come(each) for each in ("Anything on Friday?", "Did anything happen on Friday?")]
    [True, False]
    """
    text = question[:MAX_CHARACTERS]
    if COMING.search(text) is None:
        return False
    verb = AUXILIARY.search(text)
    past = (verb is not None and verb["past"] is not None) or CHINESE_PAST.search(text) or GERMAN_PAST.search(text)
    return not past


def asks_for_future(question: str) -> bool:
    """Does it ask for what will be, in words that cannot mean the past?

    >>> [asks_for_future(each) for each in ("Is Ben free in May?", "Is it right that Ben quit in May?")]
    [True, False]
    >>> [asks_for_future(each) for each in ("Where will I be in May?", "Is it on 2 May?", "What is on in May?")]
    [True, True, False]
    >>> [asks_for_future(each) for each in ("Was wird im Mai passieren?", "五月我会在哪里？", "Was I going to go?")]
    [True, True, False]
    """
    from recollect.text.times.english_words import PAST  # these need the grammar of times, which few questions do
    from recollect.text.times.grammar import search

    text = question[:MAX_CHARACTERS]
    if not text.isascii() and CHINESE.search(text):
        return CHINESE_FUTURE.search(text) is not None and CHINESE_PAST.search(text) is None
    if GERMAN_PAST.search(text):
        return False
    if FUTURE.search(text) or GERMAN_FUTURE.search(text):
        return True
    return IS_IT.search(text) is not None and not search(PAST, ARRANGED.sub(" ", text))


def asks_for_past_state(question: str) -> bool:
    """Does it ask for something that lasts, rather than for an event?

    >>> [asks_for_past_state(each) for each in ("Where was I living?", "Wo haben wir gewohnt?", "Where did we eat?")]
    [True, True, False]
    """
    text = question[:MAX_CHARACTERS]
    return PAST_STATE.search(text) is not None and (CHINESE.search(text) is not None or not in_present_tense(text))


def asks_for_past_value(question: str) -> bool:
    """Does it ask what something was, which lasts until another is stated?

    >>> [asks_for_past_value(each) for each in ("How much was the rent in May?", "Wie hoch war die Miete im Mai?")]
    [True, True]
    >>> [asks_for_past_value(each) for each in ("What did we do in May?", "What was said about the rent?")]
    [False, False]
    """
    text = question[:MAX_CHARACTERS]
    return asks_for_past_state(text) or PAST_VALUE.search(text) is not None


def in_present_tense(question: str) -> bool:
    """
    >>> [in_present_tense(each) for each in ("What must I do in May?", "What did I do in May?", "Was lief im Mai?")]
    [True, False, True]
    >>> [in_present_tense(each) for each in ("Was kostet die Reparatur?", "Was kostete die Reparatur?")]
    [True, False]
    """
    text = question[:MAX_CHARACTERS]
    if not text.isascii() and CHINESE.search(text):
        return CHINESE_PAST.search(text) is None
    german, english = (len(pattern.findall(text)) for pattern in (GERMAN_QUESTION, ENGLISH_QUESTION))
    if german > english:
        return GERMAN_PAST.search(text) is None
    verb = AUXILIARY.search(text)
    return verb["past"] is None if verb else SUBJECT_QUESTION.match(text) is not None
