"""Use by day: how often each memory was used on each day (UTC), and by month when that is long ago.

Days are counted from 1970. Entries older than ``DAILY_DAYS`` are joined at the first day of their month when the memory
is used again, so a memory that is used every day has about 120 entries, and 12 more for each further year.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

USES = ("access", "recall")  # the counters that count as a use
DAILY_DAYS = 92  # a quarter
EPOCH = date(1970, 1, 1).toordinal()


def day_number(moment: datetime) -> int:
    return moment.astimezone(UTC).date().toordinal() - EPOCH


def day_begins(day: int) -> datetime:
    return datetime.combine(date.fromordinal(day + EPOCH), datetime.min.time(), UTC)


def month_day(day: int) -> int:
    """The first day of the month."""
    return date.fromordinal(day + EPOCH).replace(day=1).toordinal() - EPOCH
