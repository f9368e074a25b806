"""Classifies texts by patterns: code, a name to look up, a question, a message, a mention of time.

Patterns of times and questions are in English, German and Chinese, and in other languages where a few words suffice.
Those that are tried on many memories are in lower case, as are the texts they are tried on: ignoring case takes two to
three times as long.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.text.patterns import lazy_pattern
from recollect.text.stopwords import ENGLISH, stop_words
from recollect.text.words import COMPOUND, SPACELESS, words

# Stripped lines of programs, which end or begin like statements. A word is tried from its beginning only, so that one
# of many thousand characters takes linear time.
CODE_LINE = lazy_pattern(
    r"(?:def|class|import|from|return|func|fn|function|const|let|var|public|private|static|if|for|while|elif|else|"
    r"try|except|with|raise|#include|using|package|end)\b.*|"
    r".*(?:[;{}]|\)\s*:|\b\w+\([^()]*\)|\b\w+\s*[-+*/|&]?=\s*\S.*)"
)
# Letters and digits that are joined by punctuation: OPS-1234, caspase-11, src/base64.py. A number or a date begins with
# a digit. Each is tried from its beginning only, and its length is limited.
IDENTIFIER = lazy_pattern(
    r"(?<![\w\-./:#])[A-Za-z](?=[^\s\d]{0,80}\d)\w{0,79}(?:[-./:#]\w{1,80}){1,8}(?![\w\-#])", re.ASCII
)
MAX_CHARACTERS = 10_000  # of a text that are read for a time
MAX_LINES = 30  # of a text that are examined
MAX_LOOKUP_WORDS = 4
SENTENCE = lazy_pattern(r"[^.!?。！？\n]+[.!?。！？]*")
TIME_WORD = lazy_pattern(
    r"\b(?=\w)(?:yesterday|today|tomorrow|tonight|ago|last|next|recently|since|weekends?|weeks?|months?|years?|mornings?|"
    r"evenings?|nights?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|half past|o'clock|january|february|"
    r"march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d|\d{1,2}(?::\d\d| ?[ap]m)|"
    r"noon|midday|midnight|mittags|mitternacht|(?:at|from|until|till|by|around|um|ab|bis|gegen) "
    r"(?:[1-9]|1\d|2[0-4]|ten|eleven|twelve|zehn|elf|zwölf)"
    r"(?=[.,;!?)]|$| (?:to|until|till|on|every|now|instead|sharp|bis|uhr)\b)|"
    r"(?:vor)?gestern|heute|(?:über)?morgen|(?:letzt|nächst|vorig)e[nmrs]?|neulich|kürzlich|seit|wochen(?:ende)?|woche|"
    r"monate?n?|jahre?n?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabends?|jänner|januar|februar|märz|mai|"
    r"juni|juli|oktober|dezember|"
    r"aujourd'hui|demain|semaines?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|avril|juin|"
    r"juillet|août|septembre|octobre|novembre|décembre|ayer|mañana|semanas?|lunes|martes|miércoles|jueves|viernes|sábado|"
    r"domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
)
SPACELESS_TIME_WORD = lazy_pattern(
    r"[昨今明后後前]天|[去今明前]年|[上下这這本]个?個?(?:周|週|月|星期)|(?:周|週|星期|礼拜|禮拜)[一二三四五六日天末]|"
    r"[0-9一二三四五六七八九十](?:月|号|號|日|年|点|點)|刚才|剛才|最近",
)
ASKS_WHEN = lazy_pattern(
    r"^\W*(?:when|how long|(?:in |on |at )?(?:what|which) (?:date|day|week|month|year|time)|"
    r"(?:(?:seit|bis|ab|für|von) )?wann|wie lange|(?:an |in |zu )?welche[mnrs]? (?:datum|tag|woche|monat|jahr|uhrzeit)|"
    r"um wie ?viel uhr|(?:depuis |jusqu'à )?quand|(?:desde |hasta )?cu[aá]ndo|quando|wanneer|hvornår|milloin|когда)\b|"
    r"(?:什么|什麼|甚麼)(?:时候|時候|时间|時間)|何时|何時|哪一?[天年]|[几幾](?:号|號|月|点|點)|(?:星期|周|週)[几幾]|多久|多[长長](?:时间|時間)",
    re.IGNORECASE,
)
ASKS_HOW_MUCH = lazy_pattern(
    r"\bhow (?:much|heavy|tall|expensive)\b|\bwie ?viel\b|\bwie (?:teuer|hoch|schwer|groß|alt)\b|多少钱|多少錢|"
    r"多少(?!个|個|次|人)",
    re.IGNORECASE,
)
NUMBER = lazy_pattern(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|hundert|tausend|halb\w*)\b|"
    r"[一二三四五六七八九十百千万两半]",
)
CLAUSE = lazy_pattern(r"[^.!?。！？\n]+(?:\.(?!\s|$)[^.!?。！？\n]*)*")  # a dot inside a word does not end it
# By language, as German "was" is no past.
ASKS_ABOUT_PAST = {
    language: lazy_pattern(pattern, re.IGNORECASE)
    for language, pattern in {
        "en": r"\b(?:did|was|were|had|told|said|mentioned|talked|remember|remind)\b[^.!?\n]{0,300}\?",
        "de": r"\b(?:habe?n?|hast|hat|habt|hatten?|hattest|war|waren|warst|wurden?|erinner\w{0,5})\b[^.!?\n]{0,300}\?",
        "zh": r"(?:了|过|過|曾|之前|上次|记得|記得)[^。！？?\n]{0,60}[?？]",
    }.items()
}
ASSISTANT_SAID = lazy_pattern(
    r"\b(?:did|had|have|were|was) you(?! (?:know|hear|see)\b)\b"
    r"|\byou(?:'d|'ve| had| have| once| also)? (?:said|told|recommended|suggested|mentioned|advised|proposed"
    r"|explained|gave|warned|promised|reminded|wanted|offered)\b"
    r"|\byour (?:\w+ )?(?:advice|answers?|recommendations?|suggestions?|explanations?|tips?|warnings?|proposals?"
    r"|ideas?)\b"
    r"|\baccording to you\b|(?<!told )(?<!asked )\bthe assistant\b"
    r"|\b(?:hast|hattest|wolltest|meintest|sagtest|rietst|warst) du\b"
    r"|\bdu (?:mir|uns|dazu|damals)?\b[^.?!]{0,80}\b(?:gesagt|geraten|empfohlen|vorgeschlagen|erwähnt|erklärt|gewarnt"
    r"|gemeint|genannt|gegeben)\b|\blaut dir\b|\bdeiner meinung\b"
    r"|\bdein(?:e[mnrs]?)? (?:rat|tipps?|vorschl\w+|empfehlung\w*"
    r"|antwort\w*|erklärung\w*|warnung\w*)\b"
    r"|(?<![跟对對和向给給请請])你(?:之前|当时|當時|上次|那时|那時|曾经|曾經|以前|还|還|是)?(?:怎么|怎麼)?"
    r"(?:说|說|建议|建議|推荐|推薦|让我|讓我|叫我|告诉|告訴|提醒|提到|教我|给我|給我|给的|給的|解释|解釋)"
    r"|你的(?:建议|建議|推荐|推薦|回答|解释|解釋|提醒)"
    r"|\b(?:m'as[- ]tu|tu m'as) (?:dit|conseillé|recommandé|suggéré|proposé|expliqué)\b|\b(?:ton|tes) conseils?\b"
    r"|\bme (?:dijiste|recomendaste|sugeriste|aconsejaste|explicaste|propusiste)\b|\btus? (?:consejos?|sugerencias?)\b"
    r"|助手|助理",
    re.IGNORECASE,
)
CAPITALISED = lazy_pattern(r"(?<![\w'’])[A-Z][a-z]+")
PERSON = lazy_pattern(
    r"(?i)\b(?:s?he|they|him|her|them|mum|mom|dad|mother|father|parents|sister|brother|aunt|uncle|cousin|grand\w+|son|"
    r"daughter|wife|husband|partner|friend|neighbour|neighbor|colleague|boss|doctor|teacher|somebody|someone|nobody|"
    r"everyone|everybody|guy|bloke|lad|man|woman|girl|boy|kid)(?:['’]?s)?\b"
)


def is_code(text: str) -> bool:
    """Do most lines look like those of a program?"""
    lines = [line for each in text.splitlines()[:MAX_LINES] if (line := each.strip())]
    return len(lines) > 1 and sum(CODE_LINE.fullmatch(line) is not None for line in lines) * 2 >= len(lines)


def is_lookup(query: str, language: str = "en") -> bool:
    """Is the query a name, or the words of one, rather than a sentence?

    >>> [is_lookup(each) for each in ("maxRetries", "created today", "is the file open?")]
    [True, True, False]
    >>> [is_lookup("Wo wohnt Mara", "de"), is_lookup("我住在哪里", "zh")]
    [False, False]
    """
    written = query.split()
    spaceless = not query.isascii() and SPACELESS.search(query) is not None
    if (len(written) == 1 and not spaceless) or COMPOUND.search(query):
        return len(written) <= MAX_LOOKUP_WORDS
    every = words(query, whole=spaceless)
    few = len(every) <= MAX_LOOKUP_WORDS
    return few and stop_words(language).isdisjoint(every) and not query.rstrip().endswith(("?", "？"))


def find_identifiers(text: str) -> list[str]:
    """The identifiers of several parts in a text, such as the numbers of tickets.

    >>> find_identifiers("Is OPS-1234 fixed in v2.1.0 (see src/base64.py) since 2025-03-04, e.g. by 10am, well-known?")
    ['OPS-1234', 'v2.1.0', 'src/base64.py']
    """
    return list(dict.fromkeys(IDENTIFIER.findall(text)))


def question_share(text: str) -> float:
    """The share of a text that is sentences with a question mark: 0 to 1."""
    if "?" not in text and "？" not in text:
        return 0.0
    sentences = [sentence.strip() for sentence in SENTENCE.findall(text)]
    questions = sum(
        len(sentence) for sentence in sentences if "?" in sentence or "？" in sentence
    )  # at the end only: “What?!”
    return questions / max(1, sum(map(len, sentences)))


def mentions_time(text: str) -> bool:
    text = text[:MAX_CHARACTERS].lower()
    return TIME_WORD.search(text) is not None or (not text.isascii() and SPACELESS_TIME_WORD.search(text) is not None)


def asks_when(question: str) -> bool:
    """
    >>> [asks_when(each) for each in ("When did she leave?", "In which year was it?", "What did he do when it rained?")]
    [True, True, False]
    """
    return ASKS_WHEN.search(question) is not None


def asks_how_much(question: str) -> bool:
    """
    >>> [asks_how_much(each) for each in ("How much was it?", "Wie teuer war das?", "How did it go?")]
    [True, True, False]
    """
    return ASKS_HOW_MUCH.search(question) is not None


def mentions_number(text: str) -> bool:
    return NUMBER.search(text.lower()) is not None


def mentions_person(text: str) -> bool:
    """Does an English text have a word that may be a name, or a pronoun, or a word for a relative, friend or colleague?

    >>> [mentions_person(each) for each in ("Kevin came.", "she came", "my uncle came", "The boiler died on Tuesday.")]
    [True, True, True, False]
    """
    text = text[:MAX_CHARACTERS]
    capitalised = (found[0].lower() for found in CAPITALISED.finditer(text))
    named = any(word not in ENGLISH and not TIME_WORD.match(word) for word in capitalised)
    return named or PERSON.search(text) is not None


@lru_cache(maxsize=64)  # several steps ask about one query
def count_statements(text: str, min_words: int = 4) -> int:
    """The number of sentences with content: greetings, thanks and abbreviations do not count.

    >>> count_statements("I'm back from the market. It took 2.5 hours to find pears! What shall we cook? Thanks!")
    3
    >>> count_statements("Hi! Thanks! What did Dr. J. Smith say to Mr. Lee about pears?")
    1
    """
    return sum(len(words(found, whole=True)) >= min_words for found in CLAUSE.findall(text))


def asks_about_past(text: str, language: str = "en") -> bool:
    """
    >>> [asks_about_past(each) for each in ("I paid it. What did I pay?", "I did it. What shall we do?")]
    [True, False]
    """
    return ASKS_ABOUT_PAST.get(language, ASKS_ABOUT_PAST["en"]).search(text) is not None


# What was written down is a repetition: “which dose did you note?”
NOTED = lazy_pattern(
    r"\b(?:not(?:e|ed)|record(?:ed)?|confirm(?:ed)?|wr(?:ite|ote) down|repeat(?:ed)?|notiert|bestätigt|"
    r"aufgeschrieben)\b|记下|記下|记录|確認|确认",
    re.IGNORECASE,
)


def asks_what_was_noted(question: str) -> bool:
    """
    >>> [asks_what_was_noted(each) for each in ("Which dose did you note?", "Which dose did you suggest?")]
    [True, False]
    """
    return NOTED.search(question) is not None


def is_message(text: str, language: str = "en", min_statements: int = 3) -> bool:
    """Is a query a message that continues a conversation, rather than a question about memories?

    >>> is_message("I'm back from the market. It took an hour to find pears! I forgot the bread. What shall we cook?")
    True
    >>> is_message("What did I pay for the pears?")
    False
    """
    return count_statements(text) >= min_statements and not asks_about_past(text, language)


@lru_cache(maxsize=64)  # several stages ask about one query
def asks_about_assistant(text: str) -> bool:
    """
    >>> [asks_about_assistant(each) for each in ("What did you suggest?", "What was your advice?", "Can you tell me?")]
    [True, True, False]
    """
    return ASSISTANT_SAID.search(text) is not None
