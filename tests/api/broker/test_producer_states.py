"""Idempotent producers: no batch is written twice, and none is missing."""

from pathlib import Path
from random import Random

import pytest

from api.broker.batches import produced_batches
from api.broker.open_files import OpenFiles
from api.broker.partition_log import PartitionLog
from records.errors import RequestError
from tests.api.broker.records import batch, numbered_batch

_FILES = OpenFiles(4)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return PartitionLog.open(tmp_path, _FILES)


def send(
    log: PartitionLog, sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 7
) -> tuple[int, int]:
    data = numbered_batch(count, producer_id=producer_id, epoch=epoch, sequence=sequence)
    return log.append_stamped(produced_batches(data), 0)


def refused(log: PartitionLog, sequence: int, count: int = 1, *, epoch: int = 0) -> str:
    end = log.end_offset
    with pytest.raises(RequestError) as error:
        send(log, sequence, count, epoch=epoch)
    assert log.end_offset == end
    return error.value.code


def test_batch_that_comes_again_is_answered_with_its_offset(log: PartitionLog) -> None:
    written = [send(log, sequence, 2) for sequence in range(0, 10, 2)]
    assert written == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    assert [send(log, sequence, 2) for sequence in range(0, 10, 2)] == written
    assert log.end_offset == 10


def test_batch_older_than_the_last_five_is_known_to_be_there(log: PartitionLog) -> None:
    for sequence in range(6):
        send(log, sequence)
    assert refused(log, 0) == "DUPLICATE_SEQUENCE_NUMBER"
    assert send(log, 1) == (1, 2)


def test_batch_after_a_gap_is_refused(log: PartitionLog) -> None:
    send(log, 0, 3)
    assert refused(log, 4) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert refused(log, 1, 2) == "DUPLICATE_SEQUENCE_NUMBER"
    assert send(log, 3) == (3, 4)


def test_later_epoch_starts_at_0_and_shuts_out_earlier_ones(log: PartitionLog) -> None:
    send(log, 0, 3)
    assert refused(log, 3, epoch=1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert send(log, 0, epoch=1) == (3, 4)
    assert refused(log, 3, epoch=0) == "INVALID_PRODUCER_EPOCH"


def test_sequence_goes_on_at_0_after_the_last_number(log: PartitionLog) -> None:
    last = 2**31 - 1
    # Of a producer that is not known, any number is taken: what it wrote before may be gone.
    assert send(log, last - 1, 3) == (0, 3)
    assert send(log, 1) == (3, 4)
    assert refused(log, 0) == "DUPLICATE_SEQUENCE_NUMBER"


def test_producers_do_not_mix(log: PartitionLog) -> None:
    send(log, 0, producer_id=1)
    log.append_stamped(produced_batches(batch(b"of nobody")), 0)
    assert send(log, 0, producer_id=2) == (2, 3)
    assert send(log, 1, producer_id=1) == (3, 4)


def test_batches_in_one_request_are_refused(log: PartitionLog) -> None:
    first, second = (
        numbered_batch(1, producer_id=7, epoch=0, sequence=sequence) for sequence in (0, 1)
    )
    with pytest.raises(RequestError, match="2 batches") as error:
        log.append_stamped(produced_batches(first + second), 0)
    assert error.value.code == "INVALID_RECORD"


@pytest.mark.parametrize("seed", range(20))
def test_every_batch_is_there_once_whatever_is_lost(seed: int, tmp_path: Path) -> None:
    """Each batch is in the log once, although answers get lost, brokers restart, and followers
    truncate records that the leader does not have.
    """
    random = Random(seed)
    log = PartitionLog.open(tmp_path, _FILES, segment_size_bytes_max=300)
    sent: list[int] = []
    sequence = 0
    for _ in range(60):
        match random.randrange(5):
            case 0:
                log.close()
                log = PartitionLog.open(tmp_path, _FILES, segment_size_bytes_max=300)
            case 1 if sent:
                # As a new leader without the last batches: the client sends them again.
                log.truncate_to(random.choice(sent[-5:]))
                sent = [offset for offset in sent if offset < log.end_offset]
                sequence = len(sent)
            case 2 if sent:
                again = random.randrange(max(0, sequence - 5), sequence)
                assert send(log, again) == (again, again + 1)
            case _:
                assert send(log, sequence) == (sequence, sequence + 1)
                sent.append(sequence)
                sequence += 1
    assert log.end_offset == len(sent) == sequence
