"""Opening a log to answer a question, and what every answer says about where it comes from."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metadata_log.log_reader import LogReader
    from replay.image.metadata import MetadataImage


@contextmanager
def open_reader(log: Path) -> "Iterator[LogReader]":
    """Open a log directory for reading, without a lock."""
    from metadata_log.log_reader import LogReader

    with LogReader.open(log) as reader:
        yield reader


def offset_of(reader: "LogReader", point: str) -> int:
    """Return the last offset applied at a point of the command line."""
    from replay.time_travel.points import resolve_point

    return resolve_point(reader, point, time.time_ns() // 1_000_000)


def first_offset_of(reader: "LogReader", point: str) -> int:
    """Return the first offset of a range that begins at a point, inclusive.

    `start`, and a time before all records, stand for the first record.

    Raises:
        UnknownHistoryError: the point lies before the kept history.
    """
    from records.errors import UnknownHistoryError

    offset = offset_of(reader, point)
    if point == "start" or offset == reader.start_offset - 1:
        return reader.start_offset
    if offset < reader.start_offset:
        raise UnknownHistoryError(
            f"offset {offset} is not kept: history starts at {reader.start_offset}"
        )
    return offset


def image_at(reader: "LogReader", at: int) -> "MetadataImage":
    """Replay the log to an offset, with a progress bar."""
    from api.cli.output import progress
    from replay.loader import load_image

    with progress("replaying", reader.history_start, at + 1) as advance:
        return load_image(reader, at, progress=advance)


def bounds(reader: "LogReader") -> dict[str, Any]:
    """Return what every answer says of the log."""
    return {"history_start": reader.history_start, "log_end": reader.end_offset}


def provenance(reader: "LogReader", image: "MetadataImage", at: int) -> dict[str, Any]:
    """Return what every answer about an image says: the point asked for, and what it holds."""
    found = image.provenance
    document: dict[str, Any] = {"as_of": at, **bounds(reader)}
    document["as_of_timestamp"] = found.timestamp if found.offset is not None else None
    if reader.confirmed_end < reader.end_offset:
        document["confirmed_end"] = reader.confirmed_end
    if found.mid_batch:
        document["mid_batch"] = True
    if found.pending_transaction is not None:
        document["pending_transaction"] = found.pending_transaction
    return document
