"""Parses the values of options: JSON, recipe settings, points, line ranges and dates."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from recollect.errors import InvalidInput
from recollect.text.dates import NUMBER, NUMBERS, PATTERNS, Span

UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}
AGO = re.compile(rf"(?P<count>{NUMBER})\s+(?P<unit>{'|'.join(UNITS)})s?\s+ago", re.IGNORECASE)


def parse_json_object(text: str, option: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{option} is not valid JSON: {error}. Give an object, such as '{example}'.") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{option} must be a JSON object, such as '{example}'.")
    return value


def parse_setting(text: str) -> tuple[str, Any]:
    """A name and a JSON value; a value that is not JSON is a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--set must be a name and a value, such as max_hops=3, not {text!r}.")
    try:
        return name.strip().replace("-", "_"), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip().replace("-", "_"), value


def parse_near(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        return parse_json_object(text, "--near", '{"field": "at", "target": [1, 2], "within": 0.5}')
    try:
        field, target, within = text.rsplit(":", 2)
        if not float(within) >= 0:
            raise ValueError
        return {"field": field, "target": [float(each) for each in target.split(",")], "within": float(within)}
    except ValueError:
        raise InvalidInput(
            "--near must be a field, a point and a distance of 0 or more, such as spatial.position:1,2,0.5:0.3, "
            f"not {text!r}."
        ) from None


def parse_line_range(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        return [int(first), int(last or first)]
    except ValueError:
        raise InvalidInput(f"--lines must be a range, such as 3-9, not {text!r}.") from None


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """The first moment of a date: --since yesterday includes all of yesterday."""
    return _parse_date(text, "--since", now or datetime.now(UTC))[0]


def parse_until(text: str, now: datetime | None = None) -> datetime:
    """The moment after a date: --until yesterday includes all of yesterday."""
    return _parse_date(text, "--until", now or datetime.now(UTC))[1]


def _parse_date(text: str, option: str, now: datetime) -> Span:
    """A moment ("3 days ago", an ISO date and time) has no length; a day, month or year has. All are in UTC."""
    text = " ".join(text.split())
    try:
        if ago := AGO.fullmatch(text):
            count = int(ago["count"]) if ago["count"].isdigit() else NUMBERS[ago["count"].lower()]
            moment = now - count * UNITS[ago["unit"].lower()]
            return moment, moment
        if _is_iso_date(text):
            start = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return start, start + UNITS["day"]
        if text.lower() == "now":
            return now, now
        for phrase in (text, f"in {text}", f"last {text}"):  # also "May", "2025" and "Monday"
            for pattern, read in PATTERNS:
                match = pattern.fullmatch(phrase)
                if match is not None and (span := read(match, now)) is not None:
                    return span
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return moment, moment
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{option} must be a date, not {text!r}. Give an ISO date, such as 2026-05-01 or 2026-05-01T09:30, "
            "or words, such as yesterday, '3 days ago', 'last month' or 'May 2026'."
        ) from None


def _is_iso_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
