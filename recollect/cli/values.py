"""Parses the values of options: JSON, recipe settings, points, line ranges and dates."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from recollect.errors import InvalidInput
from recollect.model.zones import in_zone, local_moment

if TYPE_CHECKING:
    from recollect.text.times import TimeSpan

UNITS = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
AGO = re.compile(rf"(?P<count>an?|\d{{1,6}})\s+(?P<unit>{'|'.join(UNITS)})s?\s+ago", re.IGNORECASE)


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


def local_now(tz: str | None = None) -> datetime:
    """Now, in a time zone or in that of the machine."""
    return local_moment(None, tz)


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """The first moment of a time: --since yesterday includes all of yesterday."""
    return _side(text, "--since", "start", now or local_now())


def parse_until(text: str, now: datetime | None = None) -> datetime:
    """The moment after a time: --until yesterday includes all of yesterday."""
    return _side(text, "--until", "end", now or local_now())


def parse_moment(text: str, option: str, now: datetime | None = None) -> datetime | str:
    """The first moment of a time: --as-of yesterday is its midnight. An empty text stays one: it may remove a date."""
    return _side(text, option, "start", now or local_now()) if text.strip() else text


def _side(text: str, option: str, side: Literal["start", "end"], now: datetime) -> datetime:
    span = _parse_time(" ".join(text.split()), option, now)
    moment = span.start if side == "start" else span.end
    if moment is None:
        other = {"--since": "--until", "--until": "--since"}.get(option, "a time that has one")
        raise InvalidInput(f"{option} needs the {side} of a time, and {text!r} has none; use {other}.")
    return moment


def _parse_time(text: str, option: str, now: datetime) -> TimeSpan:
    """A moment ("2 hours ago", an ISO date and time) has no length; a day, month or year has."""
    from recollect.text.times import TimeSpan
    from recollect.text.times.phrases import when

    try:
        if ago := AGO.fullmatch(text):
            moment = (
                now - float(1 if ago["count"].lower() in ("a", "an") else ago["count"]) * UNITS[ago["unit"].lower()]
            )
            return TimeSpan(moment, moment)
        if text.lower() == "now":
            return TimeSpan(now, now)
        if not _is_iso_date(text):
            with suppress(ValueError):
                moment = in_zone(datetime.fromisoformat(text), now.tzinfo)
                return TimeSpan(moment, moment)
        else:
            start = in_zone(datetime.fromisoformat(text), now.tzinfo)
            return TimeSpan(start, start + timedelta(days=1))
        return when(text, now)
    except (InvalidInput, OverflowError):
        raise InvalidInput(
            f"{option} must be a date, not {text!r}. Give a date, such as 2026-05-01, 2026-05-01T09:30, 31.12.2026 or "
            "12/31/2026, or words, such as yesterday, '3 days ago', 'last month' or 'May 2026'."
        ) from None


def _is_iso_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
