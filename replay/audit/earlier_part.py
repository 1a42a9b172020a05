"""Errors about ranges in an earlier part of a recording, which an audit does not read."""

from collections.abc import Iterator
from contextlib import contextmanager

from metadata_log.format.parts import earlier_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.audit.queries.asking import Range


def where_it_is(reader: LogReader) -> str:
    """Return a text that names the part before a log's gap, to follow an error; "" without one."""
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
    """Return a range, after checking that no earlier part of the recording has a part of it.

    Raises:
        UnknownHistoryError: it begins or ends in an earlier part, or in the gap before this one;
            names the part.
    """
    start = min(reader.start_offset, reader.history_start)
    unknown = next((each for each in (offsets.first, offsets.last + 1) if each < start), None)
    if unknown is not None and (where := where_it_is(reader)):
        raise UnknownHistoryError(f"offset {unknown} is not kept: history starts at {start}{where}")
    return offsets


@contextmanager
def naming_earlier_part(reader: LogReader) -> Iterator[None]:
    """Let errors about unknown history, raised in the body, name the earlier part."""
    try:
        yield
    except UnknownHistoryError as error:
        where = where_it_is(reader)
        if not where:
            raise
        raise UnknownHistoryError(f"{error}{where}") from error
