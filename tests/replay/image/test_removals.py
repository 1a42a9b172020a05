"""Effects of records about partition removals, deleted replicas and notes."""

import pytest

from records.base import Record
from records.control import NoteRecord
from records.errors import ContradictionError
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from replay.image.metadata import MetadataImage
from replay.image.notes import Note
from replay.image.removals import PendingRemoval, ReplicaDeletion
from tests.replay.builders import image_of, partition, topic, uid

TOPIC_OF_THREE: tuple[Record, ...] = (
    topic("t"),
    partition("t", 0),
    partition("t", 1),
    partition("t", 2),
)


def _delete(*partition_ids: int, delay_ms: int = 5) -> DeleteTopicPartitionsRecord:
    return DeleteTopicPartitionsRecord(
        topic_id=uid("t"), partition_ids=partition_ids, delay_ms=delay_ms, create_time_ms=9
    )


def _cancel(*partition_ids: int) -> CancelDeleteTopicPartitionsRecord:
    return CancelDeleteTopicPartitionsRecord(topic_id=uid("t"), partition_ids=partition_ids)


def _deletion(state: int) -> ReplicaDeletionRecord:
    return ReplicaDeletionRecord(topic_id=uid("t"), partition_id=0, broker_id=1, state=state)


def _pending(image: MetadataImage) -> list[int]:
    return sorted(removal.partition_id for removal in image.pending_removals())


def test_partitions_wait_for_their_removal_and_stay_as_they_are() -> None:
    image = image_of(*TOPIC_OF_THREE, _delete(1, 2))
    assert sorted(image.pending_removals(uid("t")), key=lambda p: p.partition_id) == [
        PendingRemoval(uid("t"), 1, 5, 9),
        PendingRemoval(uid("t"), 2, 5, 9),
    ]
    assert list(image.pending_removals(uid("u"))) == []
    assert [each.mode for each in image.partitions(uid("t"))] == [0, 0, 0]


def test_second_request_replaces_the_delay() -> None:
    image = image_of(*TOPIC_OF_THREE, _delete(2), _delete(2, delay_ms=7))
    assert [removal.delay_ms for removal in image.pending_removals()] == [7]


def test_removal_of_an_unknown_partition_can_not_be_pending() -> None:
    with pytest.raises(ContradictionError, match=r"offset 4: DeleteTopicPartitionsRecord: .* 3"):
        image_of(*TOPIC_OF_THREE, _delete(3))
    with pytest.raises(ContradictionError, match=r"offset 0: .* there is no topic"):
        image_of(_delete(0))


def test_cancelled_removal_is_gone() -> None:
    assert _pending(image_of(*TOPIC_OF_THREE, _delete(1, 2), _cancel(2))) == [1]


def test_cancelling_what_is_not_pending_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match=r"offset 5: .* no pending removal of partition 1"):
        image_of(*TOPIC_OF_THREE, _delete(2), _cancel(2, 1))


def test_removed_partitions_are_no_longer_pending() -> None:
    removal = RemovePartitionsRecord(topic_id=uid("t"), partition_ids=(1, 2))
    image = image_of(*TOPIC_OF_THREE, _delete(2), removal)
    assert _pending(image) == []
    assert [each.partition_id for each in image.partitions(uid("t"))] == [0]


def test_replica_deletion_is_tracked_even_without_the_topic() -> None:
    image = image_of(_deletion(4), _deletion(6))
    assert list(image.replica_deletions()) == [ReplicaDeletion(uid("t"), 0, 1, 6)]


def test_state_gone_ends_the_tracking() -> None:
    assert list(image_of(_deletion(4), _deletion(7)).replica_deletions()) == []
    with pytest.raises(
        ContradictionError, match="offset 0: ReplicaDeletionRecord: broker 1 deletes"
    ):
        image_of(_deletion(7))


def test_notes_are_a_set() -> None:
    note = NoteRecord(at_offset=1, author="a", text="b")
    image = image_of(note, note, NoteRecord(at_offset=2, author="a", text="b"))
    assert sorted(image.notes(), key=lambda n: n.at_offset) == [
        Note(1, "a", "b"),
        Note(2, "a", "b"),
    ]
