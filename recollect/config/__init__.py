"""The configuration: built-in defaults, then the user's file, then the workspace's, then what is for one agent.

Every value knows where it was said. The outermost rooms read it and hand on what others need; nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.config.document import DEFAULTS, Document, Mistake, Place, Said
from recollect.config.schema import KEYS
from recollect.errors import InvalidInput

IN_WORKSPACE = ("recollect.yaml", ".recollect.yaml")
MAIN = "main"  # the agent, where none is named


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and the lines that say it; none for a default."""

    value: Any
    places: tuple[Place, ...] = ()

    @property
    def origin(self) -> str:
        return ", ".join(map(str, self.places)) or "default"


@dataclass(frozen=True, slots=True)
class Config:
    """All layers, merged; ``config["memorySearch.query.maxResults"]``."""

    workspace: Path
    agent: str
    files: tuple[str, ...]
    values: Mapping[str, Value] = field(repr=False)  # there are secrets among them
    mistakes: tuple[Mistake, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value

    def said(self, name: str) -> bool:
        """Does a file say it?"""
        return bool(self.values[name].places)

    def path(self, name: str) -> Path | None:
        """A path as it is meant: from the workspace, with ~ and {agentId} filled in."""
        return None if self[name] is None else located(self[name].replace("{agentId}", self.agent), self.workspace)

    @property
    def db(self) -> Path | None:
        """The memory's file."""
        return self.path("recollect.db") or self.path("memorySearch.store.path")

    @property
    def recipe_name(self) -> str | None:
        """The recipe that answers where none is named."""
        return self["recollect.recipe"] or ("qmd" if self["memory.backend"] == "qmd" else None)

    def settings_of(self, recipe: str) -> dict[str, Any]:
        """What is said of a recipe's settings."""
        return dict(self["recollect.settings"].get(recipe, {}))

    @property
    def notes(self) -> list[str]:
        """What is accepted, and why nothing comes of it."""
        return [
            f"{value.origin}: {name.split('.', 1)[1]} is not needed: {KEYS[name].unneeded}."
            for name, value in self.values.items()
            if value.places and KEYS[name].unneeded
        ]

    def checked(self) -> Config:
        """This configuration, if it is without mistakes."""
        if self.mistakes:
            more = len(self.mistakes) - 1
            others = f" ({more} more: recollect config check)" if more else ""
            raise InvalidInput(f"{self.mistakes[0]}{others}")
        return self


def user_file() -> Path:
    """Where the user's own configuration is: $XDG_CONFIG_HOME/recollect/config.yaml."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(os.path.expanduser(home)) / "recollect" / "config.yaml"


def located(path: str, workspace: Path) -> Path:
    return workspace / os.path.expanduser(path)


def load(
    workspace: str | os.PathLike[str] = ".", *, file: str | os.PathLike[str] | None = None, agent: str | None = None
) -> Config:
    """Read and merge what there is; ``file`` takes the place of the one in the workspace.

    Mistakes are collected, not raised: see ``Config.checked``.
    """
    root = Path(os.path.expanduser(workspace))
    documents = [_read(user_file())] if user_file().is_file() else []
    if file is not None:
        documents.append(_read(Path(os.path.expanduser(file))))
    else:
        documents += [_read(root / name, found=True) for name in IN_WORKSPACE if (root / name).is_file()]
    return _merged(root, agent or MAIN, documents)


def _read(file: Path, found: bool = False) -> Document:
    from recollect.config.parser import read  # YAML is imported where there is some

    try:
        return read(file, str(file), found)
    except OSError as problem:
        raise InvalidInput(f"The configuration file {file} cannot be read: {problem.strerror}.") from None


def _merged(workspace: Path, agent: str, documents: Sequence[Document]) -> Config:
    """Later documents over earlier ones; then what they say for this agent, over all that they say for everyone."""
    values = {name: Value(key.default) for name, key in KEYS.items()}
    everything = [said for document in documents for said in document.said]
    for said in [*_of(everything, DEFAULTS), *_of(everything, agent)]:
        held = values[said.name]
        if KEYS[said.name].joined:
            fresh = [each for each in said.value if each not in held.value]
            values[said.name] = Value([*held.value, *fresh], (*held.places, said.place))
        else:
            values[said.name] = Value(said.value, (said.place,))
    mistakes = [mistake for document in documents for mistake in document.mistakes]
    return Config(
        workspace=workspace,
        agent=agent,
        files=tuple(document.file for document in documents),
        values=values,
        mistakes=(*mistakes, *_together(values)),
    )


def _of(everything: Sequence[Said], agent: str) -> list[Said]:
    return [said for said in everything if said.agent == agent]


def _together(values: Mapping[str, Value]) -> list[Mistake]:
    """What is right by itself and wrong beside the rest."""
    chunking, hybrid = "memorySearch.chunking", "memorySearch.query.hybrid"
    tokens, overlap = f"{chunking}.tokens", f"{chunking}.overlap"
    weights = f"{hybrid}.vectorWeight", f"{hybrid}.textWeight"
    share, whole = values[overlap].value, values[tokens].value
    told: list[tuple[tuple[str, ...], str]] = []
    if share >= whole:
        told.append(((overlap, tokens), f"an overlap of {share} is too much for chunks of {whole} tokens."))
    if not any(values[name].value for name in weights):
        told.append((weights, "vectorWeight and textWeight cannot both be 0."))
    return [_mistake(values, names, problem) for names, problem in told]


def _mistake(values: Mapping[str, Value], names: Sequence[str], problem: str) -> Mistake:
    """At the first of these names that a file says."""
    name = next(name for name in names if values[name].places)
    return Mistake(values[name].places[-1], name, problem)
