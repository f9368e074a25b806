"""The times that a memory's text tells of: “yesterday” in a text of 5 March is the 4th. Shared by all stores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.model import micros

if TYPE_CHECKING:
    from recollect.text.times import TimeSpan

TOLD_SHARE = 0.3  # of the time that a text tells of must lie in an interval: “in October” is not about the 14th
MAX_PERIOD = 184  # days: a contract of two years tells little of one of its days
SECOND = 1_000_000
MAX_TIMES = 16  # of a text: a long list of dates is about none of them
MAX_CHARACTERS = 10_000

# Moments are microseconds since 1970; the end of a span is not part of it; an open side is infinite. A told time that
# covers each of its days (“from 19 to 27 June”) ends a microsecond before that: days end with whole seconds.
Interval = tuple[float, float]


def told_times(text: str, created: datetime, zone: tzinfo | None = None) -> list[Interval]:
    """The spans of time that a text names, as it was written at ``created``; without those that are open to a side,
    but of a deadline (“due by Friday”) its last day. A period from one day to another covers each of its days.

    Days begin in ``zone``, which is that of the store's clock: at ten in the evening in New York it is tomorrow in UTC.
    """
    from recollect.text.times import find_times  # not needed to read a file

    local = created
    with suppress(OverflowError):  # at the ends of time
        local = created.astimezone(zone or UTC)
    times = find_times(text[:MAX_CHARACTERS], local, told=True)[:MAX_TIMES]
    closed = [(_deadline(each.span, local) or each.span.start, each.span.end, each.is_period) for each in times]
    return [
        (micros(start), micros(end) - (covers and end - start <= timedelta(days=MAX_PERIOD, hours=1)))
        for start, end, covers in closed
        if start is not None and end is not None
    ]


def _deadline(span: TimeSpan, now: datetime) -> datetime | None:
    """The beginning of the last day of a time that has only an end, which is to come."""
    return span.end - timedelta(days=1) if span.start is None and span.end is not None and span.end > now else None


def tells_of(start: NDArray[np.float64], end: NDArray[np.float64], interval: Interval) -> NDArray[np.bool_]:
    """Which of these told times are about an interval: enough of it lies inside, or it covers each of its days."""
    inside = np.minimum(end, interval[1]) - np.maximum(start, interval[0])
    with np.errstate(invalid="ignore"):  # an open side
        covers = np.mod(end, SECOND) == SECOND - 1
    return np.asarray((inside > 0) & (covers | (inside >= TOLD_SHARE * (end - start))))


def pack_times(times: Sequence[Interval]) -> bytes:
    return np.array(times, dtype=np.int64).tobytes()


def unpack_times(packed: bytes) -> NDArray[np.float64]:
    """A row for each span: its start and end."""
    return np.frombuffer(packed, dtype=np.int64).astype(np.float64).reshape(-1, 2)


def as_intervals(spans: Sequence[TimeSpan]) -> list[Interval]:
    return [
        (
            -np.inf if span.start is None else micros(span.start),
            np.inf if span.end is None else micros(span.end),
        )
        for span in spans
    ]
