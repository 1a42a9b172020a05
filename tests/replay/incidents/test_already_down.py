"""Outages that began before the snapshot from which a range is replayed."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import FenceBrokerRecord, UnregisterBrokerRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from replay.incidents.fencing_reasons import NO_HEARTBEAT_OR_STOPPED
from replay.incidents.outage import Outages
from replay.incidents.outages import find_outages
from replay.loader import BatchSource, load_image
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic
from tests.replay.incidents.real import imported
from tests.replay.time_travel.test_skim import SkimmedLog
from tests.samples import drawn

pytestmark = pytest.mark.usefixtures("either_codec")

UP = tuple([broker(n, fenced=False) for n in (1, 2, 3)])
TOPICS = (topic("a"), partition("a", 0), topic("b"), partition("b", 0))


def of_range(log: BatchSource, first: int, *snapshots: int) -> Outages:
    """Return the outages from an offset on, with snapshots at the given offsets."""

    def newest(at: int) -> MetadataImage | None:
        found = max((each for each in snapshots if each <= at), default=None)
        return None if found is None else load_image(log, found)

    return find_outages(log, log.end_offset, from_offset=first, newest=newest)


@drawn(100, 30)
@given(st.integers(0, 2**32), st.integers(2, 80))
def test_ranges_of_random_histories_have_the_same_outages_with_a_snapshot(
    seed: int, count: int
) -> None:
    rng = random.Random(seed)
    log = SkimmedLog(random_history(rng, count))
    for _ in range(4):
        first = rng.randrange(log.end_offset)
        snapshots = [rng.randrange(log.end_offset) for _ in range(3)]
        assert of_range(log, first, *snapshots) == of_range(log, first), (first, snapshots)


@pytest.mark.parametrize(
    ("fenced", "moved", "reason"),
    [
        (1, [change("a", 0, leader=2, isr=(2, 3))], "missed heartbeats"),
        # The same leader again only starts a new epoch.
        (2, [change("a", 0, leader=1, isr=(1, 3))], NO_HEARTBEAT_OR_STOPPED),
        (1, [], NO_HEARTBEAT_OR_STOPPED),
    ],
)
@pytest.mark.parametrize("is_skimmed", [True, False])
def test_a_lead_of_a_partition_that_is_whole_again_tells_why_its_broker_was_fenced(
    fenced: int, moved: Sequence[Record], reason: str, is_skimmed: bool
) -> None:
    left = (2, 3) if fenced == 1 else (1, 3)
    history = batches(
        (*UP, *TOPICS, change("b", 0, leader=3)),
        (change("b", 0, isr=left), *moved, FenceBrokerRecord(id=fenced, epoch=10)),
        (change("a", 0, isr=(1, 2, 3)),),
        (change("a", 0, isr=(1, 2, 3)),),
    )
    log = SkimmedLog(history) if is_skimmed else FakeLog(history)
    at = history[-1].base_offset
    found = of_range(log, at, at - 1)
    causes = {each.cause.text for each in found.intervals if each.cause is not None}
    assert causes == {f"broker {fenced} was fenced ({reason})"}
    assert found == of_range(log, at)


def test_an_unregistered_broker_is_the_cause_only_in_its_batch_and_new_if_it_registers_again() -> (
    None
):
    history = batches(
        (*UP, *TOPICS, broker(4)),
        (change("a", 0, isr=(1, 2)), UnregisterBrokerRecord(broker_id=3, broker_epoch=10)),
        (UnregisterBrokerRecord(broker_id=4, broker_epoch=10), change("a", 0, isr=(1, 2, 3))),
        (change("b", 0, isr=(1, 2)),),
        (change("b", 0, isr=(1, 2, 3)),),
        (broker(3), broker(4), change("b", 0, isr=(1, 2))),
    )
    log = FakeLog(history)
    found = of_range(log, 0)
    third, fifth, last = (history[i].base_offset for i in (1, 3, 5))
    causes = {
        (each.object, each.from_offset): each.cause.text
        for each in found.intervals
        if each.cause is not None and each.from_offset and each.from_offset >= third
    }
    assert causes == {
        ("partition:a/0", third): "broker 3 was unregistered",
        ("partition:b/0", fifth): "leader 1 took 3 out of the ISR: too far behind",
        ("broker:3", last): "broker 3 registered, still fenced",
        ("broker:4", last + 1): "broker 4 registered, still fenced",
        ("partition:b/0", last + 2): "broker 3 registered, still fenced",
    }
    in_range = of_range(log, last)
    for snapshot in (each.end_offset - 1 for each in history[1:5]):
        assert of_range(log, last, snapshot) == in_range, snapshot


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (READ_WRITE, READ_ONLY, "the partition is to be removed: writes are no longer allowed"),
        (READ_ONLY, NONE, "the partition is to be removed: neither reads nor writes are allowed"),
        (READ_ONLY, READ_WRITE, "reads and writes are allowed again"),
        (READ_WRITE, 7, "its mode became 7, which is not known here"),
    ],
)
def test_a_change_of_the_mode_is_a_cause_in_words(before: int, after: int, text: str) -> None:
    began = (topic("a"), partition("a", 0, mode=before))
    log = FakeLog(batches((*UP, *began), (change("a", 0, isr=(1, 2), mode=after),)))
    (found,) = [each for each in of_range(log, 0).intervals if each.object == "partition:a/0"]
    assert found.cause is not None
    assert found.cause.text == text


def test_only_what_matters_to_what_is_down_is_decoded_before_the_snapshot() -> None:
    busy = [(change("a", 0, isr=(1, 2)),), (change("a", 0, isr=(1, 2, 3)),)] * 20
    history = batches(UP, TOPICS, (change("b", 0, isr=(1, 2)),), *busy)
    log = SkimmedLog(history)
    at = history[-2].base_offset
    found = of_range(log, at, at - 1)
    assert {(each.object, each.from_offset) for each in found.intervals} == {
        ("partition:b/0", 7),
        ("partition:a/0", at),
    }
    assert log.decoded == [0, 3, 7]


@each_data_set
def test_ranges_of_a_real_log_have_the_same_outages_with_a_snapshot(
    data_set: DataSet, tmp_path: Path
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.history_start, reader.end_offset
        rng = random.Random(str(data_set))
        for _ in range(3):
            first = rng.randrange(start + 1, end)
            snapshots = [rng.randrange(start, first) for _ in range(3)]
            found, expected = of_range(reader, first, *snapshots), of_range(reader, first)
            assert found.intervals == expected.intervals, (first, snapshots)
            assert found.provenance == expected.provenance
