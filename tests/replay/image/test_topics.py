"""Effects of topic and partition records, and contradictions."""

import msgspec
import pytest

from metadata_log.format.batch import Batch
from records.base import Record
from records.configs import ConfigRecord
from records.errors import ContradictionError
from records.partitions import (
    ClearElrRecord,
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.expressions.changed_tokens import touched
from replay.expressions.vocabulary import PARTITIONS
from replay.image.configs import TOPIC
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.topics import Partition, Topic
from tests.replay.builders import (
    batch,
    change,
    image_after,
    image_of,
    namespace,
    partition,
    topic,
    uid,
)


def _partition(image: MetadataImage, name: str, partition_id: int) -> Partition:
    found = image.partition(uid(name), partition_id)
    assert found is not None
    return found


def _changed(*, before: Record, after: Record) -> Partition:
    return _partition(image_of(topic("t"), before, after), "t", 0)


def _config(resource_name: str, name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC, resource_name=resource_name, name=name, value=value)


def test_new_topic_is_found_by_id_and_by_name_and_has_no_partitions() -> None:
    image = image_of(topic("t"))
    assert image.topic(uid("t")) == Topic(uid("t"), "t", None)
    assert image.topic_by_name("t") == image.topic(uid("t"))
    assert image.partitions(uid("t")) == ()
    assert (image.topic_count, image.partition_count) == (1, 0)


def test_unknown_topic_has_no_partitions() -> None:
    assert image_of().partitions(uid("t")) == ()
    assert image_of().partition(uid("t"), 0) is None
    assert image_of().topic_by_name("t") is None


def test_topic_differences_are_those_that_differ_or_are_in_one_image_only() -> None:
    kept, changed = (topic("kept"), topic("t"), partition("t", 0)), change("t", 0, leader=2)
    old = image_of(*kept, topic("gone"))
    new = image_of(*kept, topic("added"), changed)
    only_old, only_new = old.topic_differences(new)
    assert {entry.topic.name for entry in only_old} == {"t", "gone"}
    assert {entry.topic.name for entry in only_new} == {"t", "added"}
    # Equal topics that the images do not share, and those that they do.
    assert old.topic_differences(image_of(*kept, topic("gone"))) == ([], [])
    assert old.topic_differences(old) == ([], [])


def test_topic_id_can_not_be_taken_twice() -> None:
    with pytest.raises(ContradictionError, match=r"offset 1: TopicRecord: topic id \S+ exists"):
        image_of(topic("t"), topic("u", topic_id="t"))


def test_topic_name_can_not_be_taken_twice_in_one_namespace() -> None:
    with pytest.raises(ContradictionError, match="offset 1: TopicRecord: name 't' belongs to"):
        image_of(topic("t"), topic("t", topic_id="u"))


def test_topic_name_may_be_taken_once_in_each_namespace() -> None:
    image = image_of(namespace("a"), topic("t"), topic("t", namespace="a", topic_id="u"))
    assert image.topic_by_name("t") == Topic(uid("t"), "t", None)
    assert image.topic_by_name("t", uid("a")) == Topic(uid("u"), "t", uid("a"))
    assert {image.full_name(each) for each in image.topics()} == {"t", "a:t"}


def test_topic_of_an_unknown_namespace_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="offset 0: TopicRecord: there is no namespace"):
        image_of(topic("t", namespace="a"))


def test_removed_topic_takes_its_partitions_configs_and_pending_removals_along() -> None:
    image = image_of(
        topic("t"),
        partition("t", 0),
        _config("t", "retention.ms", "1"),
        _config("other", "retention.ms", "2"),
        DeleteTopicPartitionsRecord(
            topic_id=uid("t"), partition_ids=(0,), delay_ms=0, create_time_ms=0
        ),
        ReplicaDeletionRecord(topic_id=uid("t"), partition_id=0, broker_id=1, state=4),
        RemoveTopicRecord(topic_id=uid("t")),
    )
    assert image.topic(uid("t")) is None
    assert image.topic_by_name("t") is None
    assert (image.topic_count, image.partition_count) == (0, 0)
    assert [resource for resource, _ in image.configs()] == [(TOPIC, "other")]
    assert list(image.pending_removals()) == []
    assert [deletion.state for deletion in image.replica_deletions()] == [4]


def test_name_of_a_removed_topic_is_free_at_once() -> None:
    image = image_of(
        topic("t"),
        partition("t", 0),
        RemoveTopicRecord(topic_id=uid("t")),
        topic("t", topic_id="u"),
    )
    assert image.topic_by_name("t") == Topic(uid("u"), "t", None)
    assert image.partitions(uid("t")) == ()
    assert image.partition_count == 0


def test_removal_of_an_unknown_topic_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="offset 0: RemoveTopicRecord: there is no topic"):
        image_of(RemoveTopicRecord(topic_id=uid("t")))


def test_records_of_a_removed_topic_are_contradictions() -> None:
    for record in (partition("t", 0), change("t", 0), RemoveTopicRecord(topic_id=uid("t"))):
        with pytest.raises(ContradictionError, match=r"offset 3: .* there is no topic of id"):
            image_of(topic("t"), partition("t", 0), RemoveTopicRecord(topic_id=uid("t")), record)


def test_moved_topic_keeps_its_id_partitions_and_configs() -> None:
    image = image_of(
        namespace("a"),
        namespace("b"),
        topic("t", namespace="a"),
        partition("t", 0),
        _config("a:t", "retention.ms", "1"),
        MoveTopicRecord(topic_id=uid("t"), namespace_id=uid("b"), name="u"),
    )
    moved = image.topic_by_full_name("b:u")
    assert moved == Topic(uid("t"), "u", uid("b"))
    assert image.topic_by_full_name("a:t") is None
    assert image.config(TOPIC, "b:u") == {"retention.ms": "1"}
    assert image.config(TOPIC, "a:t") == {}
    assert len(image.partitions(uid("t"))) == 1


def test_topic_can_be_renamed_within_the_default_namespace() -> None:
    image = image_of(topic("t"), MoveTopicRecord(topic_id=uid("t"), namespace_id=None, name="u"))
    assert image.topic_by_name("u") == Topic(uid("t"), "u", None)
    assert image.topic_by_name("t") is None


def test_topic_can_not_move_to_a_taken_name() -> None:
    with pytest.raises(ContradictionError, match="offset 2: MoveTopicRecord: name 'u' belongs to"):
        image_of(
            topic("t"), topic("u"), MoveTopicRecord(topic_id=uid("t"), namespace_id=None, name="u")
        )


def test_topic_can_not_move_to_an_unknown_namespace() -> None:
    with pytest.raises(
        ContradictionError, match="offset 1: MoveTopicRecord: there is no namespace"
    ):
        image_of(topic("t"), MoveTopicRecord(topic_id=uid("t"), namespace_id=uid("a"), name="t"))


def test_partition_is_as_written() -> None:
    record = partition(
        "t",
        0,
        replicas=(1, 2),
        isr=(2,),
        removing_replicas=(1,),
        adding_replicas=(2,),
        leader=2,
        leader_recovery_state=1,
        leader_epoch=4,
        partition_epoch=9,
        directories=(uid("x"), uid("y")),
        eligible_leader_replicas=(1,),
        last_known_elr=(2,),
        mode=1,
    )
    image = image_of(topic("t"), record)
    assert image.partition(uid("t"), 0) == Partition(
        uid("t"), 0, (1, 2), (2,), (1,), (2,), 2, 1, 4, 9, (uid("x"), uid("y")), (1,), (2,), 1
    )
    assert image.partition_count == 1


def test_partition_written_again_replaces_the_old_one_as_a_whole() -> None:
    new = _changed(before=partition("t", 0, partition_epoch=7, mode=1), after=partition("t", 0))
    assert (new.partition_epoch, new.mode) == (0, 0)


def test_partition_of_an_unknown_topic_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="offset 0: PartitionRecord: there is no topic"):
        image_of(partition("t", 0))


def test_partitions_are_ordered_by_id_however_they_were_written() -> None:
    image = image_of(topic("t"), *(partition("t", n) for n in (5, 0, 3)))
    assert [each.partition_id for each in image.partitions(uid("t"))] == [0, 3, 5]
    found = [image.partition(uid("t"), n) is not None for n in range(-7, 7)]
    assert found == [n in (0, 3, 5) for n in range(-7, 7)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("isr", (1,)),
        ("removing_replicas", (3,)),
        ("adding_replicas", (5,)),
        ("leader_recovery_state", 1),
        ("directories", (uid("x"), uid("y"), uid("z"))),
        ("eligible_leader_replicas", (2,)),
        ("last_known_elr", (3,)),
        ("mode", -1),
    ],
)
def test_change_replaces_only_the_field_that_is_set(field: str, value: object) -> None:
    before = partition("t", 0, adding_replicas=(4,), removing_replicas=(2,), mode=1)
    old = _partition(image_of(topic("t"), before), "t", 0)
    new = _changed(before=before, after=change("t", 0, **{field: value}))
    assert new == msgspec.structs.replace(old, **{field: value}, partition_epoch=1)


def test_every_change_bumps_the_partition_epoch() -> None:
    assert _changed(before=partition("t", 0), after=change("t", 0)).partition_epoch == 1
    assert _changed(before=partition("t", 0), after=change("t", 0, mode=1)).partition_epoch == 1


def test_naming_a_leader_bumps_the_leader_epoch_even_if_it_is_the_same() -> None:
    for leader in (1, 2, -1):
        new = _changed(before=partition("t", 0), after=change("t", 0, leader=leader))
        assert (new.leader, new.leader_epoch, new.partition_epoch) == (leader, 1, 1)


def test_change_without_a_leader_keeps_the_leader_epoch() -> None:
    new = _changed(before=partition("t", 0), after=change("t", 0, isr=(1,)))
    assert (new.leader, new.leader_epoch) == (1, 0)


def test_empty_lists_are_set_but_empty_directories_are_not() -> None:
    before = partition("t", 0, adding_replicas=(3,), directories=(uid("x"), uid("y"), uid("z")))
    new = _changed(before=before, after=change("t", 0, isr=(), adding_replicas=(), directories=()))
    assert (new.isr, new.adding_replicas) == ((), ())
    assert new.directories == before.directories


def test_directories_become_unknown_when_they_no_longer_fit_the_replicas() -> None:
    before = partition("t", 0, directories=(uid("x"), uid("y"), uid("z")))
    assert _changed(before=before, after=change("t", 0, replicas=(1, 2))).directories == ()
    same_count = _changed(before=before, after=change("t", 0, replicas=(3, 2, 1)))
    assert same_count.directories == before.directories


def test_directories_that_come_with_replicas_are_taken() -> None:
    before = partition("t", 0, directories=(uid("x"), uid("y"), uid("z")))
    new = _changed(before=before, after=change("t", 0, replicas=(4,), directories=(uid("w"),)))
    assert (new.replicas, new.directories) == ((4,), (uid("w"),))


def test_change_of_an_unknown_partition_is_a_contradiction() -> None:
    with pytest.raises(
        ContradictionError, match=r"offset 1: PartitionChangeRecord: .* no partition 0"
    ):
        image_of(topic("t"), change("t", 0))
    with pytest.raises(
        ContradictionError, match=r"offset 0: PartitionChangeRecord: there is no topic"
    ):
        image_of(change("t", 0))


def test_clear_elr_of_one_topic_leaves_the_others() -> None:
    elr = {"eligible_leader_replicas": (1,), "last_known_elr": (2,)}
    image = image_of(
        topic("t"),
        topic("u"),
        partition("t", 0, **elr),
        partition("u", 0, **elr),
        ClearElrRecord(topic_name="t"),
    )
    cleared, kept = _partition(image, "t", 0), _partition(image, "u", 0)
    assert (cleared.eligible_leader_replicas, cleared.last_known_elr) == ((), ())
    assert (cleared.partition_epoch, cleared.leader_epoch) == (0, 0)
    assert (kept.eligible_leader_replicas, kept.last_known_elr) == ((1,), (2,))


def test_clear_elr_without_a_name_clears_all_topics() -> None:
    image = image_of(
        namespace("a"),
        topic("t"),
        topic("u", namespace="a"),
        partition("t", 0, eligible_leader_replicas=(1,)),
        partition("u", 0, last_known_elr=(1,)),
        ClearElrRecord(topic_name=""),
    )
    for name in ("t", "u"):
        found = _partition(image, name, 0)
        assert (found.eligible_leader_replicas, found.last_known_elr) == ((), ())


def test_clear_elr_of_an_unknown_name_does_nothing() -> None:
    records = topic("t"), partition("t", 0, last_known_elr=(1,))
    image = image_of(*records, ClearElrRecord(topic_name="u"))
    assert list(image.partitions(uid("t"))) == list(image_of(*records).partitions(uid("t")))


def test_clear_elr_names_a_topic_of_the_default_namespace() -> None:
    image = image_of(
        namespace("a"),
        topic("t", namespace="a"),
        partition("t", 0, last_known_elr=(1,)),
        ClearElrRecord(topic_name="t"),
    )
    assert _partition(image, "t", 0).last_known_elr == (1,)


def test_removed_partitions_leave_holes_that_can_be_filled() -> None:
    records = topic("t"), *(partition("t", n) for n in range(4))
    removal = RemovePartitionsRecord(topic_id=uid("t"), partition_ids=(1, 3))
    image = image_of(*records, removal)
    assert [each.partition_id for each in image.partitions(uid("t"))] == [0, 2]
    assert image.partition_count == 2
    refilled = image_of(*records, removal, partition("t", 1, leader_epoch=5))
    assert [each.leader_epoch for each in refilled.partitions(uid("t"))] == [0, 5, 0]


def test_removal_of_an_unknown_partition_is_a_contradiction() -> None:
    removal = RemovePartitionsRecord(topic_id=uid("t"), partition_ids=(0,))
    with pytest.raises(
        ContradictionError, match=r"offset 1: RemovePartitionsRecord: .* no partition"
    ):
        image_of(topic("t"), removal)
    with pytest.raises(
        ContradictionError, match=r"offset 3: RemovePartitionsRecord: .* no partition"
    ):
        image_of(topic("t"), partition("t", 0), removal, removal)


@pytest.mark.parametrize("count", [2, 300])
def test_a_topic_created_again_in_one_batch_changes_the_partitions_that_are_gone(
    count: int,
) -> None:
    old = image_of(topic("t"), *[partition("t", number) for number in range(count)])
    again = (RemoveTopicRecord(topic_id=uid("t")), topic("t"), partition("t", 0))
    one = batch(old.provenance.next_offset, *again)
    delta = MetadataDelta(old)
    delta.replay_all(one.rows)
    assert set(delta.topics.changed_partitions(uid("t"))) == set(range(count))
    assert touched(delta) >= {("partition", (uid("t"), n)) for n in range(count)} | {PARTITIONS}
    each = [Batch.of([msgspec.structs.replace(row, batch_offset=row.offset)]) for row in one.rows]
    in_one, one_by_one = image_after([one], start=old), image_after(each, start=old)
    assert in_one == one_by_one and in_one.partition_count == 1
