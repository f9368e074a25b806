"""How memories are used: counters and moments, written beside the content and without its locks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.model import micros
from recollect.store.base import Bound, UseRecord
from recollect.store.postgres.connections import Sql
from recollect.store.postgres.statements import bound_condition, row_array
from recollect.store.use_days import DAILY_DAYS, USES, day_number, month_day

RECALL_TIMES = 20  # A17: how many moments of recall are kept
MOMENT_OF = {"access": "last_accessed", "recall": "last_recalled"}
Execute = Callable[[Sql], Sequence[Any]]  # a transaction of one statement; returns its rows


@dataclass(frozen=True, slots=True)
class PendingUse:
    """A use that is to be recorded: by a mind with this bound, of memories of this tenant if it is known."""

    use: UseRecord
    bound: Bound
    tenant: int | None = None

    def by_tenant(self, execute: Execute, known: Mapping[int, int]) -> list[PendingUse]:
        """One for each tenant. ``known``: the tenants of some of the rows."""
        rows: dict[int, list[int]] = {}
        for row, tenant in known.items():
            rows.setdefault(tenant, []).append(row)
        unknown = [row for row in self.use.rows if row not in known]
        if unknown:
            condition = bound_condition(self.bound)
            sql = f"SELECT m.tenant, m.row FROM memories m WHERE m.row = ANY(%s){condition.text}"
            for tenant, row in execute(Sql(sql, (row_array(unknown), *condition.values))):
                rows.setdefault(tenant, []).append(row)
        return [replace(self, use=replace(self.use, rows=some), tenant=tenant) for tenant, some in rows.items()]


def record_use(execute: Execute, pending: PendingUse) -> Sequence[Any]:
    """A17, M11, R15: the counters that a recipe uses, and for recalls the last moments. The server adds, so that no
    count of another process is lost; rows are locked in their order, so that no two processes wait for each other.
    Returns the days that are to be joined to months.

    The tenant is a constant: a server that has the tenants on several nodes can tell which one it concerns."""
    use = pending.use
    condition = bound_condition(replace(pending.bound, collection=None))
    inside = f"m.tenant = {pending.tenant} AND m.row = ANY(%s){condition.text}"  # not deleted or foreign
    chosen = f"FROM memories m WHERE {inside} ORDER BY m.row"
    rows = (row_array(sorted(set(use.rows))), *condition.values)
    at = micros(use.at)
    moments = [name for counter, name in MOMENT_OF.items() if counter in use.counters]
    counts = [f"{counter}_count" for counter in use.counters]
    assigned = [f"{name} = use.{name} + 1" for name in counts] + [f"{name} = {at}" for name in moments]
    columns, values = counts + moments, ["1"] * len(counts) + [str(at)] * len(moments)
    if "recall" in use.counters:
        columns, values = [*columns, "recall_times"], [*values, f"ARRAY[{at}]::bigint[]"]
        times = f"use.recall_times || {at}::bigint"
        assigned.append(f"recall_times = ({times})[greatest(1, cardinality(use.recall_times) + 2 - {RECALL_TIMES}):]")
    counted = (
        f"INSERT INTO use (tenant, row, {', '.join(columns)}) SELECT m.tenant, m.row, {', '.join(values)} {chosen} "
        f"ON CONFLICT (tenant, row) DO UPDATE SET {', '.join(assigned)}"
    )
    uses = sum(counter in USES for counter in use.counters)
    if not uses:
        execute(Sql(f"{counted} RETURNING row", rows))
        return ()
    day = day_number(use.at)
    by_day = (
        f"INSERT INTO use_by_day AS d (tenant, row, day, uses) SELECT m.tenant, m.row, {day}, {uses} {chosen} "
        "ON CONFLICT (tenant, row, day) DO UPDATE SET uses = d.uses + excluded.uses"
    )
    old = (
        "SELECT d.tenant, d.row, d.day FROM use_by_day d JOIN memories m ON m.tenant = d.tenant AND m.row = d.row "
        f"WHERE {inside} AND d.day < {day - DAILY_DAYS} ORDER BY d.row, d.day"
    )
    sql = f"WITH counted AS ({counted}), by_day AS ({by_day}) {old}"
    return execute(Sql(sql, (*rows, *rows, *rows)))


def join_months(execute: Execute, old_days: Sequence[tuple[int, int, int]]) -> None:
    """Join days that are long past to their month (see use_days.py)."""
    for tenant, row, old in old_days:
        month = month_day(old)
        if month != old:
            sql = (
                "WITH past AS (DELETE FROM use_by_day WHERE tenant = %s AND row = %s AND day = %s RETURNING uses) "
                "INSERT INTO use_by_day AS d (tenant, row, day, uses) SELECT %s, %s, %s, uses FROM past "
                "ON CONFLICT (tenant, row, day) DO UPDATE SET uses = d.uses + excluded.uses RETURNING row"
            )
            execute(Sql(sql, (tenant, row, old, tenant, row, month)))
