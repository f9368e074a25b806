"""The query language: words, "phrases", prefix*, AND, OR, NOT and parentheses, read into a small tree.

Every text is a query; what makes no sense as an operator or a parenthesis is passed over.

- Words side by side are joined by OR. AND binds tighter than OR. Operators are written in capitals.
- ``a NOT b`` is a without b: nothing with b comes back, wherever in the query (or the parentheses) it says so. A NOT
  at the very beginning has nothing to take from and is dropped.
- A query without phrases and operators is *bare*: an everyday question, of which the stop words and the words of one or
  two Latin letters are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.text.stopwords import ENGLISH
from recollect.text.words import stem, words

STOP = ENGLISH | frozenset(("de", "het", "een", "en", "of"))  # J12
OPERATORS = ("AND", "OR", "NOT")
DEEPEST = 32  # parentheses inside parentheses; further ones do not group
QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"')
TOKEN = re.compile(r'"(?P<phrase>[^"]*)"|(?P<open>\()|(?P<close>\))|(?P<word>[^\s"()]+)')
RUN = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, with those that have its stem."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Every word that begins so."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words as they are written, one after the other."""

    text: str


@dataclass(frozen=True, slots=True)
class Every:
    """All of these (AND)."""

    of: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Any of these (OR)."""

    of: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """These, but none that is one of those (NOT)."""

    these: Tree
    those: Tree


Leaf = Word | Prefix | Phrase
Tree = Leaf | Every | Some | Without
Aliases = Mapping[str, Sequence[str]]


def parse(text: str, stop: frozenset[str] = STOP) -> Tree | None:
    """The tree of a query; None when nothing is left to look up.

    >>> describe(parse("where is the blue cup?"))
    'blue OR cup'
    >>> describe(parse('"blue cup" kitch* NOT broken'))
    '("blue cup" OR kitch*) AND NOT broken'
    """
    tokens = _tokens(unicodedata.normalize("NFC", text).translate(QUOTES))
    bare = not any(kind == "phrase" or kind in OPERATORS for kind, _ in tokens)
    levels, ignored = [_Level(top=True)], 0
    for kind, said in tokens:
        if kind in OPERATORS:
            levels[-1].operator = kind  # of two in a row the later counts
        elif kind == "open":
            if len(levels) > DEEPEST:
                ignored += 1
            else:
                levels.append(_Level())
        elif kind == "close":
            if ignored:
                ignored -= 1
            elif len(levels) > 1:
                inner = levels.pop()
                levels[-1].enclose(inner)
        elif kind == "phrase":
            levels[-1].take(Phrase(said))
        else:
            for tree in _bare(said, stop) if bare else _asked(said):
                levels[-1].take(tree)
    while len(levels) > 1:
        inner = levels.pop()
        levels[-1].enclose(inner)
    return levels[0].tree()


def expand(tree: Tree | None, aliases: Aliases) -> Tree | None:
    """Beside each word its other names; those of several words are phrases. Phrases and prefixes stay as they are."""
    if tree is None or not aliases:
        return tree
    known = {_key(word): names for word, names in aliases.items()}

    def expanded(tree: Tree) -> Tree:
        match tree:
            case Word(text):
                return _some([tree, *(other for name in known.get(text, ()) for other in _asked(name))])
            case Every(of):
                return _every(map(expanded, of))
            case Some(of):
                return _some(map(expanded, of))
            case Without(these, those):
                return Without(expanded(these), expanded(those))
        return tree

    return expanded(tree)


def describe(tree: Tree | None) -> str:
    """The query as it is understood, in its own language."""
    match tree:
        case None:
            return ""
        case Word(text):
            return text
        case Prefix(text):
            return f"{text}*"
        case Phrase(text):
            return f'"{text}"'
        case Some(of):
            return " OR ".join(_within(each, Without) for each in of)
        case Every(of):
            return " AND ".join(_within(each, Some, Without) for each in of)
        case Without(these, those):
            parts = those.of if isinstance(those, Some) else (those,)
            refused = "".join(f" AND NOT {_within(each, Every, Some, Without)}" for each in parts)
            return _within(these, Some, Without) + refused


def wanted(tree: Tree | None) -> list[Leaf]:
    """What a memory scores by: the leaves that are not refused, once for each way to look them up."""
    found: dict[object, Leaf] = {}
    for leaf in _wanted(tree):
        found.setdefault((type(leaf), stem(leaf.text) if isinstance(leaf, Word) else leaf.text), leaf)
    return list(found.values())


def _wanted(tree: Tree | None) -> Iterator[Leaf]:
    match tree:
        case Every(of) | Some(of):
            for each in of:
                yield from _wanted(each)
        case Without(these, _):
            yield from _wanted(these)
        case Word() | Prefix() | Phrase():
            yield tree


@dataclass(slots=True)
class _Level:
    """What stands between two parentheses, or in the whole query, on its way to a tree."""

    top: bool = False
    operator: str = ""
    either: list[list[Tree]] = field(default_factory=list)  # joined by OR; what is inside of each, by AND
    refused: list[Tree] = field(default_factory=list)

    def take(self, tree: Tree) -> None:
        operator, self.operator = self.operator, ""
        if operator == "NOT" and (self.either or not self.top):
            self.refused.append(tree)
        elif operator == "AND" and self.either:
            self.either[-1].append(tree)
        else:
            self.either.append([tree])

    def enclose(self, inner: _Level) -> None:
        """Take what stood in parentheses. Those that only refuse, as in (NOT b), refuse for the level around them."""
        if inner.either:
            self.take(inner.whole())
        elif inner.refused and self.operator == "NOT":
            self.operator = "AND"
            self.take(_some(inner.refused))
        elif inner.refused:
            self.operator = ""
            self.refused += inner.refused

    def whole(self) -> Tree:
        these = _some(map(_every, self.either))
        return Without(these, _some(self.refused)) if self.refused else these

    def tree(self) -> Tree | None:
        if self.either:
            return self.whole()
        return _some(self.refused) if self.refused else None


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text), the kind of an operator being the operator."""
    found = []
    for match in TOKEN.finditer(text):
        kind, said = str(match.lastgroup), match.group(match.lastgroup or 0)
        if kind == "phrase":
            said = " ".join(said.split())
            if not words(said):
                continue
        found.append((said if kind == "word" and said in OPERATORS else kind, said))
    return found


def _bare(token: str, stop: frozenset[str]) -> list[Tree]:
    """The words of a token that a question is about. Of an identifier the parts count, too, unless they are tiny."""
    found, begun = _wholes(token), []
    if token.endswith("*"):
        begun = [Prefix(word) for word in found[-1:]]
        found = found[:-1]
    elif token.isascii():
        parts = (word for run in RUN.findall(token) for word in words(run)[1:])
        found += [part for part in parts if len(part) > 2]
    return [*(Word(word) for word in found if word not in stop and not _tiny(word)), *begun]


def _asked(text: str) -> list[Tree]:
    """What is meant as it stands: a word, or, when the index takes it apart, the phrase of its parts; or nothing."""
    *before, last = _wholes(text) or [""]
    if not last:
        return []
    if text.endswith("*"):
        return [_every([*map(Word, before), Prefix(last)])]
    return [Phrase(" ".join(text.split()))] if before else [Word(last)]


def _wholes(token: str) -> list[str]:
    if token.isascii():
        return [whole for run in RUN.findall(token) if (whole := run.lower().strip("_"))]
    return words(token)


def _tiny(word: str) -> bool:
    """One or two Latin letters."""
    return len(word) <= 2 and all(unicodedata.name(letter, "").startswith("LATIN ") for letter in word)


def _key(word: str) -> str:
    return unicodedata.normalize("NFKC", word).strip().lower()


def _some(trees: Iterable[Tree]) -> Tree:
    flat = (each for tree in trees for each in (tree.of if isinstance(tree, Some) else (tree,)))
    of = tuple(dict.fromkeys(flat))
    return of[0] if len(of) == 1 else Some(of)


def _every(trees: Iterable[Tree]) -> Tree:
    flat = (each for tree in trees for each in (tree.of if isinstance(tree, Every) else (tree,)))
    of = tuple(dict.fromkeys(flat))
    return of[0] if len(of) == 1 else Every(of)


def _within(tree: Tree, *enclosed: type) -> str:
    said = describe(tree)
    return f"({said})" if isinstance(tree, enclosed) else said
