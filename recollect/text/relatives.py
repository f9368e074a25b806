"""People who are named by what they are to somebody: “my older sister Clara”, “Ben's parents”, “我姐姐”."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recollect.text.patterns import UPPER_CASE, lazy_pattern

SPEAKERS = frozenset(
    "my our mein meine meinen meiner meinem meines unser unsere unseren unserer unserem unseres".split()
)
OTHERS = frozenset("his her their sein seine seinen seiner seinem ihr ihre ihren ihrer ihrem".split())
OF_A_KIND = r"(?:(?:older|younger|elder|eldest|oldest|youngest|big|little|best|good|old|dear|new|former|ex"
OF_A_KIND += r"|(?:groß|klein|alt|älter|ältest|jünger|jüngst|best|gut|lieb|neu|ehemalig)e[nrms]?)\s+)*"
NO_NAME = "what|where|when|how|who|that|there|here|it|he|she|let"  # “what's my address”
RELATIVE = lazy_pattern(
    rf"\b(?P<owner>{'|'.join(sorted(SPEAKERS | OTHERS, key=lambda each: -len(each)))}"
    rf"|(?!(?:{NO_NAME})\b)(?-i:[{UPPER_CASE}])[\w-]*(?=['’]s\s))"
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
