"""Timelines: what happened, grouped by cause."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metadata_log.log_reader import LogReader
from records.base import Record
from records.brokers import FenceBrokerRecord, UnfenceBrokerRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    LeaderChangeMessage,
    NoOpRecord,
)
from records.topics import RemoveTopicRecord
from replay.incidents.event import TimelineEvent
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    broker,
    change,
    image_of,
    partition,
    topic,
    uid,
)
from tests.replay.incidents.real import imported

UP = tuple([broker(n, fenced=False) for n in (1, 2, 3)])
TOPIC = (topic("orders"), partition("orders", 0), partition("orders", 1))
FENCE, UNFENCE = FenceBrokerRecord(id=1, epoch=10), UnfenceBrokerRecord(id=1, epoch=10)


def told(events: Sequence[TimelineEvent]) -> list[tuple[int, int, str, int | None]]:
    return [(each.from_offset, each.to_offset, each.text, each.cause) for each in events]


def events(*groups: Sequence[Record], first: int = 0) -> list[TimelineEvent]:
    log = FakeLog(batches(*groups))
    return Timeline(log).events(first, log.end_offset)


def test_fenced_broker_takes_its_partitions_along() -> None:
    fenced = (
        change("orders", 0, leader=2, isr=(2, 3)),
        change("orders", 1, leader=2, isr=(2, 3)),
        FENCE,
    )
    found = events(UP, TOPIC, fenced, first=6)
    assert told(found) == [
        (6, 8, "broker 1 was fenced (no heartbeat in time): 2 leaders moved, 2 ISRs shrank", 8)
    ]
    assert found[0].objects == ("partition:orders/0", "partition:orders/1", "broker:1")


def test_isrs_that_grow_one_by_one_are_one_event_with_its_cause() -> None:
    down = (change("orders", 0, isr=(2, 3), leader=2), change("orders", 1, isr=(2, 3)), FENCE)
    found = events(
        UP,
        TOPIC,
        down,
        (UNFENCE,),
        (change("orders", 0, isr=(2, 3, 1)),),
        (NoOpRecord(),),
        (change("orders", 1, isr=(2, 3, 1)),),
        first=9,
    )
    assert told(found) == [(9, 9, "broker 1 was unfenced", 9), (10, 12, "2 ISRs grew", 9)]


def test_change_without_a_broker_has_no_cause() -> None:
    found = events(UP, TOPIC, (change("orders", 0, isr=(1, 2)),), first=6)
    assert told(found) == [(6, 6, "1 ISR shrank", None)]


def test_unclean_election_is_told() -> None:
    found = events(
        UP,
        TOPIC,
        (change("orders", 0, leader=-1, isr=(1,)), FENCE),
        (change("orders", 0, leader=3, isr=(3,)),),
        first=8,
    )
    assert told(found) == [(8, 8, "1 unclean election", None)]


def test_topic_is_one_event_with_its_partitions() -> None:
    found = events(TOPIC, (RemoveTopicRecord(topic_id=uid("orders")),))
    assert [each.text for each in found] == [
        "topic orders created, 2 new partitions",
        "topic orders deleted",
    ]


def test_aborted_transaction_did_not_happen() -> None:
    begin, abort = BeginTransactionRecord(name="x"), AbortTransactionRecord(reason="no")
    assert events((begin, *TOPIC), (abort,)) == []


def test_controller_is_told_with_the_time_that_it_was_active() -> None:
    def elected(node: int) -> LeaderChangeMessage:
        return LeaderChangeMessage(version=0, leader_id=node, voters=(), granting_voters=())

    found = events((elected(1),), UP, (elected(2),), (NoOpRecord(),))
    assert [each.text for each in found if each.kind == "controllers"] == [
        "controller 1 became active in epoch 1, for 4 s, last record after 1 s",
        "controller 2 became active in epoch 1, for 1 s",
    ]


def test_records_without_the_state_before_them_are_told_all_the_same() -> None:
    base = Base.of(image_of(*UP, *TOPIC, FENCE))
    log = FakeLog(batches((change("orders", 0, isr=(2,)), FENCE), (UNFENCE,), base_offset=5), base)
    assert base.end_offset == 7
    found = Timeline(log).events(5, log.end_offset)
    assert [(each.kind, each.text, each.cause) for each in found] == [
        ("others", "before: unknown: 1 PartitionChangeRecord", None),
        ("brokers", "before: unknown: 1 FenceBrokerRecord", None),
        ("brokers", "broker 1 was unfenced", 7),
    ]


def events_of(log: Path) -> list[TimelineEvent]:
    with LogReader.open(log) as reader:
        return Timeline(reader).events(reader.start_offset, reader.end_offset)


@each_data_set_where(lambda each: str(each) == "azercell3-3node-legacy/data_kafka1")
def test_timeline_of_a_real_log(data_set: DataSet, tmp_path: Path) -> None:
    """Read by hand from the decoded log: epochs 10 and 14 begin with a restart of all brokers."""
    found = events_of(imported(data_set, tmp_path))
    texts = {(each.from_offset, each.to_offset): each.text for each in found}
    assert texts[64, 64] == (
        "controller 3 became active in epoch 10, for 3 min 23 s, last record after 21.648 s"
    )
    assert texts[65, 65] == "broker 1 restarted: it registered again without having been fenced"
    assert texts[66, 84] == (
        "broker 2 was fenced (no heartbeat in time): "
        "17 partitions lost their leader, 1 leader moved, 1 ISR shrank"
    )
    assert texts[128, 145] == "broker 2 was unfenced: 17 partitions got a leader again"
    terms = [(each.from_offset, each.objects) for each in found if each.kind == "controllers"]
    assert [offset for offset, _ in terms] == [0, 64, 146]


@each_data_set
def test_sums_of_a_timeline_equal_those_of_the_decoded_log(
    data_set: DataSet, tmp_path: Path
) -> None:
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    if not rows or rows[0]["offset"] > 0:
        return
    found = events_of(imported(data_set, tmp_path))
    sums = {
        name: sum(int(n) for each in found for n in re.findall(pattern, each.text))
        for name, pattern in {
            "leaders": r"(\d+) (?:leader|partition)s? (?:moved|lost|got)",
            "unclean": r"(\d+) unclean",
            "shrank": r"(\d+) ISRs? shrank",
            "grew": r"(\d+) ISRs? grew",
        }.items()
    }
    assert (sums["leaders"] + sums["unclean"], sums["shrank"], sums["grew"]) == _naive(rows)
    assert {each.from_offset for each in found if each.kind == "controllers"} == {
        row["offset"] for row in rows if row["type"].startswith("LeaderChange")
    }


def _naive(rows: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Count changes of leaders, and of the length of ISRs."""
    now: dict[tuple[str, int], tuple[int, int]] = {}
    leaders = shrank = grew = 0
    for row in rows:
        data = row["data"]
        if row["type"] == "PartitionRecord":
            now[data["topicId"], data["partitionId"]] = data["leader"], len(data["isr"])
        elif row["type"] == "PartitionChangeRecord":
            key = data["topicId"], data["partitionId"]
            leader, size = now[key]
            after = leader if data["leader"] == -2 else data["leader"]
            length = size if data["isr"] is None else len(data["isr"])
            leaders, shrank, grew = (
                leaders + (after != leader),
                shrank + (length < size),
                grew + (length > size),
            )
            now[key] = after, length
    return leaders, shrank, grew
