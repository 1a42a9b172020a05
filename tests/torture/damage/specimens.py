"""The logs that are damaged: small ones with one of everything, and a large one to sample.

Each is written by the real writer on the real disk, and then held in memory with its expected
content.
"""

import asyncio
import functools
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec

from metadata_log.files.names import COMMIT_MARK
from metadata_log.format import checkpoint, filter_writer, index_writer
from metadata_log.format.batch import Batch, NewBatch
from metadata_log.format.block import block_size
from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.format.commit_mark import SLOT_SPACING, decode_slot
from metadata_log.format.segment import decode_header
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from records.avro.schema import envelope_schema_json
from records.base import Record, Uuid
from records.configs import ConfigRecord, FeatureLevelRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRunRecord,
)
from records.envelope import Envelope, Origin
from records.partitions import PartitionChangeRecord
from records.topics import RemoveTopicRecord, TopicRecord
from records.varint import decode_long
from replay.care.retain import retain
from tests.metadata_log.conftest import StepClock

_CLUSTER = "AAECAwQFBgcICQoLDA0ODw"
_OTHER_CLUSTER = "AQECAwQFBgcICQoLDA0ODw"
# The header, which is mostly the schema, and a few blocks.
_SEGMENT_SIZE = len(envelope_schema_json()) + 683
_ORIGIN = Origin(principal="User:ada", command="topics create", reason="spring")


class Span(msgspec.Struct, frozen=True):
    """A header, a block, or the end of a file: bytes from `start` to `end`, and the first offset
    there.
    """

    start: int
    end: int
    base_offset: int


class Specimen(msgspec.Struct, frozen=True, kw_only=True):
    """A log, and its expected content.

    Attributes:
        files: Content of the files by name.
        batches: The batches that a reader must find.
        base: The rows of the base checkpoint; None if there is none.
        spans: Header, blocks and end of each segment and checkpoint.
        older_marks: Earlier contents of `commit.mark`, each with the end offset in it; ascending.
        is_own: True if a writer can open the log.
    """

    files: dict[str, bytes]
    batches: tuple[Batch, ...]
    base: tuple[Envelope, ...] | None
    spans: dict[str, tuple[Span, ...]]
    older_marks: tuple[tuple[bytes, int], ...]
    is_own: bool

    @property
    def end_offset(self) -> int:
        """End offset of the log, exclusive."""
        return self.batches[-1].end_offset


@functools.cache
def open_log() -> Specimen:
    """Return an own log with a running writer: two epochs, a roll, a tail up to the mark."""
    return _own(close=False)


@functools.cache
def closed_log() -> Specimen:
    """Return the same log, closed cleanly."""
    return _own(close=True)


@functools.cache
def other_log() -> Specimen:
    """Return a log of the same cluster and offsets with other records."""
    return _own(close=False, salt=1)


@functools.cache
def mirror() -> Specimen:
    """Return a mirror with a base checkpoint of some blocks, and times that go back."""
    return _mirror(1)


@functools.cache
def mirror_namesake() -> Specimen:
    """Return a mirror of the same cluster, offsets and epochs with other records."""
    return _mirror(20)


def _mirror(first: int) -> Specimen:
    with tempfile.TemporaryDirectory() as folder, patch.object(checkpoint, "_ROWS_PER_BLOCK", 5):
        directory = Path(folder) / "log"
        with MirrorBuilder(directory, _CLUSTER) as builder:
            builder.write_base(
                [CheckpointRecord(_level(n), 0) for n in range(first, first + 18)],
                end_offset=7,
                leader_epoch=2,
                timestamp=450,
            )
            run = NoOpRunRecord(count=5, batch_count=5, last_timestamp=480)
            for rows, end in (
                (_rows(7, 3, 500, [_level(first), _level(first + 1)]), 9),
                (_rows(9, 3, 460, [run]), 14),
                (_rows(14, 5, 470, [_level(first + 2)]), 15),
                (_rows(15, 5, 510, [_level(4), _level(5), _level(6)]), 18),
            ):
                builder.append(rows, end)
            builder.finish(confirmed_end=14)
        return _held(directory, ())


@functools.cache
def retained() -> Specimen:
    """Return an own log that starts at a base checkpoint, in its third epoch of four."""
    return asyncio.run(_write_retained(_CLUSTER, (0, 0, 0, 0)))


@functools.cache
def retained_fork() -> Specimen:
    """Return the same log as it would be if another writer had continued it after the first
    epoch.
    """
    return asyncio.run(_write_retained(_CLUSTER, (0, 1, 1, 1)))


@functools.cache
def retained_namesake() -> Specimen:
    """Return a log that has only the cluster id, offsets and epochs in common with it."""
    return asyncio.run(_write_retained(_CLUSTER, (1, 1, 1, 1)))


@functools.cache
def retained_stranger() -> Specimen:
    """Return another cluster's log with the same offsets and epochs."""
    return asyncio.run(_write_retained(_OTHER_CLUSTER, (1, 1, 1, 1)))


@functools.cache
def large_log() -> Specimen:
    """Return an own log of about 20 MB in three segments, most of it incompressible."""
    return asyncio.run(_large())


def _own(*, close: bool, salt: int = 0) -> Specimen:
    return asyncio.run(_write_own(close, salt))


async def _write_own(close: bool, salt: int) -> Specimen:
    with tempfile.TemporaryDirectory() as folder, _entry_every(150):
        directory = Path(folder) / "log"
        create_log(directory, _CLUSTER)
        clock, marks = StepClock(), _Marks(directory)
        first, second = _first_epoch(salt), _second_epoch(salt)
        log = await MetadataLog.open(directory, clock=clock, segment_size_bytes_max=_SEGMENT_SIZE)
        for batch in first:
            marks.note()
            await log.append(batch)
        await log.close()
        log = await MetadataLog.open(directory, clock=clock, segment_size_bytes_max=_SEGMENT_SIZE)
        for batch in second:
            marks.note()
            await log.append(batch)
        if close:
            marks.note()
            await log.close()
            return _held(directory, marks.older())
        held = _held(directory, marks.older())
        await log.close()
        return held


async def _write_retained(cluster_id: str, salts: Sequence[int]) -> Specimen:
    """Write an epoch for each salt, and make the log start at the third."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _entry_every(150),
        patch.object(checkpoint, "_ROWS_PER_BLOCK", 5),
    ):
        directory = Path(folder) / "log"
        create_log(directory, cluster_id)
        clock, marks = StepClock(), _Marks(directory)
        for epoch, salt in enumerate(salts, 1):
            log = await MetadataLog.open(directory, clock=clock)
            if epoch == 3:
                start = log.end_offset - 1
            for batch in _small_epoch(epoch, salt):
                marks.note()
                await log.append(batch)
            await log.close()
        retain(directory, start, check_dropped=lambda dropped: None)
        return _held(directory, tuple(m for m in marks.older() if m[1] >= start))


def _small_epoch(epoch: int, salt: int) -> Iterator[NewBatch]:
    first = 100 * epoch + 10 * salt
    yield NewBatch(records=(_topic(first), _topic(first + 1)), origin=_ORIGIN)
    yield NewBatch(records=(_config("retention.ms", first),))
    yield NewBatch(records=tuple(_topic(first + n) for n in range(2, 5)))


async def _large() -> Specimen:
    rng = random.Random(20_261_121)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "log"
        create_log(directory, _CLUSTER)
        log = await MetadataLog.open(directory, clock=StepClock(), segment_size_bytes_max=7_000_000)
        for _ in range(9):
            batches = [_large_batch(rng) for _ in range(220)]
            await asyncio.gather(*(log.append(batch) for batch in batches))
        await log.close()
        return _held(directory, ())


def _large_batch(rng: random.Random) -> NewBatch:
    records = [
        TopicRecord(name=rng.randbytes(600).hex(), topic_id=Uuid(rng.randbytes(16)))
        for _ in range(rng.randrange(1, 30))
    ]
    return NewBatch(records=tuple(records), origin=_ORIGIN)


class _Marks:
    """Records the contents of the commit mark's file."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / COMMIT_MARK
        self._seen: dict[bytes, int] = {}

    def note(self) -> None:
        data = self._path.read_bytes()
        self._seen.setdefault(data, _marked_end(data))

    def older(self) -> tuple[tuple[bytes, int], ...]:
        newest = self._path.read_bytes()
        return tuple((data, end) for data, end in self._seen.items() if data != newest)


def _marked_end(data: bytes) -> int:
    slots = [decode_slot(data[at : at + 64]) for at in (0, SLOT_SPACING)]
    return max((slot.sequence, slot.end_offset) for slot in slots if slot)[1]


def _first_epoch(salt: int) -> Iterator[NewBatch]:
    yield NewBatch(records=(_topic(1 + salt), _topic(2)), origin=_ORIGIN)
    yield NewBatch(records=(BeginTransactionRecord(name="grow"),))
    yield NewBatch(records=(_change(1 + salt, 2), _change(1, 3), _config("retention.ms", salt)))
    yield NewBatch(records=(EndTransactionRecord(),), origin=_ORIGIN)
    yield NewBatch(records=tuple(_topic(n + salt) for n in range(10, 16)))
    yield NewBatch(records=(_config("cleanup.policy", salt),))


def _second_epoch(salt: int) -> Iterator[NewBatch]:
    yield NewBatch(records=(BeginTransactionRecord(name=None), _topic(30 + salt)))
    yield NewBatch(records=(AbortTransactionRecord(reason="no"),))
    yield NewBatch(records=(RemoveTopicRecord(topic_id=_topic(2 + salt).topic_id),), origin=_ORIGIN)
    yield NewBatch(records=(_topic(31), _change(31 + salt, 4)))


def _topic(n: int) -> TopicRecord:
    return TopicRecord(name=f"topic-{n}", topic_id=Uuid(n.to_bytes(16, "big")))


def _change(n: int, leader: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(
        partition_id=0, topic_id=_topic(n).topic_id, leader=leader, isr=(leader, 7)
    )


def _config(name: str, value: int) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name="topic-1", name=name, value=f"v{value}")


def _level(n: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=n)


def _rows(base: int, epoch: int, timestamp: int, payloads: Sequence[Record]) -> list[Envelope]:
    return [
        Envelope(
            offset=base + index,
            leader_epoch=epoch,
            timestamp=timestamp,
            batch_offset=base,
            record_version=0,
            payload=payload,
        )
        for index, payload in enumerate(payloads)
    ]


@contextmanager
def _entry_every(size_bytes: int) -> Iterator[None]:
    """Make the indexes and filters of a small log have several entries, while it is written."""
    with (
        patch.object(index_writer, "INDEX_INTERVAL_BYTES", size_bytes),
        patch.object(filter_writer, "FILTER_INTERVAL_BYTES", size_bytes),
    ):
        yield


def _held(directory: Path, older_marks: tuple[tuple[bytes, int], ...]) -> Specimen:
    files = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    with LogReader.open(directory) as reader:
        batches = tuple(reader.batches())
        base = reader.base
        base_rows = None if base is None else tuple(row for rows in base.rows() for row in rows)
        is_own = reader.kind == "own"
    return Specimen(
        files={name: data for name, data in files.items() if not name.endswith(".lock")},
        batches=batches,
        base=base_rows,
        spans={
            name: _spans(name, files[name], batches) for name in files if name.endswith(".avro")
        },
        older_marks=older_marks,
        is_own=is_own,
    )


def _spans(name: str, data: bytes, batches: tuple[Batch, ...]) -> tuple[Span, ...]:
    header, end = decode_header(data)
    is_checkpoint = name.endswith(".checkpoint.avro")
    # The rows of a checkpoint count from 0.
    offset = 0 if is_checkpoint else header.base_offset
    ends = {batch.base_offset: batch.end_offset for batch in batches}
    spans = [Span(0, end, offset)]
    while end < len(data):
        count, _ = decode_long(data, end)
        size = block_size(data, end)
        assert size is not None
        spans.append(Span(end, end + size, offset))
        end += size
        offset = offset + count if is_checkpoint else ends[offset]
    return (*spans, Span(end, end, offset))
