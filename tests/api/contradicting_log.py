"""A log as Kafka writes it, in which some records contradict the state before them."""

from pathlib import Path

from benchmarks.new_partition import new_partition
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import PARTITION_DIRECTORY, segment_name
from records.base import Record, Uuid
from records.brokers import FenceBrokerRecord, RegisterBrokerRecord, UnfenceBrokerRecord
from records.configs import ConfigRecord
from records.partitions import PartitionChangeRecord
from records.topics import RemoveTopicRecord, TopicRecord
from tests.metadata_log.kraft.logs import leader_change, rows

ORDERS, GONE = Uuid(b"orders" + bytes(10)), Uuid(b"gone" + bytes(12))


def _broker(broker_id: int, broker_epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=Uuid(bytes([broker_id] * 16)),
        broker_epoch=broker_epoch,
        end_points=(),
        features=(),
        rack=None,
    )


def _retention(hours: int) -> ConfigRecord:
    return ConfigRecord(
        resource_type=2, resource_name="orders", name="retention.ms", value=str(hours * 3_600_000)
    )


BATCHES: tuple[tuple[Record, ...], ...] = (
    (leader_change(),),
    (_broker(1, 1), _broker(2, 2)),
    (UnfenceBrokerRecord(id=1, epoch=1), UnfenceBrokerRecord(id=2, epoch=2)),
    (TopicRecord(name="orders", topic_id=ORDERS), new_partition(ORDERS, 0, (1, 2)), _retention(1)),
    (TopicRecord(name="gone", topic_id=GONE), new_partition(GONE, 0, (1, 2))),
    (RemoveTopicRecord(topic_id=GONE),),
    (_retention(2), FenceBrokerRecord(id=2, epoch=1)),  # 11, 12: the epoch is one too low
    (PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2),),
    (PartitionChangeRecord(partition_id=0, topic_id=GONE, leader=2),),  # 14: not there any more
    (_retention(3), UnfenceBrokerRecord(id=1, epoch=1)),
)
WRONG_EPOCH, REGISTERED, NOT_THERE, REMOVED, END = 12, 2, 14, 10, 17


def write_kraft_log(folder: Path) -> Path:
    """Write the log to a directory in Kafka's format; return the directory."""
    directory = folder / PARTITION_DIRECTORY
    directory.mkdir(parents=True)
    content, offset = b"", 0
    for records in BATCHES:
        content += encode_batch(rows(offset, 1, *records))
        offset += len(records)
    assert offset == END
    (directory / segment_name(0)).write_bytes(content)
    return directory
