"""Polarity: whether a text refuses, dislikes or denies something, and whether a question asks for that.

General words of negation, dislike and refusal in English, German and Chinese.
"""

from __future__ import annotations

import re

from recollect.text.patterns import lazy_pattern
from recollect.text.words import is_spaceless, stems, words

MAX_CHARACTERS = 2_000  # of a text that are read

# After a question word, in the same sentence: “I'm not sure. Which film did I see?” asks for something else.
ASKS_FOR_NEGATIVE = lazy_pattern(
    r"\b(?:which|what|where|who|whom|whose)\b[^.!?\n]{0,120}?\b(?:not|never|no longer|avoid|dislike[ds]?|hate[ds]?|"
    r"refuse[ds]?|reject(?:ed)?|against|unhappy|turn(?:ed|ing)? down|"
    r"worst|(?:did|do|does|have|has|had|was|were|is|are|should|would|could|ca|wo|can)n['’]?t)\b|"
    r"\b(?:welche[mnrs]?|was|wo|wohin|wer|wen|wem)\b[^.!?\n]{0,120}?\b(?:nicht|nie|niemals|kein\w*|ungern|gegen|"
    r"abgelehnt|vermeiden|meiden|hasse|schlechteste[nrs]?)\b",
    re.IGNORECASE,
)
ASKS_FOR_NEGATIVE_IN_CHINESE = lazy_pattern(
    r"(?=[^。！？\n]{0,120}(?:哪|什么|什麼|谁|誰|啥))[^。！？\n]{0,120}?(?:不(?:喜欢|喜歡|想|要|能|爱|愛|好|吃|该|"
    r"該|应|應|会|會|怎么样|"
    r"怎麼樣|满意|滿意)|没(?!有?多久)|沒|讨厌|討厭|拒绝|拒絕|最差|避免)",
)
# Who or which: several may be so, and others not. “Which plumber did I call?” is about one event, and harmless here.
WHO_OR_WHICH = lazy_pattern(
    r"^\W*(?:\w+\W+){0,3}?(?:who|whose|which|wer|wem|wen|welche[mnrs]?)\b"
    r"|\bwhat\b.{0,60}\b(?:like|love|enjoy|eat|drink|prefer)\b|\bwas\b.{0,60}\b(?:mag|mögen|isst|esse|trinkt?)\b"
    r"|谁|誰|哪",
    re.IGNORECASE,
)
WHO = lazy_pattern(r"^\W*(?:(?:and|und|so|also)\W+)?(?:who|wer|whom?|wen|wem)\b|谁|誰", re.IGNORECASE)
# Of a clause in lower case. “Not only” and “can't get enough” deny nothing.
DENIAL = lazy_pattern(
    r"\b(?:no|not(?! only)|never|none|nobody|neither|nor|without|cannot|(?:ca|wo|do|does|did|is|are|was|were|have|has|"
    r"had|would|could|should)n['’]?t(?! get enough)|hate[ds]?|dislike[ds]?|avoids?|avoided|refuse[ds]?|detests?|"
    r"loathes?|(?:gave|gives?|given) up|stopped|quit|allergic)\b"
    r"|\b(?:nicht(?! nur)|nie|niemals|niemand|keine?[mnrs]?|ohne|hass(?:t|e|en)|meidet|vermeidet|aufgehört|"
    r"allergisch)\b"
    r"|不(?!错|錯|仅|僅|但|只|光)|没|沒|从未|從未|讨厌|討厭|拒绝|拒絕|戒"
)
CLAUSE_END = lazy_pattern(r"[.!?;:,\n。！？；，、：]+\s*|\s(?:but|although|though|aber|obwohl|doch)\s|但是?|不过|不過")
NEGATIVE = lazy_pattern(
    r"\b(?:no|not|never|none|nothing|nobody|neither|nor|without|(?:ca|wo|do|does|did|is|are|was|were|have|has|had|"
    r"would|"
    r"could|should)n['’]?t|cannot|avoid\w*|hate[ds]?|dislike[ds]?|awful|terrible|horrible|useless|worst|worse|bad|"
    r"badly|poor|"
    r"disappoint\w*|regret\w*|refus\w*|reject\w*|cancel\w*|dead|gave up|given up|sick|unhappy|annoy\w*|wrong|fail\w*|"
    r"sent? (?:it |them )?back|instead|stop(?:ped)?|last (?:time|order|visit))\b|"
    r"\b(?:nicht|nichts|nie|niemals|niemand|kein\w*|ohne|leider|hass\w*|schlecht\w*|furchtbar\w*|schrecklich\w*|"
    r"mies\w*|schlimm\w*|"
    r"enttäusch\w*|bereu\w*|abgelehnt|abgesagt|abgebrochen|unzufrieden|eklig\w*|ärger\w*|statt\w*|trotzdem)\b|"
    r"不(?!错|錯|过|過|管|仅|僅|但|少)|没|沒|无法|無法|从不|從不|讨厌|討厭|难吃|難吃|糟|差劲|差勁|一般|失望|后悔|"
    r"後悔|拒绝|拒絕|可惜|别|別",
)  # of a text in lower case: ignoring case takes three times as long


def asks_for_negative(question: str) -> bool:
    """
    >>> [asks_for_negative(each) for each in ("Which film did I not like?", "Which film did I like?")]
    [True, False]
    """
    text = question[:MAX_CHARACTERS]
    if ASKS_FOR_NEGATIVE.search(text):
        return True
    return not text.isascii() and ASKS_FOR_NEGATIVE_IN_CHINESE.search(text) is not None


def is_negative(text: str) -> bool:
    """
    >>> [is_negative(each) for each in ("The soup was awful.", "I never went back.", "The soup was great.")]
    [True, True, False]
    """
    return NEGATIVE.search(text[:MAX_CHARACTERS].lower()) is not None


def asks_who_or_which(question: str) -> bool:
    """
    >>> [asks_who_or_which(each) for each in ("Who likes olives?", "In which room is it?", "Where is it?")]
    [True, True, False]
    """
    return WHO_OR_WHICH.search(question[:MAX_CHARACTERS]) is not None


def asks_who(question: str) -> bool:
    """
    >>> [asks_who(each) for each in ("Who likes olives?", "Which olives do I like?", "What about those who left?")]
    [True, False, False]
    """
    return WHO.search(question[:MAX_CHARACTERS]) is not None


def denies(text: str, word: str, language: str = "en") -> bool:
    """Do all clauses of a text with a word, in any of its forms, negate something?

    >>> [denies(each, "olives") for each in ("I don't eat an olive.", "I like olives, not capers.", "Not for me.")]
    [True, False, False]
    """
    clauses = [clause for clause in CLAUSE_END.split(text[:MAX_CHARACTERS].lower()) if clause]
    negated = [DENIAL.search(clause) is not None for clause in clauses]
    if not any(negated):
        return False
    forms, spaceless = set(stems(word, language)), is_spaceless(word)
    about = [
        negates
        for clause, negates in zip(clauses, negated, strict=True)
        if (word in clause if spaceless else any(not forms.isdisjoint(stems(each, language)) for each in words(clause)))
    ]
    return bool(about) and all(about)
