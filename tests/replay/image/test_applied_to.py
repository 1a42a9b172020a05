"""Changes that were computed for one image can be applied to another."""

import random

from hypothesis import assume, given
from hypothesis import strategies as st

from metadata_log.format.batch import Batch
from records.base import Record
from records.brokers import FenceBrokerRecord
from records.errors import ContradictionError
from records.partitions import ClearElrRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.transactions import MARKERS
from tests.histories import random_history
from tests.replay.builders import (
    batch,
    batches,
    broker,
    change,
    image_after,
    image_of,
    partition,
    topic,
    uid,
)
from tests.samples import drawn


def _after(image: MetadataImage, of: Batch) -> tuple[MetadataDelta, MetadataImage]:
    delta = MetadataDelta(image)
    delta.replay_all(of.rows)
    return delta, delta.apply(_place(of))


def _place(of: Batch) -> Provenance:
    return Provenance(
        offset=of.end_offset - 1, leader_epoch=of.leader_epoch, timestamp=of.timestamp
    )


@drawn(whole=300, part=20)
@given(st.integers(0, 2**32), st.integers(2, 60))
def test_the_result_is_that_of_the_records_whatever_was_left_out_before(
    seed: int, count: int
) -> None:
    rng = random.Random(seed)
    history = random_history(rng, count)
    history = [each for each in history if MARKERS.isdisjoint({type(r.payload) for r in each.rows})]
    assume(history)
    left_out = rng.randrange(len(history))
    image = other = MetadataImage.EMPTY
    for number, each in enumerate(history):
        try:
            delta, image = _after(image, each)
        except ContradictionError:  # a transaction's records are not all there
            continue
        if number == left_out:
            continue
        shared = delta.applied_to(other, _place(each))
        try:
            replayed = _after(other, each)[1]
        except ContradictionError:
            assert shared is None
        else:
            assert shared is None or shared == replayed
            other = shared or replayed


def _changed(*records: Record) -> MetadataImage:
    next_offset = _PAST.provenance.next_offset
    return image_after(batches(records, base_offset=next_offset), start=_PAST)


_PAST = image_of(broker(1), broker(2), topic("a"), partition("a", 0), topic("b"), partition("b", 0))


def test_a_topic_is_shared_where_only_another_topic_differs() -> None:
    fork = _changed(change("b", 0, isr=(2,)))
    delta, after = _after(_PAST, batch(9, change("a", 0, isr=(1,))))
    shared = delta.applied_to(fork, Provenance(offset=9))
    assert shared is not None and shared.shares_topic(after, uid("a"))
    assert not shared.shares_topic(after, uid("b"))
    assert shared.partition(uid("b"), 0) == fork.partition(uid("b"), 0)


def test_changes_of_what_differs_are_not_shared() -> None:
    fork = _changed(change("a", 0, isr=(2,)), FenceBrokerRecord(id=1, epoch=10))
    for record in (change("a", 0, isr=(1,)), FenceBrokerRecord(id=2, epoch=10)):
        delta, _ = _after(_PAST, batch(9, record))
        assert delta.applied_to(fork, Provenance(offset=9)) is None


def test_a_new_topic_is_not_shared_where_names_differ() -> None:
    fork = _changed(topic("c"))
    delta, _ = _after(_PAST, batch(9, topic("c", topic_id="d")))
    assert delta.applied_to(fork, Provenance(offset=9)) is None


def test_what_reads_all_topics_is_not_shared_where_any_differs() -> None:
    fork = _changed(change("b", 0, isr=(2,), eligible_leader_replicas=(1,)))
    delta, _ = _after(_PAST, batch(9, ClearElrRecord(topic_name="")))
    assert delta.applied_to(fork, Provenance(offset=9)) is None
