"""Words that frame a question about a memory and say nothing about its content: “what did I tell you about …”."""

from __future__ import annotations

import re

from recollect.text.patterns import lazy_pattern
from recollect.text.stopwords import STOP, stop_words
from recollect.text.words import words

SPEECH = """
    tell told telling say said saying talk talked talking discuss discussed discussing chat chatted chatting mention
    mentioned mentioning write wrote written speak spoke spoken conversation conversations topic topics subject
    sagen sagte gesagt erzählen erzählte erzählt reden redeten geredet sprechen sprachen gesprochen besprechen
    besprochen unterhalten erwähnen erwähnt schreiben schrieb geschrieben berichtet thema themen
    说 說 说了 讲 講 聊 聊了 聊过 聊天 谈 談 谈了 提到 提 提过 告诉 告訴 写 寫 写了 讨论 討論 话题 話題
"""
OTHERS = """
    happen happened happens happening going went note noted report reported remember recall remind list name show give
    everything anything something things thing stuff lately recently new news
    passieren passierte passiert geschehen geschah ereignet los lief läuft
    gelaufen gab gibt gemacht machen tun getan notiert
    erinnere erinnern nenne nennen liste alles etwas neues
    发生 發生 做 做了 干 干了 事 事情 什么事 记得 过 了 吗 呢 有什么 些 那天 当时 干什么 什么样
    干嘛 如何 过得 出 出了 情况
"""
# Who asks what must be done asks for tasks and deadlines, not for all that is of a time.
OBLIGATION = """
    must should need needs needed ought due deadline
    muss musst müssen müsst sollte solltest sollten soll sollst sollen brauche brauchen fällig
    必须 必須 需要 应该 應該 要
"""
HAVE_TO = lazy_pattern(r"\b(?:have|has|had|got) to\b|\bzu (?:tun|erledigen|machen)\b|得(?:做|办|辦|交)", re.IGNORECASE)
# How a time was. “Was war” is German, even if a time is all that is left of the question to tell its language.
HOW_IT_WAS = lazy_pattern(
    r"\bhow (?:did|does|has|have|is) (?:(?:it|things|everything|that|all|the day|my day) )?(?:go|gone|going|been)\b"
    r"|\bhow was (?:my|your|our|the|his|her|their) day\b|\bwhat (?:was|is|were) (?:(?:it|things|the day) )?like\b"
    r"|^\W*(?:was|wie|wer|wo) war(?:en|st)?\b(?: (?:der|mein|dein|unser) tag\b)?|^\W*was stand an\b",
    re.IGNORECASE,
)
# “Who did I report to?” has a preposition of its own, and “the report”, “the list” are things; “to you” says nothing.
SAID_TO_OTHERS = r"(?:(?:report|writ)(?:e|es|ed|ing|ten|s)?|wrote)"
OF_ITS_OWN = lazy_pattern(
    rf"\b{SAID_TO_OTHERS} (?:to|for)\b(?! (?:you|me)\b)|\b(?:to|for) whom\b.{{0,40}}\b{SAID_TO_OTHERS}\b"
    r"|\b(?:the|an?|my|our|your|his|her|its|their|this|which|\w+['’]s) (?:[\w-]+ )?"
    r"(?:report|note|list|mention|show)s?\b(?! of (?:all|every|things|what))"
    r"|(?<!\bin )(?<!\bduring )\b(?:the|a|my|his|her|their|which|\w+['’]s) (?:talk|chat|discussion)s?\b"
    r"|^\W*(?:what|how many) (?:report|note|list|mention|talk|chat)s?\b"
    r"|\b(?:an|für) (?:wen|welche[nrsm]?)\b|\bwem\b.{0,60}\b(?:berichte\w*|geschrieben|schrei?b\w*)"
    r"|\b(?:de[rnm]|die|(?:mein|unser|ein|sein|ihr)e[rn]?|welche[rn]?) (?:\w+ )?(?-i:Listen?|Themen?)\b"
    r"|(?:给|給|向)(?:谁|誰|哪)",
    re.IGNORECASE,
)
SAYS = r"(?:says?|said|tell|told|mention(?:ed)?|write|wrote|ask(?:ed)?|answer(?:ed)?|reply|replied|suggest(?:ed)?)"
SAYS_GERMAN = r"(?:gesagt|erzählt|erwähnt|geschrieben|gefragt|geantwortet|gemeint|vorgeschlagen|berichtet)"
WORDS_OF = (
    rf"\b(?:did|does|has|had)\s+{{name}}(?:\s+\w+)?\s+(?:\w+ly\s+)?{SAYS}\b|\b{{name}}(?:\s+\w+)?\s+{SAYS}\b|"
    rf"\b(?:hat|hatte)\s+{{name}}\b.{{{{0,80}}}}\b{SAYS_GERMAN}\b|\b(?:sagt|sagte|erzählte|schrieb|meinte|fragte)\s+{{name}}\b|"
    r"{name}\w*\s*(?:说|說|讲|講|提|问|問|告诉|告訴)"
)
SPEECH_WORDS = frozenset(SPEECH.split())
OBLIGATION_WORDS = frozenset(OBLIGATION.split())
FRAMING_WORDS = SPEECH_WORDS | frozenset(OTHERS.split())


def asks_for_words_of(name: str, question: str) -> bool:
    """Does a question ask for what somebody said, rather than for what somebody was told?

    >>> questions = "What did Ann say?", "Was hat Ann erzählt?", "What did I tell Ann?"
    >>> [asks_for_words_of("ann", each) for each in questions]
    [True, True, False]
    """
    return re.search(WORDS_OF.format(name=re.escape(name)), question, re.IGNORECASE) is not None


def frames_only(text: str, language: str = "en") -> bool:
    """Does a question ask for nothing in particular?

    >>> [frames_only(each) for each in ("What did we talk about?", "What did we say about the boiler?")]
    [True, False]
    >>> [frames_only(each) for each in ("What must I do?", "What do I have to do?")]
    [False, False]
    >>> [frames_only(each) for each in ("Who did I report to?", "What did the report say?", "What did I report?")]
    [False, False, True]
    >>> [frames_only(each) for each in ("How did it go?", "What was our topic?", "How did the interview go?")]
    [True, True, False]
    """
    if OF_ITS_OWN.search(text) is not None:
        return False
    frame = STOP | stop_words(language) | FRAMING_WORDS
    every = words(HOW_IT_WAS.sub(" ", text), whole=True)
    obliged = not OBLIGATION_WORDS.isdisjoint(every) or HAVE_TO.search(text) is not None
    return not obliged and all(word in frame for word in every)


def asks_what_was_said(text: str) -> bool:
    """Is a question about something being said, rather than about an event?

    >>> [asks_what_was_said(each) for each in ("What did I tell you about the boiler?", "Who fixed the boiler?")]
    [True, False]
    """
    return not SPEECH_WORDS.isdisjoint(words(text, whole=True))
