"""The configuration: built-in defaults, then the user's file, then the workspace's files, then settings of one agent.

Every value knows the lines it comes from. Only the command line and ``open_workspace`` read the configuration;
other modules get the values they need as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.config.document import DEFAULTS, ConfigDocument, ConfigProblem, ConfigSetting, FileLine
from recollect.config.schema import KEYS, OPENCLAW_KEYS, PATH_SETTINGS
from recollect.errors import InvalidInput
from recollect.model.limits import set_limits

WORKSPACE_FILES = ("recollect.yaml", ".recollect.yaml")
MAIN_AGENT = "main"  # the agent where none is named
DEFAULT_RECIPE = "default"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A value and the lines it comes from; a default comes from no line."""

    value: Any
    locations: tuple[FileLine, ...] = ()

    @property
    def origin(self) -> str:
        return ", ".join(map(str, self.locations)) or "default"


@dataclass(frozen=True, slots=True)
class Config:
    """All layers, merged: ``config["memorySearch.query.maxResults"]``."""

    workspace: Path
    agent: str
    files: tuple[str, ...]
    values: Mapping[str, ConfigValue] = field(repr=False)  # some are secrets
    problems: tuple[ConfigProblem, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value

    def is_set(self, name: str) -> bool:
        """Whether a file sets this key."""
        return bool(self.values[name].locations)

    def path(self, name: str) -> Path | None:
        """The value of a key as a path: relative to the workspace, with ~ and {agentId} filled in."""
        return None if self[name] is None else resolve_path(self[name].replace("{agentId}", self.agent), self.workspace)

    @property
    def db(self) -> Path | None:
        """The database file."""
        return self.path("recollect.db") or self.path("memorySearch.store.path")

    @property
    def recipe_name(self) -> str | None:
        """The recipe that ``recollect recall`` uses when none is named; None where no file chooses one."""
        return self["recollect.recipe"] or ("qmd" if self["memory.backend"] == "qmd" else None)

    @property
    def chat(self) -> str:
        """The address and the model of the chat model; "chat", that of the environment, if no file names one."""
        return self["recollect.chat"] or "chat"

    def recipe_settings(self, recipe: str) -> dict[str, Any]:
        """The settings of a recipe; those that are paths are relative to the workspace."""
        settings = dict(self["recollect.settings"].get(recipe, {}))
        settings = {name: self.chat if value == "chat" else value for name, value in settings.items()}
        for name in PATH_SETTINGS.get(recipe, ()):
            if isinstance(settings.get(name), str):
                settings[name] = str(resolve_path(settings[name], self.workspace))
        return settings

    @property
    def search_recipe(self) -> str:
        """The recipe that searches folders: as named, that of the backend, or openclaw if a file sets a key of it."""
        if self["recollect.search.recipe"] is not None:
            return str(self["recollect.search.recipe"])
        if self["memory.backend"] == "qmd":
            return "qmd"
        return "openclaw" if any(map(self.is_set, OPENCLAW_KEYS)) else DEFAULT_RECIPE

    @property
    def notes(self) -> list[str]:
        """Keys that are accepted and have no effect, with the reason."""
        return [
            f"{value.origin}: {name.split('.', 1)[1]} is not needed: {KEYS[name].unneeded}."
            for name, value in self.values.items()
            if value.locations and KEYS[name].unneeded
        ]

    def checked(self) -> Config:
        """This configuration; raises InvalidInput if it has problems."""
        if self.problems:
            more = len(self.problems) - 1
            others = f" ({more} more: recollect config check)" if more else ""
            raise InvalidInput(f"{self.problems[0]}{others}")
        return self


def user_config_file() -> Path:
    """The path of the user's own configuration: $XDG_CONFIG_HOME/recollect/config.yaml."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(os.path.expanduser(home)) / "recollect" / "config.yaml"


def trust_store() -> Path:
    """The path of the list of trusted files."""
    return user_config_file().with_name("trusted.json")


def resolve_path(path: str, workspace: Path) -> Path:
    return workspace / os.path.expanduser(path)


def load(
    workspace: str | os.PathLike[str] = ".", *, file: str | os.PathLike[str] | None = None, agent: str | None = None
) -> Config:
    """Read and merge the configuration files; ``file`` replaces the ones in the workspace.

    Problems are collected, not raised: see ``Config.checked``.
    """
    root = Path(os.path.expanduser(workspace))
    documents = [_read(user_config_file())] if user_config_file().is_file() else []
    if file is not None:
        documents.append(_read(Path(os.path.expanduser(file))))
    else:
        found = [root / name for name in WORKSPACE_FILES if (root / name).is_file()]
        documents += [_read(each, trusted=_is_trusted(each)) for each in found]
    config = _merge(root, agent or MAIN_AGENT, documents)
    set_limits(**config["recollect.limits"])
    return config


def _is_trusted(file: Path) -> bool:
    from recollect.config.trust import is_trusted

    try:
        return is_trusted(file, trust_store())
    except OSError:  # it cannot be read; whoever parses it says so
        return False


def _read(file: Path, trusted: bool = True) -> ConfigDocument:
    from recollect.config.parser import read_config_file  # imports YAML, which is not needed where there is no file

    try:
        return read_config_file(file, str(file), trusted)
    except OSError as error:
        raise InvalidInput(f"The configuration file {file} cannot be read: {error.strerror}.") from None


def _merge(workspace: Path, agent: str, documents: Sequence[ConfigDocument]) -> Config:
    """Later documents override earlier ones; settings of this agent override those for all agents."""
    values = {name: ConfigValue(key.default) for name, key in KEYS.items()}
    settings = [setting for document in documents for setting in document.settings]
    for setting in [*_for_agent(settings, DEFAULTS), *_for_agent(settings, agent)]:
        current = values[setting.name]
        if KEYS[setting.name].merged:
            added = [each for each in setting.value if each not in current.value]
            values[setting.name] = ConfigValue([*current.value, *added], (*current.locations, setting.location))
        else:
            values[setting.name] = ConfigValue(setting.value, (setting.location,))
    problems = [problem for document in documents for problem in document.problems]
    return Config(
        workspace=workspace,
        agent=agent,
        files=tuple(document.file for document in documents),
        values=values,
        problems=(*problems, *_conflicts(values)),
    )


def _for_agent(settings: Sequence[ConfigSetting], agent: str) -> list[ConfigSetting]:
    return [setting for setting in settings if setting.agent == agent]


def _conflicts(values: Mapping[str, ConfigValue]) -> list[ConfigProblem]:
    """Values that are each valid, but not together."""
    chunking, hybrid = "memorySearch.chunking", "memorySearch.query.hybrid"
    tokens, overlap = f"{chunking}.tokens", f"{chunking}.overlap"
    weights = f"{hybrid}.vectorWeight", f"{hybrid}.textWeight"
    chunk_tokens, overlap_tokens = values[tokens].value, values[overlap].value
    found: list[tuple[tuple[str, ...], str]] = []
    if overlap_tokens >= chunk_tokens:
        message = f"an overlap of {overlap_tokens} is too much for chunks of {chunk_tokens} tokens."
        found.append(((overlap, tokens), message))
    if not any(values[name].value for name in weights):
        found.append((weights, "vectorWeight and textWeight cannot both be 0."))
    return [_problem_at(values, names, message) for names, message in found]


def _problem_at(values: Mapping[str, ConfigValue], names: Sequence[str], message: str) -> ConfigProblem:
    """A problem at the first of these names that a file sets."""
    name = next(name for name in names if values[name].locations)
    return ConfigProblem(values[name].locations[-1], name, message)
