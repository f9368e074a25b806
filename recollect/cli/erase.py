"""The command that erases memories for good, finishes erasures, and checks their receipts."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import FilterOptions, GlobalOptions
from recollect.cli.terminal import format_time, pluralize, print_line, print_result, read_text
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.mind import Mind
    from recollect.store.erasing import Erasure

Selection = dict[str, Any]  # the arguments of Mind.erase that say what
KINDS = {
    "told_times": "times told",
    "sketches": "token sketches",
    "cached_vectors": "cached vectors",
    "versions": "earlier versions",
}


def erase(
    options: GlobalOptions,
    filters: FilterOptions,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, or their beginnings.", show_default=False)] = None,
    expired: Annotated[bool, typer.Option("--expired", help="Erase the memories that are past their expiry.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where stdin is not a terminal.")] = False,
    code: Annotated[
        str | None, typer.Option(help="Erase only if this is the code of the dry run.", show_default=False)
    ] = None,
    finish: Annotated[bool, typer.Option("--finish", help="Finish earlier erasures that are pending.")] = False,
    verify: Annotated[
        str | None, typer.Option(help="Check the receipt in this JSON file; - is stdin.", show_default=False)
    ] = None,
) -> int:
    """Remove memories for good, with everything that is derived from them. undo cannot restore them.

    Give ids, filters, --expired, or only --user, --session or --collection to erase everything that belongs to them.
    """
    conditions = {each.name: getattr(filters, each.name) for each in fields(filters)}
    conditions = {name: value for name, value in conditions.items() if value is not None}
    ways = sum([bool(ids or conditions), expired, finish, verify is not None])
    if ways > 1:
        raise InvalidInput("Give ids or filters, --expired, --finish or --verify: one of them.")
    with options.open() as mind:
        if finish:
            return _finish(mind, options)
        if verify is not None:
            return _verify(mind, options, verify)
        selection = {} if expired else _selection(options, filters, conditions, ids)
        run = mind.erase_expired if expired else mind.erase
        chosen = selection.pop("ids", [])
        plan = run(*chosen, **selection, dry_run=True, code=code)
        if not any(plan.removed.values()):  # the history may still have the name
            done = plan if dry_run else run(*chosen, **selection, code=plan.code)
            print_result(options.json, done.as_dict(), _nothing(selection, expired))
            return 1
        if dry_run:
            _print_erasure(options, plan)
            return 0
        if not yes and code is None:
            _confirm(plan)
        erased = run(*chosen, **selection, code=plan.code)  # exactly what was confirmed
    _print_erasure(options, erased)
    return 0


def _selection(
    options: GlobalOptions, filters: FilterOptions, named: dict[str, Any], ids: list[str] | None
) -> Selection:
    """What to erase: everything of a user, a session or a collection if nothing else is given."""
    if ids and named:
        raise InvalidInput("Give ids or filters, not both.")
    if ids:
        return {"ids": ids}
    if not named and options.collection:
        return {"collection": options.collection}
    if named and named.keys() <= {"user", "session"} and all(len(value) == 1 for value in named.values()):
        return {name: value[0] for name, value in named.items()}
    if not named:
        raise InvalidInput("Give ids, filters such as --user or --tag, --collection, --expired, --finish or --verify.")
    return {"filter": filters.filter()}


def _nothing(selection: Selection, expired: bool) -> str:
    """Why nothing is erased."""
    if expired:
        return "No memory is past its expiry."
    owner = " and ".join(f"{name} {value}" for name, value in selection.items() if name != "filter")
    return f"No memory belongs to {owner}." if owner else "No memory matches."


def _confirm(plan: Erasure) -> None:
    size = pluralize(plan.removed["memories"], "memory", "memories")
    if not sys.stdin.isatty():
        raise InvalidInput(f"This would erase {size} for good. Confirm with --yes or --code {plan.code}.")
    print_line(("This cannot be undone: ", "bold red"), _counts(plan), stderr=True)
    if not typer.confirm(f"Erase {size} for good?", err=True):
        print_line("Nothing was erased.", stderr=True)
        raise typer.Exit(1)


def _counts(erasure: Erasure) -> str:
    counts = {KINDS.get(kind, kind): count for kind, count in erasure.removed.items() if count}
    return ", ".join(pluralize(count, _singular(kind), kind) for kind, count in counts.items()) or "nothing"


def _singular(kind: str) -> str:
    """
    >>> _singular("memories"), _singular("token sketches"), _singular("history")
    ('memory', 'token sketch', 'history')
    """
    for many, one in (("ies", "y"), ("ches", "ch"), ("s", "")):
        if kind.endswith(many):
            return kind.removesuffix(many) + one
    return kind


def _print_erasure(options: GlobalOptions, erasure: Erasure) -> None:
    verb = "Would erase " if erasure.dry_run else "Erased "
    print_result(options.json, erasure.as_dict(), (verb, "green"), _counts(erasure), ".")
    if options.json:
        return
    for each in erasure.remaining:
        print_line((f"Not erased, {each.what}: ", "yellow"), ", ".join(each.names), (f" ({each.why})", "dim"))
    for reason in erasure.pending:
        print_line(("Pending: ", "yellow"), reason)
    if erasure.unfinished:
        print_line(("When that is done, recollect erase --finish overwrites what is left in the file.", "dim"))
    if erasure.dry_run and erasure.removed.get("memories"):
        print_line(("Confirm with --yes, or with --code ", "dim"), erasure.code)
    elif erasure.receipt is not None:
        print_line(("The receipt is stored in the file; --json prints it.", "dim"))


def _finish(mind: Mind, options: GlobalOptions) -> int:
    pending = mind.finish_erasures()
    message = "; ".join(pending) if pending else "All erasures are finished."
    print_result(options.json, {"pending": list(pending)}, message)
    return 1 if pending else 0


def _verify(mind: Mind, options: GlobalOptions, file: str) -> int:
    try:
        record = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{file} is not JSON: {error}.") from None
    if isinstance(record, dict) and isinstance(record.get("receipt"), dict):  # all that erase --json prints
        record = record["receipt"]
    found = mind.verify_erasure(record)
    count = pluralize(len(found.receipt.ids), "memory", "memories")
    result = {"holds": found.holds, "present": found.present, "later": found.later, "pending": found.pending}
    if found.holds:
        message = f"Nothing of the {count} that were erased on {format_time(found.receipt.at)} is stored."
    else:
        parts = [f"stored again: {', '.join(found.present)}"] if found.present != found.later else []
        message = f"The receipt does not hold: {'; '.join([*parts, *found.pending])}."
    print_result(options.json, result, message)
    return 0 if found.holds else 1
