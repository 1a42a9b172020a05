"""Short functions that make records, batches, logs and images for tests."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import google_crc32c
import msgspec

from benchmarks.new_partition import new_partition
from metadata_log.format.batch import Batch, offsets_covered
from metadata_log.reader.position import Position
from records.base import Record, Uuid
from records.brokers import BrokerEndpoint, RegisterBrokerRecord
from records.envelope import Envelope, Kept
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.topics import NamespaceRecord, TopicRecord
from replay.image.metadata import MetadataImage
from replay.image.records import image_records, kept_of
from replay.loader import BaseState, Replayer


def uid(name: str) -> Uuid:
    """Return the id that tests use for a name."""
    return Uuid(hashlib.sha256(name.encode()).digest()[:16])


def topic(name: str, *, namespace: str | None = None, topic_id: str | None = None) -> TopicRecord:
    """Return the creation of a topic; its id is `uid(topic_id)`, else `uid(name)`."""
    namespace_id = None if namespace is None else uid(namespace)
    return TopicRecord(name=name, topic_id=uid(topic_id or name), namespace_id=namespace_id)


def namespace(name: str) -> NamespaceRecord:
    """Return the creation of a namespace; its id is `uid(name)`."""
    return NamespaceRecord(namespace_id=uid(name), name=name)


def partition(topic: str, partition_id: int, **fields: Any) -> PartitionRecord:
    """Return a partition of the topic with id `uid(topic)`; leader 1, replicas 1, 2 and 3."""
    record = new_partition(uid(topic), partition_id, (1, 2, 3))
    return msgspec.structs.replace(record, **fields)


def change(topic: str, partition_id: int, **fields: Any) -> PartitionChangeRecord:
    """Return a change of a partition of the topic with id `uid(topic)`."""
    return PartitionChangeRecord(topic_id=uid(topic), partition_id=partition_id, **fields)


def endpoint(name: str) -> BrokerEndpoint:
    """Return a broker endpoint with that listener name."""
    return BrokerEndpoint(name=name, host="localhost", port=9092, security_protocol=0)


def broker(broker_id: int, **fields: Any) -> RegisterBrokerRecord:
    """Return a registration with broker epoch 10, fenced."""
    defaults: dict[str, Any] = {
        "incarnation_id": uid(f"broker {broker_id}"),
        "broker_epoch": 10,
        "end_points": (endpoint("PLAINTEXT"),),
        "features": (),
        "rack": None,
    }
    return RegisterBrokerRecord(broker_id=broker_id, **(defaults | fields))


def batch(
    base_offset: int,
    *records: Record,
    leader_epoch: int = 1,
    timestamp: int | None = None,
    record_version: int = 0,
) -> Batch:
    """Return a batch; its default time is 1,000 ms times its offset."""
    rows, offset = [], base_offset
    for record in records:
        row = Envelope(
            offset=offset,
            leader_epoch=leader_epoch,
            timestamp=1_000 * base_offset if timestamp is None else timestamp,
            batch_offset=base_offset,
            record_version=record_version,
            payload=record,
        )
        rows.append(row)
        offset += offsets_covered(record)
    return Batch.of(rows)


def batches(*groups: Sequence[Record], base_offset: int = 0) -> list[Batch]:
    """Return consecutive batches."""
    made: list[Batch] = []
    for records in groups:
        made.append(batch(made[-1].end_offset if made else base_offset, *records))
    return made


def image_of(*records: Record) -> MetadataImage:
    """Return the image after one batch of records."""
    return image_after(batches(records) if records else [])


def image_after(
    log: Iterable[Batch], *, start: MetadataImage = MetadataImage.EMPTY
) -> MetadataImage:
    """Return the image after batches that follow `start`."""
    replayer = Replayer(start)
    for each in log:
        replayer.replay(each)
    return replayer.image()


@dataclass(frozen=True)
class Base:
    """A base state in memory."""

    end_offset: int
    records: tuple[Record, ...] = ()
    leader_epoch: int = 1
    timestamp: int = 1_000
    # Of each record; empty: none is known.
    kept: tuple[Kept | None, ...] = ()

    @classmethod
    def of(cls, image: MetadataImage) -> "Base":
        """Return the base of a log whose history starts after an image."""
        records = tuple(record for record, _ in image_records(image))
        where = image.provenance
        kept = tuple(kept_of(image, record) for record in records)
        return cls(where.next_offset, records, where.leader_epoch, where.timestamp, kept)

    def rows(self) -> Iterator[tuple[Envelope, ...]]:
        """Yield all records as one group."""
        if self.records:
            rows = batch(0, *self.records).rows
            kept = self.kept or (None,) * len(rows)
            yield tuple(
                msgspec.structs.replace(row, kept=each)
                for row, each in zip(rows, kept, strict=True)
            )


class BytesOf:
    """Encodes each batch once: tests need the bytes of a log's batches repeatedly."""

    def __init__(self, encode: Callable[[Batch], bytes]) -> None:
        self._encode = encode
        # By identity: comparing batches takes as long. Each is kept, so that no other gets its id.
        self._made: dict[int, tuple[Batch, bytes]] = {}

    def __call__(self, batch: Batch) -> bytes:
        if id(batch) not in self._made:
            self._made[id(batch)] = batch, self._encode(batch)
        return self._made[id(batch)][1]


def _printed(batch: Batch) -> bytes:
    return repr(batch).encode()


@dataclass(frozen=True)
class FakeLog:
    """A log in memory that implements `replay.loader.BatchSource`."""

    log: Sequence[Batch] = ()
    base: BaseState | None = None
    cluster_id: str = "test-cluster"
    printed: BytesOf = field(default_factory=lambda: BytesOf(_printed), repr=False, compare=False)

    @property
    def start_offset(self) -> int:
        """First offset of the batches."""
        return self.log[0].base_offset if self.log else self.history_start

    @property
    def history_start(self) -> int:
        """First offset whose image is available."""
        if self.base is not None:
            return self.base.end_offset
        return self.log[0].base_offset if self.log else 0

    @property
    def end_offset(self) -> int:
        """End offset of the batches."""
        return self.log[-1].end_offset if self.log else self.history_start

    @property
    def confirmed_end(self) -> int:
        """End offset of the confirmed part: that of the whole log."""
        return self.end_offset

    def position(self, end_offset: int) -> Position:
        """Return the position at an end offset, with a CRC chain of the batches like that of blocks
        on disk.
        """
        crc, leader_epoch = 0, 0 if self.base is None else self.base.leader_epoch
        for each in self.batches(0, end_offset):
            crc = google_crc32c.extend(crc, self.printed(each))
            leader_epoch = each.leader_epoch
        at_start = end_offset == self.history_start
        return Position(
            cluster_id=self.cluster_id,
            end_offset=end_offset,
            leader_epoch=leader_epoch,
            last_crc32c=None if at_start or self.base is not None else crc,
        )

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches with any offset of the range."""
        first = 0 if from_offset is None else from_offset
        last = self.end_offset if to_offset is None else to_offset
        for each in self.log:
            if each.end_offset > first and max(each.base_offset, first) < last:
                yield each
