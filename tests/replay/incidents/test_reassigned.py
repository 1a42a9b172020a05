"""Since when partitions are being reassigned, and brokers have been in their state."""

from collections.abc import Sequence
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.control import AbortTransactionRecord, BeginTransactionRecord
from replay.incidents.reassigned import replicas_since
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.builders import Base, FakeLog, batches, broker, change, partition, topic, uid
from tests.replay.incidents.real import imported

UP = tuple([broker(n, fenced=False) for n in (1, 2, 3, 4)])
ORDERS = (topic("orders"), partition("orders", 0), partition("orders", 1))
KEY = (uid("orders"), 0)
MOVE = change("orders", 0, replicas=(4, 1, 2, 3), adding_replicas=(4,), removing_replicas=(3,))
FENCE, UNFENCE = FenceBrokerRecord(id=4, epoch=10), UnfenceBrokerRecord(id=4, epoch=10)
SHUTDOWN = BrokerRegistrationChangeRecord(broker_id=4, broker_epoch=10, in_controlled_shutdown=1)


def since(*groups: Sequence[Record], base: Base | None = None) -> tuple[int | None, int | None]:
    """Return the offset since when orders/0 is being moved, and that of the state of broker 4."""
    log = FakeLog(batches(*groups, base_offset=0 if base is None else base.end_offset), base)
    found = Timeline(log).replicas_since({KEY}, {4}, log.end_offset - 1)
    moves, state = found.partitions.get(KEY), found.brokers.get(4)
    return None if moves is None else moves.offset, None if state is None else state.offset


def test_it_runs_since_the_record_that_set_the_replicas_being_added() -> None:
    isr = change("orders", 0, isr=(1, 2))
    other = change("orders", 1, adding_replicas=(4,))
    assert since(UP, ORDERS, (MOVE,), (isr,), (other,)) == (7, 3)


def test_record_that_repeats_the_move_does_not_start_it_anew() -> None:
    assert since(UP, ORDERS, (MOVE,), (MOVE,)) == (7, 3)


def test_new_target_starts_it_anew() -> None:
    assert since(UP, ORDERS, (MOVE,), (change("orders", 0, removing_replicas=(2, 3)),)) == (8, 3)


def test_broker_is_fenced_since_the_record_that_fenced_it() -> None:
    again = broker(4, broker_epoch=11)
    assert since(UP, ORDERS, (FENCE,), (UNFENCE,), (MOVE,), (SHUTDOWN,)) == (9, 10)
    assert since(UP, ORDERS, (MOVE,), (SHUTDOWN,), (FENCE,), (again,)) == (7, 9)
    gone = UnregisterBrokerRecord(broker_id=4, broker_epoch=10)
    assert since(UP, ORDERS, (MOVE,), (gone,)) == (7, 8)


def test_what_was_aborted_does_not_count() -> None:
    begin, abort = BeginTransactionRecord(name=None), AbortTransactionRecord(reason=None)
    assert since(UP, ORDERS, (MOVE,), (begin,), (FENCE,), (abort,)) == (7, 3)


def test_what_is_older_than_the_kept_history_has_no_record() -> None:
    base = Base(20, (*UP, *ORDERS[:1], partition("orders", 0, adding_replicas=(4,))))
    assert since((FENCE,), base=base) == (None, 20)


@each_data_set_where(lambda each: each.name.startswith("azercell3"))
def test_skimming_a_real_log_finds_what_reading_it_finds(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as log:
        end = log.end_offset
        image = Timeline(log).image(end - 1)
        keys = {
            (t.topic_id, p.partition_id)
            for t in image.topics()
            for p in image.partitions(t.topic_id)
        }
        brokers = {each.broker_id for each in image.brokers()}
        read = FakeLog(list(log.batches(log.history_start, end)), log.base)
        assert replicas_since(log, keys, brokers, end - 1) == replicas_since(
            read, keys, brokers, end - 1
        )
