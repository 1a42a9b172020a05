"""Small Kafka metadata logs to read and to damage."""

from collections.abc import Sequence
from pathlib import Path

from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import (
    LEADER_EPOCHS,
    PARTITION_DIRECTORY,
    checkpoint_name,
    segment_name,
)
from records.base import Record, Uuid
from records.control import (
    LeaderChangeMessage,
    LeaderChangeVoter,
    NoOpRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
)
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord

TOPIC_ID = Uuid(bytes(range(16)))
START_TIME_MS = 1_700_000_000_000


def leader_change(leader_id: int = 1, count: int = 3) -> LeaderChangeMessage:
    """The first record of an epoch, in a quorum of some voters."""
    ids = [(leader_id + n) % count if n else leader_id for n in range(count)]
    voters = tuple([LeaderChangeVoter(voter_id=voter_id) for voter_id in ids])
    return LeaderChangeMessage(
        version=0,
        leader_id=leader_id,
        voters=voters,
        granting_voters=voters[: count // 2 + 1],
    )


def topic(name: str = "topic") -> TopicRecord:
    """Return a topic with that name."""
    return TopicRecord(name=name, topic_id=TOPIC_ID)


def partition_change(partition_id: int = 0) -> PartitionChangeRecord:
    """Return a change of a partition's leader."""
    return PartitionChangeRecord(partition_id=partition_id, topic_id=TOPIC_ID, leader=2, isr=(2, 3))


def rows(
    base_offset: int, leader_epoch: int, *records: Record, timestamp: int | None = None
) -> list[Envelope]:
    """Return the rows of one batch, as they are read from a log in the usual form."""
    return [
        Envelope(
            offset=base_offset + index,
            leader_epoch=leader_epoch,
            timestamp=START_TIME_MS + base_offset if timestamp is None else timestamp,
            batch_offset=base_offset,
            record_version=0,
            payload=record,
        )
        for index, record in enumerate(records)
    ]


def batch(
    base_offset: int, leader_epoch: int, *records: Record, timestamp: int | None = None
) -> bytes:
    """The bytes of one batch."""
    return encode_batch(rows(base_offset, leader_epoch, *records, timestamp=timestamp))


def checkpoint(leader_epoch: int, *records: Record, timestamp: int = START_TIME_MS) -> list[bytes]:
    """The batches of a checkpoint with these data records."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp)
    count = len(records)
    batches = [batch(0, leader_epoch, header)]
    if records:
        batches.append(batch(1, leader_epoch, *records))
    return [*batches, batch(1 + count, leader_epoch, SnapshotFooterRecord(version=0))]


class LogFiles:
    """Writes the files of a node's directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.partition = directory / PARTITION_DIRECTORY
        self.partition.mkdir(parents=True)

    def segment(self, base_offset: int, *batches: bytes) -> Path:
        path = self.partition / segment_name(base_offset)
        path.write_bytes(b"".join(batches))
        return path

    def checkpoint(self, end_offset: int, leader_epoch: int, batches: Sequence[bytes]) -> Path:
        path = self.partition / checkpoint_name(end_offset, leader_epoch)
        path.write_bytes(b"".join(batches))
        return path

    def leader_epochs(self, starts: dict[int, int]) -> Path:
        """Write `leader-epoch-checkpoint`, from the start offset of each epoch."""
        path = self.partition / LEADER_EPOCHS
        lines = [f"{epoch} {start}" for epoch, start in starts.items()]
        path.write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
        return path


def two_segments(files: LogFiles, *, leader_epochs: bool) -> None:
    """Write a complete log of offsets 0 to 11 in two segments, and a checkpoint at 5.

    The numbers of the two epochs differ in one bit.
    """
    files.segment(
        0,
        batch(0, 1, leader_change()),
        batch(1, 1, topic(), partition_change(0), partition_change(1)),
        batch(4, 1, NoOpRecord()),
        batch(5, 3, leader_change(2)),
        batch(6, 3, partition_change(2)),
    )
    files.segment(
        7,
        batch(7, 3, partition_change(0), partition_change(1)),
        batch(9, 3, NoOpRecord()),
        batch(10, 3, NoOpRecord(), NoOpRecord()),
    )
    files.checkpoint(5, 1, checkpoint(1, topic(), partition_change(0)))
    if leader_epochs:
        files.leader_epochs({1: 0, 3: 5})
