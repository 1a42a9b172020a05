"""Points in a log: offsets, times, ages, `start`, `end`, `now`, and distances from the end."""

import datetime
import re
from typing import Protocol

from records.errors import RequestError, UnknownHistoryError

# ASCII digits, of bounded length: int() also takes other digits, and rejects more than 4,300.
_NUMBER = "[0-9]{1,4000}"
# The state before offset 0 is printed as -1.
_OFFSET = re.compile(f"{_NUMBER}|-1")
_AGE_PART = re.compile(f"({_NUMBER})(ms|s|m|h|d|w)")
_AGE = re.compile(f"(?:{_NUMBER}(?:ms|s|m|h|d|w))+")
_BEFORE_END = re.compile(f"end-({_NUMBER})")
_AGE_BEFORE_END = re.compile(f"end-({_AGE.pattern})")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_HELP = (
    "an offset, `start`, `end`, `now`, an RFC 3339 time, an age such as 10m, 1h30m, 7d or 1w, or a "
    "distance from the log's end, such as end-24h or end-100"
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class MalformedPointError(RequestError):
    """A text is not a point in any log: the command line was used wrongly, nothing was refused."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_REQUEST", message)


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

    An offset is the first one itself. Of a time or an age, it is that of the first record at or
    after the time; the end offset if there is none.

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


def check_point_form(point: str) -> None:
    """Check that a text has the form of a point, whatever the log.

    Raises:
        MalformedPointError: it has not.
    """
    has_form = point == "now" or not is_time(point) or _AGE.fullmatch(point)
    if not has_form and not _AGE_BEFORE_END.fullmatch(point):
        _time_ms(point, datetime.UTC)


def age_in(point: str) -> int | None:
    """Return the age in ms if the point is an age, such as `1h30m`, else None."""
    return _milliseconds(point) if _AGE.fullmatch(point) else None


def is_time(point: str) -> bool:
    """True if a point is neither an offset nor `start` nor `end`: a time, `now` or an age."""
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
        return None if end_ms is None else end_ms - _milliseconds(found[1])
    return _clock_time(point, now_ms, zone)


def _clock_time(point: str, now_ms: int, zone: datetime.tzinfo) -> int:
    if point == "now":
        return now_ms
    age_ms = age_in(point)
    return _time_ms(point, zone) if age_ms is None else now_ms - age_ms


def _milliseconds(age: str) -> int:
    return sum(int(count) * _UNIT_MS[unit] for count, unit in _AGE_PART.findall(age))


def _time_ms(text: str, zone: datetime.tzinfo) -> int:
    try:
        time = datetime.datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone)
        return (time - _EPOCH) // datetime.timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        if _is_time_of_day(text):
            raise MalformedPointError(
                f"{text!r} is a time of day without its date; write both, such as 2026-01-31T{text}"
            ) from error
        raise MalformedPointError(f"{text!r} is not a point; write {_HELP}") from error


def _is_time_of_day(text: str) -> bool:
    try:
        datetime.time.fromisoformat(text)
    except ValueError:
        return False
    return ":" in text
