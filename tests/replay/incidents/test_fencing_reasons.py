"""Why brokers were fenced: what the records before and after a fencing tell."""

from pathlib import Path
from typing import Any

import pytest

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from records.control import LeaderChangeMessage, LeaderChangeVoter, NoOpRecord
from replay.incidents.event import BROKERS
from replay.incidents.node_restarts import restarts_of
from replay.incidents.overview import OverviewReader
from replay.loader import BatchSource
from replay.report.kept_reports import KeptReports
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batch, broker, change, partition, topic, uid
from tests.replay.incidents.decoded_fencings import STALLED, STOPPED, DecodedFencings
from tests.replay.incidents.real import imported
from tests.replay.report.test_growth import after, report

_OPEN = "was fenced (missed heartbeats, or stopped while it led nothing)"
_MISSED = "was fenced (missed heartbeats)"
_Story = list[tuple[float, tuple[Record, ...]]]


def _log(story: _Story) -> FakeLog:
    """Return a log of one batch for each entry, at times in seconds."""
    batches, offset = [], 0
    for second, records in story:
        batches.append(batch(offset, *records, timestamp=1_000_000 + round(second * 1_000)))
        offset += len(records)
    return FakeLog(batches)


def _term(node: int, voters: tuple[int, ...] = (1, 2)) -> LeaderChangeMessage:
    every = tuple([LeaderChangeVoter(voter_id=voter) for voter in voters])
    return LeaderChangeMessage(version=0, leader_id=node, voters=every, granting_voters=every)


def _run(broker_id: int, run: int = 0) -> RegisterBrokerRecord:
    return broker(broker_id, incarnation_id=uid(f"run {run} of {broker_id}"))


def _noops(first: float, until: float) -> _Story:
    """Return a NoOp every half second of [first, until)."""
    return [(first + n / 2, (NoOpRecord(),)) for n in range(round((until - first) * 2))]


def _up(broker_id: int) -> UnfenceBrokerRecord:
    return UnfenceBrokerRecord(id=broker_id, epoch=10)


def _fence(*brokers: int) -> tuple[Record, ...]:
    return tuple([FenceBrokerRecord(id=each, epoch=10) for each in brokers])


_BEGIN: _Story = [
    (0, (_term(1),)),
    (0, (_run(1), _run(2))),
    (0.1, (_up(1), _up(2))),
    *_noops(0.5, 20),
]
"""Controller 1 and brokers 1 and 2, which lead nothing, with NoOps for 20 s."""

_BACK: _Story = [(40, (_term(2),)), (40.5, (_run(1, 1), _run(2, 1)))]


def _stop(*brokers: int, at: float = 20) -> _Story:
    return [(at, _fence(*brokers))]


def _told(log: BatchSource) -> dict[str, str]:
    """Return why each broker was fenced last, equal in all answers."""
    end = log.end_offset
    timeline = Timeline(log)
    events = {
        each.objects[-1]: each.text.partition(" ")[2].partition(" ")[2].partition(":")[0]
        for each in timeline.events(0, end)
        if " was fenced " in each.text
    }
    causes = {
        each.object: cause.text
        for each in timeline.outages(0, end).intervals
        if each.kind == "fenced"
        and (cause := each.cause) is not None
        and " was fenced " in cause.text
    }
    assert {name: text.split(" ", 2)[2] for name, text in causes.items()} == events
    for name, text in events.items():
        links = timeline.why(parse_object(name), end - 1).links
        told = {link.text.split(" ", 2)[2] for link in links if " was fenced " in link.text}
        assert told <= {text}, name
    return events


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ([*_BEGIN, *_stop(1), *_BACK], {"broker:1": STOPPED}),
        ([*_BEGIN, *_stop(1, 2), *_BACK], {"broker:1": STOPPED, "broker:2": STOPPED}),
        (
            [*_BEGIN, *_stop(2), *_stop(1, at=20.4), *_BACK],
            dict.fromkeys(("broker:1", "broker:2"), STOPPED),
        ),
        # The last NoOp comes later.
        ([*_BEGIN, *_stop(1), *_noops(20.5, 21), *_BACK], {"broker:1": STOPPED}),
        # The controller goes on.
        ([*_BEGIN, *_stop(1), *_noops(20.4, 21.4), *_BACK], {"broker:1": _OPEN}),
        ([*_BEGIN, *_stop(1), *_noops(20.4, 60)], {"broker:1": _OPEN}),
        # Broker 2 is of another process than the controller, and not all stop.
        ([*_BEGIN, *_stop(2), *_BACK], {"broker:2": _OPEN}),
        # So it is if the controller's own broker went down long before.
        (
            [*_BEGIN, *_stop(1, at=20), *_noops(20.5, 25), *_stop(2, at=25), *_BACK],
            dict.fromkeys(("broker:1", "broker:2"), _OPEN),
        ),
        # The process went on.
        (
            [*_BEGIN, *_stop(1), (21, (_term(2),)), (22, (_up(1),)), (90, (_run(1, 1),))],
            {"broker:1": f"{STALLED})"},
        ),
        ([*_BEGIN, *_stop(1), (21, (_term(2),)), (22, (_run(1),))], {"broker:1": f"{STALLED})"}),
        # It is not known yet whether it comes back, or whether the controller stopped.
        ([*_BEGIN, *_stop(1), (21, (_term(2),)), (22, (_run(2, 1),))], {"broker:1": _OPEN}),
        ([*_BEGIN, *_stop(1)], {"broker:1": _OPEN}),
        # A stall: such a broker may have missed its heartbeats.
        ([*_BEGIN, (22, _fence(1)), *_BACK], {"broker:1": _OPEN}),
        ([*_BEGIN, *_noops(24, 26), *_stop(1, at=26), *_BACK], {"broker:1": _OPEN}),
        # One that was over for the session timeout is none of it.
        ([*_BEGIN, *_noops(24, 34), *_stop(1, at=34), *_BACK], {"broker:1": STOPPED}),
        # Without NoOps a controller that runs is silent, too.
        (
            [each for each in [*_BEGIN, *_stop(1), *_BACK] if each[1] != (NoOpRecord(),)],
            {"broker:1": _OPEN},
        ),
        # The log does not name the controller.
        ([*_BEGIN[1:], *_stop(1), *_BACK], {"broker:1": _OPEN}),
    ],
)
def test_a_fencing_is_an_orderly_stop_if_the_controller_ends_with_it(
    story: _Story, told: dict[str, str]
) -> None:
    assert _told(_log(story)) == told


def test_a_broker_that_led_a_partition_missed_its_heartbeats() -> None:
    made = (0.2, (topic("t"), partition("t", 0, replicas=(1,), isr=(1,), leader=1)))
    lost = (20, (change("t", 0, leader=-1), *_fence(1)))
    assert _told(_log([*_BEGIN[:3], made, *_BEGIN[3:], lost, *_BACK])) == {"broker:1": _MISSED}
    again = (21.5, (_up(1), change("t", 0, leader=1)))
    story = [*_BEGIN[:3], made, *_BEGIN[3:], lost, (20.5, (NoOpRecord(),)), again]
    assert _told(_log(story)) == {"broker:1": f"{STALLED})"}


@pytest.mark.parametrize(
    ("before", "at", "told"),
    [
        (_noops(22.5, 24), 24, ", and the controller wrote nothing for up to 3 s)"),
        ([], 22.2, ", and the controller wrote nothing for up to 2.7 s)"),
        (_noops(21, 24), 24, ")"),
        # A session timeout before, it says nothing about the fencing.
        (_noops(22.5, 34), 34, ")"),
    ],
)
def test_a_pause_of_the_controller_before_a_stall_is_told(
    before: _Story, at: float, told: str
) -> None:
    story = [*_BEGIN, *before, *_stop(1, at=at), (at + 1, (_up(1),))]
    assert _told(_log(story)) == {"broker:1": f"{STALLED}{told}"}
    without = [each for each in story if each[1] != (NoOpRecord(),)]
    assert _told(_log(without)) == {"broker:1": f"{STALLED})"}


def _overview(log: BatchSource, first: int = 0) -> Any:
    reading = OverviewReader(log, log.end_offset, first)
    reading.read()
    return reading.overview()


def test_restarts_count_inferred_shutdowns() -> None:
    log = _log([*_BEGIN, *_stop(1, 2), *_BACK])
    (found,) = _overview(log).restarts
    assert (found.nodes, found.is_clean, found.is_inferred) == ((1, 2), True, True)
    (summed,) = restarts_of([found])
    assert (summed.clean, summed.inferred, summed.unclean) == (1, 1, 0)
    # Both were off from the fencing on, not since the last record before it.
    assert summed.off_ms == summed.off_ms_most == 20_500
    # The same for a range that begins while they are off.
    assert _overview(log, log.end_offset - 3).restarts == (found,)


def test_one_recorded_shutdown_is_enough_for_brokers_that_went_down_with_it() -> None:
    shut = BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=10, in_controlled_shutdown=1)
    (found,) = _overview(_log([*_BEGIN, (20, (shut,)), *_stop(1), *_BACK])).restarts
    assert (found.is_clean, found.is_inferred) == (True, False)
    assert [(each.node_id, each.is_inferred) for each in found.restarts] == [(1, True), (2, False)]


def test_a_report_that_grows_is_made_anew_once_a_stop_is_known() -> None:
    log = _log([*_BEGIN, *_stop(1), *_noops(20.5, 21), *_BACK, (41, (_up(1),))]).log
    kept, fenced = (
        KeptReports(),
        next(n for n, each in enumerate(log) if each.timestamp == 1_020_000),
    )
    known: int | None = None
    wholes = []
    for end in range(fenced, len(log) + 1):
        packed = report(log[:end], 3, kept, known=known)
        if after(packed) is None:
            assert packed == report(log[:end], 3)
            wholes.append(end)
        known = log[end - 1].end_offset - 1
        assert report(log[:end], 3, kept) == report(log[:end], 3)
    # The first, and with the registration that decides.
    assert wholes == [fenced, len(log) - 1]


@each_data_set
def test_reasons_in_a_real_log_are_those_of_its_decoded_records(
    data_set: DataSet, tmp_path: Path
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        begin, end = reader.history_start, reader.end_offset
        reasons = DecodedFencings(data_set).reasons()
        known = {offset: each for offset, each in reasons.items() if offset >= begin}
        timeline = Timeline.of(reader)
        events = timeline.events(begin, end)
        told = {it.cause for it in events if STOPPED in it.text or STALLED in it.text}
        assert told == known.keys()
        outages = [each.cause for each in timeline.outages(begin, end).intervals]
        causes = {each.offset: each.text for each in outages if each is not None}
        for offset, (text, shown) in known.items():
            (event,) = [
                it for it in events if it.from_offset <= offset == it.cause and it.kind == BROKERS
            ]
            (name,) = [each for each in event.objects if each.startswith("broker:")]
            broker_id = name.removeprefix("broker:")
            assert event.text.startswith(f"broker {broker_id} {text}")
            assert causes[offset] == f"broker {broker_id} {text}"
            # What comes later decides, also of a range that ends with the fencing.
            for at in (offset, shown):
                links = timeline.why(parse_object(name), at).links
                (link,) = [each.text for each in links if each.row.offset == offset]
                assert link.startswith(f"broker {broker_id} {text}")
            (event,) = [it for it in timeline.events(offset, offset + 1) if it.cause == offset]
            assert event.text.startswith(f"broker {broker_id} {text}")
