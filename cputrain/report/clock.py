"""What the clock on the wall shows: local time, through changes to and from summer time."""

from __future__ import annotations

import datetime

from cputrain.report import words


def after(seconds: float, start: datetime.datetime, shown: str) -> str:
    """What it shows so many seconds after `start`, by the format `shown`.

    With the day where it is another one than the start's, with the year where that is another one.
    "in 4166667 days" beyond the year 9999, where dates end.
    """
    try:
        at = _local(start.timestamp() + seconds)
    except (OverflowError, ValueError, OSError):  # by how far beyond
        return f"in {words.duration(seconds)}"
    if at.date() == start.date():
        return at.strftime(shown)
    day = "%a %d %b" if at.year == start.year else "%a %d %b %Y"
    return at.strftime(f"{day} {shown}")


def next_showing(time: datetime.time, now: datetime.datetime) -> datetime.datetime:
    """The next moment at which it shows a time.

    A time that a change to summer time leaves out is as much later: 02:30 is 03:30.
    """
    today = datetime.datetime.combine(now.date(), time)
    in_order = (today, today.replace(fold=1), today + datetime.timedelta(days=1))
    return _local(next(at for t in in_order if (at := t.timestamp()) > now.timestamp()))


def _local(timestamp: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(timestamp)
