"""Versions: the last record that changed an object, and the record that created a partition."""

import random
from collections.abc import Iterable

import msgspec
import pytest
from immutables import Map

from metadata_log.format.batch import Batch
from records import configs, partitions, topics
from records.base import Record, Uuid
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Envelope
from replay.image.configs import TOPIC
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic, TopicEntry
from replay.image.versions import (
    UNKNOWN,
    listed_offsets,
    merged_offsets,
    packed_offsets,
    partition_offsets,
)
from replay.loader import load_image
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.builders import (
    Base,
    FakeLog,
    batch,
    batches,
    change,
    image_after,
    namespace,
    partition,
    topic,
    uid,
)

T = uid("t")


def after(*groups: Iterable[Record]) -> MetadataImage:
    return image_after(batches(*(tuple(group) for group in groups)))


def config(value: str | None, name: str = "t", key: str = "a") -> configs.ConfigRecord:
    return configs.ConfigRecord(resource_type=TOPIC, resource_name=name, name=key, value=value)


def removal(*ids: int) -> partitions.RemovePartitionsRecord:
    return partitions.RemovePartitionsRecord(topic_id=T, partition_ids=ids)


def test_version_of_a_partition_is_the_offset_of_its_last_record() -> None:
    log = [topic("t"), partition("t", 0), partition("t", 1), change("t", 0, isr=(1,))]
    image = after(log)
    assert [image.partition_version(T, n) for n in range(3)] == [3, 2, UNKNOWN]
    assert [image.partition_created(T, n) for n in range(3)] == [1, 2, UNKNOWN]


def test_version_of_a_topic_moves_with_its_name_and_its_partitions_only() -> None:
    move = topics.MoveTopicRecord(topic_id=T, namespace_id=None, name="u")
    log = [topic("t"), partition("t", 0), change("t", 0, isr=(1,)), move, removal(0)]
    found = [after(log[:end]).topic_version(T) for end in range(1, 6)]
    assert found == [0, 1, 1, 3, 4]


def test_partition_that_comes_back_has_another_creation() -> None:
    log = [topic("t"), partition("t", 0), partition("t", 1), removal(1)]
    gone = after(log)
    assert (gone.partition_created(T, 1), gone.partition_version(T, 1)) == (UNKNOWN, UNKNOWN)
    again = after([*log, partition("t", 1)])
    assert [again.partition_created(T, n) for n in (0, 1)] == [1, 4]


def test_versions_go_with_their_objects() -> None:
    remove_topic = topics.RemoveTopicRecord(topic_id=T)
    log = [topic("t"), config("1"), partition("t", 0), remove_topic]
    assert after(log).has_versions_of(MetadataImage.EMPTY)
    remove_namespace = topics.RemoveNamespaceRecord(namespace_id=uid("n"))
    assert [each.version for each in after([namespace("n")]).namespaces()] == [0]
    assert after([namespace("n")], [remove_namespace]).has_versions_of(MetadataImage.EMPTY)
    assert after([config("1")], [config(None)]).has_versions_of(MetadataImage.EMPTY)
    assert after([config("1"), config(None)]).has_versions_of(MetadataImage.EMPTY)


def test_version_of_a_config_covers_all_keys_of_the_resource() -> None:
    image = after([config("1"), config("2", key="b"), config(None)])
    assert image.config_version(TOPIC, "t") == 2


def test_configs_that_move_with_their_topic_are_touched_by_the_move() -> None:
    move = topics.MoveTopicRecord(topic_id=T, namespace_id=None, name="u")
    image = after([topic("t"), config("1"), move])
    assert [image.config_version(TOPIC, name) for name in "tu"] == [UNKNOWN, 2]
    assert after([topic("t"), move]).config_version(TOPIC, "u") == UNKNOWN


def test_pending_removals_touch_their_partitions() -> None:
    request = partitions.DeleteTopicPartitionsRecord(
        topic_id=T, partition_ids=(1,), delay_ms=1, create_time_ms=1
    )
    cancel = partitions.CancelDeleteTopicPartitionsRecord(topic_id=T, partition_ids=(1,))
    log = [topic("t"), partition("t", 0), partition("t", 1), request, cancel]
    found = [after(log[:end]).partition_version(T, 1) for end in (3, 4, 5)]
    assert found == [2, 3, 4]
    assert after(log).partition_version(T, 0) == 1


def test_elr_that_is_cleared_touches_the_partitions_that_had_one() -> None:
    clear = partitions.ClearElrRecord(topic_name="")
    one = partition("t", 1, eligible_leader_replicas=(1,))
    image = after([topic("t"), partition("t", 0), one, clear])
    assert [image.partition_version(T, n) for n in (0, 1)] == [1, 3]


def test_records_of_a_transaction_count_at_their_own_offsets_when_it_ends_well() -> None:
    begin = [BeginTransactionRecord(name="x"), change("t", 0, isr=(1,))]
    start = [topic("t"), partition("t", 0)]
    found = after(start, begin, [AbortTransactionRecord(reason="no")])
    assert found.partition_version(T, 0) == 1
    assert after(start, begin, [EndTransactionRecord()]).partition_version(T, 0) == 3


@pytest.mark.parametrize("ids", [(0, 255, 256, 70_000), (2**31 - 1, 5), (300,)])
def test_any_partition_id_has_a_version(ids: tuple[int, ...]) -> None:
    made = after([topic("t"), *(partition("t", n) for n in ids)])
    assert [made.partition_created(T, n) for n in ids] == list(range(1, len(ids) + 1))
    assert made.partition_created(T, 254) == UNKNOWN
    gone = image_after([batch(90, removal(*ids))], start=_at(made, 89))
    assert gone._topics._entries[T] == TopicEntry(Topic(T, "t"), version=90)


def _at(image: MetadataImage, offset: int) -> MetadataImage:
    provenance = msgspec.structs.replace(image.provenance, offset=offset)
    return msgspec.structs.replace(image, provenance=provenance)


def test_neighbouring_images_share_what_was_not_touched() -> None:
    image = after([topic("t"), *(partition("t", n) for n in range(600))], [topic("u")])
    new = image_after([batch(602, change("t", 0, isr=(1,)))], start=image)
    before, now = (each._topics._entries[T].offsets for each in (image, new))
    assert isinstance(before, Map) and isinstance(now, Map)
    assert [before[n] is now[n] for n in range(3)] == [False, True, True]
    assert new._topics._entries[uid("u")] is image._topics._entries[uid("u")]


def test_digest_does_not_tell_versions_apart() -> None:
    early = after([topic("t"), partition("t", 0)])
    late = image_after(batches([topic("t"), partition("t", 0)], base_offset=50), start=_later())
    assert not early.has_versions_of(late)
    assert image_digest(early) == image_digest(late)


def _later() -> MetadataImage:
    return image_after(batches([config("1")], [config(None)] * 49))


@pytest.mark.parametrize("seed", range(20))
def test_versions_are_the_last_offsets_that_name_an_object(seed: int) -> None:
    log = random_history(random.Random(seed), 120)
    image = image_after(log)
    touched, created = _named(log)
    for topic_ in image.topics():
        topic_id = topic_.topic_id
        assert image.topic_version(topic_id) == touched["topic", topic_id]
        for each in image.partitions(topic_id):
            key = "partition", topic_id, each.partition_id
            assert image.partition_created(topic_id, each.partition_id) == created[key]
            if not any(
                type(row.payload) is partitions.ClearElrRecord for b in log for row in b.rows
            ):
                assert image.partition_version(topic_id, each.partition_id) == touched[key]
    for space in image.namespaces():
        assert space.version == touched["ns", space.namespace_id]


def _named(log: list[Batch]) -> tuple[dict[tuple[object, ...], int], dict[tuple[object, ...], int]]:
    """Return the last offset that names each object, and the last that creates each partition."""
    touched: dict[tuple[object, ...], int] = {}
    created: dict[tuple[object, ...], int] = {}
    for row in effective_rows(log, 0, log[-1].end_offset):
        for key in _keys(row):
            touched[key] = row.offset
            if type(row.payload) is partitions.PartitionRecord:
                created[key] = row.offset
    return touched, created


def _keys(row: Envelope) -> Iterable[tuple[object, ...]]:
    record = row.payload
    topic_id: Uuid | None = getattr(record, "topic_id", None)
    match record:
        case topics.NamespaceRecord():
            yield "ns", record.namespace_id
        case topics.TopicRecord() | topics.MoveTopicRecord():
            yield "topic", topic_id
        case partitions.PartitionRecord():
            yield "topic", topic_id
            yield "partition", topic_id, record.partition_id
        case partitions.PartitionChangeRecord():
            yield "partition", topic_id, record.partition_id
        case partitions.RemovePartitionsRecord():
            yield "topic", topic_id
        case (
            partitions.DeleteTopicPartitionsRecord()
            | partitions.CancelDeleteTopicPartitionsRecord()
        ):
            for partition_id in record.partition_ids:
                yield "partition", topic_id, partition_id


def test_base_of_an_early_release_says_no_versions() -> None:
    records = (topic("t"), partition("t", 0), config("1"))
    image = load_image(FakeLog([batch(9, change("t", 0, isr=(1,)))], Base(9, records)))
    assert (image.topic_version(T), image.partition_created(T, 0)) == (UNKNOWN, UNKNOWN)
    assert image.config_version(TOPIC, "t") == UNKNOWN
    assert image.partition_version(T, 0) == 9


@pytest.mark.parametrize(
    "ids", [[], [0], [0, 1, 2], [1, 3], list(range(256)), list(range(300)), [0, 255, 700]]
)
@pytest.mark.parametrize("known", ["all", "some", "not how it was created", "none"])
def test_offsets_of_a_topic_are_listed_and_packed_as_they_are_set_one_by_one(
    ids: list[int], known: str
) -> None:
    versions = [UNKNOWN if known == "some" and each % 2 else each + 9 for each in ids]
    created = [] if known == "not how it was created" else [each + 5 for each in ids]
    if known == "none":
        versions = created = []
    set_ = dict(zip(ids, versions, strict=False)), dict(zip(ids, created, strict=False))
    packed = packed_offsets(ids, versions, created)
    assert packed == (merged_offsets(b"", *set_) if versions else b"")
    pairs = [partition_offsets(packed, each) for each in ids]
    assert list(zip(*listed_offsets(packed, ids), strict=True)) == pairs


def test_negative_ids_have_offsets_of_their_own() -> None:
    # Only a log that no controller wrote has them.
    for ids in ((-1,), (-1, 1), (-300, 0, 300)):
        offsets = merged_offsets(b"", dict.fromkeys(ids, 7), dict.fromkeys(ids, 5))
        assert [partition_offsets(offsets, each) for each in (*ids, 2)] == [
            *[(7, 5)] * len(ids),
            (UNKNOWN, UNKNOWN),
        ]
        assert packed_offsets(ids, *listed_offsets(offsets, ids)) == offsets
