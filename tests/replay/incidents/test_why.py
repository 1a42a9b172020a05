"""Reasons for the leader and ISR of a partition, and for the state of a broker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
)
from records.errors import RequestError
from replay.incidents.why import Chain, why_broker, why_partition
from replay.loader import load_image
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic, uid
from tests.replay.incidents.real import imported
from tests.replay.time_travel.test_skim import SkimmedLog

UP = tuple([broker(n, fenced=False) for n in (1, 2, 3)])
ORDERS = (topic("orders"), partition("orders", 0))


def why(name: str, *groups: Sequence[Record]) -> Chain:
    log = FakeLog(batches(*groups))
    return Timeline(log).why(parse_object(name), log.end_offset - 1)


def links(chain: Chain) -> list[tuple[int, str]]:
    return [(link.row.offset, link.text) for link in chain.links]


def fence(broker_id: int) -> FenceBrokerRecord:
    return FenceBrokerRecord(id=broker_id, epoch=10)


def test_lost_leader_is_followed_back_to_when_the_isr_was_whole() -> None:
    shutdown = BrokerRegistrationChangeRecord(
        broker_id=2, broker_epoch=10, in_controlled_shutdown=1
    )
    chain = why(
        "partition:orders/0#leader",
        UP,
        ORDERS,
        (change("orders", 0, isr=(1, 2)),),
        (change("orders", 0, leader=2, isr=(2,)), fence(1)),
        (shutdown, change("orders", 0, leader=-1)),
        (fence(2),),
    )
    assert (chain.value, chain.waits_for, chain.unclean) == (-1, (2,), False)
    assert links(chain) == [
        (10, "broker 2 was fenced at the end of its controlled shutdown"),
        (9, "leader 2 -> none, ISR [2] of replicas [1, 2, 3]"),
        (8, "broker 2 began a controlled shutdown"),
        (7, "broker 1 was fenced (missed heartbeats)"),
        (6, "leader 1 -> 2 (clean election), ISR [1, 2] -> [2]"),
        (5, "ISR [1, 2, 3] -> [1, 2]"),
    ]


def test_election_outside_the_isr_is_unclean() -> None:
    chain = why(
        "partition:orders/0#leader",
        UP,
        ORDERS,
        (change("orders", 0, leader=1, isr=(1,)),),
        (change("orders", 0, leader=-1), fence(1)),
        (change("orders", 0, leader=3, isr=(3,), leader_recovery_state=1),),
    )
    assert (chain.value, chain.unclean) == (3, True)
    assert links(chain)[0] == (8, "leader none -> 3 (unclean election), ISR [1] -> [3]")


def test_eligible_leader_replica_is_elected_cleanly() -> None:
    chain = why(
        "partition:orders/0",
        UP,
        ORDERS,
        (
            change("orders", 0, leader=-1, isr=(), eligible_leader_replicas=(2,)),
            fence(1),
        ),
        (change("orders", 0, leader=2, isr=(2,), eligible_leader_replicas=()),),
    )
    assert chain.unclean is False
    assert "ELR [2] -> []" in chain.links[0].text


def test_broker_is_down_because_of_all_records_since_it_was_up() -> None:
    other = broker(1, broker_epoch=11, incarnation_id=uid("another process"))
    chain = why("broker:1#fenced", UP, (fence(1),), (other,))
    assert links(chain) == [
        (4, "broker 1 registered again"),
        (3, "broker 1 was fenced (missed heartbeats, or stopped while it led nothing)"),
    ]
    same = why("broker:1#fenced", UP, (fence(1),), (broker(1, broker_epoch=11),))
    assert links(same)[1] == (3, "broker 1 was fenced (missed heartbeats; it did not restart)")
    up = why("broker:1", UP, (fence(1),), (UnfenceBrokerRecord(id=1, epoch=10),))
    assert (up.value, links(up)[0][1]) == (False, "broker 1 was unfenced")


def test_partition_that_is_being_removed_waits_for_no_broker() -> None:
    removed = change("orders", 0, mode=-1, leader=-1)
    chain = why("partition:orders/0#leader", UP, ORDERS, (removed,))
    assert (chain.value, chain.waits_for, chain.is_going) == (-1, (), True)
    kept = why("partition:orders/0#leader", UP, ORDERS, (change("orders", 0, leader=-1),))
    assert (kept.waits_for, kept.is_going) == ((1, 2, 3), False)


def test_partition_without_anyone_in_sync_can_only_be_led_uncleanly() -> None:
    nobody = change("orders", 0, leader=-1, isr=())
    lost = why("partition:orders/0#leader", UP, ORDERS, (nobody,))
    assert (lost.waits_for, lost.needs_unclean) == ((1, 2, 3), True)
    eligible = change("orders", 0, leader=-1, isr=(), eligible_leader_replicas=(2,))
    kept = why("partition:orders/0#leader", UP, ORDERS, (eligible,))
    assert (kept.waits_for, kept.needs_unclean) == ((2,), False)


def test_partition_that_is_absent_has_no_why() -> None:
    with pytest.raises(RequestError, match="was never set"):
        why("partition:orders/1#leader", ORDERS)


@pytest.mark.parametrize("name", ["broker:1", "partition:orders/0#isr"])
@pytest.mark.parametrize("has_snapshot", [True, False])
@pytest.mark.parametrize(
    ("leader", "reason"),
    [(2, "missed heartbeats"), (3, "missed heartbeats, or stopped while it led nothing")],
)
def test_a_fencing_has_its_reason_although_other_topics_are_not_read(
    name: str, has_snapshot: bool, leader: int, reason: str
) -> None:
    """The partition that shows the reason belongs to another topic.

    Broker 1 led it, or broker 3 did and remains the leader in a new epoch.
    """
    before = 1 if leader == 2 else 3
    history = batches(
        UP,
        (*ORDERS, change("orders", 0, leader=3), topic("other"), partition("other", 0)),
        (change("other", 0, leader=before),),
        (change("orders", 0, isr=(2, 3)), change("other", 0, leader=leader), fence(1)),
    )
    log = SkimmedLog(history)
    snapshot = load_image(log, history[-2].base_offset - 1)
    ask = why_broker if name == "broker:1" else why_partition
    at = log.end_offset - 1
    found = ask(log, parse_object(name), at, newest=lambda _: snapshot if has_snapshot else None)
    fencing = (at, f"broker 1 was fenced ({reason})")
    assert links(found)[0] == fencing
    events = Timeline(FakeLog(history)).events(0, log.end_offset)
    assert any(event.cause == at and fencing[1] in event.text for event in events)


@each_data_set
def test_why_of_a_broker_of_a_real_log_has_the_words_of_its_timeline(
    data_set: DataSet, tmp_path: Path
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        timeline, start, end = Timeline(reader), reader.history_start, reader.end_offset
        texts = {each.cause: each.text for each in timeline.events(start, end)}
        for broker in timeline.image().brokers():
            name = parse_object(f"broker:{broker.broker_id}")
            for link in timeline.why(name, end - 1).links:
                if " fenced (" in link.text:
                    assert texts[link.row.offset].startswith(link.text), link.row.offset


AZERCELL = "azercell3-3node-legacy/data_kafka1"


def partition_at(data_set: DataSet, offset: int) -> str:
    """Return the name of the partition in the record at an offset, with the topic's id."""
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    (data,) = [row["data"] for row in rows if row["offset"] == offset]
    return f"partition:@{data['topicId']}/{data['partitionId']}"


def chain_of(log: Path, name: str, at: int) -> Chain:
    with LogReader.open(log) as reader:
        return Timeline(reader).why(parse_object(name), at)


@each_data_set_where(lambda each: str(each) == AZERCELL)
def test_why_a_partition_of_a_real_log_had_no_leader_and_got_one(
    data_set: DataSet, tmp_path: Path
) -> None:
    """Worked out by hand from the decoded log.

    Its only replica is on broker 2: the record at 66 removes its leader, 84 fences the broker in
    the same batch, 105 registers it anew, 128 unfences it, and 129 makes it the leader again.
    """
    log, name = imported(data_set, tmp_path), partition_at(data_set, 66)
    lost = chain_of(log, f"{name}#leader", 101)
    assert (lost.value, lost.waits_for) == (-1, (2,))
    assert [link.row.offset for link in lost.links] == [84, 66]
    back = chain_of(log, f"{name}#leader", 145)
    assert (back.value, back.unclean, back.waits_for) == (2, False, ())
    assert [link.row.offset for link in back.links] == [129, 128, 105, 84, 66]


@each_data_set_where(lambda each: str(each) == "greenhouse-rolled-history/kafka_data_data")
def test_why_names_shutdown_and_fencing_of_the_last_in_sync_replica(
    data_set: DataSet, tmp_path: Path
) -> None:
    """By hand: 1525 starts the shutdown of broker 0, 1526 removes its leadership, 1528
    fences it.
    """
    log, name = imported(data_set, tmp_path), partition_at(data_set, 1526)
    found: Any = chain_of(log, name, 1530)
    assert [link.row.offset for link in found.links] == [1528, 1526, 1525]
    assert found.waits_for == (0,)
