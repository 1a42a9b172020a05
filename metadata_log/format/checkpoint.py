"""A checkpoint: the state below an offset as records, in one Avro file beside the segments.

It has the envelope and blocks of a segment. Offsets count from 0 within the file. The first row is
a SnapshotHeaderRecord, the last a SnapshotFooterRecord; without the footer the file is incomplete.
The file is written under a temporary name and renamed, so a partial file is never visible.

The header contains the CRC of the last block, and each block contains the CRC of the preceding
block. So the header proves the whole content. Whether the checkpoint belongs to the log is checked
in base.py.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.fs import ByteStore, Fs, missing_as_unavailable
from metadata_log.files.names import checkpoint_id, checkpoint_name
from metadata_log.format.block import BlockEncoder, StoredBlock
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import ScanStart, SegmentFile
from metadata_log.format.segment_scan import corrupt
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX
from records.base import Record
from records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from records.envelope import Envelope, Extra, Kept

# Kafka's number of records per append of a checkpoint.
_ROWS_PER_BLOCK = 1_024


class CheckpointRecord(msgspec.Struct, frozen=True, gc=False):
    """One record of a checkpoint to write.

    `extra` is the imported content that the record's own fields cannot hold. `kept` has the offsets
    of the records that created and last changed the record's object.
    """

    payload: Record
    record_version: int
    extra: Extra | None = None
    kept: Kept | None = None


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A complete checkpoint on disk.

    `end_offset` is exclusive: the state includes the effect of all offsets below it. `timestamp` is
    the append time of the last of these offsets, ms since 1970. `size` and `last_crc32c` identify
    the file's content.
    """

    fs: ByteStore
    path: Path
    header: SegmentHeader
    end_offset: int
    leader_epoch: int
    timestamp: int
    size: int
    last_crc32c: int

    def rows(self) -> Iterator[tuple[Envelope, ...]]:
        """Yield the rows of each block, without the header and footer records.

        Raises:
            CorruptLogError: the file is damaged or incomplete.
            UnavailableError: the file was removed meanwhile, because the log's start moved up.
        """
        return (rows for _, rows in self.sized_rows())

    def sized_rows(self) -> Iterator[tuple[int, tuple[Envelope, ...]]]:
        """Yield the stored size of each block in bytes, and its rows without header and footer
        records.

        Raises:
            CorruptLogError, UnavailableError: as `rows`.
        """
        for _, block, rows in _blocks(self.fs, self.path):
            yield (
                block.end_position - block.position,
                tuple(
                    row
                    for row in rows
                    if not isinstance(row.payload, SnapshotHeaderRecord | SnapshotFooterRecord)
                ),
            )


def open_checkpoint(fs: ByteStore, path: Path) -> Checkpoint:
    """Read and check all of a checkpoint, and return it.

    Raises:
        CorruptLogError: the file is damaged or incomplete.
        UnavailableError: the file was removed meanwhile, because the log's start moved up.
    """
    first: Envelope | None = None
    end: tuple[SegmentHeader, StoredBlock, tuple[Envelope, ...]] | None = None
    for end in _blocks(fs, path):
        first = first or end[2][0]
    if first is None or end is None:
        _, size = read_checkpoint_header(fs, path)
        raise corrupt(path, size, "the checkpoint ends after its header")
    header, block, rows = end
    if not isinstance(first.payload, SnapshotHeaderRecord):
        raise corrupt(path, 0, "the checkpoint does not begin with a SnapshotHeaderRecord")
    if not isinstance(rows[-1].payload, SnapshotFooterRecord):
        raise corrupt(
            path,
            block.end_position,
            "the checkpoint is incomplete: it has no SnapshotFooterRecord",
        )
    if header.last_crc32c not in (None, block.crc32c):
        raise corrupt(
            path,
            block.position,
            f"the last block has CRC 0x{block.crc32c:08x}, the header says "
            f"0x{header.last_crc32c:08x}",
        )
    return Checkpoint(
        fs=fs,
        path=path,
        header=header,
        end_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        timestamp=first.payload.last_contained_log_timestamp,
        size=block.end_position,
        last_crc32c=block.crc32c,
    )


def read_checkpoint_header(fs: ByteStore, path: Path) -> tuple[SegmentHeader, int]:
    """Return a checkpoint's header and the file's size, without reading its blocks.

    Raises:
        CorruptLogError: the header is damaged, or belongs to another checkpoint.
    """
    with SegmentFile.opened(fs, path) as checkpoint:
        return _checked(checkpoint).header, checkpoint.file.size()


def _checked(checkpoint: SegmentFile) -> SegmentFile:
    path, header = checkpoint.path, checkpoint.header
    if checkpoint_id(path.name) != (header.base_offset, header.leader_epoch):
        raise corrupt(path, 0, f"the header is that of checkpoint {header.base_offset}")
    return checkpoint


def _blocks(
    fs: ByteStore, path: Path
) -> Iterator[tuple[SegmentHeader, StoredBlock, tuple[Envelope, ...]]]:
    with missing_as_unavailable(path.parent):
        file = fs.open(path)
    try:
        checkpoint = _checked(SegmentFile.of(file, path))
        # Offsets count within the file, and no block stands before the first.
        start = ScanStart(checkpoint.first_position, 0, 0)
        for block in checkpoint.scan(file.size(), start).blocks():
            yield checkpoint.header, block.stored, block.rows
    finally:
        file.close()


def write_checkpoint(
    fs: Fs,
    directory: Path,
    records: Iterable[CheckpointRecord],
    *,
    cluster_id: str,
    end_offset: int,
    leader_epoch: int,
    timestamp: int,
    following: SegmentHeader | None = None,
    first_names: str = "",
) -> Checkpoint:
    """Write the state below `end_offset` as a checkpoint: write, fsync, rename.

    Args:
        following: Header of the segment that starts at `end_offset`; None if the log itself begins
            with this checkpoint, as an imported log can.
        first_names: As in `SegmentHeader`.
    """
    header = SegmentHeader(
        cluster_id=cluster_id,
        base_offset=end_offset,
        leader_epoch=leader_epoch,
        previous_length=following.previous_length if following else 0,
        previous_crc32c=following.previous_crc32c if following else 0,
        last_crc32c=0,
        first_names=first_names,
    )
    path = directory / checkpoint_name(end_offset, leader_epoch)
    part = path.with_suffix(".avro.part")
    file = fs.open(part, create=True)
    try:
        file.pwrite(header.encode(), 0)
        position = file.size()
        for stored in _encoded(records, header, timestamp):
            file.pwrite(stored, position)
            position += len(stored)
        last_crc32c = google_crc32c.value(stored)
        file.pwrite(msgspec.structs.replace(header, last_crc32c=last_crc32c).encode(), 0)
        file.sync()
    finally:
        file.close()
    fs.rename(part, path)
    fs.sync_directory(directory)
    return open_checkpoint(fs, path)


def _encoded(
    records: Iterable[CheckpointRecord], header: SegmentHeader, timestamp: int
) -> Iterator[bytes]:
    encoder = BlockEncoder(BLOCK_DECODED_BYTES_MAX)
    source = iter(_with_ends(records, timestamp))
    offset, crc = 0, 0
    while group := list(islice(source, _ROWS_PER_BLOCK)):
        rows = [
            Envelope(
                offset=offset + index,
                leader_epoch=header.leader_epoch,
                timestamp=timestamp,
                batch_offset=offset,
                record_version=record.record_version,
                previous_crc32c=crc if index == 0 and offset else None,
                extra=record.extra,
                kept=record.kept,
                payload=record.payload,
            )
            for index, record in enumerate(group)
        ]
        stored = encoder.encode(rows, header.sync_marker)
        crc = google_crc32c.value(stored)
        offset += len(rows)
        yield stored


def _with_ends(records: Iterable[CheckpointRecord], timestamp: int) -> Iterator[CheckpointRecord]:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp)
    yield CheckpointRecord(header, 0)
    yield from records
    yield CheckpointRecord(SnapshotFooterRecord(version=0), 0)
