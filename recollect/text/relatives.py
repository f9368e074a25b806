"""People who are named by what they are to somebody: “my older sister Clara”, “Ben's parents”, “我姐姐”."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.stopwords import ENGLISH, stop_words

MAX_QUESTION = 300  # characters of a question that are read
SPEAKERS = frozenset(
    "my our mein meine meinen meiner meinem meines unser unsere unseren unserer unserem unseres".split()
)
OTHERS = frozenset("his her their sein seine seinen seiner seinem ihr ihre ihren ihrer ihrem".split())
OF_A_KIND = r"(?:(?:older|younger|elder|eldest|oldest|youngest|big|little|best|good|old|dear|new|former|ex"
OF_A_KIND += r"|(?:groß|klein|alt|älter|ältest|jünger|jüngst|best|gut|lieb|neu|ehemalig)e[nrms]?)\s+)*"
NO_NAME = "what|where|when|how|who|that|there|here|it|he|she|let"  # “what's my address”
RELATIVE = lazy_pattern(
    rf"\b(?P<owner>{'|'.join(sorted(SPEAKERS | OTHERS, key=lambda each: -len(each)))}"
    rf"|(?<![\w-])(?!(?:{NO_NAME})\b)(?-i:[{UPPER_CASE}])[\w-]*(?=['’]s\s))"
    rf"(?:['’]s)?\s+{OF_A_KIND}(?P<relation>[^\W\d_][\w-]*)(?:,?\s+(?P<name>(?-i:[{UPPER_CASE}])[\w-]+))?",
    re.IGNORECASE,
)
CHINESE_RELATIVE = lazy_pattern(
    r"(?<![和跟与與同男女表堂])(?:我们?|我們)?的?(?P<relation>外公|外婆|姥姥|姥爷|父母|父亲|父親|母亲|母親|爸妈|爸媽|爸爸?|妈妈?|媽媽?|爷爷|爺爺|奶奶|[表堂]?(?:哥哥?|姐姐?|弟弟?|妹妹?)"
    r"|叔叔|阿姨|姑姑|舅舅|伯伯|儿子|兒子|女儿|女兒|孩子|老公|老婆|丈夫|妻子|男朋友|女朋友|朋友|同事|同学|同學|老板|老闆|老师|老師"
    r"|邻居|鄰居|室友|房东|房東|上司)"
)


@dataclass(frozen=True, slots=True)
class Relative:
    """Somebody, by what they are to an owner: "" for the one who speaks, a name, or “his”, “her”."""

    owner: str
    relation: str
    name: str
    start: int  # where the words for it begin and end in the text
    end: int


def find_relatives(text: str) -> list[Relative]:
    """All that may be: whatever comes after a possessive.

    >>> [(each.owner, each.relation, each.name) for each in find_relatives("My sister Clara met Ben's parents.")]
    [('', 'sister', 'clara'), ('ben', 'parents', '')]
    >>> [(each.relation, each.name) for each in find_relatives("Wo wohnt mein bester Freund? 我姐姐住在哪里？")]
    [('freund', ''), ('姐姐', '')]
    """
    found = []
    for match in (*RELATIVE.finditer(text), *CHINESE_RELATIVE.finditer(text)):
        groups = {name: (value or "").lower() for name, value in match.groupdict().items()}
        owner = groups.get("owner", "")
        found.append(
            Relative("" if owner in SPEAKERS else owner, groups["relation"], groups.get("name", ""), *match.span())
        )
    return found


PERSON = rf"(?P<name>[{UPPER_CASE}][\w’'-]+)"
DAY = lazy_pattern(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|yesterday|today|tonight|tomorrow|(?:vor)?gestern|heute|(?:über)?morgen",
    re.IGNORECASE,
)
CONTRACTION = lazy_pattern(r"['’](?:s|m|d|re|ve|ll)$")  # “I'm”, “it's”, “Petra's”
NO_NAMES = (ENGLISH | stop_words("de")) - {"don", "will"}  # “Don is my boss”
NO_CHINESE_NAME = lazy_pattern("[个個一我你您他她它这這]|那[个個些种種]")
MINE = "|".join(sorted(SPEAKERS, key=lambda each: -len(each)))


@lru_cache(maxsize=64)
def _naming(relation: str) -> tuple[re.Pattern[str], ...]:
    """How texts name who is that to the speaker: “Petra is my boss”, “my new boss is Petra”, “我老板是王磊”."""
    mine = rf"(?i:(?:{MINE})\s+(?:[\w-]+ )?{re.escape(relation)})\b"
    now = r"(?:(?:now|still|officially|called|jetzt|nun|immer noch) )?"
    return (
        re.compile(rf"\b{PERSON} (?:is|was|ist|war|became|will be|wird|wurde) {now}{mine}"),
        re.compile(rf"\b{mine},? (?:(?:is|was|ist|war|heißt) )?{now}{PERSON}"),
        # “我老板叫我加班” goes on; the name of somebody ends the clause
        re.compile(
            rf"我们?的?{re.escape(relation)}(?:现在|現在)?(?:是|叫做?)(?P<name>[\u4e00-\u9fffA-Za-z]{{2,6}})(?!\w)"
        ),
    )


# “Samir and I are together”: a partner, whatever the word for one
COUPLE = lazy_pattern(
    rf"\b{PERSON} and (?:I|me) (?:are|got|became|have been) (?:\w+ )?"
    r"(?:together|dating|a couple|an item|engaged|married)\b"
    rf"|\bI(?:['’]m| am) (?:\w+ )?(?:dating|engaged to|married to|with) {PERSON.replace('name', 'partner')}"
    rf"|\b{PERSON.replace('name', 'german_name')} und ich sind (?:\w+ )?(?:zusammen|ein Paar|verlobt|verheiratet)\b"
    r"|(?:和|跟)(?P<chinese_name>[\u4e00-\u9fffA-Za-z]{2,6}?)(?:正式)?(?:在一起了|交往|谈恋爱|訂婚|订婚|結婚|结婚)"
)
PARTNERS = frozenset(
    """
    boyfriend girlfriend partner fiancé fiancée fiance husband wife freund freundin partnerin verlobter verlobte mann
    frau 男朋友 女朋友 对象 老公 老婆
    """.split()
)


def find_named(text: str, relation: str) -> str:
    """The name of the one who is that to the speaker, by what a text says; empty if it does not say.

    A capital letter alone makes no name: “It was my boss”, “Yesterday my boss …”.

    >>> [find_named(each, "boss") for each in ("Petra is my boss.", "My new boss is Rosa.", "I like my boss.")]
    ['petra', 'rosa', '']
    >>> find_named("Samir and I are officially together.", "boyfriend")
    'samir'
    """
    patterns = (*_naming(relation), COUPLE) if relation in PARTNERS else _naming(relation)
    found = (value for pattern in patterns for match in pattern.finditer(text) for value in match.groups() if value)
    return next(filter(_may_be_name, (CONTRACTION.sub("", value).lower() for value in found)), "")


def _may_be_name(word: str) -> bool:
    return word not in NO_NAMES and not DAY.fullmatch(word) and not NO_CHINESE_NAME.match(word)


ASKS_WHO = lazy_pattern(
    rf"^\W*(?:and |so |und )?(?:who(?:['’]s| is| was| are)|wer (?:ist|war)|(?:what|wie)\b.*\b(?:name|called|heißt))\b"
    rf".*?\b(?:{MINE})\s+(?:(?:new|old|first|last|current|former|(?:neu|alt|erst)e[rnms]?) )?"
    r"(?P<relation>[^\W\d_][\w-]*)\W*"
    r"(?:(?:now|before|jetzt|vorher|früher|currently|called)\W*)?$"
    r"|^\W*我们?(?:现在|現在|以前)?的?(?P<chinese_relation>[\u4e00-\u9fff]{1,3}?)(?:现在|現在|以前)?(?:是谁|是誰|叫什么|叫什麼)",
    re.IGNORECASE,
)


def asked_relation(question: str) -> str:
    """Who the question is for, by what they are to the one who asks.

    >>> [asked_relation(each) for each in ("Who is my boss?", "Wer ist meine Chefin?", "Who is Ida?")]
    ['boss', 'chefin', '']
    """
    match = ASKS_WHO.search(question[:MAX_QUESTION])
    return (match["relation"] or match["chinese_relation"]).lower() if match else ""
