"""Timelines: events, grouped by cause."""

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import FenceBrokerRecord, UnfenceBrokerRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    NoteRecord,
)
from records.topics import RemoveTopicRecord
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from replay.incidents.event import TimelineEvent
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.builders import (
    Base,
    FakeLog,
    batch,
    batches,
    broker,
    change,
    image_of,
    partition,
    topic,
    uid,
)
from tests.replay.incidents.real import imported

pytestmark = pytest.mark.usefixtures("either_codec")

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
        (6, 8, "broker 1 was fenced (missed heartbeats): 2 leaders moved, 2 ISRs shrank", 8)
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


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"leader": 1}, "1 leader moved to the preferred replica"),
        ({"leader": 3}, "1 leader moved to broker 3"),
        ({"leader": 2}, "1 leader epoch raised"),
        ({"isr": (2, 3, 1)}, "1 ISR changed"),
        ({"isr": (2, 3)}, "1 ISR shrank"),
        ({"eligible_leader_replicas": (1,)}, "1 set of eligible leaders changed"),
        ({"last_known_elr": (1,), "eligible_leader_replicas": (1,)}, None),
        ({"removing_replicas": (3,)}, "1 assignment changed"),
        ({"leader_recovery_state": 1}, "1 recovery state after an unclean election changed"),
        ({"directories": (uid("a"), uid("b"), uid("c"))}, "1 log directory assignment changed"),
    ],
    ids=str,
)
def test_a_change_without_a_cause_says_what_changed(
    fields: dict[str, Any], text: str | None
) -> None:
    """Two sets of eligible leaders that change together are one effect."""
    led_by_2 = change("orders", 0, leader=2)
    found = told(events(UP, TOPIC, (led_by_2,), (change("orders", 0, **fields),), first=7))
    assert [each[2] for each in found] == [text or "1 set of eligible leaders changed"]


def test_a_leader_moves_in_a_partition_without_replicas() -> None:
    without = partition("orders", 2, replicas=(), isr=(1, 2))
    found = events(UP, (*TOPIC, without), (change("orders", 2, leader=2),), first=7)
    assert told(found) == [(7, 7, "1 leader moved to broker 2", None)]


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


def test_transaction_that_ends_in_the_range_is_told_from_its_begin() -> None:
    groups = (BeginTransactionRecord(name="x"), *TOPIC), (EndTransactionRecord(),), UP
    whole = events(*groups)
    assert told(whole)[0] == (1, 3, "topic orders created, 2 new partitions", None)
    for first in range(1, 5):
        assert events(*groups, first=first) == whole


def test_controller_is_told_with_the_time_that_it_was_active() -> None:
    def elected(node: int) -> LeaderChangeMessage:
        return LeaderChangeMessage(version=0, leader_id=node, voters=(), granting_voters=())

    found = events((elected(1),), UP, (elected(2),), (elected(3),), (NoOpRecord(),))
    assert [each.text for each in found if each.kind == "controllers"] == [
        "controller 1 became active in epoch 1, for at least 1 s; the next controller 3 s later",
        "controller 2 became active in epoch 1, wrote only this record; the next controller "
        "1 s later",
        "controller 3 became active in epoch 1, for 1 s",
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
    """Worked out by hand from the decoded log: epochs 10 and 14 begin with a restart of all
    brokers.
    """
    found = events_of(imported(data_set, tmp_path))
    texts = {(each.from_offset, each.to_offset): each.text for each in found}
    assert texts[64, 64] == (
        "controller 3 became active in epoch 10, for at least 21.648 s; the next controller "
        "3 min 1 s later"
    )
    assert texts[65, 65] == "broker 1 restarted: it registered again without having been fenced"
    assert texts[66, 84] == (
        "broker 2 was fenced (missed heartbeats): "
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
    """Count the changes of leaders, and of the lengths of ISRs."""
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


def flapping(*absences: tuple[int, int]) -> list[TimelineEvent]:
    """Return the flaps of broker 1, which is fenced and unfenced at these minutes."""
    made = [*batches(UP)]
    for went, back in absences:
        for minute, record in ((went, FENCE), (back, UNFENCE)):
            made.append(batch(made[-1].end_offset, record, timestamp=minute * 60_000))
    log = FakeLog(made)
    found = Timeline(log).events(0, log.end_offset)
    return [each for each in found if "flapped" in each.text]


def test_broker_that_goes_three_times_in_a_short_time_flaps() -> None:
    (flap,) = flapping((10, 12), (20, 21), (45, 75))
    assert (
        flap.text == "broker 1 flapped: down and back 3 times in 1 h 5 min, gone for 33 min in all"
    )
    assert (flap.from_offset, flap.to_offset, flap.objects) == (3, 8, ("broker:1",))
    assert flap.kind == "brokers"
    assert flap.time == 10 * 60_000


def test_what_is_rare_or_long_does_not_flap() -> None:
    assert not flapping((10, 12), (20, 21))
    assert not flapping((10, 12), (20, 21), (51, 52))  # 31 minutes after it went
    assert not flapping((10, 12), (20, 21), (30, 61))  # gone for 31 minutes
    assert len(flapping((10, 12), (20, 21), (30, 61), (70, 71), (80, 81), (90, 91))) == 1


@each_data_set_where(lambda data_set: str(data_set) == "experts-in-team-two-logs/kafka_data")
def test_flaps_of_a_real_broker(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        found = Timeline.of(reader).events(reader.start_offset, reader.end_offset)
    flaps = [each for each in found if "flapped" in each.text]
    assert [(each.from_offset, each.to_offset, len(each.objects)) for each in flaps] == [
        (964, 2227, 1),
        (1016, 2280, 53),
    ]
    times = "3 times in 10 min 42 s, gone for 2 min 34 s in all"
    assert flaps[0].text == f"broker 1 flapped: down and back {times}"
    assert flaps[1].text == f"53 partitions flapped: without a leader and back {times}"


@each_data_set_where(lambda data_set: sum(s.record_count for s in data_set.segments) < 12_000)
def test_flaps_of_real_partitions_are_those_of_their_outages(
    data_set: DataSet, tmp_path: Path
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        first, end = reader.history_start, reader.end_offset
        told = Timeline.of(reader).events(first, end)
        outages = Timeline.of(reader).outages(first, end).intervals
    found = {
        (name, each.text.partition(" back ")[2].partition(" times")[0])
        for each in told
        if "without a leader and back" in each.text
        for name in each.objects
    }
    short, absences = 30 * 60_000, defaultdict[str, list[tuple[int, int]]](list)
    for each in sorted(outages, key=lambda outage: outage.from_offset or 0):
        if each.kind == "leaderless" and each.from_time is not None and each.to_time is not None:
            absences[each.object].append((each.from_time, each.to_time))
    expected = set()
    for name, of in absences.items():
        count = 0
        for (went, back), (following, _) in pairwise([*of, (10**15, 0)]):
            count = count + 1 if back - went <= short else 0
            if following - went > short or back - went > short:
                if count >= 3:
                    expected.add((name, str(count)))
                count = 0
    assert found == expected


def test_every_object_that_a_record_changes_is_named() -> None:
    rng = random.Random(5)
    for _ in range(6):
        log = FakeLog(random_history(rng, 60))
        timeline = Timeline(log)
        named = {name for each in timeline.events(0, log.end_offset) for name in each.objects}
        for change_ in timeline.changes(0, log.end_offset):
            is_token = change_.object.startswith("token:")
            name = "token:(redacted)" if is_token else change_.object
            # An object that was created anew under its name is told by its id in changes.
            if change_.in_effect and "@" not in name:
                assert name in named, change_


def test_planned_removal_is_no_lost_leader() -> None:
    steps = [
        (change("orders", 0, mode=READ_ONLY), "1 partition made read-only before removal"),
        (change("orders", 0, mode=READ_WRITE), "1 partition writable again"),
        (change("orders", 0, mode=READ_ONLY), "1 partition made read-only before removal"),
        (change("orders", 0, mode=NONE, leader=-1), "1 partition taken offline for removal"),
    ]
    found = events(UP, TOPIC, *[(record,) for record, _ in steps], first=6)
    assert [each.text for each in found] == [text for _, text in steps]


def test_what_sums_up_others_comes_after_the_last_of_them() -> None:
    groups = [(FENCE,), (UNFENCE,)] * 3
    found = events(UP, TOPIC, *groups, (FENCE,), first=6)
    texts = [each.text for each in found]
    assert [each.from_offset for each in found] == [6, 7, 8, 9, 10, 11, 6, 12]
    assert texts[6].startswith("broker 1 flapped: down and back 3 times")
    assert [each.is_flap is True for each in found] == [text is texts[6] for text in texts]
    # Notes pinned to offsets leave the order as it is.
    note = NoteRecord(at_offset=8, text="seen", author="ann")
    log = FakeLog(batches(UP, TOPIC, *groups, (FENCE,), (note,)))
    noted = [each.text for each in Timeline(log).events(6, 13)]
    assert noted == [*texts[:3], "note: seen", *texts[3:]]
