"""The image shares everything that a delta does not change; a delta creates its parts on first
use.
"""

import gc
import weakref

import msgspec
import pytest

from records import registry
from records.base import Record
from records.configs import ConfigRecord, FeatureLevelRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
    UnknownRecord,
)
from records.envelope import Envelope
from records.errors import ContradictionError
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood, Provenance
from replay.image.rules import RULES
from tests.replay.builders import batch, change, image_of, namespace, partition, topic, uid


def _delta(image: MetadataImage, *records: Record) -> MetadataDelta:
    delta = MetadataDelta(image)
    for row in batch(100, *records).rows:
        delta.replay(row)
    return delta


def test_every_record_type_has_a_rule() -> None:
    assert set(RULES) == set(registry.RECORD_TYPES)


def test_empty_image_is_empty() -> None:
    image = MetadataImage.EMPTY
    assert (image.topic_count, image.partition_count) == (0, 0)
    assert image.provenance == Provenance(offset=None)
    assert image.provenance.next_offset == 0


def test_image_is_immutable() -> None:
    with pytest.raises(AttributeError):
        MetadataImage.EMPTY.provenance = Provenance()  # type: ignore[misc]


def test_delta_shares_what_it_did_not_touch() -> None:
    image = image_of(
        topic("t"), topic("u"), partition("t", 0), partition("t", 1), partition("u", 0)
    )
    new = _delta(image, change("t", 1, isr=(1,))).apply(Provenance(offset=100))
    assert new.partitions(uid("u")) is image.partitions(uid("u"))
    assert new.partition(uid("t"), 0) is image.partition(uid("t"), 0)
    assert new.topic(uid("t")) is image.topic(uid("t"))
    assert new._configs is image._configs
    assert new._topics._ids is image._topics._ids


def test_delta_leaves_the_old_image_as_it_was() -> None:
    image = image_of(topic("t"), partition("t", 0))
    new = _delta(image, change("t", 0, leader=3), topic("u")).apply(Provenance(offset=101))
    old = image.partition(uid("t"), 0)
    assert old is not None and old.leader == 1
    assert image.topic_by_name("u") is None
    assert new.topic_by_name("u") is not None


def test_delta_that_changed_nothing_shares_all_parts() -> None:
    image = image_of(namespace("a"), topic("t", namespace="a"))
    delta = _delta(
        image, NoOpRecord(), ConfigRecord(resource_type=2, resource_name="x", name="y", value="z")
    )
    assert delta.full_name(next(image.topics())) == "a:t"
    new = delta.apply(Provenance(offset=101))
    assert new._topics is image._topics
    assert new._namespaces is image._namespaces


def test_delta_names_what_it_changed() -> None:
    image = image_of(topic("t"), topic("u"), topic("v"), partition("t", 0))
    delta = _delta(
        image,
        change("t", 0, isr=(1,)),
        RemoveTopicRecord(topic_id=uid("u")),
        topic("w"),
        FeatureLevelRecord(name="f", feature_level=1),
        ConfigRecord(resource_type=2, resource_name="t", name="a", value="b"),
    )
    assert set(delta.topics.changed) == {uid("t"), uid("u"), uid("w")}
    assert set(delta.features.changed) == {"f"}
    assert set(delta.configs.changed) == {(2, "t")}
    assert set(delta.brokers.changed) == set()


def test_topic_created_and_removed_in_one_delta_vanishes() -> None:
    image = image_of(topic("t"))
    delta = _delta(image, topic("u"), partition("u", 0), RemoveTopicRecord(topic_id=uid("u")))
    new = delta.apply(image.provenance)
    assert new == image


def test_topic_deleted_and_created_with_the_same_name_in_one_delta_is_the_new_one() -> None:
    image = image_of(topic("t"), partition("t", 0), partition("t", 1))
    new = _delta(
        image,
        RemoveTopicRecord(topic_id=uid("t")),
        topic("t", topic_id="new"),
        partition("new", 0),
    ).apply(Provenance(offset=102))
    found = new.topic_by_name("t")
    assert found is not None and found.topic_id == uid("new")
    assert new.partitions(uid("t")) == ()
    assert (new.topic_count, new.partition_count) == (1, 1)


def test_recreated_id_does_not_bring_old_partitions_back() -> None:
    image = image_of(topic("t"), partition("t", 0), partition("t", 1))
    new = _delta(image, RemoveTopicRecord(topic_id=uid("t")), topic("t"), partition("t", 1)).apply(
        Provenance(offset=102)
    )
    assert [each.partition_id for each in new.partitions(uid("t"))] == [1]
    assert new.partition_count == 1


def test_config_removed_before_its_topic_moves_stays_removed() -> None:
    def config(value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=2, resource_name="t", name="a", value=value)

    image = image_of(topic("t"), config("1"))
    move = MoveTopicRecord(topic_id=uid("t"), namespace_id=None, name="u")
    new = _delta(image, config(None), move).apply(Provenance(offset=101))
    assert list(new.configs()) == []


def test_delta_can_go_on_after_apply() -> None:
    delta = _delta(image_of(topic("t")), topic("u"))
    first = delta.apply(Provenance(offset=100))
    delta.replay(batch(101, topic("v")).rows[0])
    second = delta.apply(Provenance(offset=101))
    assert [image.topic_count for image in (first, second)] == [2, 3]


def test_transactions_have_no_place_in_a_delta() -> None:
    for record in (BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()):
        with pytest.raises(ContradictionError, match=r"offset 100: .*Transaction"):
            _delta(MetadataImage.EMPTY, record)


def test_unknown_records_change_nothing() -> None:
    unknown = UnknownRecord(api_key=999, record_version=0, value=b"?")
    image = _delta(MetadataImage.EMPTY, unknown).apply(Provenance())
    # They are counted, and that is all.
    assert image.provenance == Provenance(not_understood=NotUnderstood(1, 100))
    assert msgspec.structs.replace(image, provenance=Provenance()) == MetadataImage.EMPTY


def test_unknown_attribute_of_a_delta_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = MetadataDelta(MetadataImage.EMPTY).nonsense


def test_applied_delta_is_freed_without_the_collector() -> None:
    delta = _delta(image_of(topic("t")), RemoveTopicRecord(topic_id=uid("t")))
    delta.apply(Provenance(offset=100))
    gone = weakref.ref(delta)
    gc.disable()
    try:
        del delta
        assert gone() is None
    finally:
        gc.enable()


def test_error_names_offset_and_type_but_no_inner_error() -> None:
    row = Envelope(
        offset=7,
        leader_epoch=0,
        timestamp=0,
        batch_offset=7,
        record_version=0,
        payload=change("t", 0),
    )
    with pytest.raises(ContradictionError, match=r"^offset 7: PartitionChangeRecord: ") as caught:
        MetadataDelta(MetadataImage.EMPTY).replay(row)
    assert caught.value.__suppress_context__
