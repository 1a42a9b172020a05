"""Opens logs for questions, and returns the fields about the log that every answer has."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.options.query_options import ASSUMED_ZONE, ZONE, zone_of
from api.cli.terminal.output import note, time_text
from api.cli.terminal.progress_bar import progress

if TYPE_CHECKING:
    from api.documents.logs import Place
    from metadata_log.reader.log_reader import LogReader
    from replay.about import About
    from replay.image.metadata import MetadataImage


@contextmanager
def open_reader(log: Path | str) -> "Iterator[LogReader]":
    """Open a log for reading, without a lock: a directory, or the URL of an archive."""
    from metadata_log.reader.log_reader import LogReader

    with LogReader.open(log) as reader:
        yield reader


def offset_of(reader: "LogReader", point: str, *, is_first: bool = False) -> int:
    """Return the last offset applied at a point given on the command line.

    Args:
        is_first: Return the first offset of a range that begins at the point instead.
    """
    from api.questions.points import offset_at

    now_ms = time.time_ns() // 1_000_000
    read = absolute_in(reader, point, now_ms, is_first=is_first)
    return offset_at(reader, read, is_first=is_first)


def absolute_in(
    reader: "LogReader", point: str, now_ms: int, *, is_first: bool, is_live: bool = False
) -> str:
    """Return a point in absolute form, as an `Absolute`, and print a note about assumptions."""
    from api.questions.points import in_zone, is_written
    from replay.time_travel.points import age_in

    zone = zone_of(ZONE.get())
    read = in_zone(reader, point, now_ms, zone, is_first=is_first, is_live=is_live)
    if read != point:
        note_reading(point, read, is_counted_from_now=is_live or is_written(reader))
    age_ms = age_in(point)
    if age_ms is not None:
        _note_age(reader, point, now_ms, now_ms - age_ms)
    return read


def note_reading(point: str, read: str, *, is_counted_from_now: bool) -> None:
    """Print how a time without a zone or without a date was read."""
    from replay.time_travel.spoken_times import is_spoken

    zone = ZONE.get()
    ASSUMED_ZONE.set(zone)
    if not is_spoken(point):
        note(f"{point} has no time zone and was read as {zone}; see --time-zone")
        return
    reference = "now" if is_counted_from_now else "the log's end"
    note(f"{point} was read as {read}, counted from {reference} in {zone}; see --time-zone")


def _note_age(reader: "LogReader", point: str, now_ms: int, time_ms: int) -> None:
    """Print a note if the time that `point` gives as an age is after the log's end."""
    end_ms = reader.end_timestamp()
    if end_ms is not None and end_ms <= time_ms:
        note(
            f"{point} counts back from now, {time_text(now_ms)}; the log ended before that, at "
            f"{time_text(end_ms)}: to count back from its end write end-{point}"
        )


def image_at(reader: "LogReader", at: int) -> "MetadataImage":
    """Return the image as of an offset, with a progress bar."""
    from replay.timeline import Timeline

    with progress("replaying", reader.history_start, at + 1) as advance:
        return Timeline.of(reader).image(at, progress=advance)


def place_of(about: "About") -> "Place":
    """Return an answer's position in its log, with the time zone assumed for points without one."""
    from api.documents.logs import Place

    return Place.of(about, ASSUMED_ZONE.get())


def about(reader: "LogReader", at: int | None = None) -> "Place":
    """Return the position of an answer in its log.

    Args:
        at: The last offset that the answer takes into account; None: the log's last one.

    Raises:
        CorruptLogError: the log is damaged.
    """
    from api.questions.past import Past

    return place_of(Past(reader).about(reader.end_offset - 1 if at is None else at))


def log_about(log: Path) -> "Place":
    """Return the position of an answer about a log that was just written."""
    with open_reader(log) as reader:
        return about(reader)


def replayed(log: Path) -> None:
    """Check by replay that a log just imported contains no contradiction.

    Raises:
        ContradictionError: a record contradicts the state before it.
    """
    with open_reader(log) as reader:
        image_at(reader, reader.end_offset - 1)
