"""Conversion of an image to records, in the order of a checkpoint, and back."""

from records.base import Record
from records.brokers import RegisterBrokerRecord, RegisterControllerRecord
from records.configs import (
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from records.control import NoteRecord
from records.partitions import (
    DeleteTopicPartitionsRecord,
    PartitionRecord,
    ReplicaDeletionRecord,
)
from records.registry import newest_version
from replay.image.metadata import MetadataImage
from replay.image.records import image_records
from tests.replay.builders import (
    batch,
    broker,
    change,
    image_after,
    image_of,
    namespace,
    partition,
    topic,
    uid,
)


def _records(image: MetadataImage) -> list[Record]:
    return [record for record, _ in image_records(image)]


def test_empty_image_has_no_records() -> None:
    assert _records(MetadataImage.EMPTY) == []


def test_records_come_in_the_order_of_a_checkpoint() -> None:
    expected: list[Record] = [
        FeatureLevelRecord(name="metadata.version", feature_level=20),
        FeatureLevelRecord(name="a.version", feature_level=1),
        ZkMigrationStateRecord(zk_migration_state=0),
        broker(1),
        broker(2),
        RegisterControllerRecord(
            controller_id=3000,
            incarnation_id=uid("c"),
            zk_migration_ready=False,
            end_points=(),
            features=(),
        ),
        namespace("org"),
        namespace("org:apache"),
        *sorted((topic("t", namespace="org"), topic("u")), key=lambda record: record.topic_id),
        ProducerIdsRecord(broker_id=1, broker_epoch=10, next_producer_id=1000),
        ReplicaDeletionRecord(topic_id=uid("gone"), partition_id=0, broker_id=1, state=4),
        NoteRecord(at_offset=1, author="a", text="b"),
    ]
    assert _records(image_of(*expected)) == expected
    # A topic needs its namespace first; all else may come in any order.
    namespaces, others = expected[6:8], [*expected[:6], *expected[8:]]
    assert _records(image_of(*namespaces, *reversed(others))) == expected


def test_partitions_follow_their_topic() -> None:
    image = image_of(
        topic("t"), topic("u"), partition("u", 1), partition("t", 0), partition("u", 0)
    )
    order = [
        (record.topic_id, record.partition_id) if isinstance(record, PartitionRecord) else "topic"
        for record in _records(image)
    ]
    t, u = [(uid("t"), 0)], [(uid("u"), 0), (uid("u"), 1)]
    first, second = (t, u) if uid("t") < uid("u") else (u, t)
    assert order == ["topic", *first, "topic", *second]


def test_configs_are_ordered_by_resource_and_name() -> None:
    keys = [*((2, "t", name) for name in "abcdefgh"), (2, "u", "a"), (4, "", "z")]
    expected = [
        ConfigRecord(resource_type=kind, resource_name=resource, name=name, value="1")
        for kind, resource, name in keys
    ]
    assert _records(image_of(*reversed(expected))) == expected


def test_partition_is_written_as_it_is_now() -> None:
    image = image_of(topic("t"), partition("t", 0), change("t", 0, leader=2, isr=(2,), mode=1))
    assert partition(
        "t", 0, leader=2, isr=(2,), mode=1, leader_epoch=1, partition_epoch=1
    ) in _records(image)


def test_pending_removals_of_one_request_are_one_record() -> None:
    partitions = [partition("t", n) for n in range(4)]
    requests = [
        DeleteTopicPartitionsRecord(
            topic_id=uid("t"), partition_ids=ids, delay_ms=5, create_time_ms=time
        )
        for ids, time in (((2, 3), 8), ((0, 1), 9))
    ]
    image = image_of(topic("t"), *partitions, *requests)
    assert [r for r in _records(image) if isinstance(r, DeleteTopicPartitionsRecord)] == requests


def test_broker_keeps_its_version_and_others_have_the_newest() -> None:
    image = image_after([batch(0, broker(1), topic("t"), partition("t", 0), record_version=1)])
    for record, version in image_records(image):
        if isinstance(record, RegisterBrokerRecord):
            assert version == 1
        else:
            assert version == newest_version(type(record))
