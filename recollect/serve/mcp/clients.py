"""The configuration files of MCP clients: where they are, and how the entry of Recollect is added and removed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput, StoreError
from recollect.model import JsonObject

NAME = "recollect"  # of the entry


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program that uses MCP servers."""

    title: str
    user_file: Callable[[], Path]  # for all projects of a user
    project_file: str = ""  # for one project, relative to its folder; empty if the client has none
    keys: tuple[str, ...] = ("mcpServers",)  # where the servers are in the file
    extra: tuple[tuple[str, str], ...] = ()  # fields of an entry beside command and args

    def file(self, project: Path | None) -> Path:
        if project is None:
            return self.user_file()
        if not self.project_file:
            raise InvalidInput(f"{self.title} has no configuration for one project; leave out --project.")
        return project / self.project_file


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _application(*parts: str) -> Callable[[], Path]:
    """A file in the folder where desktop programs store their settings."""

    def path() -> Path:
        if sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        elif os.name == "nt":
            folder = Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
        else:
            folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return folder.joinpath(*parts)

    return path


CLIENTS: dict[str, McpClient] = {
    "claude-code": McpClient("Claude Code", _home(".claude.json"), ".mcp.json", extra=(("type", "stdio"),)),
    "claude-desktop": McpClient("Claude Desktop", _application("Claude", "claude_desktop_config.json")),
    "cursor": McpClient("Cursor", _home(".cursor", "mcp.json"), ".cursor/mcp.json"),
    "vscode": McpClient(
        "VS Code", _application("Code", "User", "mcp.json"), ".vscode/mcp.json", ("servers",), (("type", "stdio"),)
    ),
    "codex": McpClient("Codex", _home(".codex", "config.toml"), ".codex/config.toml", ("mcp_servers",)),
    "gemini": McpClient("Gemini CLI", _home(".gemini", "settings.json"), ".gemini/settings.json"),
    "openclaw": McpClient("OpenClaw", _home(".openclaw", "openclaw.json"), keys=("mcp", "servers")),
}


def find_client(name: str) -> McpClient:
    if name not in CLIENTS:
        raise InvalidInput(f"There is no client {name!r}; there are: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command that runs this installation: the program beside this Python, or the Python itself."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    program = shutil.which("recollect", path=folder)
    return [program, *arguments] if program else [sys.executable, "-m", "recollect", *arguments]


def make_entry(client: McpClient, command: Sequence[str]) -> JsonObject:
    return {**dict(client.extra), "command": command[0], "args": list(command[1:])}


def show_entry(client: McpClient, command: Sequence[str]) -> str:
    """The entry as it stands in the client's file."""
    entry: Any = make_entry(client, command)
    if client.keys == ("mcp_servers",):
        return _toml_table(entry)
    for key in reversed((*client.keys, NAME)):
        entry = {key: entry}
    return json.dumps(entry, indent=2, ensure_ascii=False)


def install(client: McpClient, command: Sequence[str], project: Path | None = None) -> tuple[Path, bool]:
    """Add or replace the entry; the file, and whether it was changed. Everything else in it stays."""
    path = client.file(project)
    if path.suffix == ".toml":
        before = _read(path)
        after = _without_toml_table(before).rstrip("\n")
        after = f"{after}\n\n{show_entry(client, command)}" if after else show_entry(client, command)
        return path, _write(path, before, after)
    path, before, settings = read_settings(path)
    _servers(settings, client, path, create=True)[NAME] = make_entry(client, command)
    return path, write_settings(path, before, settings)


def uninstall(client: McpClient, project: Path | None = None) -> tuple[Path, bool]:
    """Remove the entry; the file, and whether there was one."""
    path = client.file(project)
    if path.suffix == ".toml":
        before = _read(path)
        return path, _write(path, before, _without_toml_table(before))
    path, before, settings = read_settings(path)
    removed = _servers(settings, client, path, create=False).pop(NAME, None)
    _drop_empty(settings, client.keys)
    return path, removed is not None and write_settings(path, before, settings)


def _drop_empty(settings: dict[str, Any], keys: Sequence[str]) -> None:
    """Remove the objects on the way to our entry that contain nothing else."""
    key, *further = keys
    inner = settings.get(key)
    if isinstance(inner, dict):
        if further:
            _drop_empty(inner, further)
        if not inner:
            del settings[key]


def read_settings(path: Path) -> tuple[Path, str, dict[str, Any]]:
    """A JSON file of settings: its path, its text and what is in it; empty if it does not exist."""
    text = _read(path)
    return path, text, _parse_json(path, text)


def write_settings(path: Path, before: str, settings: JsonObject) -> bool:
    """Replace a JSON file of settings, with its indentation; was it changed?"""
    if before.strip() and json.loads(before) == settings:
        return False
    return _write(path, before, json.dumps(settings, indent=_indent(before), ensure_ascii=False) + "\n")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}.") from None


def _parse_json(path: Path, text: str) -> dict[str, Any]:
    """The settings in a file. One with comments is not rewritten, as they would be lost."""
    try:
        settings = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{path} is not plain JSON (line {error.lineno}: {error.msg}), perhaps because of comments. "
            "Nothing was changed: add the entry by hand; --print shows it."
        ) from None
    if not isinstance(settings, dict):
        raise InvalidInput(f"{path} contains {type(settings).__name__}, not an object; nothing was changed.")
    return settings


def _servers(settings: dict[str, Any], client: McpClient, path: Path, create: bool) -> dict[str, Any]:
    place = settings
    for key in client.keys:
        place = place.setdefault(key, {}) if create else place.get(key, {})
        if not isinstance(place, dict):
            raise InvalidInput(f"{path}: {key} is not an object; nothing was changed.")
    return place


def _write(path: Path, before: str, after: str) -> bool:
    """Replace a file as a whole; the one before stays beside it as .bak."""
    if after == before:
        return False
    if path.suffix == ".toml":
        try:
            tomllib.loads(after)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{path} is not valid TOML ({error}); nothing was changed.") from None
    try:
        path = path.resolve()  # a link stays a link
        path.parent.mkdir(parents=True, exist_ok=True)
        if before:
            path.with_name(path.name + ".bak").write_text(before, "utf-8")
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        temporary.write_text(after, "utf-8")
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from None
    return True


def _indent(text: str) -> int:
    found = re.search(r"^\{\s*\n( +)", text)
    return len(found[1]) if found else 2


def _toml_table(entry: JsonObject) -> str:
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    return "\n".join([f"[mcp_servers.{NAME}]", *lines, ""])


def _without_toml_table(text: str) -> str:
    """The text without our table and the tables inside it."""
    remaining, inside = [], False
    for line in text.splitlines(keepends=True):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            name = header[1].replace('"', "").replace("'", "")
            inside = name == f"mcp_servers.{NAME}" or name.startswith(f"mcp_servers.{NAME}.")
        if not inside:
            remaining.append(line)
    if inside:  # it was the last one: with it goes the empty line before it
        while remaining and not remaining[-1].strip():
            remaining.pop()
    return "".join(remaining)
