"""The committed files of a log: exactly the files that a copy must contain."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore
from metadata_log.files.names import claimed_epoch, segment_offset
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import SegmentFile
from metadata_log.format.segment_scan import SegmentScan, corrupt
from metadata_log.reader.log_reader import LogReader


class CommittedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A segment of which only the first `size` bytes are committed."""

    fs: ByteStore
    path: Path
    size: int
    header: SegmentHeader

    @property
    def base_offset(self) -> int:
        """Offset of the segment's first record."""
        return self.header.base_offset

    @contextmanager
    def scan(self) -> Iterator[SegmentScan]:
        """Open the file, ready to read its first block."""
        with SegmentFile.opened(self.fs, self.path) as segment:
            yield segment.scan(self.size)


def committed_segments(fs: ByteStore, reader: LogReader) -> list[CommittedSegment]:
    """Return the segments of a log up to the reader's mark, ascending.

    Raises:
        CorruptLogError: a header is damaged, or a file is shorter than the next header requires.
        UnavailableError: the log's start moved up meanwhile.
    """
    paths = reader.segment_paths
    headers = [reader.header(path) for path in paths]
    # The next header names the length of a sealed file; for the last one the mark does.
    sizes = [header.previous_length for header in headers[1:]] + [reader.mark.position]
    segments = []
    for path, header, size in zip(paths, headers, sizes, strict=True):
        if segment_offset(path.name) != header.base_offset:
            raise corrupt(path, 0, f"the header is that of offset {header.base_offset}")
        segments.append(CommittedSegment(fs=fs, path=path, size=size, header=header))
    return segments


def highest_epoch(fs: ByteStore, reader: LogReader) -> int:
    """Return the highest leader epoch in a log's mark and claims."""
    claims = (claimed_epoch(name) for name in fs.list(reader.directory))
    return max([reader.mark.leader_epoch, *(epoch for epoch in claims if epoch is not None)])
