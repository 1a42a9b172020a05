"""A mirror that takes a leader's answers: what is written, confirmed, cut off and frozen."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from metadata_log.files import followed
from metadata_log.files.followed import FOLLOWED, FollowerNote
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.block import SYNC_SIZE, BlockEncoder
from metadata_log.kraft.new_mirror import begin_mirror
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.limits import (
    BATCH_SIZE_BYTES_MAX,
    FOLLOWED_FOR_MS,
    OBSERVE_GATHER_MS,
    RECORD_GATHER_MS,
)
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.wakeup import watch
from records.base import Record
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from records.errors import CommittedHistoryChangedError, RequestError, UnavailableError
from tests.metadata_log.kraft.logs import batch, leader_change, topic
from tests.metadata_log.mirrors import rows_of

_NODE = "c1:9093"


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _log(*batches: tuple[int, int, Record]) -> bytes:
    return b"".join(batch(offset, epoch, record) for offset, epoch, record in batches)


_EPOCH_1 = _log((0, 1, leader_change()), (1, 1, topic("a")), (2, 1, topic("b")))
_TAIL = _log((3, 1, topic("lost")), (4, 1, NoOpRecord()), (5, 1, NoOpRecord()))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    begin_mirror(tmp_path / "log", "cluster")
    return tmp_path / "log"


def _ends(log: Path) -> tuple[int, int]:
    with LogReader.open(log) as reader:
        return reader.end_offset, reader.confirmed_end


def _rows(log: Path) -> list[Envelope]:
    with LogReader.open(log) as reader:
        return rows_of(reader)


def test_new_mirror_is_empty_and_asks_for_the_first_offset(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        assert (mirror.fetch_offset, mirror.leader_epoch, mirror.confirmed_end) == (0, 0, 0)
    assert _ends(log) == (0, 0)


def test_mirror_is_confirmed_up_to_the_high_watermark(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + _TAIL, 3, _NODE)
        mirror.write()
        assert (mirror.fetch_offset, mirror.leader_epoch) == (6, 1)
        assert _ends(log) == (6, 3)
        mirror.take(b"", 5, _NODE)
        assert mirror.is_due
        mirror.write()
    assert _ends(log) == (6, 5)


def test_high_watermark_that_is_lower_or_unknown_changes_nothing(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1, 3, _NODE)
        mirror.take(b"", -1, _NODE)
        mirror.take(b"", 1, _NODE)
        mirror.write()
    assert _ends(log) == (3, 3)


def test_high_watermark_beyond_the_answer_confirms_no_more_than_was_read(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1, 1_000, _NODE)
        mirror.write()
        assert _ends(log) == (3, 3)
        mirror.take(_TAIL, 1_000, _NODE)
        mirror.write()
    assert _ends(log) == (6, 6)


def test_noops_become_a_run_only_below_the_high_watermark(log: Path) -> None:
    noops = _log(*((offset, 1, NoOpRecord()) for offset in range(3, 9)))
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + noops, 6, _NODE)
        mirror.write()
    rows = _rows(log)
    assert [row.offset for row in rows] == [0, 1, 2, 3, 6, 7, 8]
    assert [isinstance(row.payload, NoOpRunRecord) for row in rows] == [False] * 3 + [True] + [
        False
    ] * 3


def test_batches_wait_a_second_and_noops_ten(log: Path) -> None:
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        mirror.take(_log((0, 1, NoOpRecord())), 1, _NODE)
        clock.now += OBSERVE_GATHER_MS / 1_000
        assert not mirror.is_due
        mirror.take(_log((1, 1, topic("a"))), 1, _NODE)
        assert mirror.is_due
        mirror.write()
        mirror.take(_log((2, 1, NoOpRecord())), 2, _NODE)
        mirror.write()
        mirror.take(_log((3, 1, NoOpRecord())), 2, _NODE)
        clock.now += RECORD_GATHER_MS / 1_000
        assert mirror.is_due


async def test_committed_batches_are_written_at_once_while_someone_follows(log: Path) -> None:
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        mirror.take(_EPOCH_1, 3, _NODE)
        assert not mirror.is_due
        with watch(log / COMMIT_MARK):
            assert mirror.is_due
            mirror.write_due()
            assert _ends(log) == (3, 3)
            mirror.take(_log((3, 1, NoOpRecord())), 4, _NODE)
            assert not mirror.is_due, "nobody waits for NoOps"
            mirror.take(_log((4, 1, topic("c"))), 5, _NODE)
            assert mirror.is_due
            mirror.write_due()
            mirror.take(_log((5, 1, topic("d"))), 5, _NODE)
            assert not mirror.is_due, "it may still be withdrawn"
        clock.now += FOLLOWED_FOR_MS / 1_000
        mirror.take(_log((6, 1, topic("e"))), 7, _NODE)
        assert mirror.is_due, "as what was taken first has waited a second"
        mirror.write_due()
        mirror.take(_log((7, 1, topic("f"))), 8, _NODE)
        assert not mirror.is_due, "the follower has gone"


async def test_follower_stays_noticed_while_it_waits(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "FOLLOWED_NOTE_INTERVAL_MS", 0)
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror, watch(log / COMMIT_MARK) as wakeup:
        for number in range(3):
            clock.now += FOLLOWED_FOR_MS / 1_000
            waiting = asyncio.create_task(wakeup.wait())
            await asyncio.sleep(0)
            mirror.take(_log((number, 1, topic(f"t{number}"))), number + 1, _NODE)
            assert mirror.is_due
            mirror.write_due()
            await waiting


def test_mirror_without_the_followers_file_is_written_after_a_second(log: Path) -> None:
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        (log / FOLLOWED).unlink()
        FollowerNote(log).renew()
        mirror.take(_EPOCH_1, 3, _NODE)
        assert not mirror.is_due
        clock.now += OBSERVE_GATHER_MS / 1_000
        assert mirror.is_due
    assert not (log / FOLLOWED).exists(), "a follower makes no file"


@pytest.mark.parametrize("trailing", [0, 1, 2])
def test_batches_above_the_high_watermark_wait_for_it_and_share_a_block(
    log: Path, trailing: int
) -> None:
    """A leader's high watermark trails; a block for each batch would double the bytes."""
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        for offset in range(40):
            clock.now += OBSERVE_GATHER_MS / 10_000
            mirror.take(_log((offset, 1, topic(f"t{offset}"))), offset + 1 - trailing, _NODE)
            if mirror.is_due:
                mirror.write_due()
                assert mirror.fetch_offset - mirror.end_offset <= trailing
                assert mirror.confirmed_end == mirror.end_offset
    with LogReader.open(log) as reader:
        assert len(list(reader.placed_blocks(0))) <= 6


def test_batch_is_written_after_a_second_also_if_the_high_watermark_stands_still(log: Path) -> None:
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        mirror.take(_EPOCH_1, 2, _NODE)
        clock.now += OBSERVE_GATHER_MS / 1_000
        mirror.take(_log((3, 1, topic("c"))), 2, _NODE)
        mirror.write_due()
        assert _ends(log) == (3, 2)
        clock.now += OBSERVE_GATHER_MS / 1_000
        assert mirror.is_due
        mirror.write_due()
        assert _ends(log) == (4, 2)


def test_records_are_confirmed_at_once_while_noops_wait(log: Path) -> None:
    clock = _Clock()
    with ObservedMirror(log, clock=clock) as mirror:
        mirror.take(_EPOCH_1, 0, _NODE)
        mirror.write()
        mirror.take(_log((3, 1, NoOpRecord())), 0, _NODE)
        assert not mirror.is_due
        mirror.take(b"", 3, _NODE)
        assert mirror.is_due
        mirror.write()
        mirror.take(_log((4, 1, NoOpRecord())), 4, _NODE)
        assert not mirror.is_due
    assert _ends(log) == (5, 4)


def test_tail_that_the_quorum_withdrew_is_cut_off_and_told(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + _TAIL, 2, _NODE)
        mirror.diverge(1, 4, _NODE)
        assert (mirror.fetch_offset, mirror.leader_epoch) == (4, 1)
        mirror.take(_log((4, 2, leader_change())), 5, _NODE)
        mirror.write()
        (replaced,) = mirror.replaced
    assert (replaced.first_offset, replaced.last_offset, replaced.leader_epoch) == (4, 5, 1)
    assert _ends(log) == (5, 5)


def test_own_later_epochs_are_cut_off_whatever_the_leaders_end_is(log: Path) -> None:
    later = _log((3, 2, leader_change()), (4, 2, topic("c")), (5, 3, leader_change()))
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + later, 3, _NODE)
        mirror.diverge(1, 100, _NODE)
        assert (mirror.fetch_offset, mirror.leader_epoch) == (3, 1)
    assert _ends(log) == (3, 3)


@pytest.mark.parametrize(("epoch", "end"), [(1, 2), (0, 0), (0, 3)])
def test_history_below_the_high_watermark_is_never_cut_and_freezes_the_mirror(
    log: Path, epoch: int, end: int
) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + _TAIL, 3, _NODE)
        with pytest.raises(CommittedHistoryChangedError, match="had committed all below 3"):
            mirror.diverge(epoch, end, _NODE)
    assert _ends(log) == (6, 3)
    with pytest.raises(CommittedHistoryChangedError, match=f"epoch {epoch} ends at offset {end}"):
        ObservedMirror(log)


def test_divergence_that_parts_nothing_is_refused(log: Path) -> None:
    with ObservedMirror(log) as mirror:
        mirror.take(_EPOCH_1 + _TAIL, 3, _NODE)
        with pytest.raises(RequestError, match="another log"):
            mirror.diverge(1, 6, _NODE)
    assert _ends(log) == (6, 3)


def test_only_one_reader_has_a_mirror(log: Path) -> None:
    with ObservedMirror(log), pytest.raises(UnavailableError):
        ObservedMirror(log)


@pytest.mark.parametrize("seed", range(20))
def test_answers_of_any_size_give_the_same_mirror(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    records = [leader_change(), *(random.choice((topic("t"), NoOpRecord())) for _ in range(60))]
    data = _log(*((offset, 1, record) for offset, record in enumerate(records)))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    begin_mirror(whole, "cluster")
    with ObservedMirror(whole, collapse_noops=False) as mirror:
        mirror.take(data, 61, _NODE)
    begin_mirror(parts, "cluster")
    read, high_watermark = 0, -1
    while read < 61:
        with ObservedMirror(parts, collapse_noops=False) as mirror:
            for _ in range(random.randint(1, 5)):
                start = len(_log(*((n, 1, records[n]) for n in range(mirror.fetch_offset))))
                high_watermark = random.randint(high_watermark, mirror.fetch_offset)
                mirror.take(data[start:][: random.randint(0, 900)], high_watermark, _NODE)
                if random.random() < 0.3:
                    mirror.write()
            read = mirror.fetch_offset
    assert _rows(parts) == _rows(whole)


def test_what_is_gathered_in_a_second_is_compressed_more_than_an_own_block(log: Path) -> None:
    topics = [(offset, 1, topic(f"team-{offset % 7}.orders.{offset}")) for offset in range(40)]
    with ObservedMirror(log) as mirror:
        mirror.take(_log(*topics), 40, _NODE)
        mirror.write()
    with LogReader.open(log) as reader:
        rows = rows_of(reader)
        ((place, _),) = reader.placed_blocks(0)
    own, thorough = (
        len(BlockEncoder(BATCH_SIZE_BYTES_MAX, is_thorough=each).encode(rows, bytes(SYNC_SIZE)))
        for each in (False, True)
    )
    assert abs(place.end_position - place.position - thorough) < 10
    assert thorough < own
