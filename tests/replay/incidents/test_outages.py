"""Outages: their start, end and cause."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from metadata_log.format.batch import Batch
from records.base import Record
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.configs import ConfigRecord
from records.envelope import Origin
from records.partitions import ClearElrRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, READ_ONLY
from replay.incidents.causes import is_by_silence, is_of_lost_broker
from replay.incidents.outage import Outage
from replay.incidents.outages import find_outages
from replay.loader import load_image
from tests.replay.builders import (
    Base,
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

pytestmark = pytest.mark.usefixtures("either_codec")

ORDERS = (topic("orders"), partition("orders", 0))
UP = tuple([broker(n, fenced=False) for n in (1, 2, 3)])


def outages(*groups: Sequence[Record], assumed_min_isr: int | None = None) -> list[Outage]:
    log = FakeLog(batches(*groups))
    return find_outages(log, log.end_offset, assumed_min_isr=assumed_min_isr).intervals


def spans(found: list[Outage]) -> set[tuple[str, str, int | None, int | None]]:
    return {(each.object, each.kind, each.from_offset, each.to_offset) for each in found}


def min_isr(resource_type: int, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=resource_type, resource_name=name, name="min.insync.replicas", value=value
    )


def cause(found: list[Outage], kind: str) -> tuple[int, str]:
    (of_kind,) = [each for each in found if each.kind == kind]
    assert of_kind.cause is not None
    return of_kind.cause.offset, of_kind.cause.text


def test_partition_without_a_leader_is_an_outage_until_it_has_one_again() -> None:
    found = outages(ORDERS, (change("orders", 0, leader=-1),), (change("orders", 0, leader=2),))
    assert spans(found) == {("partition:orders/0", "leaderless", 2, 3)}


def test_interval_lasts_while_the_state_only_gets_worse() -> None:
    found = outages(
        ORDERS,
        (change("orders", 0, isr=(1, 2)),),
        (change("orders", 0, isr=(1,)),),
        (change("orders", 0, isr=(1, 2, 3)),),
    )
    assert spans(found) == {("partition:orders/0", "under_replicated", 2, 4)}
    assert found[0].brokers == (2, 3)


def test_replicas_that_are_being_added_are_not_missed() -> None:
    adding = change("orders", 0, replicas=(1, 2, 3, 4), adding_replicas=(4,))
    assert outages(ORDERS, (adding,)) == []


@pytest.mark.parametrize("name", ["", "orders"], ids=["all topics", "its topic"])
def test_partition_waits_for_all_replicas_once_the_eligible_ones_are_cleared(name: str) -> None:
    lost = change("orders", 0, leader=-1, isr=(), last_known_elr=(1,))
    orders = (topic("orders"), partition("orders", 0))
    replicas = orders[1].replicas
    found = outages(UP, orders, (lost,), (ClearElrRecord(topic_name=name),))
    (leaderless,) = [each for each in found if each.kind == "leaderless"]
    assert leaderless.brokers == replicas


def test_removal_of_topic_or_partition_ends_its_intervals() -> None:
    down = (change("orders", 0, leader=-1),)
    for removal in (
        RemoveTopicRecord(topic_id=uid("orders")),
        RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(0,)),
    ):
        found = outages(ORDERS, down, (removal,))
        assert spans(found) == {("partition:orders/0", "leaderless", 2, 3)}


def test_min_insync_replicas_comes_from_topic_namespace_or_cluster() -> None:
    shrunk = (change("orders", 0, isr=(1,)),)
    created = (namespace("org"), topic("orders", namespace="org"), partition("orders", 0))
    levels = [(2, "org:orders"), (100, "org"), (4, "")]
    for resource_type, name in levels:
        found = outages(created, (min_isr(resource_type, name, "2"),), shrunk)
        assert ("partition:org:orders/0", "under_min_isr", 4, None) in spans(found)
    nearer = (min_isr(2, "org:orders", "1"), min_isr(100, "org", "2"))
    assert "under_min_isr" not in {each.kind for each in outages(created, nearer, shrunk)}


def test_min_insync_replicas_that_the_log_does_not_know_counts_only_when_assumed() -> None:
    shrunk = (change("orders", 0, isr=(1,)),)
    assert {each.kind for each in outages(ORDERS, shrunk)} == {"under_replicated"}
    found = outages(ORDERS, shrunk, assumed_min_isr=2)
    assert ("partition:orders/0", "under_min_isr", 2, None) in spans(found)
    log = FakeLog(batches(ORDERS, shrunk))
    assert len(find_outages(log, log.end_offset).unknown) == 1


def test_new_min_insync_replicas_begins_and_ends_intervals() -> None:
    found = outages(
        ORDERS, (min_isr(2, "orders", "4"),), (min_isr(2, "orders", None),), assumed_min_isr=1
    )
    assert spans(found) == {("partition:orders/0", "under_min_isr", 2, 3)}
    assert cause(found, "under_min_isr") == (2, "min.insync.replicas became 4")


def test_moved_topic_takes_the_min_insync_replicas_of_its_new_namespace() -> None:
    move = MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="orders")
    found = outages(ORDERS, (namespace("org"), min_isr(100, "org", "4")), (move,))
    assert spans(found) == {("partition:org:orders/0", "under_min_isr", 4, None)}


def test_broker_is_fenced_and_shutting_down_until_it_is_not() -> None:
    shutdown = BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=10, in_controlled_shutdown=1
    )
    found = outages(
        (broker(1, fenced=True),),
        (UnfenceBrokerRecord(id=1, epoch=10),),
        (shutdown,),
        (FenceBrokerRecord(id=1, epoch=10),),
        (UnregisterBrokerRecord(broker_id=1, broker_epoch=10),),
    )
    assert spans(found) == {
        ("broker:1", "fenced", 0, 1),
        ("broker:1", "shutting_down", 2, 4),
        ("broker:1", "fenced", 3, 4),
    }
    (second,) = [each for each in found if each.from_offset == 3]
    assert second.cause is not None
    assert second.cause.text == "broker 1 began a controlled shutdown"


def test_partition_goes_down_because_its_broker_is_fenced_later_in_the_batch() -> None:
    fenced = (change("orders", 0, leader=2, isr=(2, 3)), FenceBrokerRecord(id=1, epoch=10))
    found = outages(UP, ORDERS, fenced)
    assert cause(found, "under_replicated") == (6, "broker 1 was fenced (missed heartbeats)")


def test_broker_that_led_nothing_may_have_been_fenced_because_it_stopped() -> None:
    """Kafka ends the controlled shutdown of such a broker by fencing it, as after missing
    heartbeats.
    """
    fenced = (change("orders", 0, isr=(1, 2)), FenceBrokerRecord(id=3, epoch=10))
    found = outages(UP, ORDERS, fenced)
    assert cause(found, "fenced") == (
        6,
        "broker 3 was fenced (missed heartbeats, or stopped while it led nothing)",
    )


@pytest.mark.parametrize(("reason", "told"), [(None, ""), ("disk swap", " (disk swap)")])
def test_broker_that_somebody_fenced_has_missed_no_heartbeats(
    reason: str | None, told: str
) -> None:
    log = batches(UP, ORDERS, (FenceBrokerRecord(id=1, epoch=10),))
    origin = Origin(principal="User:ann", command="brokers fence", reason=reason)
    (row,) = log[-1].rows
    log[-1] = replace(log[-1], rows=(replace(row, origin=origin),))
    (found,) = find_outages(FakeLog(log), log[-1].end_offset).intervals
    assert found.cause is not None
    assert found.cause.text == f"broker 1 was fenced by a command{told}"
    # So it was not found gone, after a silence either.
    assert not is_of_lost_broker(found.cause)
    assert not is_by_silence(found.cause)


def test_partition_goes_down_because_its_broker_is_already_down() -> None:
    found = outages(
        UP, ORDERS, (FenceBrokerRecord(id=3, epoch=10),), (change("orders", 0, isr=(1, 2)),)
    )
    assert cause(found, "under_replicated") == (
        5,
        "broker 3 was fenced (missed heartbeats, or stopped while it led nothing)",
    )


def test_replica_that_left_the_isr_while_its_broker_is_up_fell_behind() -> None:
    found = outages(UP, ORDERS, (change("orders", 0, isr=(1, 2)),))
    assert cause(found, "under_replicated") == (
        5,
        "leader 1 took 3 out of the ISR: too far behind",
    )


def test_beginning_before_the_kept_history_is_unknown() -> None:
    down = image_of(broker(1, fenced=True), *ORDERS, change("orders", 0, leader=-1))
    log = FakeLog(batches((change("orders", 0, leader=2),), base_offset=4), base=Base.of(down))
    found = find_outages(log, log.end_offset).intervals
    assert spans(found) == {
        ("partition:orders/0", "leaderless", None, 4),
        ("broker:1", "fenced", None, None),
    }
    assert {each.cause for each in found} == {None}


def test_range_takes_what_ended_in_it_but_not_what_ended_before() -> None:
    log = FakeLog(
        batches(
            ORDERS,
            (change("orders", 0, leader=-1),),
            (change("orders", 0, leader=2),),
            (change("orders", 0, isr=(2,)),),
        )
    )
    whole = find_outages(log, log.end_offset).intervals
    assert len(whole) == 2
    assert len(find_outages(log, log.end_offset, from_offset=3).intervals) == 2
    assert len(find_outages(log, log.end_offset, from_offset=4).intervals) == 1
    (then,) = find_outages(log, 3).intervals
    assert then.to_offset is None


@dataclass(frozen=True)
class WatchedLog(FakeLog):
    """Records the offsets from which it was read."""

    read_from: list[int | None] = field(default_factory=list)

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        self.read_from.append(from_offset)
        return super().batches(from_offset, to_offset)


def snapshots(*images: MetadataImage) -> Callable[[int], MetadataImage | None]:
    """Return a function that finds the newest fitting image; the images are given newest first."""
    return lambda at: next((i for i in images if i.provenance.next_offset <= at + 1), None)


NIGHT = batches(
    UP,
    ORDERS,
    (topic("gone"), partition("gone", 0)),
    # Nothing is down between the first two, but they belong together.
    (
        change("orders", 0, leader=2),
        FenceBrokerRecord(id=1, epoch=10),
        change("orders", 0, isr=(2, 3)),
    ),
    (UnfenceBrokerRecord(id=1, epoch=10),),
    (change("orders", 0, isr=(2, 3, 1)),),
    (partition("gone", 1), RemovePartitionsRecord(topic_id=uid("gone"), partition_ids=(0, 1))),
    (RemoveTopicRecord(topic_id=uid("gone")),),
    (min_isr(2, "orders", "2"), change("orders", 0, isr=(2,)), change("orders", 0, isr=(1, 2, 3))),
    (BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=10, in_controlled_shutdown=1),),
    (change("orders", 0, leader=3, isr=(1, 3)), FenceBrokerRecord(id=2, epoch=10)),
    (UnfenceBrokerRecord(id=2, epoch=10), change("orders", 0, isr=(1, 2, 3))),
    (change("orders", 0, leader=-1),),
)


@pytest.mark.parametrize("assumed_min_isr", [None, 3])
def test_range_after_any_snapshot_has_the_same_outages(assumed_min_isr: int | None) -> None:
    log = FakeLog(NIGHT)
    for end in range(1, log.end_offset + 1):
        for first in range(end + 1):
            expected = find_outages(log, end, from_offset=first, assumed_min_isr=assumed_min_isr)
            for at in range(first):
                found = find_outages(
                    log,
                    end,
                    from_offset=first,
                    assumed_min_isr=assumed_min_isr,
                    newest=snapshots(load_image(log, at)),
                )
                assert found == expected, (first, end, at)


def test_deleted_topic_counts_in_the_ranges_in_which_it_was() -> None:
    log = FakeLog(batches(ORDERS, (RemoveTopicRecord(topic_id=uid("orders")),), (topic("other"),)))
    counted = [
        len(find_outages(log, end, from_offset=first).unknown)
        for first, end in ((0, 2), (0, 4), (2, 4), (3, 4))
    ]
    assert counted == [1, 1, 1, 0]


def test_log_is_read_from_a_snapshot_at_which_nothing_was_down() -> None:
    log = WatchedLog(NIGHT)
    # Nothing is down after broker 1 is back in the ISR, until broker 2 shuts down.
    quiet, shutting_down = NIGHT[5].end_offset, NIGHT[9].end_offset
    images = [load_image(log, end - 1) for end in (shutting_down, quiet)]
    log.read_from.clear()
    find_outages(
        log,
        log.end_offset,
        from_offset=shutting_down,
        newest=snapshots(*images),
    )
    assert log.read_from == [quiet]


def test_partition_that_is_taken_offline_to_be_removed_is_in_no_outage() -> None:
    """Its followers may even stop: nobody is to use it."""
    going = change("orders", 0, mode=NONE, leader=-1)
    shrunk = change("orders", 0, isr=(1,))
    removed = RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(0,))
    read_only = (change("orders", 0, mode=READ_ONLY),)
    assert outages(ORDERS, read_only, (going,), (shrunk,), (removed,), assumed_min_isr=2) == []
    down = (change("orders", 0, isr=(1,), leader=-1),)
    found = outages(ORDERS, down, read_only, (going,), (removed,))
    assert {each.to_offset for each in found} == {4}, "what was down before ends with it"
    assert {each.kind for each in found} == {"leaderless", "under_replicated"}


def test_outage_knows_who_led_then_and_until_then() -> None:
    shrunk, moved = change("orders", 0, isr=(1, 2)), change("orders", 0, leader=2)
    (short,) = outages(ORDERS, (shrunk,), (moved,))
    assert (short.brokers, short.leaders) == ((3,), (1, 2))
    (lost,) = outages(ORDERS, (change("orders", 0, leader=-1),))
    assert (lost.kind, lost.leaders) == ("leaderless", (1,))
    (gone,) = outages((broker(1),))
    assert gone.leaders == ()
