"""Points of a log: offsets and times, as callers of the audit give them."""

import datetime

from records.errors import RequestError
from replay.audit.earlier_part import KeptHistory, check_in_part, naming_earlier_part
from replay.audit.queries.asking import Range

Point = int | datetime.datetime | str
"""An offset or a time with a zone, also as text: "1200", "2026-01-31T02:00:00Z"."""


def range_between(reader: KeptHistory, since: Point | None, until: Point | None) -> Range:
    """Return the range between two points, inclusive; by default the ends of the kept history.

    Raises:
        RequestError: INVALID_REQUEST: a point is neither an offset nor a time with a zone.
        UnknownHistoryError: a time is before that of the base checkpoint, or a point is in an
            earlier part of the recording; names that part.
    """
    with naming_earlier_part(reader):
        return check_in_part(reader, _between(reader, since, until))


def _between(reader: KeptHistory, since: Point | None, until: Point | None) -> Range:
    first = reader.start_offset
    begin = None if since is None else parsed(since)
    if isinstance(begin, datetime.datetime):
        first = max(first, reader.first_offset_at(in_ms(begin)))
    elif begin is not None:
        first = begin
    last = reader.end_offset - 1 if until is None else last_offset(reader, until)
    return Range(first, last)


def last_offset(reader: KeptHistory, point: Point) -> int:
    """Return the last offset that the state at a point includes."""
    end = parsed(point)
    return reader.last_offset_at(in_ms(end)) if isinstance(end, datetime.datetime) else end


def parsed(point: Point) -> int | datetime.datetime:
    """Convert a point given as text to an offset or a time; return other points unchanged."""
    if not isinstance(point, str):
        return point
    if point.isdecimal():
        return int(point)
    try:
        return datetime.datetime.fromisoformat(point)
    except ValueError:
        raise RequestError(
            "INVALID_REQUEST",
            f"{point!r} is neither an offset nor a time such as 2026-01-31T02:00:00Z",
        ) from None


def in_ms(time: datetime.datetime) -> int:
    """Return a time in ms since 1970.

    Raises:
        RequestError: INVALID_REQUEST: the time has no zone.
    """
    if time.tzinfo is None:
        raise RequestError("INVALID_REQUEST", f"{time} has no time zone; add one, such as Z")
    return round(time.timestamp() * 1_000)
