"""Moments in time zones."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from recollect.errors import InvalidInput


def local_moment(now: datetime | None, tz: str | tzinfo | None) -> datetime:
    """A moment, or the current one, in a time zone."""
    if now is not None and not isinstance(now, datetime):
        raise InvalidInput(f"now must be a datetime, not {type(now).__name__}.")
    if isinstance(tz, str):
        from zoneinfo import ZoneInfo

        try:
            tz = ZoneInfo(tz)
        except (KeyError, OSError, ValueError):  # an unknown name, a folder, a path
            raise InvalidInput(f"tz is no known time zone: {tz!r}. Use a name such as 'Europe/Berlin'.") from None
    if tz is not None and not isinstance(tz, tzinfo):
        raise InvalidInput(f"tz must be the name of a zone or a tzinfo, not {type(tz).__name__}.")
    if now is None:
        return datetime.now(tz or UTC)
    if tz is None:
        return now
    if now.tzinfo is None:
        return now.replace(tzinfo=tz)
    try:
        return now.astimezone(tz)
    except OverflowError:
        raise InvalidInput(f"now is outside of the years 1 to 9999 in that time zone: {now.isoformat()}.") from None
