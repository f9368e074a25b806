"""The time zone of the machine, and moments in time zones."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from recollect.errors import InvalidInput


class MachineZone(tzinfo):
    """The time zone of this machine with its summer times; ``datetime.astimezone()`` alone has one fixed offset."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        return _offset(datetime.now() if when is None else when.replace(tzinfo=None))

    def dst(self, when: datetime | None) -> timedelta:
        return self.utcoffset(when) - timedelta(seconds=-time.timezone)

    def tzname(self, when: datetime | None) -> str:
        return timezone(self.utcoffset(when)).tzname(None)

    def fromutc(self, when: datetime) -> datetime:
        try:
            offset = when.replace(tzinfo=UTC).astimezone().utcoffset() or timedelta()
        except (ValueError, OSError):  # before 1970 on some systems
            offset = _offset(when.replace(tzinfo=None))
        local = when + offset
        return local if _offset(local.replace(tzinfo=None)) == offset else local.replace(fold=1)

    def __repr__(self) -> str:
        return f"MachineZone({'/'.join(time.tzname)})"


def _offset(local: datetime) -> timedelta:
    try:
        return local.astimezone().utcoffset() or timedelta()
    except (ValueError, OSError, OverflowError):  # years 1 and 9999, or before 1970 on some systems
        return timedelta(seconds=-time.timezone)


_MACHINE = MachineZone()


def machine_zone() -> tzinfo:
    """The time zone of this machine."""
    return UTC if time.timezone == 0 and not time.daylight else _MACHINE


def to_zone(when: datetime, zone: tzinfo | None) -> datetime:
    """The moment in a zone, or in that of this machine; as it is where the zone has no such year."""
    try:
        return when.astimezone(zone or machine_zone())
    except OverflowError:
        return when


def in_zone(when: datetime, zone: tzinfo | None) -> datetime:
    """The moment; without a zone it is in ``zone``, or else in that of this machine."""
    return when.replace(tzinfo=zone or machine_zone()) if when.tzinfo is None else when


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
        return datetime.now(tz or machine_zone())
    if tz is None:
        return now
    if now.tzinfo is None:
        return now.replace(tzinfo=tz)
    try:
        return now.astimezone(tz)
    except OverflowError:
        raise InvalidInput(f"now is outside of the years 1 to 9999 in that time zone: {now.isoformat()}.") from None
