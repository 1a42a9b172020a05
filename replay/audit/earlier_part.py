"""Errors about ranges in an earlier part of a recording, which an audit does not read."""

from collections.abc import Iterator
from contextlib import contextmanager

from metadata_log.format.parts import earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.audit.queries.asking import Range


def where_it_is(reader: LogReader) -> str:
    """Return a suffix for errors that names a recording's earlier part; "" if there is none."""
    directory = reader.local_directory
    parts = () if directory is None else earlier_parts(reader.fs, directory)
    if directory is None or not parts:
        return ""
    folder, gap = directory.resolve().with_name(parts[-1].folder), parts[-1].gap
    return (
        f"; offsets {gap.from_offset} to {gap.to_offset - 1} were not recorded, and what was "
        f"recorded before is in {folder}; name that folder, because an audit reads one part"
    )


def check_in_part(reader: LogReader, offsets: Range) -> Range:
    """Check that a range is not in an earlier part of the recording; return the range.

    Raises:
        UnknownHistoryError: the range begins or ends in an earlier part, or in the gap before this
            part; names the earlier part.
    """
    start = min(reader.start_offset, reader.history_start)
    unknown = next((each for each in (offsets.first, offsets.last + 1) if each < start), None)
    if unknown is not None and (where := where_it_is(reader)):
        raise UnknownHistoryError(f"offset {unknown} is not kept: history starts at {start}{where}")
    return offsets


@contextmanager
def naming_earlier_part(reader: LogReader) -> Iterator[None]:
    """Add the folder of the earlier part to an UnknownHistoryError raised in the `with` block."""
    try:
        yield
    except UnknownHistoryError as error:
        where = where_it_is(reader)
        if not where:
            raise
        raise UnknownHistoryError(f"{error}{where}") from error
