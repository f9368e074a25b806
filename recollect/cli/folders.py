"""The commands over folders of Markdown: sync, watch, search and get."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Settings, Words
from recollect.cli.terminal import answer, complain, count, json_text, printable, progress, say, snippet
from recollect.errors import InvalidInput, NotFound, StoreError

if TYPE_CHECKING:
    from recollect.ingest.folder import SyncReport
    from recollect.ingest.watch import Watch
    from recollect.systems.openclaw.workspace import Workspace

SHOWN = 8  # paths of each kind that a report names
NEAREST = 3  # passages that are shown when none reaches the minimum score
ANCHOR = re.compile(r"(.+?)#L(\d+)(?:-L?(\d+))?")
Folder = Annotated[
    str | None, typer.Argument(help="The folder; without one, those that are followed already.", show_default=False)
]
Layout = Annotated[
    str | None,
    typer.Option(
        help="workspace (MEMORY.md and memory/) or vault (every Markdown file); by what is there.", show_default=False
    ),
]
Extra = Annotated[
    list[str] | None,
    typer.Option("--extra", help="A further file or folder of Markdown; several times.", show_default=False),
]
Sessions = Annotated[
    list[str] | None,
    typer.Option("--sessions", help="Transcripts, too: where their *.jsonl are; several times.", show_default=False),
]


def sync(
    settings: Settings,
    folder: Folder = None,
    layout: Layout = None,
    extra: Extra = None,
    sessions: Sessions = None,
    unfollow: Annotated[
        bool, typer.Option("--unfollow", help="Take the folder out of the memory instead; its files stay.")
    ] = False,
) -> None:
    """Bring the memory into step with a folder of Markdown. What has not changed is not read again."""
    reports = {}
    if unfollow and folder is None:
        raise InvalidInput("Name the folder that --unfollow is for.")
    with _workspaces(settings, folder, layout, extra, sessions, new=not unfollow) as spaces:
        if unfollow:
            _unfollow(settings, spaces)
            return
        for space in spaces:
            reports[space] = _synced(space, settings.json)
        gone = [space for space in spaces if not space.folder.root.is_dir()]
        if settings.json:
            answer(True, [_as_json(space, report) for space, report in reports.items()])
        else:
            for space, report in reports.items():
                if space not in gone or report.moved:
                    _tell(space, report)
    if gone:
        places = ", ".join(str(space.folder.root) for space in gone)
        raise NotFound(f"{places} is not there; what was read from it before is kept.")


def watch(
    settings: Settings,
    folder: Folder = None,
    layout: Layout = None,
    extra: Extra = None,
    sessions: Sessions = None,
) -> None:
    """Follow a folder of Markdown until Ctrl-C. What is written there can be found about two seconds later."""
    with _workspaces(settings, folder, layout, extra, sessions) as spaces, ExitStack() as stack:
        watches = [stack.enter_context(_follow(space, settings)) for space in spaces]
        say("Watching. ", ("Ctrl-C ends it.", "dim"), stderr=True)
        for each in watches:
            while not each.wait(0.5):  # not for ever at once: a Ctrl-C would have to wait, too
                pass


def search(
    settings: Settings,
    query: Annotated[list[str], typer.Argument(help="The question.", show_default=False)],
    k: Annotated[
        int | None, typer.Option("-k", "--limit", help="How many passages; 6 if not said.", min=1, show_default=False)
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="Leave out what scores less; from 0 to 1.", show_default=False)
    ] = None,
    no_sync: Annotated[bool, typer.Option("--no-sync", help="Do not look at the files first.")] = False,
) -> int:
    """Search the folders that are followed. Files that have changed are read first."""
    from recollect.model import validation as check

    asked = " ".join(query)
    if min_score is not None:
        check.unit(min_score, "--min-score")
    with _workspaces(settings, on_search=not no_sync, without_wrong=True) as spaces:
        answers = {space.collection: _searched(space, asked, k, min_score, settings.json) for space in spaces}
        results = _best(answers, k or spaces[0].asking.max_results)
        weak = not results and min_score is None
        nearest = (
            _best({space.collection: space.search(asked, NEAREST, 0.0) for space in spaces}, NEAREST) if weak else []
        )
    if settings.json:
        told = {**next(iter(answers.values())), "results": results}
        answer(True, {**told, "nearest": nearest} if weak else told)
    else:
        if not results:
            say("Nothing found for ", (f"“{snippet(asked, 200)}”", "bold"), ".")
        if nearest:
            say(("No passage reached the minimum score; the nearest are:", "dim"))
        _show(results or nearest)
    return 0 if results else 1


def _best(answers: dict[str, dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The passages of all folders together; with several, each says whose it is."""
    results = [
        {**each, "collection": name} if len(answers) > 1 else each
        for name, told in answers.items()
        for each in told["results"]
    ]
    return sorted(results, key=lambda each: -each["score"])[:most]


def get(
    settings: Settings,
    path: Annotated[
        str,
        typer.Argument(help="As in results: memory/a.md#L10-L20, or vault: memory/a.md#L10-L20.", show_default=False),
    ],
    from_: Annotated[int | None, typer.Option("--from", help="The first line, from 1.", show_default=False)] = None,
    lines: Annotated[int | None, typer.Option(help="How many lines.", show_default=False)] = None,
) -> None:
    """Read lines of a file that is indexed."""
    anchor = ANCHOR.fullmatch(path)
    if anchor:
        if from_ is not None or lines is not None:
            raise InvalidInput("Give the lines in the path or as --from and --lines, not both.")
        path, from_ = anchor[1], int(anchor[2])
        lines = int(anchor[3] or anchor[2]) - from_ + 1
    with _workspaces(settings, without_wrong=True) as spaces:
        told = _read(spaces, path, from_, lines)
    if settings.json:
        answer(True, told)
    else:
        print(printable(told["text"]))


# Which folders, and how they are opened.


@contextmanager
def _workspaces(
    settings: Settings,
    folder: str | None = None,
    layout: str | None = None,
    extra: Words = None,
    sessions: Words = None,
    on_search: bool = True,
    new: bool = True,
    without_wrong: bool = False,
) -> Iterator[list[Workspace]]:
    """The folder that is named or, without a name, those that the memory follows; or this one, if it is a workspace.

    ``without_wrong`` leaves out, with a complaint, those whose own configuration is wrong, as long as one is left.
    """
    from recollect.config.apply import folder as configured
    from recollect.config.apply import search as asking
    from recollect.ingest.folder import folder_of, settings_in
    from recollect.systems.openclaw.workspace import Workspace, followed

    config = settings.configured
    path, model = settings.path_by(config), settings.model_by(config).embedder
    given = _given(layout, extra, sessions)
    root = None if folder is None else str(folder_of(folder))
    known = followed(path)
    chosen: dict[str | None, dict[str, Any]] = {
        name: record
        for name, record in known.items()
        if settings.collection in (None, name) and root in (None, record["root"])
    }
    if chosen and given and folder is None:
        raise InvalidInput("Name the folder that --layout, --extra and --sessions are for.")
    if not chosen and not new:
        raise NotFound(f"{root} is not followed in {path}.")
    if known and not chosen and folder is None:
        raise NotFound(f"No folder is followed as {settings.collection!r} in {path}; there are: {', '.join(known)}.")
    with ExitStack() as stack:
        spaces: list[Workspace] = []
        wrong: dict[str, InvalidInput] = {}
        for name, record in (chosen or {settings.collection: _new(folder, layout)}).items():
            try:
                defaults = configured(settings.read_config(record["root"]).checked())
            except InvalidInput as problem:
                if not without_wrong:
                    raise
                wrong[record["root"]] = problem
                continue
            # The first one's mind serves all, unless it is to be replaced, or asks no model.
            shared = bool(spaces) and spaces[0].settled and spaces[0].settings.vectors
            memory: dict[str, Any] = {"mind": spaces[0].mind} if shared else {"db": path, "embedder": model}
            space = Workspace(
                record["root"],
                **memory,
                collection=name,
                settings=replace(settings_in(record), **given),
                defaults=replace(defaults, on_search=on_search and defaults.on_search),
                search=asking(config),
            )
            spaces.append(stack.enter_context(space))
        for place, mistake in wrong.items():
            if not spaces:
                raise mistake
            complain(f"{place} is left out: {mistake}", "InvalidInput", settings.json)
        yield spaces


def _given(layout: str | None, extra: Words, sessions: Words) -> dict[str, Any]:
    """What the options say of a folder's settings. An empty word takes away what was there."""
    from recollect.ingest.folder import FolderSettings

    said = {"extra_paths": extra, "transcripts": sessions}
    given: dict[str, Any] = {
        name: tuple(str(Path(os.path.expanduser(each)).absolute()) for each in words if each)
        or getattr(FolderSettings(), name)
        for name, words in said.items()
        if words
    }
    return given if layout is None else {**given, "layout": layout}


def _new(folder: str | None, layout: str | None) -> dict[str, Any]:
    """A folder that is not followed yet: every Markdown file, unless it looks like an agent's workspace."""
    from recollect.ingest.folder import folder_of

    root = folder_of(folder or ".")
    is_workspace = any((root / name).exists() for name in ("MEMORY.md", "memory.md", "memory"))
    if folder is None and layout is None and not is_workspace:
        raise StoreError(
            "No folder is followed here yet. Begin with: recollect sync FOLDER "
            "(then search finds it again, with the same --db)."
        )
    if not root.exists():
        raise NotFound(f"There is no folder {folder}.")
    as_usual = "workspace" if is_workspace and not (root / ".obsidian").exists() else "vault"
    return {"root": str(root), "settings": {"layout": as_usual}}


# Doing and telling.


def _unfollow(settings: Settings, spaces: list[Workspace]) -> None:
    gone = sum(space.unfollow() for space in spaces)
    root = str(spaces[0].folder.root)
    answer(
        settings.json,
        {"root": root, "removed": gone},
        ("No longer following ", "green"),
        f"{root}: {count(gone, 'chunk', 'chunks')} removed.",
    )


def _synced(space: Workspace, as_json: bool) -> SyncReport:
    try:
        with progress(f"Reading {space.folder.root.name}") as done:
            return space.sync(_telling(done))
    except KeyboardInterrupt:
        complain("Stopped: what is done is kept; the next sync goes on from here.", "Interrupted", as_json)
        raise


def _searched(space: Workspace, query: str, k: int | None, min_score: float | None, as_json: bool) -> dict[str, Any]:
    if space.settings.on_search and space.being_read:
        told = f"{space.folder.root} is just being read by another process; what is there already is searched."
        say((told, "dim"), stderr=True)
    elif space.settings.on_search:
        _synced(space, as_json)
    return space.search(query, k, min_score)


def _read(spaces: list[Workspace], path: str, first: int | None, lines: int | None) -> dict[str, Any]:
    """From the folder that has it; when several do, the path must say which, as results do."""
    found: dict[str, tuple[Workspace, str]] = {}  # by the file itself: two collections may follow the same
    problem: NotFound | InvalidInput | None = None
    for space in spaces:
        for asked in dict.fromkeys((path, path.removeprefix(f"{space.collection}: "))):
            try:
                shown = space.get(asked)["path"]
            except (NotFound, InvalidInput) as refusal:
                problem = problem or refusal
            else:
                found.setdefault(os.path.realpath(space.folder.root / shown), (space, asked))
                break
    if len(found) > 1:
        names = [space.collection for space, _ in found.values()]
        raise InvalidInput(
            f"Several folders have {path}: {', '.join(names)}. "
            f"Say which: '{names[0]}: {path}', or --collection {names[0]}."
        )
    for space, asked in found.values():
        return space.get(asked, first, lines)
    raise problem or NotFound(f"There is no {path}.")


def _telling(done: Any) -> Any:
    """A sync's events as a bar."""
    return None if done is None else lambda event: done(event.done, event.total) if event.total else None


def _as_json(space: Workspace, report: SyncReport) -> dict[str, Any]:
    return {"root": str(space.folder.root), "collection": space.collection, **asdict(report)}


def _tell(space: Workspace, report: SyncReport) -> None:
    counts = {
        "added": len(report.added),
        "changed": len(report.changed),
        "renamed": len(report.renamed),
        "removed": len(report.removed),
        "unchanged": report.unchanged,
    }
    nothing = "no files yet" if space.folder.root.is_dir() else "nothing"
    told = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number) or nothing
    say(
        ("Synced ", "green"),
        (str(space.folder.root), "bold"),
        f": {told} ",
        (f"({space.mind.path}, {space.collection})", "dim"),
    )
    chunks = f"{count(report.chunks_added, 'chunk', 'chunks')} added, {report.chunks_removed:,} removed"
    if report.chunks_added or report.chunks_removed:
        say((f"  {chunks}, {report.embedded:,} embedded in {report.seconds:.1f} s", "dim"))
    if report.without_vectors:
        say((f"  {report.without_vectors} Found by words until the next sync.", "yellow"))
    for title, listed in (("left out", report.skipped), ("read, but", report.problems)):
        for path, why in [*listed.items()][:SHOWN]:
            say(("  ", ""), (title, "yellow"), f"  {path}: {why}")
        if len(listed) > SHOWN:
            say((f"  … and {len(listed) - SHOWN:,} more; --json names all", "dim"))


def _follow(space: Workspace, settings: Settings) -> Watch:
    told: set[tuple[str, str]] = set()  # what was left out or wrong at the last sync, and why

    def tell(report: SyncReport) -> None:
        if settings.json:
            print(json_text(_as_json(space, report)), flush=True)
            return
        skipped, problems = report.skipped.items() - told, report.problems.items() - told
        told.clear()
        told.update(report.skipped.items(), report.problems.items())
        if report.moved or skipped or problems:
            _tell(space, replace(report, skipped=dict(sorted(skipped)), problems=dict(sorted(problems))))

    return space.watch(tell)


def _show(results: list[dict[str, Any]]) -> None:
    from recollect.systems.openclaw.workspace import citation

    for rank, each in enumerate(results, 1):
        where = citation(each["path"], each["startLine"], each["endLine"])
        inside = f"{each['collection']}: " if "collection" in each else ""
        say((f"{rank} ", "bold"), (f"{each['score']:.3f} ", "green"), (inside, "dim"), (where, "cyan"))
        say("  ", each["snippet"].partition("\n\nSource: ")[0])
