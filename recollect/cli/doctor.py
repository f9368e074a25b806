"""The commands doctor, which checks the file and repairs it, and audit, which lists memories that may be hostile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.config import folder_config
from recollect.cli.options import FilterOptions, GlobalOptions
from recollect.cli.terminal import format_age, pluralize, print_line, print_result, short_id
from recollect.cli.values import local_now
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.store.sqlite.integrity_rules import Finding
    from recollect.upkeep.doctor import DoctorReport
    from recollect.upkeep.salvage import SalvageReport

PROBLEMS_FOUND = 1
COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def doctor(
    options: GlobalOptions,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired, after making a copy of the file.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Compare the vectors of all memories, not only of a sample.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild all indexes and vectors from the texts, after making a copy.")
    ] = False,
    salvage: Annotated[
        Path | None,
        typer.Option(
            "--salvage",
            metavar="NEW.db",
            help="Write whatever can still be read from a damaged file to this new file.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Check the file, its indexes and its vectors, and repair them."""
    from recollect.upkeep.doctor import Doctor

    options.check_no_server()
    options.check_no_collection("doctor")
    config = options.read_config()
    model = options.select_embedder(config).embedder
    examiner = Doctor(
        options.db_path(config),
        model,
        local_now,
        everything=everything,
        other_findings=tuple(_config_findings(config)),
        check_folder=lambda root: _problem_findings(folder_config(root, config, options)),
    )
    if salvage is not None:
        if fix or rebuild:
            raise InvalidInput("--salvage writes a new file, and is used without --fix and --rebuild.")
        return _print_salvage(options, examiner.salvage(salvage))
    report = examiner.repair() if fix else examiner.diagnose()
    if rebuild:
        report = examiner.rebuild()
    if options.json:
        print_result(True, _as_json(report))
    else:
        _print_report(report)
    return 0 if report.healthy else PROBLEMS_FOUND


def _print_salvage(options: GlobalOptions, report: SalvageReport) -> int:
    if options.json:
        print_result(True, asdict(report))
        return 0
    print_line(
        ("Salvaged: ", "green"),
        f"{pluralize(report.memories, 'memory', 'memories')} and {pluralize(report.links, 'link', 'links')} in "
        f"{report.path}. Damaged pages: {report.damaged_pages}. History, use and folders were not carried over.",
    )
    if report.unverified:
        print_line(("From damaged pages, so read them again: ", "yellow"), ", ".join(report.unverified))
    if report.erased:
        print_line(f"Erased again: {pluralize(report.erased, 'memory', 'memories')}.")
    for problem in report.problems:
        print_line(("warning  ", "yellow"), problem)
    return 0


def _config_findings(config: Config) -> Iterator[Finding]:
    """Problems of the configuration and of the files that it names."""
    from recollect.config import resolve_path
    from recollect.store.sqlite.integrity_rules import Finding

    yield from _problem_findings(config)
    for extra in config["memorySearch.extraPaths"]:
        if not resolve_path(extra, config.workspace).exists():
            origin = config.values["memorySearch.extraPaths"].origin
            yield Finding(
                "an extra path that does not exist",
                "warning",
                f"{extra} (extraPaths in {origin}) does not exist.",
                "Nothing of it is indexed: it was moved, or a disk is not mounted.",
            )
    if key := config["memorySearch.remote.apiKey"]:
        for file in {each.file for each in config.values["memorySearch.remote.apiKey"].locations}:
            if os.stat(file).st_mode & 0o044 and key in Path(file).read_text("utf-8"):  # not ${NAME}
                yield Finding(
                    "a key that others can read",
                    "warning",
                    f"{file} contains an API key and can be read by other users of this machine.",
                    f"Remove that permission (chmod 600 {file}), or take the key from the environment with ${{NAME}}.",
                )


def _problem_findings(config: Config) -> Iterator[Finding]:
    from recollect.store.sqlite.integrity_rules import Finding

    for problem in config.problems:
        yield Finding(
            "a problem in the configuration",
            "error",
            str(problem),
            "Commands fail until that line is corrected; if the file belongs to a synced folder, "
            "search leaves that folder out.",
        )


def _print_report(report: DoctorReport) -> None:
    for finding in report.mended:
        print_line(("repaired  ", "green"), (finding.name, "bold"), f": {finding.what}")
    if report.backup:
        print_line((f"The copy made before is {report.backup}", "dim"))
    for finding in report.findings:
        print_line((f"{finding.level}  ", COLOURS[finding.level]), (finding.name, "bold"), f": {finding.what}")
        print_line(f"    {finding.means}")
        if finding.examples:
            print_line((f"    such as {', '.join(finding.examples)}", "dim"))
        print_line((f"    --fix {finding.fix}." if finding.fix else "    --fix cannot help here.", "dim"))
    if report.last_backup:
        age, folder = format_age(report.last_backup.at), report.last_backup.folder
        print_line((f"The last backup was made {age}, in {folder}", "dim"))
    if report.healthy:
        print_line(("Healthy: ", "green"), report.path)
    else:
        print_line((pluralize(len(report.findings), "finding", "findings"), "bold"), f" in {report.path}")


def _as_json(report: DoctorReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "healthy": report.healthy,
        "findings": [_finding_as_json(finding) for finding in report.findings],
        "mended": [_finding_as_json(finding) for finding in report.mended],
        "backup": report.backup,
        "last_backup": report.last_backup,
    }


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "level": finding.level,
        "what": finding.what,
        "means": finding.means,
        "fix": finding.fix,
        "examples": finding.examples,
    }


def audit(
    options: GlobalOptions,
    filters: FilterOptions,
    limit: Annotated[int | None, typer.Option(help="Maximum number of findings.", show_default=False)] = None,
) -> int:
    """Find memories with instructions to a model, forged sources, hidden characters, floods or secrets.

    The exit code is 0 if there are none, and 1 if there are, as for doctor.
    """
    with options.open() as mind:
        found = mind.audit(filters.filter(), limit=limit)
    if options.json:
        print_result(True, [asdict(each) for each in found])
        return 1 if found else 0
    floods: dict[str, int] = {}  # by the first memory of each: how many others are found
    for each in found:
        if each.rule == "flood":
            floods[each.excerpt] = floods.get(each.excerpt, 0) + 1
            if floods[each.excerpt] > 1:
                continue  # one line for each flood; --json has all
        alike = f"such as {each.excerpt}" if each.rule == "flood" else each.excerpt
        print_line((short_id(each.id), "cyan"), "  ", (each.rule, "yellow"), f"  {each.reason}", (f"  {alike}", "dim"))
    lines = len(found) - sum(floods.values()) + len(floods)
    print_line(pluralize(lines, "finding", "findings"), ". Nothing was changed.")
    return 1 if found else 0
