"""Points in time: an offset, a time, an age, `start`, `end`."""

import datetime
import re
from typing import Protocol

from records.errors import RequestError
from replay.loader import BatchSource

# ASCII only, and not endless: int() takes other digits too, and refuses more than 4,300 of them.
_OFFSET = re.compile(r"[0-9]{1,4000}")
_AGE = re.compile(r"([0-9]{1,4000})(ms|s|m|h|d)")
_AGE_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_HELP = "an offset, `start`, `end`, an RFC 3339 time, or an age such as 10m, 2h or 7d"


class TimedSource(BatchSource, Protocol):
    """A log that can find the offset of a time."""

    def last_offset_at(self, timestamp: int) -> int:
        """Return the offset before the first record later than a time (ms since 1970)."""


def resolve_point(source: TimedSource, point: str, now_ms: int) -> int:
    """Return the last offset that is applied at a point, inclusive.

    Args:
        point: As on the command line.
        now_ms: What ages count back from.

    Returns:
        `history_start` - 1 for the state before the first kept record.

    Raises:
        RequestError: `point` is none, or lies past the end or before the kept history.
    """
    if point == "start":
        return source.history_start - 1
    if point == "end":
        return source.end_offset - 1
    if _OFFSET.fullmatch(point):
        return _existing(source, int(point))
    age = _AGE.fullmatch(point)
    if age:
        return source.last_offset_at(now_ms - int(age[1]) * _AGE_MS[age[2]])
    return source.last_offset_at(_milliseconds(point))


def _existing(source: TimedSource, offset: int) -> int:
    if offset >= source.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {offset} is past the end: the log ends at {source.end_offset} (exclusive)",
        )
    return offset


def _milliseconds(text: str) -> int:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"{text!r} is no point; write {_HELP}") from error
    if time.tzinfo is None:
        raise RequestError(
            "INVALID_REQUEST", f"{text!r} has no time zone; write for example {time.isoformat()}Z"
        )
    return (time - _EPOCH) // datetime.timedelta(milliseconds=1)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
