"""Parses one configuration file, with line numbers: its settings, and every problem in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

import yaml

from recollect.config.document import DEFAULTS, ConfigDocument, ConfigProblem, ConfigSetting, FileLine
from recollect.config.schema import KEYS, LOCAL_EMBEDDERS, PATH_SETTINGS, RECIPE_SETTINGS, SECTIONS, Guard, ValueType
from recollect.errors import InvalidInput
from recollect.model import check

TOP_LEVEL = ("agents", "memory", "recollect")
VARIABLE = re.compile(r"\$\{(\w+)\}")
# What JSON files contain and YAML does not allow, outside of strings: comments and tabs.
JSON_ONLY = re.compile(r""" "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | //[^\n]* | /\*.*?\*/ | \t """, re.X | re.S)
GUARDED = (
    "a folder may configure itself only, and {why}. If you wrote this file or have read it, run 'recollect trust "
    "{folder}'; or set this in your own configuration, or name the file with --config."
)


class ConfigLoader(yaml.SafeLoader):
    """Plain values as in YAML 1.2: ``on`` is a text, and so is a date."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"0|[-+]?[1-9][0-9]{0,17}", "-+0123456789"),
    ("float", r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    ConfigLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first))


def read_config_file(file: Path, shown: str, trusted: bool = True) -> ConfigDocument:
    """Parse a file. ``trusted`` is False for a file that was found in the workspace and that the user has neither named
    nor trusted."""
    document = ConfigDocument(shown)

    def add(line: int, message: str) -> None:
        document.problems.append(ConfigProblem(FileLine(shown, line), "", message))

    try:
        text = file.read_text("utf-8-sig")
        if file.suffix in (".json", ".json5"):
            text = JSON_ONLY.sub(_blank, text)
        loader = ConfigLoader(text)
        _Parser(document, loader, file.parent, trusted).parse(loader.get_single_node())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error).splitlines()[0]
        add(mark.line + 1 if mark else 1, f"this is not valid YAML: {message}.")
    except UnicodeDecodeError as error:
        add(error.object[: error.start].count(b"\n") + 1, "this is not UTF-8 text.")
    except RecursionError:
        add(1, "it is nested too deeply.")
    document.problems.sort(key=lambda problem: problem.location.line)
    return document


def _blank(match: re.Match[str]) -> str:
    """A string unchanged; a comment or a tab as spaces, on as many lines."""
    return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])


class _Parser:
    """Walks the YAML nodes, which know their lines, and fills the document."""

    def __init__(self, document: ConfigDocument, loader: ConfigLoader, folder: Path, trusted: bool) -> None:
        self.document = document
        self.loader = loader
        self.folder = folder
        self.trusted = trusted

    def parse(self, top: yaml.Node | None) -> None:
        for name, key_node, node in self._items(top, "") if top is not None else ():
            if name == "agents":
                self._parse_agents(node)
            elif name in SECTIONS and name != "memorySearch":
                self._parse_section(node, f"{name}.", name)
            elif name == "memorySearch" or get_close_matches(name, TOP_LEVEL, cutoff=0.8):
                near = "agents.defaults.memorySearch" if name == "memorySearch" else _nearest(name, TOP_LEVEL)
                self._add_problem(key_node, name, f"unknown key; did you mean {near}?")

    def _parse_agents(self, node: yaml.Node) -> None:
        for agent, _, settings in self._items(node, "agents"):
            if agent == "list" and isinstance(settings, yaml.SequenceNode):
                for each in settings.value:
                    fields = {name: value for name, _, value in self._items(each, "agents.list")}
                    id = fields.get("id")
                    if isinstance(id, yaml.ScalarNode):
                        self._parse_agent(id.value, f"agents.list.{id.value}", each)
            elif isinstance(settings, yaml.MappingNode):
                self._parse_agent(agent, f"agents.{agent}", settings)

    def _parse_agent(self, agent: str, shown: str, node: yaml.Node) -> None:
        for name, key_node, value in self._items(node, shown):
            if name == "memorySearch":
                self._parse_section(value, "memorySearch.", f"{shown}.memorySearch", agent)
            elif get_close_matches(name, ["memorySearch"], cutoff=0.8):
                self._add_problem(key_node, f"{shown}.{name}", "unknown key; did you mean memorySearch?")

    def _parse_section(self, node: yaml.Node, prefix: str, shown: str, agent: str = DEFAULTS) -> None:
        """The keys below a prefix, at any depth."""
        for name, key_node, value in self._items(node, shown):
            key_name, shown_name = f"{prefix}{name}", f"{shown}.{name}"
            if key_name in KEYS:
                self._parse_value(key_name, shown_name, key_node, value, agent)
            elif any(key.startswith(f"{key_name}.") for key in KEYS):
                self._parse_section(value, f"{key_name}.", shown_name, agent)
            else:
                self._add_problem(key_node, shown_name, f"unknown key; {_suggest_key(prefix, name)}")

    def _parse_value(self, key_name: str, shown: str, key_node: yaml.Node, node: yaml.Node, agent: str) -> None:
        key = KEYS[key_name]
        value = self._construct(node)
        if not self.trusted and key.guard == "always":
            self._refuse(
                key_node, shown, "this decides where your key and your texts are sent, or what code reads them"
            )
            return
        if not self.trusted and _has_variable(value):
            self._refuse(node, shown, "this takes a value from your environment")
            return
        try:
            parsed = key.type.parse(_expand_variables(value))
        except ValueError:
            message = f"must be {key.type.description}." if key.secret else _type_message(key.type, value)
            self._add_problem(node, shown, message)
        except KeyError as missing:
            self._add_problem(node, shown, f"the environment has no variable {missing.args[0]}.")
        else:
            if why := self._reach(key.guard, parsed):
                self._refuse(key_node, shown, why)
                return
            location = FileLine(self.document.file, _line(key_node))
            self.document.settings.append(ConfigSetting(key_name, parsed, location, agent))
            if key.type is RECIPE_SETTINGS:
                self._check_recipe_settings(node, shown, parsed)

    def _check_recipe_settings(self, node: yaml.Node, shown: str, parsed: dict[str, dict[str, Any]]) -> None:
        """Adds a problem for each unknown recipe, unknown setting, and value that a recipe does not accept."""
        from recollect.recall.registry import RECIPES, get_recipe  # imported only where a file has such settings

        for recipe, recipe_node, settings_node in self._items(node, shown):
            full = f"{shown}.{recipe}"
            if recipe not in RECIPES:
                self._add_problem(recipe_node, full, f"unknown recipe; {_suggest(recipe, RECIPES)}")
                continue
            known = signature(RECIPES[recipe]).parameters
            for name, name_node, _ in self._items(settings_node, full):
                if name not in known:
                    self._add_problem(name_node, f"{full}.{name}", f"unknown setting; {_suggest(name, known)}")
                elif not self.trusted and (parsed[recipe][name] == "chat" or "://" in str(parsed[recipe][name])):
                    self._refuse(name_node, f"{full}.{name}", "this is a service, which gets your texts")
                elif name in PATH_SETTINGS.get(recipe, ()) and (why := self._reach("path", str(parsed[recipe][name]))):
                    self._refuse(name_node, f"{full}.{name}", why)
            try:
                own = {name: value for name, value in parsed[recipe].items() if name in known and value != "chat"}
                get_recipe(recipe, **own)
            except InvalidInput as error:
                self._add_problem(recipe_node, full, str(error))

    def _reach(self, guard: Guard, value: Any) -> str:
        """Why a value reaches outside of the folder; empty if it does not."""
        if self.trusted:
            return ""
        if guard == "service" and value not in LOCAL_EMBEDDERS:
            return f"{value} would get your texts, or reads a model from elsewhere"
        for path in (value if isinstance(value, list) else [value]) if guard == "path" else ():
            root, place = os.path.realpath(self.folder), os.path.realpath(self.folder / os.path.expanduser(path))
            if os.path.commonpath([root, place]) != root:
                return f"{place} is outside of it"
        return ""

    def _refuse(self, node: yaml.Node, key: str, why: str) -> None:
        self._add_problem(node, key, GUARDED.format(why=why, folder=self.folder))

    def _construct(self, node: yaml.Node) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except (ValueError, LookupError, AttributeError):  # a tag that does not fit, such as !!int soon
            return str(node.value)

    def _items(self, node: yaml.Node, shown: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """The name, key node and value node of each item of a map; a name that occurs twice is a problem."""
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null"):
            return
        if not isinstance(node, yaml.MappingNode):
            self._add_problem(node, shown, f"must have keys below it, not {_describe(self._construct(node))}.")
            return
        seen: dict[str, yaml.Node] = {}
        for name, _ in node.value:
            if not isinstance(name, yaml.ScalarNode):
                self._add_problem(name, shown, "a key must be a text.")
            elif (first := seen.setdefault(name.value, name)) is not name:
                full = f"{shown}.{name.value}" if shown else name.value
                self._add_problem(name, full, f"it occurs twice; first in line {_line(first)}.")
        self.loader.flatten_mapping(node)
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode):
                yield name.value, name, value

    def _add_problem(self, node: yaml.Node, key: str, message: str) -> None:
        self.document.problems.append(ConfigProblem(FileLine(self.document.file, _line(node)), key, message))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _has_variable(value: Any) -> bool:
    match value:
        case str():
            return VARIABLE.search(value) is not None
        case list():
            return any(map(_has_variable, value))
        case dict():
            return any(map(_has_variable, value.values()))
        case _:
            return False


def _expand_variables(value: Any) -> Any:
    """The value with each ${NAME} replaced from the environment."""
    match value:
        case str():
            return VARIABLE.sub(lambda name: os.environ[name[1]], value)
        case list():
            return [_expand_variables(each) for each in value]
        case dict():
            return {name: _expand_variables(each) for name, each in value.items()}
        case _:
            return value


def _describe(value: Any) -> str:
    names = {dict: "a map", list: "a list", type(None): "nothing"}
    return names.get(type(value)) or check.short_repr(value)


def _type_message(type: ValueType, value: Any) -> str:
    """What the value must be, and the word that may have been meant."""
    choices, wrong, shown = list(type.choices()), value, _describe(value)
    if isinstance(value, list):
        wrong, shown = next((each for each in value if each not in choices), None), check.short_repr(value)
    head, colon, rest = wrong.partition(":") if isinstance(wrong, str) else ("", "", "")
    near = _nearest(head, choices) if head not in choices else None
    message = f"must be {type.description}, not {shown}" + (f"; did you mean {near}{colon}{rest}?" if near else ".")
    listed = all(word in type.description for word in choices)
    return message if listed else f"{message} Allowed: {', '.join(choices)}."


def _suggest(name: str, names: Iterable[str]) -> str:
    near, known = _nearest(name, names), ", ".join(names)
    return f"did you mean {near}? Known: {known}." if near else f"known: {known}."


def _nearest(name: str, names: Iterable[str]) -> str | None:
    by_lower = {each.lower(): each for each in names}
    near = get_close_matches(name.lower(), list(by_lower), n=1)
    return by_lower[near[0]] if near else None


def _suggest_key(prefix: str, name: str) -> str:
    """The key that may have been meant: a sibling, or one of that name elsewhere in the section."""
    below = [key.removeprefix(prefix) for key in KEYS if key.startswith(prefix)]
    siblings = list(dict.fromkeys(key.split(".")[0] for key in below))
    near = _nearest(name, siblings)
    if near is None:
        section = prefix.split(".")[0]
        by_last_part = {key.rsplit(".", 1)[1]: key for key in KEYS if key.startswith(f"{section}.")}
        last = _nearest(name, list(by_last_part))
        near = by_last_part[last].removeprefix(f"{section}.") if last else None
    return f"did you mean {near}?" if near else f"known: {', '.join(siblings)}."
