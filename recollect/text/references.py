"""Detects questions that depend on what was said before: pronouns without a referent, ellipses, “and in Berlin?”.

Rules for English, German and Chinese. A pronoun counts only where nothing in an earlier clause of the question can be
what it refers to: “where did Tom buy the car, and what did he pay for it?” stands alone, “what did he pay?” does not.
"""

from __future__ import annotations

import re

from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.stopwords import STOP
from recollect.text.words import tagged, words

MAX_LENGTH = 400  # characters: a longer text is a message with its own subject, not a follow-up question

# Where a clause ends, so that a pronoun after it may refer to a noun before it.
CLAUSE_END = lazy_pattern(
    r"[,;:.!?。！？，；：]|\b(?:and|but|when|while|after|before|because|since|until|if|that|who|which|where|"
    r"und|aber|als|wenn|nachdem|bevor|weil|seit|bis|ob|dass|wo)\b",
    re.IGNORECASE,
)

# First words by which a speaker goes on from what was said.
CONTINUES = lazy_pattern(
    r"\W*(?:and|but|or|what about|how about|und|aber|oder|was ist mit|wie ist es mit|"
    r"wie sieht es mit|wie steht es (?:mit|um))\b",
    re.IGNORECASE,
)
CONTINUES_CHINESE = lazy_pattern(
    r"\W*(?:那么|那(?!么|些|个|家|位|天|次|时|年|里|儿|边|种|部|本|件|场)|还有|另外|然后|接着|后来|之后)"
)
ELLIPSIS_CHINESE = lazy_pattern(
    r"^\W*(?!.*(?:什么|怎|哪|谁|几|多|吗|啥)).{1,12}呢\W*$"
)  # “小王呢？”: without a question word

# “as long as we meant to?”: the verb is the one of the question before.
ELIDED_VERB = lazy_pattern(
    r"\b(?:meant|means?|want(?:ed|s)?|wish(?:ed)?|going|had|have|used|supposed|able|need(?:ed)?|hop(?:e|ed|ing)|"
    r"plan(?:ned)?|like[ds]?|intend(?:ed)?|expect(?:ed)?|promised|tried) to\W*$",
    re.IGNORECASE,
)

# Words that ask for a degree or a circumstance and name no subject: “how much exactly?”.
DEGREES = frozenset(
    """
    much many long often far old big large expensive exactly else again then later ago so sure really okay well
    cost costs price happened happen name called
    wie wann wo wer was warum wieso weshalb woher wohin wen wem viel viele lange oft weit alt groß gross teuer genau
    noch dann und denn eigentlich nochmal so seit welche welcher welches ist war hat es das ja nein
    多久 多长 多大 多远 多少钱 钱 时候 什么时候 具体 呢 然后 怎么回事 多贵 贵 后来
    """.split()
)
# “How old am I?” stands alone, as the speaker is its subject; “how did we do?” does not.
SPEAKERS = frozenset("i me my you your ich mir mich mein du dir 我 你".split())

PRONOUNS = lazy_pattern(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|"
    r"er|sie|ihn|ihm|ihnen|ihr|ihre|ihren|ihrem|ihrer|ihres|seine|seinen|seinem|seiner|seines|"
    r"sein(?=\s+[A-ZÄÖÜ])|es)\b",
    re.IGNORECASE,
)
POSSESSIVES = frozenset(
    "his her its their ihr ihre ihren ihrem ihrer ihres sein seine seinen seinem seiner seines".split()
)

SUBJECTS = frozenset("he she they".split())
FORMAL = frozenset("ihr ihre ihren ihrem ihrer ihres ihnen sie".split())  # the formal address, with a capital
AUXILIARY = lazy_pattern(
    r"\b(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|should|may|might|must)(?:n['’]t)?\s+$",
    re.IGNORECASE,
)
NAME = lazy_pattern(rf"(?<=\s)[{UPPER_CASE}][\w'’]+")

# Always about something else than the question itself names, unless an earlier clause has it.
DEMONSTRATIVES = lazy_pattern(
    r"\b(?:(?:the|that|this|a|an)\s+(?:\w+\s+)?ones?(?!\s+(?:of|that|who|which|with|from|in|on|at|for|I|we|my)\b)\b|"
    r"that(?=\s*(?:[?.!,;]|$))|(?:after|before|about|for|with|from|by|like|than|of|is|was|did|does|"
    r"do) that(?=\s*(?:[?.!,;]|$|again|happen))|"
    r"(?:is|was|did|does|has|had|will|would|can) that (?=\w+\W*$)|"
    r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )(?<!be )there(?=\s*(?:[?.!,;]|$|then|again|before|at|on|in|and|"
    r"with|for)\b)|"
    r"there(?=\W*$)|afterwards|afterward|thereafter|instead(?=\W*$)|"
    r"dafür|davon|damit|dazu|daran|darauf|daraus|darin|darüber|darunter|darum|dabei|dagegen|dadurch|danach|davor|"
    r"dahin|"
    r"dorthin|dorther|dort|anschließend|hinterher|stattdessen)\b",
    re.IGNORECASE,
)
# A German article that stands alone is a pronoun: no noun, which would have a capital, follows within three words.
GERMAN_ARTICLE = lazy_pattern(r"(?<!,)\s(?:das|der|den|dem)(?=\s*[?.!]|(?:\s+[a-zäöüß]+){1,3}\s*[?.!,])")

# “It” that refers to nothing.
EXPLETIVES = lazy_pattern(
    r"\b(?:what (?:time|day|date) (?:is|was) it|(?:does|did|will|would|do) it (?:take|rain|snow)|(?:is|was) it "
    r"(?:that|true|ok|okay|possible|worth|raining|snowing|who|my|your|our)|it (?:is|was|takes|took|seems|rains|"
    r"rained)|"
    r"(?:is|was|be|has|had) it \w+ (?:that|for|to|since)|it(?:'s|’s) \w+ (?:that|for|to)|ma[dk]e it (?:to|in|"
    r"through|on)|"
    r"(?:gibt|gab|gäbe|geht|ging|war|ist|halte|hält|regnet|regnete|schneit) es|es (?:gibt|gab|geht|ging|regnet|mit)|"
    r"wie spät ist es|wie geht es)\b",
    re.IGNORECASE,
)

CHINESE_PRONOUNS = ("他", "她", "它", "他们", "她们", "它们", "他們", "她們", "它們")
CHINESE_OTHERS = frozenset("其他 其它".split())
YES_OR_NO = lazy_pattern("[吗嗎]")
CHINESE_CLAUSE = lazy_pattern("[，。？！；,?!;]")
CHINESE_DEMONSTRATIVE = lazy_pattern(
    r"(?:那里|那儿|那边|那时候?|那次|那天|那个|那家|那位|那些|那本|那部|那件|那种|这里|这儿|这次|这个|这家|这些|"
    r"这位|那裡|那個|這個|這裡)"
)


# “And before that?”: the question before, for an earlier time.
EARLIER = lazy_pattern(
    r"\W*(?:(?:and|und|but|aber|or|oder|then|那么?)\W+|那么?)?"
    r"(?:(?:what|where|who|which|how much|how|was|wo|wer|wie)\b[\s,]*)?"
    r"(?:(?:is|was|were|about|it|war|waren|es|das)\s+){0,2}"
    r"(?:(?:just |right )?before(?: (?:that|then|this|it))?|previously|earlier|davor|vorher|zuvor|früher"
    r"|(?:在|再)?(?:此|那)?(?:之前|以前|更早))的?\W*呢?\W*",
    re.IGNORECASE,
)


def asks_for_earlier(question: str) -> bool:
    """Does it ask nothing but what was before? Then the question before it is meant.

    >>> [asks_for_earlier(each) for each in ("And before that?", "Und davor?", "那之前呢？", "And before the move?")]
    [True, True, True, False]
    """
    return len(question) <= MAX_LENGTH and EARLIER.fullmatch(question.strip()) is not None


def depends_on_history(question: str) -> str:
    """Why a question needs the turns before it; an empty string if it stands alone.

    >>> depends_on_history("And how much did it cost?")
    'it begins with “And”'
    >>> depends_on_history("Where does she live?")
    '“she” refers to nothing in it'
    >>> depends_on_history("Where does my sister live, and what does she do?")
    ''
    """
    text = question.strip()
    if len(text) > MAX_LENGTH:
        return ""
    begins = CONTINUES.match(text) or CONTINUES_CHINESE.match(text)
    if begins:
        return f"it begins with “{begins[0].strip()}”"
    if ELLIPSIS_CHINESE.match(text) or ELIDED_VERB.search(text):
        return "its verb is left out"
    every = words(text, whole=True)
    if every and all(names_no_subject(word) for word in every) and SPEAKERS.isdisjoint(every):
        return "it names no subject"
    return _unresolved(text)


def _unresolved(text: str) -> str:
    expletive = [found.span() for found in EXPLETIVES.finditer(text)]
    for found in PRONOUNS.finditer(text):
        if any(start <= found.start() < end for start, end in expletive):
            continue
        if found[0].lower() in FORMAL and found[0][0].isupper() and found.start():
            continue
        if not _pronoun_has_referent(text, found.start(), found[0].lower()):
            return f"“{found[0]}” refers to nothing in it"
    for pattern in (DEMONSTRATIVES, GERMAN_ARTICLE):
        for found in pattern.finditer(text):
            if not _content(_earlier_clauses(text[: found.start()])):
                return f"“{found[0].strip()}” refers to nothing in it"
    return "" if text.isascii() else _unresolved_chinese(text)


def _pronoun_has_referent(text: str, start: int, pronoun: str) -> bool:
    before = text[:start]
    if pronoun in POSSESSIVES:  # “did Tom sell his car?”
        return _content(before)
    if pronoun in SUBJECTS:
        if not AUXILIARY.search(before):  # “the car he sold”: a clause of its own begins with it
            return _content(before)
        return NAME.search(before, 1) is not None or _content(_earlier_clauses(before))
    return _content(_earlier_clauses(before))


def _unresolved_chinese(text: str) -> str:
    every = tagged(text)
    first = next((kind for _, kind in every if kind not in ("x", "d", "c", "y")), "")  # no mark, adverb or particle
    if first == "v" and YES_OR_NO.search(text):  # “拿到了吗？”: Chinese leaves out a subject that is known
        return "its subject is left out"
    at, noun_before = 0, False
    for word, kind in every:
        start = text.find(word, at)
        at = start + len(word)
        pronoun = kind == "r" and word.endswith(CHINESE_PRONOUNS) and word not in CHINESE_OTHERS
        if pronoun or CHINESE_DEMONSTRATIVE.match(text, start):
            described = not pronoun and "的" in CHINESE_CLAUSE.split(text[at:], maxsplit=1)[0]  # “那个我住的小区”
            if not noun_before and not described and not _content(_earlier_clauses(text[:start])):
                return f"“{word}” refers to nothing in it"
        noun_before = kind.startswith(("n", "uj", "r")) and not pronoun
    return ""


def _earlier_clauses(before: str) -> str:
    ends = [found.start() for found in CLAUSE_END.finditer(before)]
    return before[: ends[-1]] if ends else ""


def names_no_subject(word: str) -> bool:
    """Is it a word that asks for a degree or a circumstance, or a stop word?"""
    return word in STOP or word in DEGREES


def _content(text: str) -> bool:
    """Whether a text has a word that may be what a pronoun refers to."""
    return any(not names_no_subject(word) for word in words(text, whole=True))
