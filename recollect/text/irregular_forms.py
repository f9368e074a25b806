"""English words whose forms no stemmer joins: give and gave, child and children."""

from __future__ import annotations

from functools import cache

FORMS = """
    become became; begin began begun; bend bent; bite bit bitten; blow blew blown; break broke broken; bring brought;
    build built; burn burnt; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug;
    draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed;
    feel felt; fight fought; find found; fly flew flown; forget forgot forgotten; freeze froze frozen; get got gotten;
    give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept;
    know knew known; lead led; learn learnt; leave left; lend lent; lose lost; make made; mean meant; meet met;
    pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; sell sold; send sent;
    shake shook shaken; shoot shot; show shown; sing sang sung; sit sat; sleep slept; smell smelt; speak spoke spoken;
    spend spent; stand stood; steal stole stolen; stick stuck; swim swam swum; take took taken; teach taught;
    tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
    wear wore worn; win won; write wrote written;
    child children; foot feet; goose geese; knife knives; leaf leaves; life lives; man men; mouse mice; shelf shelves;
    tooth teeth; wife wives; woman women
"""


def irregular_forms(word: str) -> tuple[str, ...]:
    """The other forms of a word, as far as they are irregular.

    >>> irregular_forms("gave"), irregular_forms("house")
    (('give', 'given'), ())
    """
    return _by_form().get(word, ())


@cache
def past_forms() -> tuple[str, ...]:
    """The past tenses of the verbs: what stands second in a family, down to the nouns.

    >>> past_forms()[:3], "children" in past_forms()
    (('became', 'began', 'bent'), False)
    """
    families = [family.split() for family in FORMS.split(";")]
    return tuple(family[1] for family in families[: families.index(["child", "children"])])


@cache
def _by_form() -> dict[str, tuple[str, ...]]:
    families = [family.split() for family in FORMS.split(";")]
    return {form: tuple(each for each in family if each != form) for family in families for form in family}
