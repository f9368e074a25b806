"""The commands for folders of Markdown: sync, watch, search and get."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import GlobalOptions, Texts
from recollect.cli.terminal import (
    explain_interrupt,
    json_text,
    pluralize,
    print_error,
    print_line,
    print_result,
    printable,
    progress,
    snippet,
)
from recollect.errors import InvalidInput, NotFound, StoreError

if TYPE_CHECKING:
    from recollect.ingest.sync import SyncReport
    from recollect.ingest.watch import FolderWatch
    from recollect.systems.openclaw.workspace import Workspace

MAX_SHOWN = 8  # paths of each kind in a report
NEAREST_COUNT = 3  # passages shown when none reaches the minimum score
LINE_ANCHOR = re.compile(r"(.+?)#L(\d+)(?:-L?(\d+))?")
Folder = Annotated[
    str | None, typer.Argument(help="The folder; by default, all folders that were synced before.", show_default=False)
]
Layout = Annotated[
    str | None,
    typer.Option(
        help="workspace (MEMORY.md and memory/) or vault (every Markdown file); detected when not given.",
        show_default=False,
    ),
]
Extra = Annotated[
    list[str] | None,
    typer.Option(
        "--extra", help="A further file or folder of Markdown; may be given several times.", show_default=False
    ),
]
Sessions = Annotated[
    list[str] | None,
    typer.Option(
        "--sessions", help="A folder of session transcripts (*.jsonl); may be given several times.", show_default=False
    ),
]


def sync(
    options: GlobalOptions,
    folder: Folder = None,
    layout: Layout = None,
    extra: Extra = None,
    sessions: Sessions = None,
    unfollow: Annotated[
        bool, typer.Option("--unfollow", help="Remove the folder from the memory instead; its files are kept.")
    ] = False,
) -> None:
    """Index a folder of Markdown, or update its index. Unchanged files are not read again."""
    reports = {}
    if unfollow and folder is None:
        raise InvalidInput("Give the folder to --unfollow.")
    with _workspaces(options, folder, layout, extra, sessions, new=not unfollow) as spaces:
        if unfollow:
            _unfollow(options, spaces)
            return
        for space in spaces:
            reports[space] = _sync(space, options.json)
        missing = [space for space in spaces if not space.folder.root.is_dir()]
        if options.json:
            print_result(True, [_as_json(space, report) for space, report in reports.items()])
        else:
            for space, report in reports.items():
                if space not in missing or report.has_changes:
                    _print_report(space, report)
                if report.added and layout is None:
                    _print_notes_outside(space)
    if missing:
        roots = ", ".join(str(space.folder.root) for space in missing)
        raise NotFound(f"The folder {roots} does not exist; what was read from it before is kept.")


def watch(
    options: GlobalOptions,
    folder: Folder = None,
    layout: Layout = None,
    extra: Extra = None,
    sessions: Sessions = None,
) -> None:
    """Sync a folder of Markdown whenever a file changes, until Ctrl-C."""
    with _workspaces(options, folder, layout, extra, sessions) as spaces, ExitStack() as stack:
        watches = [stack.enter_context(_watch(space, options)) for space in spaces]
        print_line("Watching. ", ("Ctrl-C stops it.", "dim"), stderr=True)
        with suppress(KeyboardInterrupt):  # the way to end it
            for each in watches:
                while not each.wait(0.5):  # in short waits, so that Ctrl-C is handled
                    pass


def search(
    options: GlobalOptions,
    query: Annotated[list[str], typer.Argument(help="The query.", show_default=False)],
    k: Annotated[
        int | None, typer.Option("-k", "--limit", help="How many passages; 6 by default.", min=1, show_default=False)
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="The minimum score, from 0 (all) to 1.", show_default=False)
    ] = None,
    no_sync: Annotated[bool, typer.Option("--no-sync", help="Do not sync first.")] = False,
) -> int:
    """Search the synced folders, by default as recall does. Changed files are read first."""
    from recollect.model import check

    text = " ".join(query)
    if min_score is not None:
        check.fraction(min_score, "--min-score")
    with _workspaces(options, on_search=not no_sync, skip_invalid=True) as spaces:
        for space in spaces:
            _sync_for_search(space, options.json)
        first = next((space for space in spaces if space.mind.embedder is not None), spaces[0])
        others = [space for space in spaces if space is not first]
        answer = first.search(text, k, min_score, others=others)
        show_nearest = not answer["results"] and min_score is None
        nearest = first.search(text, NEAREST_COUNT, 0.0, others=others)["results"] if show_nearest else []
    results = answer["results"]
    if options.json:
        print_result(True, {**answer, "nearest": nearest} if show_nearest else answer)
    else:
        if not results:
            print_line("Nothing found for ", (f"“{snippet(text, 200)}”", "bold"), ".")
        if nearest:
            print_line(("No passage reached the minimum score; the nearest are:", "dim"))
        elif results and answer.get("lowConfidence"):
            print_line(("Low confidence: probably no passage answers this.", "yellow"))
        _print_passages(results or nearest)
    return 0 if results else 1


def get(
    options: GlobalOptions,
    path: Annotated[
        str,
        typer.Argument(
            help="A path as in the results: memory/a.md#L10-L20, or vault: memory/a.md#L10-L20.", show_default=False
        ),
    ],
    from_: Annotated[
        int | None, typer.Option("--from", help="The first line, counted from 1.", show_default=False)
    ] = None,
    lines: Annotated[int | None, typer.Option(help="How many lines.", show_default=False)] = None,
) -> None:
    """Print lines of an indexed file."""
    anchor = LINE_ANCHOR.fullmatch(path)
    if anchor:
        if from_ is not None or lines is not None:
            raise InvalidInput("Give the lines in the path or as --from and --lines, not both.")
        path, from_ = anchor[1], int(anchor[2])
        lines = int(anchor[3] or anchor[2]) - from_ + 1
    with _workspaces(options, skip_invalid=True) as spaces:
        found = _read(spaces, path, from_, lines)
    if options.json:
        print_result(True, found)
    else:
        print(printable(found["text"]))


# Which folders are used, and how they are opened.


@contextmanager
def _workspaces(
    options: GlobalOptions,
    folder: str | None = None,
    layout: str | None = None,
    extra: Texts = None,
    sessions: Texts = None,
    on_search: bool = True,
    new: bool = True,
    skip_invalid: bool = False,
) -> Iterator[list[Workspace]]:
    """The given folder or, without one, all synced folders; or the current folder, if it is a workspace.

    ``skip_invalid`` leaves out folders with an invalid configuration, with an error message, unless none is left.
    """
    from recollect.config.apply import folder_settings, search_settings
    from recollect.ingest.folder import resolve_root, settings_from_record
    from recollect.systems.openclaw.workspace import Workspace, followed_folders

    options.check_no_server()
    options.check_no_bound("A folder")
    config = options.checked_config
    path, embedder = options.db_path(config), options.select_embedder(config).embedder
    chosen_settings = _chosen_settings(layout, extra, sessions)
    root = None if folder is None else str(resolve_root(folder))
    known = followed_folders(path)
    chosen: dict[str | None, dict[str, Any]] = {
        name: record
        for name, record in known.items()
        if options.collection in (None, name) and root in (None, record["root"])
    }
    if chosen and chosen_settings and folder is None:
        raise InvalidInput("Give the folder to which --layout, --extra and --sessions apply.")
    if not chosen and not new:
        raise NotFound(f"{root} is not synced with {path}.")
    if known and not chosen and folder is None:
        raise NotFound(f"No folder is synced as {options.collection!r} in {path}; without --collection, all are used.")
    with ExitStack() as stack:
        spaces: list[Workspace] = []
        invalid: dict[str, InvalidInput] = {}
        for name, record in (chosen or {options.collection: _new_folder(folder, layout)}).items():
            try:
                defaults = folder_settings(options.read_config(record["root"]).checked())
            except InvalidInput as error:
                if not skip_invalid:
                    raise
                invalid[record["root"]] = error
                continue
            # The mind of the first one is shared, unless its sync will replace it or it has no embedder.
            shared = bool(spaces) and spaces[0].settled and spaces[0].settings.vectors
            source: dict[str, Any] = {"mind": spaces[0].mind} if shared else {"db": path, "embedder": embedder}
            space = Workspace(
                record["root"],
                **source,
                collection=name,
                settings=replace(settings_from_record(record), **chosen_settings),
                defaults=replace(defaults, on_search=on_search and defaults.on_search),
                search=search_settings(config),
                embedding_cache=config["recollect.embeddingCache"],
            )
            spaces.append(stack.enter_context(space))
        for root, problem in invalid.items():
            if not spaces:
                raise problem
            print_error(f"{root} is left out: {problem}", "InvalidInput", options.json)
        yield spaces


def _chosen_settings(layout: str | None, extra: Texts, sessions: Texts) -> dict[str, Any]:
    """The settings of a folder that are given as options. An empty text removes the current value."""
    from recollect.ingest.folder import FolderSettings

    paths = {"extra_paths": extra, "transcripts": sessions}
    settings: dict[str, Any] = {
        name: tuple(str(Path(os.path.expanduser(each)).absolute()) for each in values if each)
        or getattr(FolderSettings(), name)
        for name, values in paths.items()
        if values
    }
    return settings if layout is None else {**settings, "layout": layout}


def _new_folder(folder: str | None, layout: str | None) -> dict[str, Any]:
    """The record of a folder that was not synced before: a vault, unless it looks like the workspace of an agent."""
    from recollect.ingest.folder import resolve_root

    root = resolve_root(folder or ".")
    is_workspace = any((root / name).exists() for name in ("MEMORY.md", "memory.md", "memory"))
    if folder is None and layout is None and not is_workspace:
        raise StoreError(
            "No folder is synced with this file. Start with: recollect sync FOLDER "
            "(then search finds it, with the same --db)."
        )
    if not root.exists():
        raise NotFound(f"There is no folder {folder}.")
    detected = "workspace" if is_workspace and not (root / ".obsidian").exists() else "vault"
    return {"root": str(root), "settings": {"layout": detected}}


# Running and printing.


def _unfollow(options: GlobalOptions, spaces: list[Workspace]) -> None:
    removed = sum(space.unfollow() for space in spaces)
    root = str(spaces[0].folder.root)
    print_result(
        options.json,
        {"root": root, "removed": removed},
        ("No longer synced: ", "green"),
        f"{root}, {pluralize(removed, 'chunk', 'chunks')} removed.",
    )


def _sync(space: Workspace, as_json: bool) -> SyncReport:
    message = "Stopped: what was read is kept; the next sync continues from here."
    with explain_interrupt(message, as_json), progress(f"Reading {space.folder.root.name}", "texts") as update:
        return space.sync(_progress_callback(update))


def _sync_for_search(space: Workspace, as_json: bool) -> None:
    if space.settings.on_search and space.is_syncing_now:
        message = f"{space.folder.root} is being synced by another process; what is indexed so far is searched."
        print_line((message, "dim"), stderr=True)
    elif space.settings.on_search:
        _sync(space, as_json)


def _read(spaces: list[Workspace], path: str, first: int | None, lines: int | None) -> dict[str, Any]:
    """Lines of a file in one of the folders; if several have it, the path must begin with the collection."""
    found: dict[str, tuple[Workspace, str]] = {}  # by the real path: two collections may index the same file
    error: NotFound | InvalidInput | None = None
    for space in spaces:
        for name in dict.fromkeys((path, path.removeprefix(f"{space.collection}: "))):
            try:
                shown = space.get(name)["path"]
            except (NotFound, InvalidInput) as failure:
                error = error or failure
            else:
                found.setdefault(os.path.realpath(space.folder.root / shown), (space, name))
                break
    if len(found) > 1:
        names = [space.collection for space, _ in found.values()]
        raise InvalidInput(
            f"Several folders have {path}: {', '.join(names)}. "
            f"Give one: '{names[0]}: {path}', or --collection {names[0]}."
        )
    for space, name in found.values():
        return space.get(name, first, lines)
    raise error or NotFound(f"There is no {path}.")


def _progress_callback(update: Any) -> Any:
    """Shows the events of a sync as a progress bar."""
    return None if update is None else lambda e: update(e.done, e.total, e.texts) if e.total else None


def _as_json(space: Workspace, report: SyncReport) -> dict[str, Any]:
    return {"root": str(space.folder.root), "collection": space.collection, **asdict(report)}


def _print_report(space: Workspace, report: SyncReport) -> None:
    counts = {
        "added": len(report.added),
        "changed": len(report.changed),
        "renamed": len(report.renamed),
        "removed": len(report.removed),
        "unchanged": report.unchanged,
    }
    nothing = "no files yet" if space.folder.root.is_dir() else "nothing"
    changes = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number) or nothing
    print_line(
        ("Synced ", "green"),
        (str(space.folder.root), "bold"),
        f": {changes} ",
        (f"({space.mind.path}, {space.collection})", "dim"),
    )
    chunks = f"{pluralize(report.chunks_added, 'chunk', 'chunks')} added, {report.chunks_removed:,} removed"
    if report.chunks_added or report.chunks_removed:
        print_line((f"  {chunks}, {report.embedded:,} embedded in {report.seconds:.1f} s", "dim"))
    if report.without_vectors:
        print_line((f"  {report.without_vectors} Found by words only until the next sync.", "yellow"))
    for title, listed in (("left out", report.skipped), ("read, but", report.problems)):
        for path, why in [*listed.items()][:MAX_SHOWN]:
            print_line(("  ", ""), (title, "yellow"), f"  {path}: {why}")
        if len(listed) > MAX_SHOWN:
            print_line((f"  … and {len(listed) - MAX_SHOWN:,} more; --json lists all", "dim"))


def _print_notes_outside(space: Workspace) -> None:
    """Say which notes are not indexed because the folder was taken for the workspace of an agent."""
    if notes := space.folder.notes_outside_workspace():
        few = ", ".join(notes[:3]) + (", …" if len(notes) > 3 else "")
        print_line(
            ("  not indexed", "yellow"),
            f"  {pluralize(len(notes), 'note', 'notes')} outside of MEMORY.md and memory/ ({few}). "
            "Index all Markdown files with --layout vault.",
        )


def _watch(space: Workspace, options: GlobalOptions) -> FolderWatch:
    reported: set[tuple[str, str]] = set()  # the skipped files and problems of the last sync

    def print_changes(report: SyncReport) -> None:
        if options.json:
            print(json_text(_as_json(space, report)), flush=True)
            return
        skipped, problems = report.skipped.items() - reported, report.problems.items() - reported
        reported.clear()
        reported.update(report.skipped.items(), report.problems.items())
        if report.has_changes or skipped or problems:
            _print_report(space, replace(report, skipped=dict(sorted(skipped)), problems=dict(sorted(problems))))

    return space.watch(print_changes)


def _print_passages(results: list[dict[str, Any]]) -> None:
    from recollect.systems.openclaw.search import citation

    for rank, each in enumerate(results, 1):
        source = citation(each["path"], each["startLine"], each["endLine"])
        prefix = f"{each['collection']}: " if "collection" in each else ""
        print_line((f"{rank} ", "bold"), (f"{each['score']:.3f} ", "green"), (prefix, "dim"), (source, "cyan"))
        print_line("  ", each["snippet"].partition("\n\nSource: ")[0])
