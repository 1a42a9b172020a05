"""Checking the filter of a segment while the segment's blocks are read."""

from pathlib import Path

import google_crc32c

from metadata_log.files.fs import ByteStore, ReadableFile
from metadata_log.files.names import filter_name
from metadata_log.format.block import ReadBlock
from metadata_log.format.block_filter import BlockRun, read_filter
from metadata_log.format.record_tokens import tokens_of, types_of
from records.base import Record


class FilterCheck:
    """Compares the entries of a filter with the blocks as they are read.

    An entry that does not fit the bytes of its blocks is no problem: readers ignore it.
    """

    def __init__(self, fs: ByteStore, directory: Path, base: int, file: ReadableFile) -> None:
        self._name = filter_name(base)
        self._filter = read_filter(fs, directory, base)
        self._file = file
        self._run: BlockRun | None = None
        self._records: list[Record] = []
        self.problem: tuple[str, str] | None = None
        """The name of the file and a description of its first wrong entry; None without one."""

    def see(self, block: ReadBlock) -> None:
        """Compare the entry that ends with a block that was just read, if there is one."""
        starting = self._filter.at(block.position)
        if starting is not None:
            self._run, self._records = starting, []
        run = self._run
        if run is None:
            return
        self._records += [row.payload for row in block.rows]
        if block.end_position >= run.end_position:
            self._run = None
            if self._is_of_these_bytes(run) and not self._says(run, block):
                self.problem = self.problem or (
                    self._name,
                    f"the entry of the blocks at bytes {run.position} to {run.end_position} hides "
                    "their records",
                )

    def _is_of_these_bytes(self, run: BlockRun) -> bool:
        content = self._file.pread(run.end_position - run.position, run.position)
        crc32c: int = google_crc32c.value(content)
        return crc32c == run.content_crc32c

    def _says(self, run: BlockRun, last: ReadBlock) -> bool:
        return (
            run.types == types_of(self._records)
            and run.tokens == tokens_of(self._records)
            and (run.last_position, run.end_position) == (last.position, last.end_position)
            and (run.last_base_offset, run.end_offset) == (last.base_offset, last.end_offset)
            and run.last_crc32c == last.crc32c
        )
