"""What a question asks for: all of something, or what was not liked, taken or done. English, German and Chinese."""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.text.patterns import lazy_pattern
from recollect.text.words import is_spaceless, stems

MAX_CHARACTERS = 1_000  # of a question that are read

# “Which tools”: a plural after the question word. Words in -ss, -us and -is are singular.
PLURAL = r"(?!(?:was|has|does|\w*(?:ss|us|is))\b)\w{2,}s\b(?!['’])"
# Up to now: “which tools have I bought” asks for all, “which tools did I use for the shelf” for those of one occasion.
THEN = r"(?=(?:\s*,)?(?:\s+(?:and|or)\b)?(?:\s+\w+){0,3}\s+(?:have|has)\b)"
ASKS_FOR_ALL = lazy_pattern(
    r"\b(?:list|name|show me|give me|tell me|what are|who are)\s+(?:me\s+)?(?:all|every|each|both)\b|"
    r"\b(?:all|every(?:one|thing|where)?|each)\s+(?:of\s+)?(?:the\s+|my\s+|our\s+)?\w+(?:\s+\w+)?\s+(?:that\s+|"
    r"who\s+|where\s+)?"
    r"(?:i|we|you)(?:['’]ve|['’]d| have| had)?\b|\bwhat all\b|\b(?:who|where) all\b|\bso far\b|"
    rf"^\W*(?:\w+\s+)?(?:which|what)\s+(?:(?:kinds|types|sorts) of\s+|(?:of\s+)?(?:my|our|the|other|different)\s+|"
    rf"(?!(?:was|has|does|is|are|did|do|had|have|kind|type|sort)\b)\w+\s+)?{PLURAL}{THEN}|"
    r"^\W*(?:what|who|where) (?:have|has) (?!been\b)\w+ (?!been\b|got\b)|"  # up to now
    r"\b(?:alle|sämtliche|jede[sn]?|überall)\b|^\W*(?:nenne|liste|zähle)\b|"
    r"^\W*welche\s+(?:\w+\s+)?\w+\s+(?:sind|waren|wurden|werden|können|gibt|gab|kamen|haben (?!wir|sie))|"
    r"^\W*(?:an|auf|aus|bei|in|mit|nach|von|vor|zu)\s+welchen\b|"
    r"哪些|哪几|哪幾|都有|都.{0,12}(?:什么|什麼|谁|誰|哪)|所有|全部|列出|一共有",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)  # several steps ask about one question
def asks_for_all(question: str) -> bool:
    """
    >>> [asks_for_all(each) for each in ("Which films have I seen?", "List all my tools", "Which film did I like?")]
    [True, True, False]
    """
    return ASKS_FOR_ALL.search(question[:MAX_CHARACTERS]) is not None


# How a list is asked for, which says nothing about what is on it: “list all the … that I've told you about so far”.
FRAME = lazy_pattern(
    r"^\W*(?:please\s+|bitte\s+)?(?:can you\s+|could you\s+)?(?:list|name|show me|give me|tell me|nenne|liste|"
    r"zähle)\b(?:\s+(?:me|mir|auf))?|"
    r"\b(?:(?:that|which|who|whom)\s+)?(?:(?:i|we)(?:['’]ve|['’]d|\s+have|\s+had)?|(?:have|had|did)\s+(?:i|"
    r"we))\s+(?:ever\s+)?"
    r"(?:told you(?:\s+about)?|tell you(?:\s+about)?|mentioned?(?:\s+to you)?|talked about|talk about|spoken (?:of|"
    r"about)|brought up|named)\b|"
    r"\b(?:so far|up to now|until now|to date|what all|all(?:\s+of)?\s+(?:the|my|our)|every|all)\b|"
    r",?\s*(?:\w+\s+)?(?:denen|die|das|den)\s+ich\s+(?:dir\s+)?(?:erzählt|erwähnt|gesprochen|genannt|"
    r"gesagt)\s+habe\b|"
    r"\bhabe\s+ich\s+(?:dir\s+)?(?:bisher\s+)?(?:von\s+)?(?:erzählt|erwähnt|genannt)\b|\b(?:bisher|bislang|alle|"
    r"sämtliche)\b|"
    r"(?:我|我们|我們)?(?:跟你|和你|对你|對你)?(?:提到|说|說|提|讲|講|聊)(?:过|過|到过|到過)的?|都有哪些|有哪些|"
    r"列出|所有的?|全部的?|到目前为止",
    re.IGNORECASE,
)


def strip_list_frame(question: str) -> str:
    """The question without the words by which it asks for a list; as it is if nothing would be left.

    >>> strip_list_frame("List all the films I've told you about so far.")
    'films .'
    """
    stripped = " ".join(FRAME.sub(" ", question[:MAX_CHARACTERS]).split()) + question[MAX_CHARACTERS:]
    return stripped if re.search(r"\w{2}|[\u3400-\u9fff]", stripped) else question


OPINION_WORDS = frozenset(  # by which an opinion is asked for; another opinion need not have them
    """
    think feel view opinion take position preference favourite favorite like love hate accept prefer
    want eat drink trust favour favor enjoy believe mind approve halte hält halten denke denkt finde
    findet stehe mag mögen esse trinke isst trinkt liebe hasse akzeptiere bevorzuge vertraue meinung
    ansicht haltung 看法 态度 態度 印象 喜欢 喜歡 讨厌 討厭
    """.split()
)
OPINION_CHARACTERS = lazy_pattern("[喜欢歡爱愛吃喝有会會想最讨討厌厭]+")
ASKS_FOR_OPINION = lazy_pattern(
    r"\b(?:what|how) (?:do|does|did) \w+ (?:now |currently |really )?(?:think|feel|make) (?:of|about)\b"
    r"|\bwhat(?:['’]?s| is) (?:my|our|his|her|their|\w+['’]s) (?:\w+ )?"
    r"(?:view|opinion|take|position|preference|favou?rite)\b"
    r"|\b(?:do|does) \w+ (?:still |now |really |even |actually )?"
    r"(?:like|love|hate|accept|prefer|want|eat|drink|trust|favou?r|enjoy|believe|mind|approve)\b"
    r"|\bwhich .{1,40} (?:do|does) \w+ (?:prefer|favou?r|want|like)\b"
    r"|\bwas (?:halte?|hält|halten|denke|denkt) \w+\b.{0,20}\b(?:von|über)\b"
    r"|\bwie (?:halte|finde|findet|stehe|hält) \w+\b|\b(?:meine|unsere|seine|ihre) (?:meinung|ansicht|haltung)\b"
    r"|^\W*(?:mag|mögen|esse|trinke|isst|trinkt|liebe|hasse|akzeptiere|bevorzuge|vertraue) \w+\b"
    r"|看法|怎么看|怎麼看|态度|態度|印象|(?:吃|喝|用|选|選).{0,6}(?:还是|還是)"
    r"|(?:喜欢|喜歡|爱|愛|讨厌|討厭|吃|喝).{0,8}(?:吗|嗎|还是|還是)",
    re.IGNORECASE,
)


# Anywhere in a question, as in “In which town …?”; “which day” asks for no name.
ASKS_FOR_NAME = lazy_pattern(
    r"\b(?:who|whom|whose|where)\b|\b(?:which|what) (?!(?:do|does|did|is|are|was|were|has|have|had|will|would|can|"
    r"could|should|must|may|might|am|day|date|time|year|month|week|night|evening|morning|number|price|amount|age|"
    r"size)\b)\w+"
    r"|\b(?:wer|wen|wem|wessen|wo|wohin|woher)\b"
    r"|\bwelche[mnrs]? (?!(?:tag|wochentag|datum|uhrzeit|jahr|monat|abend|nummer|preis|größe)\b)\w+"
    r"|谁|誰|哪(?!一?[天年月日])",
    re.IGNORECASE,
)
ASKS_FOR_PLACE = lazy_pattern(
    r"^\W*(?:and |so )?where(?:['’]s)?\b(?! (?:to|from)\b)|^\W*(?:und )?wo\b|哪[里裡儿兒]|[什甚][么麼]地方",
    re.IGNORECASE,
)
GERMAN_WHAT = lazy_pattern(r"\bwas\b", re.IGNORECASE)  # its answer is a noun, which begins with a capital like a name


def asks_for_name(question: str, language: str = "en") -> bool:
    """Is the answer the name of somebody, of a place or of a thing, rather than a figure, a time or a sentence?

    >>> [asks_for_name(each) for each in ("Who runs it?", "Which tool did I buy?", "When was it?", "What did he do?")]
    [True, True, False, False]
    """
    text = question[:MAX_CHARACTERS]
    return ASKS_FOR_NAME.search(text) is not None or (language == "de" and GERMAN_WHAT.search(text) is not None)


def asks_for_place(question: str) -> bool:
    """
    >>> [asks_for_place(each) for each in ("Where is the key?", "钥匙在哪里？", "Who knows where it is?")]
    [True, True, False]
    """
    return ASKS_FOR_PLACE.search(question[:MAX_CHARACTERS]) is not None


def names_opinion_only(word: str, language: str = "en") -> bool:
    """Does a word of a question say how something is taken, and not what?

    >>> [names_opinion_only(each) for each in ("likes", "eat", "olives")]
    [True, True, False]
    """
    if is_spaceless(word):
        return OPINION_CHARACTERS.fullmatch(word) is not None
    return word in OPINION_WORDS or not _opinion_stems(language).isdisjoint(stems(word, language))


@lru_cache(maxsize=4)
def _opinion_stems(language: str) -> frozenset[str]:
    return frozenset(form for word in OPINION_WORDS for form in stems(word, language))


@lru_cache(maxsize=64)  # several steps ask about one question
def asks_for_opinion(question: str) -> bool:
    """Does it ask what somebody thinks of something, or likes, in general?

    >>> [asks_for_opinion(each) for each in ("What do I think of Ida?", "Do I like olives?", "What did I like?")]
    [True, True, False]
    """
    return ASKS_FOR_OPINION.search(question[:MAX_CHARACTERS]) is not None
