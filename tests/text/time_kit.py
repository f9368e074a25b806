"""Reads the times of a text into a short form, and tables of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from recollect.text.times import TimeSpan, find_times

NOW = datetime(2026, 5, 20, 14)  # a Wednesday


def rows(table: str) -> list[tuple[str, str]]:
    """Lines of “text | span”."""
    lines = [line.rpartition(" | ") for line in table.strip().splitlines()]
    return [(text.strip(), span.strip()) for text, _, span in lines]


def read(text: str, now: datetime = NOW, *, told: bool = False) -> str:
    """The spans in a text: 2026-05-19 is a day, 2026-05-01..2026-06-01 a month, 2026-05-01.. open to one side."""
    return " ".join(short(each.span) for each in find_times(text, now, told=told)) or "none"


def short(span: TimeSpan) -> str:
    if span.start and span.end and span.start.date() + timedelta(days=1) == span.end.date():
        return f"{span.start:%Y-%m-%d}"
    return "..".join("" if each is None else f"{each:%Y-%m-%d}" for each in (span.start, span.end))
