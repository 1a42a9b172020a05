"""Addresses that brokers share, and listeners that changed, compared with images of real logs."""

from collections import Counter
from pathlib import Path

from metadata_log.format.parts import Gap
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from replay.incidents.addresses import Listener
from replay.incidents.overview import Overview, OverviewReader, joined
from replay.loader import BatchSource, load_image
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batch, broker
from tests.replay.incidents.real import imported


def _overview(log: BatchSource, first: int = 0) -> Overview:
    reading = OverviewReader(log, log.end_offset, first)
    reading.read()
    return reading.overview()


def _log(*records: Record) -> FakeLog:
    return FakeLog([batch(number, record) for number, record in enumerate(records)])


def _at(broker_id: int, port: int, *, protocol: int = 0, epoch: int = 10) -> RegisterBrokerRecord:
    point = BrokerEndpoint(name="IN", host="kafka", port=port, security_protocol=protocol)
    return broker(broker_id, end_points=(point,), broker_epoch=epoch)


def _up(broker_id: int, *, fenced: int = -1) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=10, fenced=fenced)


_BOTH_UP = (_at(1, 9092), _at(2, 9093), _up(1), _up(2))


def test_brokers_at_one_address_share_it_from_the_registration_on() -> None:
    assert not _overview(_log(*_BOTH_UP)).shared
    (found,) = _overview(_log(*_BOTH_UP, _at(2, 9092), _up(2))).shared
    assert (found.address, found.listeners, found.brokers) == ("kafka:9092", ("IN",), (1, 2))
    assert (found.from_offset, found.from_time, found.to_offset) == (4, 4_000, None)
    # Fencing and registering again as before does not end it.
    again = (_up(2, fenced=1), _at(2, 9092), _up(2))
    assert _overview(_log(*_BOTH_UP, _at(2, 9092), _up(2), *again)).shared == (found,)


def test_sharing_ends_with_another_address_or_without_the_broker() -> None:
    shared = (*_BOTH_UP, _at(2, 9092), _up(2))
    for end in (_at(2, 9099), UnregisterBrokerRecord(broker_id=2, broker_epoch=10)):
        (found,) = _overview(_log(*shared, end)).shared
        assert (found.brokers, found.from_offset, found.to_offset) == ((1, 2), 4, 6)
        # A range that begins later knows only that it was so before.
        (later,) = _overview(_log(*shared, end), 6).shared
        assert (later.from_offset, later.to_offset) == (None, 6)


def test_a_broker_at_the_address_of_a_dead_one_shares_nothing() -> None:
    assert not _overview(_log(*_BOTH_UP, _up(1, fenced=1), _at(3, 9092), _up(3))).shared


def test_a_replacement_that_is_up_before_the_dead_broker_is_fenced_shares_only_until_then() -> None:
    log = _log(_at(1, 9092), _up(1), _at(2, 9092), _up(2), _up(1, fenced=1), _at(3, 9093))
    (found,) = _overview(log).shared
    assert (found.brokers, found.from_offset, found.to_offset) == ((1, 2), 2, 4)
    assert found.to_time == 4_000
    assert not _overview(log, 5).shared
    # That the dead broker's registration goes later changes nothing.
    gone = UnregisterBrokerRecord(broker_id=1, broker_epoch=10)
    assert _overview(
        _log(*(each.payload for one in log.log for each in one.rows), gone)
    ).shared == (found,)


def test_sharing_ends_if_only_fenced_brokers_are_left_with_the_one_that_is_up() -> None:
    up = (_at(1, 9092), _at(2, 9092), _up(1), _up(2))
    gone = UnregisterBrokerRecord(broker_id=2, broker_epoch=10)
    (found,) = _overview(_log(*up, _at(3, 9092), gone)).shared
    assert (found.brokers, found.to_offset) == ((1, 2, 3), 5)


_GAP = Gap(
    from_epoch=1,
    found_time=9_000,
    source="kafka:9093",
    log_start_offset=9,
    leader_epoch=1,
    from_offset=6,
    to_offset=9,
    from_time=5_000,
    to_epoch=1,
    to_time=8_000,
)


def test_sharing_across_a_gap_counts_once_and_ends_in_a_gap_after_which_it_is_gone() -> None:
    shared = (*_BOTH_UP, _at(2, 9092), _up(2))
    before, apart = _overview(_log(*shared)), _overview(_log(*_BOTH_UP))
    (ended,) = joined([before, apart], [_GAP]).shared
    assert (ended.brokers, ended.from_offset) == ((1, 2), 4)
    assert (ended.to_offset, ended.to_time) == (5, 5_000)
    still = _overview(_log(*shared, _up(1)), 6)
    assert joined([before, still], [_GAP]).shared == before.shared
    (until,) = joined([before, _overview(_log(*shared, _up(1, fenced=1)), 6)], [_GAP]).shared
    assert (until.from_offset, until.to_offset, until.brokers) == (4, 6, (1, 2))
    # One that began in the gap.
    (began,) = joined([apart, still], [_GAP]).shared
    assert (began.from_offset, began.to_offset) == (None, None)


def test_a_listener_that_changed_is_told_with_what_it_was() -> None:
    found = _overview(_log(*_BOTH_UP, _at(2, 9093), _at(2, 9093, protocol=2), _at(1, 9094)))
    protocol, port = found.listeners
    assert (protocol.broker, protocol.offset, protocol.time) == (2, 5, 5_000)
    assert protocol.removed == (Listener("IN", "kafka:9093", "PLAINTEXT"),)
    assert protocol.added == (Listener("IN", "kafka:9093", "SASL_PLAINTEXT"),)
    assert (port.broker, port.removed[0].address) == (1, "kafka:9092")
    # A later range knows what was advertised before it.
    log = _log(*_BOTH_UP, _at(2, 9093), _at(2, 9093, protocol=2), _at(1, 9094))
    assert _overview(log, 6).listeners == (port,)


@each_data_set
def test_addresses_of_a_real_log_are_those_of_its_images(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = reader.history_start, reader.end_offset
        found = _overview(reader, start)
        held = Counter(
            address
            for each in load_image(reader, end - 1).brokers()
            for address in {f"{point.host}:{point.port}" for point in each.end_points}
        )
        shared = {each.address for each in found.shared if each.to_offset is None}
        assert shared == {address for address, count in held.items() if count > 1}
        for change in found.listeners:
            before, after = (
                {
                    (point.name, f"{point.host}:{point.port}")
                    for each in load_image(reader, at).brokers()
                    if each.broker_id == change.broker
                    for point in each.end_points
                }
                for at in (change.offset - 1, change.offset)
            )
            assert {(each.name, each.address) for each in change.removed} <= before
            assert {(each.name, each.address) for each in change.added} <= after
            assert before != after or change.added[0].protocol != change.removed[0].protocol
