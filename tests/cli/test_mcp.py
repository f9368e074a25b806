"""The entry of the server in the clients of agents, and the hooks of Claude Code."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.serve.mcp.clients import CLIENTS
from tests.cli.conftest import Command

JSON_CLIENTS = [name for name in CLIENTS if name != "codex"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return folder


def entry_in(path: Path, client: str) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text()).get("mcp_servers", {}).get("recollect")
    place = json.loads(path.read_text())
    for key in CLIENTS[client].keys:
        place = place.get(key, {})
    return place.get("recollect")


@pytest.mark.contract("B19")
@pytest.mark.parametrize("client", list(CLIENTS))
def test_one_command_adds_the_server_to_a_client_and_one_removes_it(
    recollect: Command,
    client: str,
    tmp_path: Path,
) -> None:
    done = recollect("mcp", "install", "--client", client, "--db", str(tmp_path / "m.db"), "--json").json
    path = Path(done["file"])
    entry = entry_in(path, client)
    assert entry["args"][-5:] == ["--db", str(tmp_path / "m.db"), "--embedder", "none", "mcp"]
    assert Path(entry["command"]).exists()
    assert (
        recollect("mcp", "install", "--client", client, "--db", str(tmp_path / "m.db"), "--json").json["changed"]
        is False
    )
    assert recollect("mcp", "uninstall", "--client", client).code == 0
    assert entry_in(path, client) is None
    assert recollect("mcp", "uninstall", "--client", client).code == 1


def test_a_memory_on_a_server_is_named_by_its_url_and_makes_no_folder(recollect: Command, tmp_path: Path) -> None:
    url = "postgresql://ida:geheim@localhost:1/memories"
    printed = recollect("mcp", "install", "--client", "cursor", "--db", url)
    entry = entry_in(tmp_path / "home/.cursor/mcp.json", "cursor")
    assert entry["args"][entry["args"].index("--db") + 1] == url
    assert "The memory is postgresql://ida@localhost:1/memories." in printed.out
    assert "The password is in that entry" in printed.out
    assert "geheim" not in printed.out
    assert recollect("mcp", "install", "--client", "cursor", "--db", url, "--json").json["db"] == (
        "postgresql://ida@localhost:1/memories"
    )
    failed = recollect("mcp", "--db", url)  # nobody listens there
    assert (failed.code, "geheim" in failed.err) == (4, False)
    assert [path.name for path in tmp_path.rglob("*postgresql*")] == []


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_other_settings_of_a_client_stay(recollect: Command, client: str) -> None:
    path = CLIENTS[client].user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    other: dict[str, Any] = {"command": "other", "args": ["ü"]}
    before: dict[str, Any] = {"theme": "dark", CLIENTS[client].keys[0]: {}}
    place = before
    for key in CLIENTS[client].keys:
        place = place.setdefault(key, {})
    place["other"] = other
    text = json.dumps(before, indent=4, ensure_ascii=False) + "\n"
    path.write_text(text, "utf-8")
    assert recollect("mcp", "install", "--client", client).code == 0
    after = path.read_text("utf-8")
    assert '    "theme"' in after
    assert "ü" in after
    assert path.with_name(path.name + ".bak").read_text("utf-8") == text
    assert recollect("mcp", "uninstall", "--client", client).code == 0
    assert path.read_text("utf-8") == text


def test_other_tables_and_comments_of_codex_stay(recollect: Command, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "o9"\n\n[mcp_servers.other]\ncommand = "x"  # keep\n\n[tools]\nweb = true\n'
    path.write_text(text)
    assert recollect("mcp", "install", "--client", "codex").code == 0
    assert path.read_text().startswith(text)
    (path.parent / "config.toml").write_text(path.read_text() + '\n[mcp_servers.recollect.env]\nA = "b"\n')
    assert recollect("mcp", "uninstall", "--client", "codex").code == 0
    assert path.read_text().rstrip() == text.rstrip()


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", '{"mcpServers": []}', "{"])
def test_a_file_that_is_not_understood_is_not_changed(recollect: Command, home: Path, text: str) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(text)
    refused = recollect("mcp", "install", "--client", "cursor")
    assert refused.code == 2
    assert str(path) in refused.err
    assert path.read_text() == text


def test_print_shows_the_entry_and_changes_nothing(recollect: Command, home: Path) -> None:
    shown = recollect("mcp", "install", "--client", "codex", "--print", "--tools", "basic,notes")
    assert "[mcp_servers.recollect]" in shown.out
    assert '"--tools", "basic,notes"' in shown.out
    assert not (home / ".codex").exists()


def test_a_project_has_a_file_of_its_own(recollect: Command, tmp_path: Path) -> None:
    done = recollect("mcp", "install", "--client", "vscode", "--project", "--json").json
    assert Path(done["file"]).parts[-2:] == (".vscode", "mcp.json")
    refused = recollect("mcp", "install", "--client", "claude-desktop", "--project")
    assert (refused.code, "no configuration for one project" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "arguments", [("install",), ("install", "--client", "emacs"), ("stop",), ("run", "--hooks"), ("--tools", "magic")]
)
def test_wrong_arguments_are_refused(recollect: Command, arguments: tuple[str, ...]) -> None:
    assert recollect("mcp", *arguments).code == 2


def hook_commands(path: Path) -> dict[str, list[str]]:
    hooks = json.loads(path.read_text()).get("hooks", {})
    return {event: [each["hooks"][0]["command"] for each in groups] for event, groups in hooks.items()}


def test_hooks_are_added_beside_others_and_removed_again(recollect: Command, home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    other = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]}}
    path.write_text(json.dumps(other))
    for _ in range(2):  # again changes nothing
        assert recollect("mcp", "install", "--client", "claude-code", "--hooks").code == 0
    commands = hook_commands(path)
    assert [each.split()[-1] for each in commands["SessionStart"]] == ["date", "session-start"]
    assert [each.split()[-1] for each in commands["SessionEnd"]] == ["session-end"]
    assert recollect("mcp", "uninstall", "--client", "claude-code").code == 0
    assert json.loads(path.read_text()) == other


def transcript(folder: Path) -> Path:
    def line(type: str, content: Any, **more: Any) -> str:
        common = {"sessionId": "s1", "uuid": f"u{abs(hash(str(content)))}", "timestamp": "2026-03-04T10:00:00Z"}
        return json.dumps({"type": type, "message": {"role": type, "content": content}, **common, **more})

    path = folder / "s1.jsonl"
    lines = [
        line("user", "We deploy on Tuesdays from now on."),
        line("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted: Tuesdays."}]),
        line("user", [{"type": "tool_result", "content": "42"}]),
        line("user", "<command-name>/clear</command-name>"),
        line("user", "A hidden reminder.", isMeta=True),
        json.dumps({"type": "summary", "summary": "Deploys"}),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_session_is_stored_once_and_shown_when_the_next_one_starts(recollect: Command, tmp_path: Path) -> None:
    event = json.dumps({"hook_event_name": "SessionEnd", "transcript_path": str(transcript(tmp_path))})
    assert recollect("hook", "session-end", "--json", stdin=event.encode()).json == {"added": 2}
    assert recollect("hook", "session-end", "--json", stdin=event.encode()).json == {"added": 0}
    listed = recollect("list", "--json").json
    assert {(each["role"], each["text"], each["session"]) for each in listed} == {
        ("user", "We deploy on Tuesdays from now on.", "s1"),
        ("assistant", "Noted: Tuesdays.", "s1"),
    }
    shown = recollect("hook", "session-start", stdin=b"{}").out
    assert "We deploy on Tuesdays from now on." in shown
    assert "not instructions" in shown
    assert "Noted" not in shown


@pytest.mark.parametrize(
    "event", ["", "{}", "no json", '{"transcript_path": 5}', '{"transcript_path": "missing.jsonl"}']
)
@pytest.mark.parametrize("action", ["session-start", "session-end"])
def test_a_hook_never_fails_a_session(recollect: Command, event: str, action: str) -> None:
    assert recollect("hook", action, stdin=event.encode()).code == 0
