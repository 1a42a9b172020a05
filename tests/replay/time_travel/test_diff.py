"""Differences between two images."""

import random

import msgspec
import pytest

from records.base import Record
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData
from records.errors import RequestError
from records.security import UserScramCredentialRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from replay.time_travel.diff import diff_images
from replay.time_travel.kinds import KINDS
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import (
    FakeLog,
    batches,
    broker,
    change,
    image_of,
    namespace,
    partition,
    topic,
    uid,
)
from tests.replay.time_travel.test_skim import SkimmedLog


def test_equal_images_have_no_difference() -> None:
    image = image_of(topic("orders"), partition("orders", 0))
    assert diff_images(image, image) == []


def test_changed_fields_are_named_with_both_values() -> None:
    before = image_of(topic("orders"), partition("orders", 0))
    after = image_of(topic("orders"), partition("orders", 0), change("orders", 0, isr=(1,)))
    assert [(c.object, c.field, c.before, c.after) for c in diff_images(before, after)] == [
        ("partition:orders/0", "isr", [1, 2, 3], [1]),
        ("partition:orders/0", "partition_epoch", 0, 1),
    ]


def test_objects_are_ordered_as_people_count() -> None:
    partitions = [partition("orders", n) for n in range(11)]
    changes = diff_images(MetadataImage.EMPTY, image_of(topic("orders"), *partitions))
    names = list(dict.fromkeys(c.object for c in changes))
    assert names == ["topic:orders", *(f"partition:orders/{n}" for n in range(11))]


def _scram(user: str) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=user, mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096
    )


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (_scram("\N{SUPERSCRIPT TWO}"), "scram:\N{SUPERSCRIPT TWO}/SCRAM-SHA-256"),
        (_scram("9" * 5_000), f"scram:{'9' * 5_000}/SCRAM-SHA-256"),
        (
            ConfigRecord(resource_type=99, resource_name="new", name="a", value="b"),
            "config:99/new",
        ),
        (broker(-1), "broker:-1"),
        (topic("@orders"), "topic:@orders"),
    ],
)
def test_objects_of_unusual_names_are_compared_too(record: Record, name: str) -> None:
    image = image_of(record)
    for changes in (
        diff_images(MetadataImage.EMPTY, image),
        diff_images(image, MetadataImage.EMPTY),
    ):
        assert {c.object for c in changes} == {name}


def test_topic_deleted_and_created_again_is_two_objects() -> None:
    log = FakeLog(
        batches(
            (topic("orders"),),
            (RemoveTopicRecord(topic_id=uid("orders")),),
            (topic("orders", topic_id="second"),),
        )
    )
    changes = diff_images(load_image(log, 0), load_image(log, 2))
    assert len({c.object for c in changes}) == 2
    assert all(c.object.startswith("topic:@") for c in changes)


def test_only_one_object_can_be_asked_for() -> None:
    before = image_of(topic("orders"), partition("orders", 0), partition("orders", 1))
    after = image_of(topic("orders"), partition("orders", 0, leader=3), partition("orders", 1))
    for name in ("partition:orders/0", "partition:orders/0#leader"):
        changes = diff_images(before, after, parse_object(name))
        assert [(c.object, c.field) for c in changes] == [("partition:orders/0", "leader")]
    assert diff_images(before, after, parse_object("partition:orders/1")) == []


@pytest.mark.parametrize("make", [FakeLog, SkimmedLog])
@pytest.mark.parametrize("name", ["orders", "bills"])
def test_moved_object_is_compared_with_itself_by_either_name(
    make: type[FakeLog], name: str
) -> None:
    move = MoveTopicRecord(topic_id=uid("orders"), namespace_id=None, name="bills")
    timeline = Timeline(make(batches((topic("orders"), partition("orders", 0)), (move,))))
    (change,) = timeline.diff(1, 2, parse_object(f"topic:{name}"))
    assert (change.field, change.before, change.after) == ("name", "orders", "bills")
    assert timeline.diff(1, 2, parse_object(f"partition:{name}/0")) == []
    assert {change.fate for change in timeline.diff(-1, 2, parse_object("topic:bills"))} == {"new"}


def test_object_in_a_namespace_goes_by_its_full_name() -> None:
    after = image_of(namespace("org:apache"), topic("orders", namespace="org:apache"))
    names = {c.object for c in diff_images(MetadataImage.EMPTY, after)}
    assert names == {"namespace:org:apache", "topic:org:apache:orders"}
    assert parse_object("topic:org:apache:orders").fields(after) is not None


@pytest.mark.parametrize("seed", range(5))
def test_a_difference_turned_round_has_before_and_after_exchanged(seed: int) -> None:
    log = FakeLog(random_history(random.Random(seed), 60))
    before, after = load_image(log, log.end_offset // 2), load_image(log)
    there = {(c.object, c.field, str(c.before), str(c.after)) for c in diff_images(before, after)}
    back = {(c.object, c.field, str(c.after), str(c.before)) for c in diff_images(after, before)}
    # Names are taken from the later image, so objects that were renamed are called otherwise.
    assert {item[1:] for item in there} == {item[1:] for item in back}


@pytest.mark.parametrize("text", ["topic", "topic:", "topc:orders", ""])
def test_what_names_no_object_is_refused_with_the_kinds_there_are(text: str) -> None:
    with pytest.raises(RequestError, match=", ".join(KINDS)):
        parse_object(text)


@pytest.mark.parametrize("text", ["partition:orders", "broker:one", "config:orders", "acl:x"])
def test_name_that_cannot_be_of_its_kind_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=text.partition(":")[2]):
        parse_object(text).fields(MetadataImage.EMPTY)


def test_only_kinds_that_say_so_have_labels_that_depend_on_the_image() -> None:
    seen = set()
    for seed in range(12):
        image = load_image(FakeLog(random_history(random.Random(seed), 80)))
        for kind in KINDS.values():
            if not kind.is_renamed:
                for key, _ in kind.objects(image):
                    assert kind.label(image, key) == kind.label(MetadataImage.EMPTY, key)
                    seen.add(kind.name)
    assert {"broker", "config", "quota", "note"} <= seen


def test_objects_named_by_their_key_are_not_searched_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quotas(value: float) -> MetadataImage:
        names = [(EntityData(entity_type="user", entity_name=f"u{n}"),) for n in range(3)]
        return image_of(
            *[ClientQuotaRecord(entity=e, key="rate", value=value, remove=False) for e in names]
        )

    searched = list[str]()
    quota = msgspec.structs.replace(KINDS["quota"], find=lambda image, name: searched.append(name))
    monkeypatch.setitem(KINDS, "quota", quota)
    found = diff_images(quotas(1), quotas(2))
    assert [change.object for change in found] == [f"quota:user=u{n}/rate" for n in range(3)]
    assert not searched


def test_a_partition_keeps_its_name_where_the_other_topic_of_that_name_has_no_such_partition() -> (
    None
):
    again = topic("orders", topic_id="orders again")
    before = image_of(topic("orders"), partition("orders", 0), partition("orders", 1))
    after = image_of(again, partition("orders again", 0))
    objects = {change.object for change in diff_images(before, after)}
    label = uuid_text(uid("orders"))
    assert {f"partition:@{label}/0", "partition:orders/1"} <= objects
