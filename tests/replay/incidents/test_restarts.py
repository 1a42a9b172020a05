"""Restarts: which registrations and terms show one, how runs ended, and the same by the images."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from metadata_log.format.parts import Gap
from metadata_log.reader.log_reader import LogReader
from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from records.control import LeaderChangeMessage, LeaderChangeVoter, NoOpRecord
from records.envelope import Envelope
from replay.incidents.node_restarts import restarts_of
from replay.incidents.overview import OverviewReader, joined
from replay.incidents.restarts import Together
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


def _together(log: BatchSource, first: int = 0, end: int | None = None) -> tuple[Together, ...]:
    reading = OverviewReader(log, log.end_offset if end is None else end, first)
    reading.read()
    return reading.overview().restarts


def _restarts(log: BatchSource, first: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return the node and the offset of each restart, in order."""
    found = [each for of in _together(log, first, end) for each in of.restarts]
    return sorted([(each.node_id, each.offset) for each in found], key=lambda each: each[1])


def _run(broker_id: int, run: int) -> RegisterBrokerRecord:
    return broker(broker_id, incarnation_id=uid(f"run {run} of {broker_id}"), broker_epoch=10 + run)


def _up(broker_id: int, run: int = 0) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=10 + run, fenced=-1)


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


def _down(broker_id: int, run: int = 0, *, clean: bool = False) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=10 + run,
        fenced=int(not clean),
        in_controlled_shutdown=int(clean),
    )


def test_first_start_is_no_restart_and_a_later_range_knows_it() -> None:
    log = _log(*((20 * run, _run(3, run)) for run in range(5)))
    assert _restarts(log) == [(3, 1), (3, 2), (3, 3), (3, 4)]
    assert _restarts(log, end=3) == [(3, 1), (3, 2)]
    # A range that begins later knows who was registered before it.
    assert _restarts(log, 2) == [(3, 2), (3, 3), (3, 4)]


def test_how_the_run_before_ended_and_how_long_the_node_was_off() -> None:
    log = _log(
        (0, _run(1, 0)),
        (1, _up(1)),
        (2, _down(1, clean=True)),
        (3, _down(1)),
        (9, _run(1, 1)),
        (10, _up(1, 1)),
        (11, _down(1, 1)),
        (12, _run(1, 2)),
        (13, _up(1, 2)),
        (20, _run(1, 3)),
    )
    found = _together(log)
    assert [each.is_clean for each in found] == [True, None, False]
    assert [each.is_all for each in found] == [True] * 3
    assert [each.down_offset for each in found] == [2, 6, 9]
    (summed,) = restarts_of(found)
    assert (summed.nodes, summed.times, summed.clean, summed.unclean) == ((1,), 3, 1, 1)
    assert (summed.off_ms, summed.off_ms_max) == (8 * _MINUTE, 7 * _MINUTE)
    assert (summed.apart_ms_min, summed.apart_ms_max) == (3 * _MINUTE, 8 * _MINUTE)
    assert (summed.from_offset, summed.to_offset) == (4, 9)
    # The same, if the range begins while it is off.
    assert _together(log, 4) == found


def test_brokers_that_were_down_at_the_same_time_restarted_together() -> None:
    starts = [(0, _run(node, 0)) for node in (1, 2, 3)] + [(1, _up(node)) for node in (1, 2, 3)]
    stop = [(2, _down(node, clean=True)) for node in (1, 2, 3)]
    log = _log(*starts, *stop, *((5 + 0.1 * node, _run(node, 1)) for node in (1, 2, 3)))
    (found,) = _together(log)
    assert (found.nodes, found.is_all, found.is_clean) == ((1, 2, 3), True, True)
    two = _log(*starts, *stop[:2], *((5 + 0.1 * node, _run(node, 1)) for node in (1, 2)))
    (found,) = _together(two)
    assert (found.nodes, found.is_all) == ((1, 2), False)


def test_rolling_restart_is_not_together() -> None:
    rolling: list[tuple[float, Record]] = []
    for node in (1, 2, 3):
        at = 2.0 + node
        rolling += [
            (at, _down(node, clean=True)),
            (at + 0.2, _run(node, 1)),
            (at + 0.3, _up(node, 1)),
        ]
    starts = [(0, _run(node, 0)) for node in (1, 2, 3)] + [(1, _up(node)) for node in (1, 2, 3)]
    assert [each.nodes for each in _together(_log(*starts, *rolling))] == [(1,), (2,), (3,)]


def test_restarts_of_a_recording_with_a_gap_are_those_of_its_parts() -> None:
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
    found = restarts_of(joined(parts, [gap]).restarts)
    assert [(each.nodes, each.times) for each in found] == [((2,), 8), ((1,), 3)]


def test_same_process_that_registers_again_has_not_restarted() -> None:
    again = (broker(1, broker_epoch=10 + n) for n in range(6))
    assert not _restarts(_log(*((n, each) for n, each in enumerate(again))))


def test_broker_that_was_unregistered_is_a_new_one() -> None:
    records: list[Record] = []
    for run in range(5):
        records += [_run(1, run), UnregisterBrokerRecord(broker_id=1, broker_epoch=10 + run)]
    assert not _restarts(_log(*enumerate(records)))


def test_only_voter_that_leads_again_has_restarted_and_one_of_several_may_not_have() -> None:
    alone = _log(*((n, _term(1, 1)) for n in range(5)))
    assert _restarts(alone) == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert not any(each.is_broker for each in _together(alone))
    assert not _restarts(_log(*((n, _term(1, 1, 2, 3)) for n in range(5))))
    assert not _restarts(_log(*((n, _term(n % 2, n % 2)) for n in range(5))))


def test_controllers_restart_by_their_registrations() -> None:
    log = _log((0, NoOpRecord()), *((n, _controller(4, n)) for n in range(5)))
    assert _restarts(log) == [(4, 2), (4, 3), (4, 4), (4, 5)]
    assert not any(each.is_broker for each in _together(log))
    assert not _restarts(_log(*((n, _controller(4, 0)) for n in range(5))))


def test_node_that_is_both_is_told_once() -> None:
    records: list[Record] = []
    for run in range(5):
        records += [_term(1, 1), _controller(1, run), _run(1, run)]
    found = _together(_log(*((number / 6, record) for number, record in enumerate(records))))
    assert [(each.nodes, each.is_broker) for each in found] == [((1,), True)] * 4


def test_broker_missed_only_after_its_process_was_back_was_not_shut_down() -> None:
    log = _log(
        (0, _term(1, 1)),
        (0, _run(1, 0)),
        (0.1, _up(1)),
        (5, NoOpRecord()),
        (10, _term(1, 1)),
        (10.1, _controller(1, 1)),
        (10.2, _down(1)),
        (10.3, _run(1, 1)),
    )
    (found,) = _together(log)
    assert (found.is_both, found.is_clean, found.down_offset) == (True, False, 4)
    assert found.seen_time == 5 * _MINUTE
    assert (found.off_ms(0), found.off_ms_most(0)) == (0.3 * _MINUTE, 5.3 * _MINUTE)
    # A node that was not the controller may have been off before the last record.
    assert found.off_ms_most(8 * _MINUTE) == 2.3 * _MINUTE
    other = _log(
        (0, _term(2, 1, 2)), (0, _run(1, 0)), (0.1, _up(1)), (5, _term(2, 1, 2)), (5.1, _run(1, 1))
    )
    (found,) = _together(other)
    assert (found.is_both, found.seen_time) == (True, None)


def test_broker_that_led_nothing_was_shut_down_with_the_others() -> None:
    starts = [(0, _run(node, 0)) for node in (1, 2, 3)] + [(1, _up(node)) for node in (1, 2, 3)]
    back = [(5 + 0.1 * node, _run(node, 1)) for node in (1, 2, 3)]
    shut = [(2, _down(1, clean=True)), (2, _down(2)), (2, _down(3, clean=True))]
    (found,) = _together(_log(*starts, *shut, *back))
    assert found.is_clean is True
    (summed,) = restarts_of([found])
    assert (summed.clean_ends, summed.unclean_starts) == ((2 * _MINUTE,), ())
    # One that was gone before need not have been.
    gone = [(1.5, _down(2)), (2, _down(1, clean=True)), (2, _down(3, clean=True))]
    (found,) = _together(_log(*starts, *gone, *back))
    assert found.is_clean is None


def test_controller_that_crashes_again_and_again_is_told_beside_its_broker() -> None:
    node: list[tuple[float, Record]] = [(0, _term(1, 1)), (0, _controller(1, 0)), (0, _run(1, 0))]
    for run in range(1, 9):
        node += [(run / 10, _term(1, 1)), (run / 10 + 0.01, _controller(1, run))]
    # The last of them came up with its broker.
    log = _log(*node, (0.82, _run(1, 1)), (10, _controller(1, 9)), (20, _term(1, 1)))
    told = [(each.nodes, each.is_broker, each.times) for each in restarts_of(_together(log))]
    # A term without a registration shows a restart, too.
    assert told == [((1,), False, 9), ((1,), True, 1)]
    # A range that begins within knows the controller and the leader before it.
    within = [offset for _, offset in _restarts(log, 5)]
    assert within == [6, 8, 10, 12, 14, 16, 19, 20, 21]
    assert _restarts(log, 5, 6) == [(1, 5)]


def _by_images(log: BatchSource, first: int, end: int) -> list[tuple[int, int]]:
    """Return the node and the offset of each broker's restart, by the images on both sides."""
    rows = [row for rows in _in_effect(log, first, end) for row in rows]
    nodes = {row.payload.broker_id for row in rows if isinstance(row.payload, RegisterBrokerRecord)}
    before = _runs_of(log, first - 1, nodes)
    found = []
    for row in rows:
        record = row.payload
        if isinstance(record, RegisterBrokerRecord):
            run = before.get(record.broker_id)
            if run is not None and run != record.incarnation_id:
                found.append((record.broker_id, row.offset))
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
    expected = _by_images(log, first, end)
    found = [
        (each.node_id, each.offset)
        for of in _together(log, first, end)
        if of.is_broker
        for each in of.restarts
    ]
    assert found == expected, (first, end)
    return len(expected)


def test_restarts_of_random_histories_are_those_of_the_images() -> None:
    rng = random.Random(5)
    restarts = 0
    for _ in range(60):
        minute, at = 0.0, []
        for _ in range(60):
            minute += rng.choice((1, 4, 10, 20, 60))
            at.append((minute, _some_record(rng)))
        log = _log(*((0.0, _run(node, 0)) for node in (1, 2, 3)), *at)
        first = rng.randrange(log.end_offset)
        restarts += _check(log, first, rng.randrange(first, log.end_offset) + 1)
    assert restarts > 200, restarts


def _some_record(rng: random.Random) -> Record:
    node = rng.randrange(1, 4)
    return rng.choice((_run(node, rng.randrange(4)), _run(node, rng.randrange(4)), NoOpRecord()))


@each_data_set
def test_restarts_of_a_real_log_are_those_of_the_images(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.history_start, reader.end_offset
        if end > start:
            for first in (start, (start + end) // 2):
                _check(reader, first, end)
