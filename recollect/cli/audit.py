"""The command audit: lists memories that may be hostile, with the reasons."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from recollect.cli.options import FilterOptions, GlobalOptions
from recollect.cli.terminal import pluralize, print_line, print_result, short_id


def audit(
    options: GlobalOptions,
    filters: FilterOptions,
    limit: Annotated[int | None, typer.Option(help="At most so many findings.", show_default=False)] = None,
) -> int:
    """Find memories with instructions to a model, forged sources, hidden characters, floods or secrets."""
    with options.open() as mind:
        found = mind.audit(filters.filter(), limit=limit)
    if options.json:
        print_result(True, [asdict(each) for each in found])
        return 0 if found else 1
    for each in found:
        print_line(
            (short_id(each.id), "cyan"), "  ", (each.rule, "yellow"), f"  {each.reason}", (f"  {each.excerpt}", "dim")
        )
    print_line(pluralize(len(found), "finding", "findings"), ". Nothing was changed.")
    return 0 if found else 1
