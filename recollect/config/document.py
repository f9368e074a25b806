"""What files say and where they say it, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DEFAULTS = "defaults"  # the agent whose settings are those of all


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, where, and under which key."""

    place: Place
    key: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.problem}" if self.key else f"{self.place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Said:
    """One value of a file, under its full name (see KEYS), for all agents or for one."""

    name: str
    value: Any = field(repr=False)  # it may be a secret
    place: Place
    agent: str = DEFAULTS


@dataclass(slots=True)
class Document:
    """What a file says."""

    file: str
    said: list[Said] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
