"""Errors about ranges in an earlier part of a recording, for what reads one part."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from metadata_log.files.fs import ByteStore
from metadata_log.format.manifest import Kind
from metadata_log.format.parts import earlier_parts
from records.errors import UnknownHistoryError
from replay.audit.queries.asking import Range


class KeptHistory(Protocol):
    """The bounds of a log, or of all parts of a recording; as of `LogReader`."""

    @property
    def fs(self) -> ByteStore: ...
    @property
    def local_directory(self) -> Path | None: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def history_start(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def confirmed_end(self) -> int: ...
    def first_offset_at(self, timestamp: int, /) -> int: ...
    def last_offset_at(self, timestamp: int, /) -> int: ...


def where_it_is(reader: KeptHistory) -> str:
    """Return a suffix for errors that names a recording's earlier part; "" if there is none."""
    directory = reader.local_directory
    parts = () if directory is None else earlier_parts(reader.fs, directory)
    if directory is None or not parts:
        return ""
    folder, gap = directory.resolve().with_name(parts[-1].folder), parts[-1].gap
    return (
        f"; offsets {gap.from_offset} to {gap.to_offset - 1} were not recorded, and what was "
        f"recorded before is in {folder}; name that folder"
    )


def check_in_part(reader: KeptHistory, offsets: Range) -> Range:
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
def naming_earlier_part(reader: KeptHistory) -> Iterator[None]:
    """Add the folder of the earlier part to an UnknownHistoryError raised in the `with` block."""
    try:
        yield
    except UnknownHistoryError as error:
        where = where_it_is(reader)
        if not where:
            raise
        raise UnknownHistoryError(f"{error}{where}") from error
