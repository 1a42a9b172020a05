"""Converts points to absolute points: chooses the reference time and the time zone."""

import datetime
import time
from typing import Protocol

from metadata_log.reader.log_reader import LogReader
from replay.time_travel.points import absolute_point, resolve_first, resolve_point
from replay.time_travel.spoken_times import is_spoken


class Absolute(Protocol):
    """Makes a point of a log absolute."""

    def __call__(
        self, reader: LogReader, point: str, now_ms: int, *, is_first: bool, is_live: bool
    ) -> str:
        """Return a point that means the same in any time zone, on any day.

        Args:
            is_first: True for the start of a range.
            is_live: True if the log is read by the service that writes it.

        Raises:
            MalformedPointError: the text is not a point, or is ambiguous.
        """


def in_utc(reader: LogReader, point: str, now_ms: int, *, is_first: bool, is_live: bool) -> str:
    """Return a point in absolute form, read in UTC; an implementation of `Absolute`."""
    return in_zone(reader, point, now_ms, datetime.UTC, is_first=is_first, is_live=is_live)


def in_zone(
    reader: LogReader,
    point: str,
    now_ms: int,
    zone: datetime.tzinfo,
    *,
    is_first: bool,
    is_live: bool = False,
) -> str:
    """Return a point in absolute form, read in a time zone; the other arguments as `Absolute`."""
    # Others need no reference, for which the end of the log is read.
    reference = reference_ms(reader, now_ms, is_live=is_live) if is_spoken(point) else now_ms
    return absolute_point(point, reference, zone, is_first=is_first)


def reference_ms(reader: LogReader, now_ms: int, *, is_live: bool) -> int:
    """Return the time that counts as now in points such as `14:00` or `-3h`, in ms since 1970.

    It is the real time if a process writes the log. Any other log may be an old copy, so it is then
    the time of the last record, if that is earlier.
    """
    if is_live or is_written(reader):
        return now_ms
    end_ms = reader.end_timestamp()
    return now_ms if end_ms is None else min(end_ms, now_ms)


def is_written(reader: LogReader) -> bool:
    """True if a process of this machine writes the log."""
    from metadata_log.files.lock import writer_process

    directory = reader.local_directory
    return directory is not None and writer_process(directory) is not None


def offset_at(reader: LogReader, point: str, *, is_first: bool = False) -> int:
    """Return the offset of an absolute point; ages are counted back from this machine's clock.

    Raises:
        RequestError: as for `resolve_point`.
    """
    resolved = resolve_first if is_first else resolve_point
    return resolved(reader, point, time.time_ns() // 1_000_000)
