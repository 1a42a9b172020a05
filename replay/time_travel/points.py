"""Points in a log: offsets, times, ages, `start`, `end`, `now`, and distances from the end.

Times as people say them, such as `02:00`, must first be made absolute by `absolute_point`.
"""

import datetime
import re
from typing import Protocol

from records.errors import RequestError, UnknownHistoryError
from replay.time_travel.spoken_times import (
    AGE,
    NUMBER,
    MalformedPointError,
    age_ms,
    check_not_ambiguous,
    in_zone,
    is_spoken,
    spoken_time,
)

# The state before offset 0 is printed as -1.
_OFFSET = re.compile(f"{NUMBER}|-1")
_BEFORE_END = re.compile(f"end-({NUMBER})")
_AGE_BEFORE_END = re.compile(f"end-({AGE.pattern})")
_HELP = (
    "an offset, `start`, `end`, `now`, an RFC 3339 time, a time such as 02:00, `yesterday 14:00`, "
    "`last night` or -3h, an age such as 10m, 1h30m, 7d or 1w, or a distance from the log's end, "
    "such as end-24h or end-100"
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class TimedSource(Protocol):
    """A log that can be searched by time; offsets as in `BatchSource`."""

    @property
    def history_start(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    def last_offset_at(self, timestamp: int) -> int:
        """Return the offset before the first record that is later than a time (ms since 1970)."""

    def first_offset_at(self, timestamp: int) -> int:
        """Return the offset of the first record at or after a time (ms since 1970)."""

    def end_timestamp(self) -> int | None:
        """Return the time of the last record, in ms since 1970; None for an empty log."""


def resolve_first(
    source: TimedSource, point: str, now_ms: int, zone: datetime.tzinfo = datetime.UTC
) -> int:
    """Return the first offset of a range that begins at a point.

    For an offset, this is the offset itself; for a time or an age, the offset of the first record
    at or after that time, or the end offset if there is none.

    Args:
        point, now_ms, zone: As for `resolve_point`.

    Raises:
        RequestError: as for `resolve_point`.
        UnknownHistoryError: the time is before the kept history.
    """
    if not is_time(point):
        return resolve_point(source, point, now_ms, zone)
    if (time_ms := _time_in(source, point, now_ms, zone)) is None:
        return source.end_offset
    try:
        return source.first_offset_at(time_ms)
    except UnknownHistoryError:
        # The history may begin in this very millisecond.
        source.last_offset_at(time_ms)
        return source.history_start


def resolve_point(
    source: TimedSource, point: str, now_ms: int, zone: datetime.tzinfo = datetime.UTC
) -> int:
    """Return the last offset contained in the state at a point.

    Args:
        point: As on the command line.
        now_ms: The current time, to which ages refer, ms since 1970.
        zone: Time zone of times without a zone.

    Returns:
        `history_start` - 1 for the state before the first kept record.

    Raises:
        MalformedPointError: `point` is malformed.
        RequestError: `point` is past the end.
        UnknownHistoryError: `point` is before the kept history.
    """
    if point == "start":
        return source.history_start - 1
    if point == "end":
        return source.end_offset - 1
    if _OFFSET.fullmatch(point):
        return _existing(source, int(point))
    if found := _BEFORE_END.fullmatch(point):
        return _counted_back(source, int(found[1]))
    time_ms = _time_in(source, point, now_ms, zone)
    return source.end_offset - 1 if time_ms is None else source.last_offset_at(time_ms)


def point_time(source: TimedSource, point: str, now_ms: int) -> int | None:
    """Return the time of a point, in ms since 1970; None if the point is an offset.

    Args:
        point: As for `resolve_point`; a time without a zone is in UTC.
        now_ms: The current time, ms since 1970.

    Raises:
        MalformedPointError: `point` is malformed.
    """
    return None if not is_time(point) else _time_in(source, point, now_ms, datetime.UTC)


def absolute_point(
    point: str, reference_ms: int, zone: datetime.tzinfo = datetime.UTC, *, is_first: bool = False
) -> str:
    """Convert a point that depends on the zone or the day to RFC 3339; return others unchanged.

    Args:
        point: As on the command line.
        reference_ms: The time from which times of day are counted, ms since 1970.
        zone: Time zone of times without a zone.
        is_first: True for the beginning of a range.

    Raises:
        MalformedPointError: the clocks of the zone never showed this time, or showed it twice.
    """
    if is_spoken(point):
        found = spoken_time(point, reference_ms, zone, is_first=is_first)
        return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")
    if is_zoneless(point):
        return in_zone(point, datetime.datetime.fromisoformat(point), zone).isoformat()
    return point


def check_point_form(point: str) -> None:
    """Check that a text has the form of a point; no log is needed.

    Raises:
        MalformedPointError: the text is not a point.
    """
    has_form = point == "now" or not is_time(point) or AGE.fullmatch(point) or is_spoken(point)
    if not has_form and not _AGE_BEFORE_END.fullmatch(point):
        _time_ms(point, datetime.UTC)


def age_in(point: str) -> int | None:
    """Return the age in ms if the point is an age, such as `1h30m`, else None."""
    return age_ms(point) if AGE.fullmatch(point) else None


def is_time(point: str) -> bool:
    """True if a point is a time, `now` or an age, not an offset, `start` or `end`."""
    return point not in ("start", "end") and not names_offset(point)


def names_offset(point: str) -> bool:
    """True if a point is an offset or a number of offsets before the end, such as `end-100`."""
    return bool(_OFFSET.fullmatch(point) or _BEFORE_END.fullmatch(point))


def is_zoneless(point: str) -> bool:
    """True if a point is a time without a zone."""
    if _OFFSET.fullmatch(point):
        return False
    try:
        return datetime.datetime.fromisoformat(point).tzinfo is None
    except ValueError:
        return False


def _existing(source: TimedSource, offset: int) -> int:
    if offset >= source.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {offset} is past the end: the log ends at {source.end_offset} (exclusive)",
        )
    return offset


def _counted_back(source: TimedSource, count: int) -> int:
    """Return the offset that lies `count` offsets before the last one.

    The result is at least 0, or -1 (the state before the first record) if the history starts at 0.
    """
    offset = source.end_offset - 1 - count
    return max(offset, -1 if source.history_start == 0 else 0)


def _time_in(source: TimedSource, point: str, now_ms: int, zone: datetime.tzinfo) -> int | None:
    """Return the time of a point that is a time or an age; None for an age in an empty log."""
    if found := _AGE_BEFORE_END.fullmatch(point):
        end_ms = source.end_timestamp()
        return None if end_ms is None else end_ms - age_ms(found[1])
    return _clock_time(point, now_ms, zone)


def _clock_time(point: str, now_ms: int, zone: datetime.tzinfo) -> int:
    if point == "now":
        return now_ms
    age = age_in(point)
    return _time_ms(point, zone) if age is None else now_ms - age


def _time_ms(text: str, zone: datetime.tzinfo) -> int:
    try:
        time = datetime.datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone)
        return (time - _EPOCH) // datetime.timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        check_not_ambiguous(text)
        raise MalformedPointError(f"{text!r} is not a point; write {_HELP}") from error
