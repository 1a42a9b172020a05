"""Restart loops: which registrations and terms make one, and the same by the images."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from metadata_log.format.parts import Gap
from metadata_log.reader.log_reader import LogReader
from records.base import Record, Uuid
from records.brokers import (
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from records.control import LeaderChangeMessage, LeaderChangeVoter, NoOpRecord
from records.envelope import Envelope
from replay.incidents.overview import OverviewReader, joined
from replay.incidents.restarts import PERIOD_MS_MAX, RestartLoop
from replay.loader import BatchSource, load_image
from replay.transactions import Transactions, rows_within
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batch, broker, uid
from tests.replay.incidents.real import imported

_MINUTE = 60_000


def _log(*at: tuple[float, Record]) -> FakeLog:
    """Return a log of one batch a record, at times in minutes."""
    return FakeLog(
        [
            batch(number, record, timestamp=round(minute * _MINUTE))
            for number, (minute, record) in enumerate(at)
        ]
    )


def _loops(log: BatchSource, first: int = 0, end: int | None = None) -> tuple[RestartLoop, ...]:
    reading = OverviewReader(log, log.end_offset if end is None else end, first)
    reading.read()
    return reading.overview().restart_loops


def _run(broker_id: int, run: int) -> RegisterBrokerRecord:
    return broker(broker_id, incarnation_id=uid(f"run {run} of {broker_id}"), broker_epoch=10 + run)


def _term(node: int, *voters: int) -> LeaderChangeMessage:
    each = tuple([LeaderChangeVoter(voter_id=voter) for voter in voters])
    return LeaderChangeMessage(version=0, leader_id=node, voters=each, granting_voters=each)


def _controller(node: int, run: int) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=node,
        incarnation_id=uid(f"controller run {run} of {node}"),
        zk_migration_ready=False,
        end_points=(),
        features=(),
    )


def test_three_restarts_within_an_hour_are_a_loop_and_the_first_start_is_none() -> None:
    loop = _log(*((20 * run, _run(3, run)) for run in range(5)))
    (found,) = _loops(loop)
    assert (found.node_id, found.is_broker, found.restarts) == (3, True, 4)
    assert (found.from_offset, found.to_offset) == (1, 4)
    assert (found.from_time, found.to_time) == (20 * _MINUTE, 80 * _MINUTE)
    assert not _loops(loop, end=3)
    # A range that begins later knows who was registered before it.
    assert [each.restarts for each in _loops(loop, 2)] == [3]
    assert not _loops(loop, 3)


def test_restarts_that_are_rarer_are_no_loop() -> None:
    step = PERIOD_MS_MAX / 2 / _MINUTE
    assert [
        each.restarts for each in _loops(_log(*((step * n, _run(1, n)) for n in range(6))))
    ] == [5]
    rarer = step + 0.001
    assert not _loops(_log(*((rarer * n, _run(1, n)) for n in range(6))))


def test_two_loops_of_a_node_are_two() -> None:
    minutes = (0, 1, 2, 3, 300, 301, 302, 303)
    found = _loops(_log(*((minute, _run(1, n)) for n, minute in enumerate(minutes))))
    assert [(each.restarts, each.from_offset, each.to_offset) for each in found] == [
        (4, 4, 7),
        (3, 1, 3),
    ]


def test_loop_goes_on_while_each_restart_is_one_of_three_within_the_hour() -> None:
    minutes = (-1, 0, 1, 30, 62, 63)  # The restarts at 1, 30 and 62 are no three within the hour.
    (found,) = _loops(_log(*((minute + 1, _run(1, n)) for n, minute in enumerate(minutes))))
    assert (found.restarts, found.from_offset, found.to_offset) == (5, 1, 5)


def test_loops_of_a_recording_with_a_gap_are_told_with_most_restarts_first() -> None:
    few = OverviewReader(_log(*((n, _run(1, n)) for n in range(4))), 4, 0)
    many = OverviewReader(_log(*((n, _run(2, n)) for n in range(9))), 9, 0)
    gap = Gap(
        from_offset=4,
        from_epoch=1,
        from_time=3 * _MINUTE,
        to_offset=9,
        to_epoch=1,
        to_time=8 * _MINUTE,
        found_time=9 * _MINUTE,
        source="localhost:9093",
        log_start_offset=9,
        leader_epoch=1,
        reason="removed",
    )
    parts = []
    for reading in (few, many):
        reading.read()
        parts.append(reading.overview())
    found = joined(parts, [gap]).restart_loops
    assert [(each.node_id, each.restarts) for each in found] == [(2, 8), (1, 3)]


def test_same_process_that_registers_again_has_not_restarted() -> None:
    again = (broker(1, broker_epoch=10 + n) for n in range(6))
    assert not _loops(_log(*((n, each) for n, each in enumerate(again))))


def test_broker_that_was_unregistered_is_a_new_one() -> None:
    records: list[Record] = []
    for run in range(5):
        records += [_run(1, run), UnregisterBrokerRecord(broker_id=1, broker_epoch=10 + run)]
    assert not _loops(_log(*enumerate(records)))


def test_only_voter_that_leads_again_has_restarted_and_one_of_several_may_not_have() -> None:
    alone = _log(*((n, _term(1, 1)) for n in range(5)))
    (found,) = _loops(alone)
    assert (found.node_id, found.is_broker, found.restarts) == (1, False, 4)
    assert not _loops(_log(*((n, _term(1, 1, 2, 3)) for n in range(5))))
    assert not _loops(_log(*((n, _term(n % 2, n % 2)) for n in range(5))))


def test_controllers_restart_by_their_registrations() -> None:
    loop = _log((0, NoOpRecord()), *((n, _controller(4, n)) for n in range(5)))
    (found,) = _loops(loop)
    assert (found.node_id, found.is_broker, found.restarts) == (4, False, 4)
    assert not _loops(_log(*((n, _controller(4, 0)) for n in range(5))))


def test_node_that_is_both_is_told_once() -> None:
    records: list[Record] = []
    for run in range(5):
        records += [_term(1, 1), _controller(1, run), _run(1, run)]
    (found,) = _loops(_log(*enumerate(records)))
    assert (found.node_id, found.is_broker, found.restarts) == (1, True, 4)


def _by_images(log: BatchSource, first: int, end: int) -> dict[int, list[int]]:
    """Return the times of each broker's restarts in a range, by the images on both sides."""
    found: dict[int, list[int]] = {}
    for rows in _in_effect(log, first, end):
        for row in rows:
            if isinstance(row.payload, RegisterBrokerRecord):
                found.setdefault(row.payload.broker_id, [])
    before = _runs_of(log, first - 1, found)
    for rows in _in_effect(log, first, end):
        for row in rows:
            record = row.payload
            if isinstance(record, RegisterBrokerRecord):
                run = before.get(record.broker_id)
                if run is not None and run != record.incarnation_id:
                    found[record.broker_id].append(row.timestamp)
                before[record.broker_id] = record.incarnation_id
            elif isinstance(record, UnregisterBrokerRecord):
                before.pop(record.broker_id, None)
    return found


def _runs_of(log: BatchSource, at: int, brokers: Iterable[int]) -> dict[int, Uuid]:
    if at < log.history_start - 1:
        at = log.history_start - 1
    image = load_image(log, at)
    return {
        each.broker_id: each.incarnation_id for each in image.brokers() if each.broker_id in brokers
    }


def _in_effect(log: BatchSource, first: int, end: int) -> Iterable[Sequence[Envelope]]:
    transactions = Transactions()
    for each in log.batches(log.history_start, end):
        for of in transactions.resolved(rows_within(each, log.history_start, end)):
            if of.in_effect:
                yield of.rows_from(first)


def _check(log: BatchSource, first: int, end: int) -> int:
    times = _by_images(log, first, end)
    expected = {}
    for node, at in times.items():
        inside = set()
        for n in range(len(at) - 2):
            if at[n + 2] - at[n] <= PERIOD_MS_MAX:
                inside |= {n, n + 1, n + 2}
        if inside:
            expected[node] = len(inside)
    found: dict[int, int] = {}
    for loop in _loops(log, first, end):
        if loop.is_broker:
            found[loop.node_id] = found.get(loop.node_id, 0) + loop.restarts
    assert found == expected, (first, end)
    return len(expected)


def test_loops_of_random_histories_are_those_of_the_images() -> None:
    rng = random.Random(5)
    loops = 0
    for _ in range(60):
        minute, at = 0.0, []
        for _ in range(60):
            minute += rng.choice((1, 4, 10, 20, 60))
            at.append((minute, _some_record(rng)))
        log = _log(*((0.0, _run(node, 0)) for node in (1, 2, 3)), *at)
        first = rng.randrange(log.end_offset)
        loops += _check(log, first, rng.randrange(first, log.end_offset) + 1)
    assert loops > 20, loops


def _some_record(rng: random.Random) -> Record:
    node = rng.randrange(1, 4)
    return rng.choice((_run(node, rng.randrange(4)), _run(node, rng.randrange(4)), NoOpRecord()))


@each_data_set
def test_loops_of_a_real_log_are_those_of_the_images(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.history_start, reader.end_offset
        if end > start:
            for first in (start, (start + end) // 2):
                _check(reader, first, end)
