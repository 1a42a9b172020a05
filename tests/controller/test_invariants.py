"""Each invariant finds the state that violates it, and the document lists all invariants."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.descriptions.affected import Affected
from controller.invariants.checks import check_step
from controller.invariants.of_images import OF_IMAGES
from controller.invariants.of_partitions import OF_PARTITIONS, OF_TOPICS
from controller.invariants.of_steps import OF_STEPS
from records.base import ZERO_UUID, Record
from records.configs import ConfigRecord, ProducerIdsRecord
from records.partitions import (
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.topics import RemoveTopicRecord, TopicRecord
from replay.image.metadata import MetadataImage
from replay.loader import images
from tests.controller.cluster import Cluster
from tests.controller.plain_invariants import HistoryCheck, check_image
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

_DOCUMENT = Path(__file__).parents[2] / "docs" / "invariants.md"

_CLUSTER = (
    broker(1, fenced=False, broker_epoch=1, log_dirs=(uid("1"),)),
    broker(2, fenced=False, broker_epoch=2, log_dirs=(uid("2"),)),
    broker(3, fenced=False, broker_epoch=3, log_dirs=(uid("3"),)),
    topic("orders"),
    partition("orders", 0),
    partition("orders", 1),
)


def _deletion(state: int) -> ReplicaDeletionRecord:
    return ReplicaDeletionRecord(topic_id=uid("orders"), partition_id=1, broker_id=1, state=state)


def _removal(*partition_ids: int) -> DeleteTopicPartitionsRecord:
    return DeleteTopicPartitionsRecord(
        topic_id=uid("orders"), partition_ids=partition_ids, delay_ms=0, create_time_ms=0
    )


def _found(image: MetadataImage) -> set[str]:
    return {violation.invariant for violation in check_image(image)}


def test_a_sound_image_has_no_violation() -> None:
    assert _found(image_of(*_CLUSTER)) == set()


@pytest.mark.parametrize(
    ("records", "broken"),
    [
        ([TopicRecord(name="a", topic_id=ZERO_UUID)], "ids_are_unique"),
        ([namespace("a:b")], "namespaces_have_parents"),
        ([topic("a:b")], "namespaces_have_parents"),
        (
            [ConfigRecord(resource_type=2, resource_name="gone", name="a", value="1")],
            "configs_are_of_topics_that_exist",
        ),
        ([_deletion(3)], "deletions_are_under_way"),
        ([_deletion(4)], "deletions_are_under_way"),
        (
            [
                _removal(1),
                change("orders", 1, mode=-1, leader=-1, replicas=(1,), isr=(1,)),
                _deletion(5),
            ],
            "removals_end",
        ),
        ([broker(4, broker_epoch=3)], "broker_epochs_are_unique"),
        ([broker(4, broker_epoch=4, log_dirs=(uid("3"),))], "directories_belong_to_one_broker"),
        (
            [RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(0,))],
            "partition_ids_are_dense",
        ),
        ([change("orders", 0, replicas=(1, 2, 2, 3))], "replicas_are_a_set"),
        ([change("orders", 0, isr=(1, 4))], "isr_is_of_replicas"),
        ([change("orders", 0, isr=(), leader=-1)], "isr_is_of_replicas"),
        ([change("orders", 0, isr=(2, 3))], "leader_is_in_sync"),
        ([broker(1, fenced=True, broker_epoch=1)], "leader_can_lead"),
        ([broker(2, fenced=True, broker_epoch=2)], "isr_is_of_the_live"),
        ([change("orders", 0, replicas=(1, 7), isr=(1, 7))], "isr_is_of_the_live"),
        ([change("orders", 0, eligible_leader_replicas=(1,))], "eligible_are_not_in_sync"),
        ([change("orders", 0, adding_replicas=(9,))], "moves_are_of_replicas"),
        ([change("orders", 0, removing_replicas=(1, 2, 3))], "moves_are_of_replicas"),
        ([change("orders", 0, leader_recovery_state=1)], "recovering_leader_stands_alone"),
        ([change("orders", 0, leader_recovery_state=7)], "recovering_leader_stands_alone"),
        ([change("orders", 0, directories=(uid("1"),))], "directories_are_of_replicas"),
        ([change("orders", 0, mode=1)], "modes_are_of_removals"),
        ([_removal(1)], "modes_are_of_removals"),
        ([_removal(1), change("orders", 1, mode=-1)], "modes_are_of_removals"),
        ([change("orders", 0, mode=5)], "modes_are_of_removals"),
        ([_removal(0), change("orders", 0, mode=1)], "removals_are_of_the_highest_ids"),
        (
            [
                _removal(1),
                change("orders", 1, mode=1),
                change("orders", 0, removing_replicas=(3,)),
            ],
            "nothing_moves_while_some_leave",
        ),
        ([partition("orders", 0, leader_epoch=-1)], "epochs_are_counts"),
    ],
)
def test_what_breaks_an_image_is_found(records: list[Record], broken: str) -> None:
    assert broken in _found(image_of(*_CLUSTER, *records))


def test_the_last_one_in_sync_may_be_gone() -> None:
    alone = change("orders", 0, isr=(1,), leader=-1)
    image = image_of(*_CLUSTER[:-1], alone, broker(1, fenced=True, broker_epoch=1))
    assert _found(image) == set()


def test_a_name_or_a_removal_that_leads_nowhere_is_found() -> None:
    """A name or removal whose topic does not exist. Replay cannot make such images, so the test
    does.
    """
    image = image_of(*_CLUSTER, _removal(1))
    other = msgspec.structs.replace(image_of(*_CLUSTER)._topics, _ids=image_of()._topics._ids)
    assert "names_are_unique" in _found(msgspec.structs.replace(image, _topics=other))
    empty = msgspec.structs.replace(image, _topics=image_of()._topics)
    assert "removals_are_of_partitions_that_exist" in _found(empty)


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ([change("orders", 0, leader=2)], [partition("orders", 0)], "epochs_never_go_back"),
        ([], [partition("orders", 0, leader=2)], "new_leaders_have_new_epochs"),
        ([], [change("orders", 0, replicas=(1, 2), isr=(1, 2))], "new_leaders_have_new_epochs"),
        (
            [_removal(1), change("orders", 1, mode=-1, leader=-1)],
            [change("orders", 1, mode=0)],
            "modes_only_go_forward",
        ),
        (
            [],
            [RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(1,))],
            "modes_only_go_forward",
        ),
        ([], [_deletion(5)], "deletions_take_legal_steps"),
        ([_deletion(5)], [_deletion(6)], "deletions_take_legal_steps"),
        ([], [broker(3, broker_epoch=2)], "broker_epochs_never_go_back"),
        (
            [],
            [broker(3, broker_epoch=3, incarnation_id=uid("another"))],
            "broker_epochs_never_go_back",
        ),
        (
            [ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2_000)],
            [ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=3_000)],
            "",
        ),
    ],
)
def test_what_breaks_a_step_is_found(
    before: list[Record], after: list[Record], broken: str
) -> None:
    log = FakeLog(batches([*_CLUSTER, *before], after))
    check = HistoryCheck()
    found: set[str] = set()
    for batch, image in images(log, 0, log.end_offset):
        found = {violation.invariant for violation in check.step(batch, image)}
    assert broken in found if broken else not found


def test_a_log_that_goes_back_is_found() -> None:
    older, newer = (image_of(*_CLUSTER[:count]) for count in (2, 6))
    (violation,) = check_step(newer, older, Affected())
    assert violation.invariant == "log_goes_forward"


def test_a_block_of_producer_ids_that_comes_twice_is_found() -> None:
    """Replay refuses this in one log, so the second image is from another log."""
    first, second = (
        image_of(
            *_CLUSTER[:count],
            ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=next_id),
        )
        for count, next_id in ((2, 3_000), (6, 2_000))
    )
    assert [v.invariant for v in check_step(first, second, Affected())] == ["producer_ids_grow"]


def test_an_id_that_comes_back_is_found() -> None:
    log = FakeLog(
        batches([topic("orders")], [RemoveTopicRecord(topic_id=uid("orders"))], [topic("orders")])
    )
    check = HistoryCheck()
    found: list[Any] = []
    for batch, image in images(log, 0, log.end_offset):
        found.extend(check.step(batch, image))
    assert [violation.invariant for violation in found] == ["ids_never_come_back"]


def test_what_a_controller_wrote_holds() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3])
    cluster.fence(2)
    check = HistoryCheck()
    assert [v for batch, image in cluster.steps for v in check.step(batch, image)] == []


def test_the_document_names_every_check_and_its_number() -> None:
    documented = dict(re.findall(r"^\| (\w\d+) \| `(\w+)` \|", _DOCUMENT.read_text("utf-8"), re.M))
    checks = {}
    for check in (*OF_IMAGES, *OF_TOPICS, *OF_PARTITIONS, *OF_STEPS):
        number, _, _ = (check.__doc__ or "").partition(":")
        checks[number] = check.__name__
    assert documented == {**checks, "H1": "ids_never_come_back"}
