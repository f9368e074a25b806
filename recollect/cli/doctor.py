"""The command that looks after the file: doctor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.config import own_config
from recollect.cli.options import Settings
from recollect.cli.terminal import answer, count, say

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.store.sqlite.integrity_rules import Finding
    from recollect.upkeep.doctor import Report

SICK = 1
COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def doctor(
    settings: Settings,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended; a copy is made before.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Embed all memories again to compare, not only some.")
    ] = False,
) -> int:
    """Look whether file, indexes and vectors are sound, and mend them."""
    from recollect.upkeep.doctor import Doctor

    config = settings.read_config()
    model = settings.model_by(config).embedder
    visit = Doctor(
        settings.path_by(config),
        model,
        everything=everything,
        beside=tuple(_configured(config)),
        in_folder=lambda root: _mistaken(own_config(root, config, settings)),
    )
    report = visit.treat() if fix else visit.examine()
    if settings.json:
        answer(True, _as_json(report))
    else:
        _tell(report)
    return 0 if report.healthy else SICK


def _configured(config: Config) -> Iterator[Finding]:
    """What is wrong with the configuration and with what it names."""
    from recollect.config import located
    from recollect.store.sqlite.integrity_rules import Finding

    yield from _mistaken(config)
    for extra in config["memorySearch.extraPaths"]:
        if not located(extra, config.workspace).exists():
            origin = config.values["memorySearch.extraPaths"].origin
            yield Finding(
                "an extra path that is not there",
                "warning",
                f"{extra} (extraPaths in {origin}) is not there.",
                "Nothing of it is indexed: it has moved, or a disk is not mounted.",
            )
    if key := config["memorySearch.remote.apiKey"]:
        for file in {place.file for place in config.values["memorySearch.remote.apiKey"].places}:
            if os.stat(file).st_mode & 0o044 and key in Path(file).read_text("utf-8"):  # not ${NAME}
                yield Finding(
                    "a key that others can read",
                    "warning",
                    f"{file} holds an API key and can be read by other users of this machine.",
                    f"Take that right away (chmod 600 {file}), or name the key as ${{NAME}} from the environment.",
                )


def _mistaken(config: Config) -> Iterator[Finding]:
    from recollect.store.sqlite.integrity_rules import Finding

    for mistake in config.mistakes:
        yield Finding(
            "a mistake in the configuration",
            "error",
            str(mistake),
            "Commands are refused until it is mended, in that file and line; when it is a followed folder's own, "
            "search leaves that folder out.",
        )


def _tell(report: Report) -> None:
    for finding in report.mended:
        say(("mended  ", "green"), (finding.name, "bold"), f": {finding.what}")
    if report.backup:
        say((f"A copy from before is at {report.backup}", "dim"))
    for finding in report.findings:
        say((f"{finding.level}  ", COLOURS[finding.level]), (finding.name, "bold"), f": {finding.what}")
        say(f"    {finding.means}")
        if finding.examples:
            say((f"    such as {', '.join(finding.examples)}", "dim"))
        say((f"    --fix {finding.fix}." if finding.fix else "    --fix cannot help here.", "dim"))
    if report.healthy:
        say(("Healthy: ", "green"), report.path)
    else:
        say((count(len(report.findings), "finding", "findings"), "bold"), f" in {report.path}")


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "path": report.path,
        "healthy": report.healthy,
        "findings": [_plain(finding) for finding in report.findings],
        "mended": [_plain(finding) for finding in report.mended],
        "backup": report.backup,
    }


def _plain(finding: Finding) -> dict[str, Any]:
    names = ("name", "level", "what", "means", "fix", "examples")
    return {name: getattr(finding, name) for name in names}
