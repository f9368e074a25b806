"""One configuration file, read with its lines: what it says, and every mistake in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

import yaml

from recollect.config.document import DEFAULTS, Document, Mistake, Place, Said
from recollect.config.schema import KEYS, SECTIONS, SETTINGS, Kind
from recollect.errors import InvalidInput
from recollect.model import validation as check

TOP = ("agents", "memory", "recollect")
VARIABLE = re.compile(r"\$\{(\w+)\}")
# What JSON has and YAML has not, outside of strings: comments and tabs.
JSON_ONLY = re.compile(r""" "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | //[^\n]* | /\*.*?\*/ | \t """, re.X | re.S)
GUARDED = (
    "say this in your own configuration, or name this file with --config: a workspace of somebody else's must not "
    "choose where your key and your texts are sent."
)


class Loader(yaml.SafeLoader):
    """YAML 1.2's plain values: ``on`` is a word, a date a text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"0|[-+]?[1-9][0-9]{0,17}", "-+0123456789"),
    ("float", r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first))


def read(file: Path, shown: str, found: bool = False) -> Document:
    """Read a file; ``found`` says that it merely lay in the workspace, and nobody named it."""
    document = Document(shown)
    try:
        text = file.read_text("utf-8-sig")
        if file.suffix in (".json", ".json5"):
            text = JSON_ONLY.sub(_blank, text)
        loader = Loader(text)
        _Reader(document, loader, found).read(loader.get_single_node())
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        told = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        document.mistakes.append(Mistake(Place(shown, mark.line + 1 if mark else 1), "", f"this is no YAML: {told}."))
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        document.mistakes.append(Mistake(Place(shown, line), "", "this is not UTF-8 text."))
    except RecursionError:
        document.mistakes.append(Mistake(Place(shown, 1), "", "it is nested too deeply."))
    document.mistakes.sort(key=lambda mistake: mistake.place.line)
    return document


def _blank(found: re.Match[str]) -> str:
    """A string as it is; a comment or a tab as blanks, on as many lines."""
    return found[0] if found[0][0] in "\"'" else re.sub(r"[^\n]", " ", found[0])


class _Reader:
    """Walks a document by its nodes, which know their lines."""

    def __init__(self, document: Document, loader: Loader, found: bool) -> None:
        self.document = document
        self.loader = loader
        self.found = found

    def read(self, top: yaml.Node | None) -> None:
        for name, at, node in self._pairs(top, "") if top is not None else ():
            if name == "agents":
                self._agents(node)
            elif name in SECTIONS and name != "memorySearch":
                self._section(node, f"{name}.", name)
            elif name == "memorySearch" or get_close_matches(name, TOP, cutoff=0.8):
                near = "agents.defaults.memorySearch" if name == "memorySearch" else _nearest(name, TOP)
                self._wrong(at, name, f"unknown key; did you mean {near}?")

    def _agents(self, node: yaml.Node) -> None:
        for agent, _, settings in self._pairs(node, "agents"):
            if agent == "list" and isinstance(settings, yaml.SequenceNode):
                for each in settings.value:
                    get_recipe = {name: value for name, _, value in self._pairs(each, "agents.list")}
                    id = get_recipe.get("id")
                    if isinstance(id, yaml.ScalarNode):
                        self._agent(id.value, f"agents.list.{id.value}", each)
            elif isinstance(settings, yaml.MappingNode):
                self._agent(agent, f"agents.{agent}", settings)

    def _agent(self, agent: str, shown: str, node: yaml.Node) -> None:
        for name, at, value in self._pairs(node, shown):
            if name == "memorySearch":
                self._section(value, "memorySearch.", f"{shown}.memorySearch", agent)
            elif get_close_matches(name, ["memorySearch"], cutoff=0.8):
                self._wrong(at, f"{shown}.{name}", "unknown key; did you mean memorySearch?")

    def _section(self, node: yaml.Node, prefix: str, shown: str, agent: str = DEFAULTS) -> None:
        """The keys below a prefix, as deep as they go."""
        for name, at, value in self._pairs(node, shown):
            whole, full = f"{prefix}{name}", f"{shown}.{name}"
            if whole in KEYS:
                self._leaf(whole, full, at, value, agent)
            elif any(key.startswith(f"{whole}.") for key in KEYS):
                self._section(value, f"{whole}.", full, agent)
            else:
                self._wrong(at, full, f"unknown key; {_meant(prefix, name)}")

    def _leaf(self, whole: str, full: str, at: yaml.Node, node: yaml.Node, agent: str) -> None:
        key = KEYS[whole]
        if key.guarded and self.found:
            self._wrong(at, full, GUARDED)
            return
        value = self._value(node)
        try:
            read = key.kind.read(_filled(value))
        except ValueError:
            told = f"must be {key.kind.said}." if key.secret else _misread(key.kind, value)
            self._wrong(node, full, told)
        except KeyError as missing:
            self._wrong(node, full, f"the environment has no {missing.args[0]}.")
        else:
            self.document.said.append(Said(whole, read, Place(self.document.file, _line(at)), agent))
            if key.kind is SETTINGS:
                self._recipes(node, full, read)

    def _recipes(self, node: yaml.Node, shown: str, said: dict[str, dict[str, Any]]) -> None:
        """Recipes and settings that there are not, and what a recipe does not take."""
        from recollect.recall.registry import RECIPES, get_recipe  # imported where a file has settings

        for recipe, at, below in self._pairs(node, shown):
            where = f"{shown}.{recipe}"
            if recipe not in RECIPES:
                self._wrong(at, where, f"unknown recipe; {_hint(recipe, RECIPES)}")
                continue
            takes = signature(RECIPES[recipe]).parameters
            for name, its, _ in self._pairs(below, where):
                if name not in takes:
                    self._wrong(its, f"{where}.{name}", f"unknown setting; {_hint(name, takes)}")
            try:
                get_recipe(recipe, **{name: value for name, value in said[recipe].items() if name in takes})
            except InvalidInput as problem:
                self._wrong(at, where, str(problem))

    def _value(self, node: yaml.Node) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except (ValueError, LookupError, AttributeError):  # a tag that does not fit, such as !!int soon
            return str(node.value)

    def _pairs(self, node: yaml.Node, shown: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Name, where it stands, and value; a name that comes twice is a mistake."""
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null"):
            return
        if not isinstance(node, yaml.MappingNode):
            self._wrong(node, shown, f"must have keys below it, not {_said(self._value(node))}.")
            return
        seen: dict[str, yaml.Node] = {}
        for name, _ in node.value:
            if not isinstance(name, yaml.ScalarNode):
                self._wrong(name, shown, "a key must be a text.")
            elif (first := seen.setdefault(name.value, name)) is not name:
                full = f"{shown}.{name.value}" if shown else name.value
                self._wrong(name, full, f"it is there twice; first in line {_line(first)}.")
        self.loader.flatten_mapping(node)
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode):
                yield name.value, name, value

    def _wrong(self, at: yaml.Node, key: str, problem: str) -> None:
        self.document.mistakes.append(Mistake(Place(self.document.file, _line(at)), key, problem))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _filled(value: Any) -> Any:
    """With ${NAME} taken from the environment."""
    match value:
        case str():
            return VARIABLE.sub(lambda found: os.environ[found[1]], value)
        case list():
            return [_filled(each) for each in value]
        case dict():
            return {name: _filled(each) for name, each in value.items()}
        case _:
            return value


def _said(value: Any) -> str:
    kinds = {dict: "a map", list: "a list", type(None): "nothing"}
    return kinds.get(type(value)) or check.short(value)


def _misread(kind: Kind, value: Any) -> str:
    """What it must be, and the word that somebody may have meant."""
    words, wrong, shown = list(kind.words()), value, _said(value)
    if isinstance(value, list):
        wrong, shown = next((each for each in value if each not in words), None), check.short(value)
    head, colon, rest = wrong.partition(":") if isinstance(wrong, str) else ("", "", "")
    near = _nearest(head, words) if head not in words else None
    told = f"must be {kind.said}, not {shown}" + (f"; did you mean {near}{colon}{rest}?" if near else ".")
    listed = all(word in kind.said for word in words)
    return told if listed else f"{told} There are: {', '.join(words)}."


def _hint(name: str, names: Iterable[str]) -> str:
    near, known = _nearest(name, names), ", ".join(names)
    return f"did you mean {near}? There are: {known}." if near else f"there are: {known}."


def _nearest(name: str, names: Iterable[str]) -> str | None:
    folded = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), list(folded), n=1)
    return folded[near[0]] if near else None


def _meant(prefix: str, name: str) -> str:
    """The key that somebody may have meant: a sibling, or one of that name elsewhere in the section."""
    below = [key.removeprefix(prefix) for key in KEYS if key.startswith(prefix)]
    siblings = list(dict.fromkeys(key.split(".")[0] for key in below))
    near = _nearest(name, siblings)
    if near is None:
        section = prefix.split(".")[0]
        homes = {key.rsplit(".", 1)[1]: key for key in KEYS if key.startswith(f"{section}.")}
        last = _nearest(name, list(homes))
        near = homes[last].removeprefix(f"{section}.") if last else None
    return f"did you mean {near}?" if near else f"there are: {', '.join(siblings)}."
