"""The query language: words, "phrases", prefix*, AND, OR, NOT and parentheses, parsed into a small tree.

Every text is a query; operators and parentheses that make no sense are ignored.

- Words side by side are joined by OR. AND binds tighter than OR. Operators are written in capitals.
- ``a NOT b`` is a without b: nothing with b comes back, wherever in the query (or the parentheses) it says so. A NOT
  at the very beginning has nothing to take from and is dropped.
- A query without phrases and operators is *bare*: an everyday question, of which the stop words and the words of one or
  two Latin letters are left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.text.patterns import lazy_pattern
from recollect.text.stopwords import ENGLISH
from recollect.text.words import stem, visible, words

STOP = ENGLISH | frozenset(("de", "het", "een", "en", "of"))  # J12
OPERATORS = ("AND", "OR", "NOT")
MAX_DEPTH = 32  # of nested parentheses; deeper ones are ignored
QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"')
TOKEN = lazy_pattern(r'"(?P<phrase>[^"]*)"|(?P<open>\()|(?P<close>\))|(?P<word>[^\s"()]+)')
RUN = lazy_pattern(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and all words with the same stem."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Every word with this prefix."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words exactly as written, in sequence."""

    text: str


@dataclass(frozen=True, slots=True)
class And:
    """All of these (AND)."""

    parts: tuple[QueryTree, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of these (OR)."""

    parts: tuple[QueryTree, ...]


@dataclass(frozen=True, slots=True)
class AndNot:
    """What matches ``include`` and does not match ``exclude`` (NOT)."""

    include: QueryTree
    exclude: QueryTree


Leaf = Word | Prefix | Phrase
QueryTree = Leaf | And | Or | AndNot
Aliases = Mapping[str, Sequence[str]]


def parse_query(text: str, stop: frozenset[str] = STOP) -> QueryTree | None:
    """The tree of a query; None when no word to search for is left.

    >>> format_query(parse_query("where is the blue cup?"))
    'blue OR cup'
    >>> format_query(parse_query('"blue cup" kitch* NOT broken'))
    '("blue cup" OR kitch*) AND NOT broken'
    """
    tokens = _tokens(unicodedata.normalize("NFC", visible(text)).translate(QUOTES))
    bare = not any(kind == "phrase" or kind in OPERATORS for kind, _ in tokens)
    levels, ignored = [_Level(top=True)], 0
    for kind, token in tokens:
        if kind in OPERATORS:
            levels[-1].operator = kind  # of two in a row the second counts
        elif kind == "open":
            if len(levels) > MAX_DEPTH:
                ignored += 1
            else:
                levels.append(_Level())
        elif kind == "close":
            if ignored:
                ignored -= 1
            elif len(levels) > 1:
                inner = levels.pop()
                levels[-1].add_group(inner)
        elif kind == "phrase":
            levels[-1].add(Phrase(token))
        else:
            for tree in _content_words(token, stop) if bare else _exact(token):
                levels[-1].add(tree)
    while len(levels) > 1:
        inner = levels.pop()
        levels[-1].add_group(inner)
    return levels[0].tree()


def expand_aliases(tree: QueryTree | None, aliases: Aliases) -> QueryTree | None:
    """Add to each word its aliases; those of several words become phrases. Phrases and prefixes stay as they are."""
    if tree is None or not aliases:
        return tree
    known = {_key(word): names for word, names in aliases.items()}

    def expanded(tree: QueryTree) -> QueryTree:
        match tree:
            case Word(text):
                return _any_of([tree, *(other for name in known.get(text, ()) for other in _exact(name))])
            case And(parts):
                return _all_of(map(expanded, parts))
            case Or(parts):
                return _any_of(map(expanded, parts))
            case AndNot(include, exclude):
                return AndNot(expanded(include), expanded(exclude))
        return tree

    return expanded(tree)


def format_query(tree: QueryTree | None) -> str:
    """The tree in the query language."""
    match tree:
        case None:
            return ""
        case Word(text):
            return text
        case Prefix(text):
            return f"{text}*"
        case Phrase(text):
            return f'"{text}"'
        case Or(parts):
            return " OR ".join(_within(each, AndNot) for each in parts)
        case And(parts):
            return " AND ".join(_within(each, Or, AndNot) for each in parts)
        case AndNot(include, exclude):
            excluded = exclude.parts if isinstance(exclude, Or) else (exclude,)
            suffix = "".join(f" AND NOT {_within(each, And, Or, AndNot)}" for each in excluded)
            return _within(include, Or, AndNot) + suffix


def positive_terms(tree: QueryTree | None) -> list[Leaf]:
    """The leaves that a memory is scored by: those that are not excluded, without duplicates."""
    found: dict[object, Leaf] = {}
    for leaf in _positive_leaves(tree):
        found.setdefault((type(leaf), stem(leaf.text) if isinstance(leaf, Word) else leaf.text), leaf)
    return list(found.values())


def _positive_leaves(tree: QueryTree | None) -> Iterator[Leaf]:
    match tree:
        case And(parts) | Or(parts):
            for each in parts:
                yield from _positive_leaves(each)
        case AndNot(include, _):
            yield from _positive_leaves(include)
        case Word() | Prefix() | Phrase():
            yield tree


@dataclass(slots=True)
class _Level:
    """What was parsed between two parentheses, or in the whole query."""

    top: bool = False
    operator: str = ""
    alternatives: list[list[QueryTree]] = field(default_factory=list)  # joined by OR; the inner lists by AND
    excluded: list[QueryTree] = field(default_factory=list)

    def add(self, tree: QueryTree) -> None:
        operator, self.operator = self.operator, ""
        if operator == "NOT" and (self.alternatives or not self.top):
            self.excluded.append(tree)
        elif operator == "AND" and self.alternatives:
            self.alternatives[-1].append(tree)
        else:
            self.alternatives.append([tree])

    def add_group(self, inner: _Level) -> None:
        """Add what was in parentheses. Those that only exclude, as in (NOT b), exclude for the level around them."""
        if inner.alternatives:
            self.add(inner.combine())
        elif inner.excluded and self.operator == "NOT":
            self.operator = "AND"
            self.add(_any_of(inner.excluded))
        elif inner.excluded:
            self.operator = ""
            self.excluded += inner.excluded

    def combine(self) -> QueryTree:
        include = _any_of(map(_all_of, self.alternatives))
        return AndNot(include, _any_of(self.excluded)) if self.excluded else include

    def tree(self) -> QueryTree | None:
        if self.alternatives:
            return self.combine()
        return _any_of(self.excluded) if self.excluded else None


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text), the kind of an operator being the operator."""
    found = []
    for match in TOKEN.finditer(text):
        kind, token = str(match.lastgroup), match.group(match.lastgroup or 0)
        if kind == "phrase":
            token = " ".join(token.split())
            if not words(token):
                continue
        found.append((token if kind == "word" and token in OPERATORS else kind, token))
    return found


def _content_words(token: str, stop: frozenset[str]) -> list[QueryTree]:
    """The content words of a token, with the parts of an identifier unless they are tiny."""
    found, prefixes = _complete_words(token), []
    if token.endswith("*"):
        prefixes = [Prefix(word) for word in found[-1:]]
        found = found[:-1]
    elif token.isascii():
        parts = (word for run in RUN.findall(token) for word in words(run)[1:])
        found += [part for part in parts if len(part) > 2]
    return [*(Word(word) for word in found if word not in stop and not _tiny(word)), *prefixes]


def _exact(text: str) -> list[QueryTree]:
    """A text taken literally: a word, or, when the index splits it, the phrase of its parts; or nothing."""
    *before, last = _complete_words(text) or [""]
    if not last:
        return []
    if text.endswith("*"):
        return [_all_of([*map(Word, before), Prefix(last)])]
    return [Phrase(" ".join(text.split()))] if before else [Word(last)]


def _complete_words(token: str) -> list[str]:
    if token.isascii():
        return [word for run in RUN.findall(token) if (word := run.lower().strip("_"))]
    return words(token)


def _tiny(word: str) -> bool:
    """One or two Latin letters."""
    return len(word) <= 2 and all(unicodedata.name(letter, "").startswith("LATIN ") for letter in word)


def _key(word: str) -> str:
    return unicodedata.normalize("NFKC", visible(word)).strip().lower()


def _any_of(trees: Iterable[QueryTree]) -> QueryTree:
    flat = (each for tree in trees for each in (tree.parts if isinstance(tree, Or) else (tree,)))
    parts = tuple(dict.fromkeys(flat))
    return parts[0] if len(parts) == 1 else Or(parts)


def _all_of(trees: Iterable[QueryTree]) -> QueryTree:
    flat = (each for tree in trees for each in (tree.parts if isinstance(tree, And) else (tree,)))
    parts = tuple(dict.fromkeys(flat))
    return parts[0] if len(parts) == 1 else And(parts)


def _within(tree: QueryTree, *enclosed: type) -> str:
    text = format_query(tree)
    return f"({text})" if isinstance(tree, enclosed) else text
