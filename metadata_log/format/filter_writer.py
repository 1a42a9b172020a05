"""Writes the filter of the active segment."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import google_crc32c

from metadata_log.files.fs import Fs
from metadata_log.files.names import filter_name
from metadata_log.format.block_filter import MAGIC, BlockRun
from metadata_log.format.derived_file import DerivedFile
from metadata_log.format.record_tokens import tokens_of, types_of
from metadata_log.format.tail import Tail
from metadata_log.limits import FILTER_INTERVAL_BYTES
from records.base import Record


class _GrowingRun:
    """A run to which blocks are added."""

    def __init__(self, before: Tail) -> None:
        self._start = self._before_last = self._end = before
        self._records: list[Sequence[Record]] = []
        self._stored: list[bytes] = []

    @property
    def size(self) -> int:
        return self._end.position - self._start.position

    def add(self, records: Sequence[Record], stored: bytes, after: Tail) -> None:
        self._records.append(records)
        self._stored.append(stored)
        self._before_last, self._end = self._end, after

    def ended(self) -> BlockRun:
        records = [*itertools.chain.from_iterable(self._records)]
        return BlockRun(
            position=self._start.position,
            end_position=self._end.position,
            base_offset=self._start.end_offset,
            end_offset=self._end.end_offset,
            last_position=self._before_last.position,
            last_base_offset=self._before_last.end_offset,
            previous_crc32c=self._start.last_crc32c,
            last_crc32c=self._end.last_crc32c,
            content_crc32c=google_crc32c.value(b"".join(self._stored)),
            types=types_of(records),
            tokens=tokens_of(records),
        )


class FilterWriter:
    """Appends entries to the filter of the active segment, of committed blocks only."""

    def __init__(
        self, fs: Fs, directory: Path, base_offset: int, kept: Sequence[BlockRun] = ()
    ) -> None:
        """Start the filter of a segment.

        Args:
            kept: The entries of the committed blocks, if a segment is continued.
        """
        path = directory / filter_name(base_offset)
        self._file = DerivedFile(fs, path, (run.encode() for run in kept), start=MAGIC)
        self._growing: _GrowingRun | None = None

    def add(self, records: Sequence[Record], stored: bytes, before: Tail, after: Tail) -> None:
        """Add a block; the log's tail was `before` it and is `after` it."""
        growing = self._growing = self._growing or _GrowingRun(before)
        growing.add(records, stored, after)
        if growing.size >= FILTER_INTERVAL_BYTES:
            self._file.add(growing.ended().encode())
            self._growing = None

    def commit(self) -> None:
        """Write the complete entries: their blocks are now committed."""
        self._file.commit()

    def forget(self) -> None:
        """Drop what was added and is not written: some of its blocks were rolled back."""
        self._file.forget()
        self._growing = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
