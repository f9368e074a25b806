"""Writes the settings of a recipe into a configuration file and leaves the rest of the file as it is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from recollect.config import WORKSPACE_FILES, Config
from recollect.config.parser import ConfigLoader
from recollect.errors import InvalidInput


def write_settings(config: Config, recipe: str, settings: Mapping[str, Any], named: str | None = None) -> Path:
    """Write to the named file or, without one, to the workspace's file. Returns the file that was written."""
    existing = [config.workspace / name for name in WORKSPACE_FILES if (config.workspace / name).is_file()]
    file = Path(os.path.expanduser(named)) if named else (existing or [config.workspace / WORKSPACE_FILES[0]])[-1]
    try:
        text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
        edited = insert_settings(text, recipe, settings)
        if ConfigLoader(edited).get_single_data()["recollect"]["settings"][recipe] != settings:
            raise ValueError
        file.write_bytes(edited.encode())
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}.") from None
    except (ValueError, yaml.YAMLError):
        block = format_settings(recipe, settings)
        raise InvalidInput(
            f"{file} cannot be edited automatically without changing other lines. Add this yourself:\n{block}"
        ) from None
    return file


def format_settings(recipe: str, settings: Mapping[str, Any]) -> str:
    """The text of a file with these settings and nothing else."""
    return f"recollect:\n  {_settings_line({recipe: dict(settings)})}\n"


def insert_settings(text: str, recipe: str, settings: Mapping[str, Any]) -> str:
    """The text with the settings in it; raises ValueError where that would change other lines.

    They are written on one line, and replace such a line if there is one already.
    """
    top = ConfigLoader(text).get_single_node()
    if top is None:
        return _end_line(text) + format_settings(recipe, settings)
    section = _block_items(top).get("recollect")
    if section is None:
        return _end_line(text) + format_settings(recipe, settings)
    items = _block_items(section[1])
    if "settings" not in items:
        first = next(iter(items.values()))[0].start_mark
        line = f"{_settings_line({recipe: dict(settings)})}\n{' ' * first.column}"
        return text[: first.index] + line + text[first.index :]
    key, value = items["settings"]
    if not isinstance(value, yaml.MappingNode) or not value.flow_style:
        raise ValueError
    merged = {**ConfigLoader(text).get_single_data()["recollect"]["settings"], recipe: dict(settings)}
    return text[: key.start_mark.index] + _settings_line(merged) + text[value.end_mark.index :]


def _block_items(node: yaml.Node) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """The key and value nodes of a map that has one key on each line."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ValueError
    return {key.value: (key, value) for key, value in node.value}


def _settings_line(settings: Mapping[str, Mapping[str, Any]]) -> str:
    text = yaml.safe_dump(dict(settings), default_flow_style=True, sort_keys=False, width=math.inf, allow_unicode=True)
    return f"settings: {text.strip()}"


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
