"""Topics tracked without an image have the same partitions as in one, and refuse the same
records.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.base import Record
from records.errors import ContradictionError, CorruptLogError
from records.partitions import RemovePartitionsRecord
from records.topics import RemoveTopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.incidents.unversioned_topics import UnversionedDelta
from replay.timeline import Timeline
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, change, partition, topic
from tests.samples import drawn


@drawn(100, 30)
@given(st.integers(0, 2**32), st.integers(2, 60))
def test_live_partitions_equal_those_of_a_replay_from_any_image(seed: int, count: int) -> None:
    rng = random.Random(seed)
    history = random_history(rng, count)
    rows = list(effective_rows(history, 0, history[-1].end_offset))
    cut = rng.randrange(len(rows))
    replayed = MetadataDelta(MetadataImage.EMPTY)
    replayed.replay_all(rows[:cut])
    image = replayed.apply(Provenance())
    replayed, live = MetadataDelta(image), UnversionedDelta(image)
    for row in rows[cut:]:
        replayed.replay(row)
        live.replay(row)
        ids = set(replayed.topics.topic_ids())
        assert set(live.topics.topic_ids()) == ids
        for topic_id in ids:
            partitions = tuple(replayed.topics.partitions(topic_id))
            assert live.topics.partitions(topic_id) == partitions
            for each in partitions:
                assert live.topics.partition(topic_id, each.partition_id) == each


A, B = topic("a"), topic("b")


@pytest.mark.parametrize(
    "record",
    [
        change("a", 7, leader=2),
        change("b", 0, leader=2),
        partition("b", 0),
        RemovePartitionsRecord(topic_id=A.topic_id, partition_ids=(0, 7)),
        RemoveTopicRecord(topic_id=B.topic_id),
        A,
    ],
)
def test_a_record_that_contradicts_live_topics_is_refused_as_by_a_replay(record: Record) -> None:
    (before, after) = batches((A, partition("a", 0)), (record,))
    errors = []
    for delta in (MetadataDelta(MetadataImage.EMPTY), UnversionedDelta(MetadataImage.EMPTY)):
        delta.replay_all(before.rows)
        with pytest.raises(ContradictionError) as error:
            delta.replay_all(after.rows)
        errors.append((str(error.value), error.value.record, error.value.about))
    assert errors[0] == errors[1]


def test_outages_and_timeline_name_the_record_that_contradicts_the_state() -> None:
    log = FakeLog(batches((A, partition("a", 0)), (change("a", 0, isr=(1,)), change("a", 7))))
    timeline = Timeline(log)
    asked = (timeline.image, lambda: timeline.outages(0, 4), lambda: timeline.events(0, 4))
    said = set()
    for ask in asked:
        with pytest.raises((ContradictionError, CorruptLogError)) as error:
            ask()
        said.add(str(error.value))
    assert len(said) == 1
    assert "offset 3" in said.pop()
