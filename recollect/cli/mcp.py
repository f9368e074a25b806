"""The commands mcp and hook: the MCP server, its entry in the clients of agents, and hooks of Claude Code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recollect.cli.options import GlobalOptions
from recollect.cli.terminal import print_error, print_line, print_result
from recollect.errors import InvalidInput, RecollectError
from recollect.model import check
from recollect.serve.mcp.clients import (
    CLIENTS,
    McpClient,
    find_client,
    install,
    server_command,
    show_entry,
    uninstall,
)

ACTIONS = ("run", "install", "uninstall")
CLIENT_NAMES = tuple(CLIENTS)
HOOK_ACTIONS = ("session-start", "session-end")
Action = Annotated[
    str,
    typer.Argument(
        help="run (the default), install or uninstall.", show_default=False, autocompletion=lambda: [*ACTIONS]
    ),
]
Tools = Annotated[
    str,
    typer.Option(help="Sets of tools, separated by commas: basic, robot, notes or all.", show_default=True),
]
Client = Annotated[
    str | None,
    typer.Option(
        help=f"The client to set up: {', '.join(CLIENT_NAMES)}.",
        show_default=False,
        autocompletion=lambda: [*CLIENT_NAMES],
    ),
]
Project = Annotated[
    bool, typer.Option("--project", help="Set up the client for the current folder instead of for the user.")
]
Readonly = Annotated[bool, typer.Option("--readonly", help="Offer only tools that change nothing.")]
Hooks = Annotated[
    bool,
    typer.Option("--hooks", help="Also show memories when a session of Claude Code starts, and store it when it ends."),
]
PrintOnly = Annotated[bool, typer.Option("--print", help="Print the entry and change nothing.")]


def mcp(
    options: GlobalOptions,
    action: Action = "run",
    tools: Tools = "basic",
    client: Client = None,
    project: Project = False,
    readonly: Readonly = False,
    hooks: Hooks = False,
    print_only: PrintOnly = False,
) -> int:
    """Serve the memory to an agent over MCP (standard input and output), or add the server to a client."""
    check.choice(action, "action", ACTIONS)
    sets = [each.strip() for each in tools.split(",") if each.strip()]
    if action == "run":
        if client or project or hooks or print_only:
            raise InvalidInput("--client, --project, --hooks and --print go with install or uninstall.")
        return _run(options, sets, readonly)
    if client is None:
        raise InvalidInput(f"{action} needs a client: --client {'|'.join(CLIENT_NAMES)}.")
    chosen = find_client(client)
    if hooks and client != "claude-code":
        raise InvalidInput(f"--hooks is for claude-code; {chosen.title} has no such hooks.")
    folder = Path.cwd() if project else None
    if action == "uninstall":
        return _uninstall(options, chosen, folder)
    return _install(options, chosen, folder, sets, readonly, hooks, print_only)


def _run(options: GlobalOptions, sets: list[str], readonly: bool) -> int:
    require_mcp()
    from recollect.serve.mcp.server import run_stdio
    from recollect.service.operations import Service, tool_operations

    tool_operations(*sets)  # a wrong name is an error before anything is opened
    if not options.is_on_server:
        os.makedirs(os.path.dirname(os.path.abspath(options.path)), exist_ok=True)
    from recollect.config.apply import search_settings

    with options.open(embed=True, create=True) as mind:
        service = Service(mind, scope="read" if readonly else "admin", search=search_settings(options.checked_config))
        run_stdio(service, sets)
    return 0


def require_mcp() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise InvalidInput("The MCP server needs the package mcp: pip install '.[mcp]'.") from None


def _install(
    options: GlobalOptions,
    client: McpClient,
    folder: Path | None,
    sets: list[str],
    readonly: bool,
    hooks: bool,
    print_only: bool,
) -> int:
    from recollect.serve.mcp.hooks import install_hooks
    from recollect.service.operations import tool_operations

    tool_operations(*sets)
    db = _installed_db(options, folder)
    common = ["--db", db, *_common_options(options)]
    extra = ["--tools", ",".join(sets)] if sets != ["basic"] else []
    command = server_command([*common, "mcp", *extra, *(["--readonly"] if readonly else [])])
    if print_only:
        path = str(client.file(folder))
        entry = show_entry(client, command)
        print_result(options.json, {"file": path, "entry": entry}, f"In {path}:\n\n{entry}")
        return 0
    require_mcp()
    path_, changed = install(client, command, folder)
    shown = _without_password(db)
    report: dict[str, Any] = {"client": client.title, "file": str(path_), "changed": changed, "db": shown}
    if hooks:
        hooks_file, _ = install_hooks(server_command(common), folder)
        report["hooks"] = str(hooks_file)
    if options.json:
        print_result(True, report)
        return 0
    print_line(f"{client.title}: {'added recollect to' if changed else 'recollect is already in'} {path_}")
    print_line(f"The memory is {shown}. Restart {client.title}; then ask it to remember something.")
    if shown != db:
        print_line("The password is in that entry; leave it out of --db and put it into ~/.pgpass to keep it out.")
    if hooks:
        print_line(f"Hooks are in {report['hooks']}.")
    return 0


def _uninstall(options: GlobalOptions, client: McpClient, folder: Path | None) -> int:
    from recollect.serve.mcp.hooks import uninstall_hooks

    path, changed = uninstall(client, folder)
    if client.title == "Claude Code":
        _, hooks_changed = uninstall_hooks(folder)
        changed = changed or hooks_changed
    what = f"removed recollect from {path}" if changed else f"recollect is not in {path}"
    print_result(
        options.json, {"client": client.title, "file": str(path), "changed": changed}, f"{client.title}: {what}"
    )
    return 0 if changed else 1


def _installed_db(options: GlobalOptions, folder: Path | None) -> str:
    """The database that a client's server uses: the given one, that of the project, or one for the user."""
    if options.is_on_server:
        return options.path
    if options.db is not None or folder is not None:
        return os.path.abspath(os.path.expanduser(options.path))
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "recollect", "memory.db")


def _without_password(db: str) -> str:
    """A database for messages."""
    if "://" not in db:
        return db
    from recollect.store.postgres.connections import without_password

    return without_password(db)


def _common_options(options: GlobalOptions) -> list[str]:
    common = (("--collection", options.collection), ("--embedder", options.embedder), ("--config", options.config))
    listed = [part for name, value in common if value is not None for part in (name, value)]
    return [*listed, *(part for each in options.bound or [] for part in ("--bound", each))]


def hook(
    options: GlobalOptions,
    action: Annotated[
        str,
        typer.Argument(
            help="session-start or session-end.", show_default=False, autocompletion=lambda: [*HOOK_ACTIONS]
        ),
    ],
) -> int:
    """Called by Claude Code: print the newest memories when a session starts, store its transcript when it ends."""
    from recollect.serve.mcp.hooks import read_event, session_end, session_start

    check.choice(action, "action", HOOK_ACTIONS)
    try:
        event = read_event("" if sys.stdin.isatty() else sys.stdin.read())
        if action == "session-start":
            if options.is_on_server or os.path.exists(options.path):
                with options.open() as mind:
                    print(session_start(mind))
            return 0
        with options.open(embed=True, create=True) as mind:
            added = session_end(mind, event)
        print_result(options.json, {"added": added}, f"Stored {added} messages.")
    except RecollectError as error:  # a session must not fail because of its memory
        print_error(str(error), type(error).__name__, options.json)
    return 0
