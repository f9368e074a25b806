"""Hooks of Claude Code: what is remembered is shown when a session starts, and the session is stored when it ends."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.recall.fencing import render_fenced
from recollect.serve.mcp.clients import read_settings, write_settings

if TYPE_CHECKING:
    from recollect.mind import Mind

EVENTS = {"SessionStart": "session-start", "SessionEnd": "session-end"}  # by event: the action of recollect hook
RECENT = 8  # memories that a session starts with
MAX_CHARACTERS = 500  # of each of them
SETTINGS_FILE = ".claude/settings.json"  # of a user, or of a project


def session_start(mind: Mind) -> str:
    """The newest statements of users and notes, as a text for the model; empty if there are none."""
    stated = mind.list({"status": "active", "not": {"role": ["assistant", "system", "tool"]}}, limit=4 * RECENT)
    recent = [each for each in stated if each.expires is None or each.expires > mind.clock()][:RECENT]
    if not recent:
        return ""
    shown = [replace(memory, text=memory.text[:MAX_CHARACTERS]) for memory in recent]
    return f"These are the newest memories; recall finds the others.\n{render_fenced(shown)}"


def session_end(mind: Mind, event: JsonObject) -> int:
    """Store the transcript of the session; how many messages were new."""
    path = event.get("transcript_path")
    if not isinstance(path, str) or not path:
        raise InvalidInput(
            "The event has no transcript_path; recollect hook session-end reads an event of Claude Code."
        )
    if not Path(path).expanduser().is_file():
        return 0  # a session without a message has no transcript
    return mind.import_from(Path(path).expanduser(), "claude-code").added


def read_event(text: str) -> JsonObject:
    """The event that Claude Code writes to standard input."""
    try:
        event = json.loads(text or "{}")
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise InvalidInput("Standard input is not a JSON object; hooks are called by Claude Code.")
    return event


def install_hooks(command: Sequence[str], project: Path | None = None) -> tuple[Path, bool]:
    """Add the hooks to the settings of Claude Code; the file, and whether it was changed."""
    path, before, settings = read_settings((project or Path.home()) / SETTINGS_FILE)
    hooks = _without_ours(settings.get("hooks", {}), path)
    for event, action in EVENTS.items():
        line = shlex.join((*command, "hook", action))
        hooks.setdefault(event, []).append({"hooks": [{"type": "command", "command": line, "timeout": 60}]})
    return path, write_settings(path, before, {**settings, "hooks": hooks})


def uninstall_hooks(project: Path | None = None) -> tuple[Path, bool]:
    """Remove the hooks; the file, and whether there were any."""
    path, before, settings = read_settings((project or Path.home()) / SETTINGS_FILE)
    if "hooks" not in settings:
        return path, False
    others = {event: groups for event, groups in _without_ours(settings.pop("hooks"), path).items() if groups}
    return path, write_settings(path, before, {**settings, **({"hooks": others} if others else {})})


def _without_ours(hooks: Any, path: Path) -> dict[str, Any]:
    if not isinstance(hooks, dict):
        raise InvalidInput(f"{path}: hooks is not an object; nothing was changed.")
    return {
        event: [group for group in groups if not _is_ours(group)] if isinstance(groups, list) else groups
        for event, groups in hooks.items()
    }


def _is_ours(group: Any) -> bool:
    commands = [each.get("command", "") for each in group.get("hooks", [])] if isinstance(group, dict) else []
    return any(
        each.endswith(f" hook {action}") and "recollect" in each for each in commands for action in EVENTS.values()
    )
