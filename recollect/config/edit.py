"""Putting a recipe's settings into a configuration file, with all else in it left as it is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from recollect.config import IN_WORKSPACE, Config
from recollect.config.parser import Loader
from recollect.errors import InvalidInput


def write_settings(config: Config, recipe: str, settings: Mapping[str, Any], named: str | None = None) -> Path:
    """Write into the file that is named or, if none is, into the workspace's; the file that was written."""
    there = [config.workspace / name for name in IN_WORKSPACE if (config.workspace / name).is_file()]
    file = Path(os.path.expanduser(named)) if named else (there or [config.workspace / IN_WORKSPACE[0]])[-1]
    try:
        text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
        fresh = with_settings(text, recipe, settings)
        if Loader(fresh).get_single_data()["recollect"]["settings"][recipe] != settings:
            raise ValueError
        file.write_bytes(fresh.encode())
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be written: {problem.strerror}.") from None
    except (ValueError, yaml.YAMLError):
        raise InvalidInput(
            f"{file} is written in a way that only its writer should change. Put this there:\n{block(recipe, settings)}"
        ) from None
    return file


def block(recipe: str, settings: Mapping[str, Any]) -> str:
    """A file that says these settings and nothing else."""
    return f"recollect:\n  {_line({recipe: dict(settings)})}\n"


def with_settings(text: str, recipe: str, settings: Mapping[str, Any]) -> str:
    """The text with the settings in it; a ValueError where they cannot be put in without touching anything else.

    They are written on one line, and such a line is replaced when it is there already.
    """
    top = Loader(text).get_single_node()
    if top is None:
        return _ended(text) + block(recipe, settings)
    section = _below(top).get("recollect")
    if section is None:
        return _ended(text) + block(recipe, settings)
    held = _below(section[1])
    if "settings" not in held:
        first = next(iter(held.values()))[0].start_mark
        line = f"{_line({recipe: dict(settings)})}\n{' ' * first.column}"
        return text[: first.index] + line + text[first.index :]
    key, value = held["settings"]
    if not isinstance(value, yaml.MappingNode) or not value.flow_style:
        raise ValueError
    said = {**Loader(text).get_single_data()["recollect"]["settings"], recipe: dict(settings)}
    return text[: key.start_mark.index] + _line(said) + text[value.end_mark.index :]


def _below(node: yaml.Node) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """The keys of a map that is written line by line, each with its own node and its value's."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ValueError
    return {key.value: (key, value) for key, value in node.value}


def _line(settings: Mapping[str, Mapping[str, Any]]) -> str:
    told = yaml.safe_dump(dict(settings), default_flow_style=True, sort_keys=False, width=math.inf, allow_unicode=True)
    return f"settings: {told.strip()}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
