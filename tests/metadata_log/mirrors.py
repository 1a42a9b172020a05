"""Small mirrors with one record per batch, whose timestamp is its offset."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.files.file_publish import SoleOwner
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import offsets_covered
from metadata_log.format.manifest import Kind, Manifest, write_manifest
from metadata_log.format.tail import EMPTY_TAIL
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log_writer import LogWriter, create_mark
from metadata_log.writer.mirror import MirrorBuilder
from records.base import Record
from records.configs import FeatureLevelRecord
from records.control import NoOpRunRecord
from records.envelope import Envelope


def row(offset: int, payload: Record, *, epoch: int = 3, timestamp: int | None = None) -> Envelope:
    """The only row of a batch."""
    return Envelope(
        offset=offset,
        leader_epoch=epoch,
        timestamp=offset if timestamp is None else timestamp,
        batch_offset=offset,
        record_version=0,
        payload=payload,
    )


def level_row(offset: int, epoch: int = 3) -> Envelope:
    """Return a row whose record contains its offset and epoch."""
    level = FeatureLevelRecord(name=f"feature-{epoch}", feature_level=offset % 1_000)
    return row(offset, level, epoch=epoch)


def run_row(offset: int, *, count: int, last_timestamp: int, epoch: int = 3) -> Envelope:
    """Return the row of a run of NoOps, each of which was a batch of its own."""
    run = NoOpRunRecord(count=count, batch_count=count, last_timestamp=last_timestamp)
    return row(offset, run, epoch=epoch)


def new_mirror(
    directory: Path,
    rows: Sequence[tuple[Envelope, int]],
    confirmed_end: int = 0,
    *,
    fs: Fs | None = None,
) -> Path:
    """Build a mirror of batches of one row, each given with its end offset."""
    with MirrorBuilder(directory, "kafka-cluster", fs=fs) as builder:
        for first, end in rows:
            builder.append([first], end)
        builder.finish(confirmed_end)
    return directory


def mirror_of_blocks(
    log: Path, blocks: Sequence[Sequence[Envelope]], *, holds_batches: bool
) -> Path:
    """Write a mirror of one segment with the given blocks, valid or not, from offset 0 on.

    Args:
        holds_batches: False writes a segment of an earlier release, whose blocks hold one batch
            each.
    """
    log.mkdir()
    fs = OsFs()
    create_mark(fs, log)
    writer = LogWriter(
        fs, log, "kafka-cluster", EMPTY_TAIL, SoleOwner(), holds_batches=holds_batches
    )
    writer.start_segment(1)
    for block in blocks:
        writer.add_block(list(block), block[-1].offset + offsets_covered(block[-1].payload))
    writer.confirmed_end = 0
    writer.close()
    write_manifest(fs, log, Manifest(cluster_id="kafka-cluster", kind=Kind.MIRROR))
    return log


def rows_of(reader: LogReader) -> list[Envelope]:
    """Return all rows, without the fields that the log adds to the first row of a block."""
    return [
        msgspec.structs.replace(row, previous_crc32c=None, durable_end=None)
        for batch in reader.batches()
        for row in batch.rows
    ]
