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

# “What should I not eat?”: what makes ill as well as what is not liked. “What did I not eat?” is of one meal.
NOT_TO_EAT = lazy_pattern(
    r"^(?!.*\b(?:did|didn|was|wasn|had|hadn)\b)"
    r"(?=.*\b(?:what|which|anything|something|foods?|ingredients?)\b)"
    r"(?=.*\b(?:eat(?:ing)?|drink(?:ing)?|foods?|ingredients?|dish(?:es)?|snacks?|cook|serve|meals?)\b)"
    r".*\b(?:not|never|cannot|avoid|off[- ]limits|unsafe|dangerous|(?:ca|do|does|should|must|is)n['’]?t)\b"
    r"|^(?=.*\b(?:was|welche\w*|worauf|etwas|lebensmittel)\b)"
    r"(?=.*\b(?:essen|esse|isst|trinken?|trinkt|lebensmittel|zutaten|kochen|vertrage|verträgt)\b)"
    r"(?!.*\b(?:habe|hat|haben|hatte\w*|wollte\w*)\b).*\b(?:nicht|nie|kein\w*|vermeiden|meiden|verzichten|gefährlich)\b"
    r"|^(?=.*(?:什么|什麼|啥|哪))(?!.*[没沒了过過]).*(?:不(?:能|可以|该|該|应该|應該|要|宜)|忌|避免).{0,3}[吃喝]"
    r"|[吃喝].{0,2}(?:什么|什麼).{0,4}(?:过敏|過敏|不舒服)",
    re.IGNORECASE | re.DOTALL,
)
INTOLERANCE_WORDS = {
    "en": ("allergic", "allergy", "allergies", "intolerant", "intolerance", "coeliac", "celiac"),
    "de": ("allergisch", "allergie", "unverträglichkeit", "intoleranz", "vertrage", "verträgt"),
    "zh": ("过敏", "不耐受"),
}
# Of a text in lower case.
INTOLERANCE = lazy_pattern(
    r"\b(?:allerg(?:y|ies|ic)|intoleran(?:t|ce)|c(?:o?e)liac|anaphyla\w+"
    r"|(?:makes?|made) (?:me|us|him|her|them|\w+) (?:(?:very|really|so|quite|feel) )?(?:ill|sick|throw up|vomit)"
    r"|gives? (?:me|us|him|her|them) (?:a |an )?(?:rash|hives|migraines?|(?:stomach|head) ?aches?|heartburn)"
    r"|upsets? (?:my|our|his|her|their) stomach|(?:(?:does|do|ca)n['’]?t|cannot) (?:agree with|tolerate))\b"
    r"|\b(?:\w*allergi(?:e|en|sch|ker\w*)|\w*unverträglich\w*|\w*intoleran(?:t|z)|zöliakie"
    r"|verträgt .{0,40}(?:nicht|kein\w*)|vertrage .{0,40}(?:nicht|kein\w*)"
    r"|wird? (?:mir|ihr|ihm|uns) (?:schlecht|übel))\b"
    r"|过敏|過敏|不耐受|吃了.{0,6}(?:拉肚子|不舒服|会吐|會吐)"
)
INTOLERANCE_NOUN = r"\w*(?:allerg|intoleran|unverträglich)\w*"
# “Do not forget my allergy”, “no more allergy tests” and “no nuts because allergic” deny none.
NO_INTOLERANCE = lazy_pattern(
    r"\b(?:no(?! more)|not|never|without|keine?n?|nicht) "
    rf"(?:(?!forget|ignor|overlook|vergessen|because|since|due|as\b|weil|wegen)\w+ ){{0,2}}?{INTOLERANCE_NOUN}"
    rf"(?: (?:or|and|nor|oder|und) (?:\w+ )?{INTOLERANCE_NOUN})*"
    r"|(?:不|[没沒]有?)(?:过敏|過敏)"
)


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


def asks_what_not_to_eat(question: str) -> bool:
    """
    >>> [asks_what_not_to_eat(each) for each in ("What should I not eat?", "Was darf ich nicht essen?")]
    [True, True]
    >>> [asks_what_not_to_eat(each) for each in ("What did I not eat?", "Which road should I avoid?", "What do I eat?")]
    [False, False, False]
    """
    return NOT_TO_EAT.search(question[:MAX_CHARACTERS]) is not None


def tells_intolerance(text: str) -> bool:
    """Does it tell of what somebody must not eat, touch or take, as it makes them ill?

    >>> [tells_intolerance(each) for each in ("I'm allergic to nuts.", "Milk makes me ill.", "我对花生过敏。")]
    [True, True, True]
    >>> [tells_intolerance(each) for each in ("I'm not allergic to nuts.", "I don't like nuts.")]
    [False, False]
    >>> tells_intolerance("I'm not allergic to nuts, but milk makes me ill.")
    True
    """
    text = text[:MAX_CHARACTERS].lower()
    return INTOLERANCE.search(text) is not None and INTOLERANCE.search(NO_INTOLERANCE.sub(" ", text)) is not None
