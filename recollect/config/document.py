"""The content of one configuration file: its settings and its problems, each with the line it is on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DEFAULTS = "defaults"  # the name of the agent whose settings apply to all agents


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """What is wrong, where, and under which key."""

    location: FileLine
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.key}: {self.message}" if self.key else f"{self.location}: {self.message}"


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """One value in a file, under its full name (see KEYS), for all agents or for one."""

    name: str
    value: Any = field(repr=False)  # may be a secret
    location: FileLine
    agent: str = DEFAULTS


@dataclass(slots=True)
class ConfigDocument:
    """The settings and problems of a file."""

    file: str
    settings: list[ConfigSetting] = field(default_factory=list)
    problems: list[ConfigProblem] = field(default_factory=list)
