"""Small mirrors: one record a batch, whose time is its offset."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.fs import Fs
from metadata_log.log_reader import LogReader
from metadata_log.mirror import MirrorBuilder
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
    """A row whose record names its offset and epoch."""
    level = FeatureLevelRecord(name=f"feature-{epoch}", feature_level=offset % 1_000)
    return row(offset, level, epoch=epoch)


def run_row(offset: int, *, count: int, last_timestamp: int, epoch: int = 3) -> Envelope:
    """A run of NoOps, each a batch of its own."""
    run = NoOpRunRecord(count=count, batch_count=count, last_timestamp=last_timestamp)
    return row(offset, run, epoch=epoch)


def new_mirror(
    directory: Path,
    rows: Sequence[tuple[Envelope, int]],
    confirmed_end: int = 0,
    *,
    fs: Fs | None = None,
) -> Path:
    """Build a mirror of batches of one row, given with their end offsets."""
    with MirrorBuilder(directory, "kafka-cluster", fs=fs) as builder:
        for first, end in rows:
            builder.append([first], end)
        builder.finish(confirmed_end)
    return directory


def rows_of(reader: LogReader) -> list[Envelope]:
    """Return all rows, without what the log adds to the first of a block."""
    return [
        msgspec.structs.replace(row, previous_crc32c=None, durable_end=None)
        for batch in reader.batches()
        for row in batch.rows
    ]
