"""Overviews: found in one pass, they equal what outages, timeline and image say."""

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from metadata_log.reader.log_reader import LogReader
from records.configs import FeatureLevelRecord
from records.metadata_versions import METADATA_VERSION
from replay.image.delta import MetadataDelta
from replay.incidents.event import CONTROLLERS, OTHERS, TOPICS, TimelineEvent
from replay.incidents.health import health_of
from replay.incidents.leaderless_times import leaderless_times
from replay.incidents.overview import Overview, OverviewReader
from replay.incidents.replay_state import ReplayState
from replay.incidents.single_replicas import single_replicas
from replay.incidents.topic_changes import TopicChanges
from replay.incidents.under_replicated import short_of_replicas
from replay.loader import BatchSource, load_image
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import Base, FakeLog
from tests.replay.incidents.real import imported
from tests.replay.incidents.test_outages import snapshots


def by_parts(source: BatchSource, first: int, end: int) -> Overview:
    """Return the overview of [first, end) in three passes, by the longer ways.

    Without restarts, silences, unclean elections, addresses and topics: see test_restarts.py,
    test_addresses.py, test_topic_changes.py and test_summary.py.
    """
    timeline = Timeline(source)
    events = timeline.events(first, end)
    image = timeline.image(end - 1)
    outages = timeline.outages(first, end).intervals
    return Overview(
        leaderless=leaderless_times(outages),
        controllers=controllers(events),
        controller_before=next(reversed(controllers(timeline.events(0, first))), None),
        restarts=(),
        silences=(),
        unclean=(),
        has_noops=False,
        shared=(),
        listeners=(),
        topics=TopicChanges(),
        changes=Counter(
            each.principal
            for each in events
            if (each.kind == TOPICS and not _is_of_format(source, each))
            or (each.kind == OTHERS and each.principal is not None)
        ),
        health=health_of(image),
        short=short_of_replicas(outages, ReplayState(MetadataDelta(image))),
        single=single_replicas(ReplayState(MetadataDelta(image))),
        brokers=len(list(image.brokers())),
        fenced=sum(broker.fenced for broker in image.brokers()),
        shut_down=sum(broker.in_controlled_shutdown for broker in image.brokers()),
        shutting_down=sum(
            broker.in_controlled_shutdown and not broker.fenced for broker in image.brokers()
        ),
        provenance=image.provenance,
    )


def controllers(events: Iterable[TimelineEvent]) -> tuple[int, ...]:
    """Return the node of each term that begins in some events."""
    return tuple(
        int(each.objects[0].removeprefix("controller:"))
        for each in events
        if each.kind == CONTROLLERS and each.active_ms is not msgspec.UNSET
    )


def comparable(found: Overview) -> Overview:
    """Return an overview without what `by_parts` leaves out."""
    return replace(
        found,
        restarts=(),
        silences=(),
        unclean=(),
        has_noops=False,
        shared=(),
        listeners=(),
        topics=TopicChanges(),
    )


def _is_of_format(source: BatchSource, event: TimelineEvent) -> bool:
    """True if an event is only of configs that a format of the storage set with features."""
    if not all(name.startswith("config:") for name in event.objects):
        return False
    (of_event,) = source.batches(event.from_offset, event.from_offset + 1)
    before = load_image(source, max(of_event.base_offset, source.history_start) - 1)
    return not list(before.brokers()) and any(
        isinstance(row.payload, FeatureLevelRecord) and row.payload.name == METADATA_VERSION
        for row in of_event.rows
    )


def in_one_pass(reading: OverviewReader) -> Overview:
    reading.read()
    return reading.overview()


def test_every_range_of_random_histories_equals_its_parts() -> None:
    rng = random.Random(11)
    pending = 0
    for _ in range(12):
        log = FakeLog(random_history(rng, 60))
        # Also of a log that kept only its later history.
        for source in (log, _without_beginning(log)):
            start = source.history_start
            for _ in range(8):
                end = rng.randrange(start, source.end_offset) + 1
                first = rng.randrange(start, end)
                found = in_one_pass(OverviewReader(source, end, first))
                assert comparable(found) == by_parts(source, first, end), (first, end)
                if first > start:
                    at = rng.randrange(start, first)
                    known = snapshots(load_image(source, at))
                    from_known = in_one_pass(OverviewReader(source, end, first, known))
                    assert from_known == found, (first, end, at)
                pending += found.provenance.pending_transaction is not None
    assert pending, "some ranges end inside a transaction"


def _without_beginning(log: FakeLog) -> FakeLog:
    """Return what is left of a log from a third on; no transaction is open there."""
    ends = [each.end_offset for each in log.log[len(log.log) // 3 :]]
    images = (load_image(log, end - 1) for end in ends)
    before = next(each for each in images if each.provenance.pending_transaction is None)
    kept = [each for each in log.log if each.base_offset >= before.provenance.next_offset]
    return FakeLog(kept, base=Base.of(before))


@each_data_set
def test_overview_of_a_real_log_equals_its_parts(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.start_offset, reader.end_offset
        if end == reader.history_start:
            return
        middle = (max(start, reader.history_start) + end) // 2
        for first, until in ((start, end), (middle, end)):
            found = in_one_pass(Timeline.of(reader).overview_reader(first, until))
            assert comparable(found) == by_parts(reader, first, until), (first, until)
