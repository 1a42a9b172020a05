"""A log in Kafka's form, read by offset while it grows."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.kraft_format.batch import parse_header
from metadata_log.reader.log_reader import LogReader
from records.errors import UnavailableError
from replay.care.retain import retain
from replay.kafka_form import served_log
from replay.kafka_form.served_log import Point, Reading, ServedLog
from tests.own_logs import write_history
from tests.replay.kafka_form.test_segments import export

_ALL = 1 << 40


def batches_of(content: bytes) -> dict[int, bytes]:
    """Return the batches by their base offsets."""
    return dict(_placed(content))


def _placed(content: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position < len(content):
        header = parse_header(content, position)
        yield header.base_offset, content[position : position + header.size]
        position += header.size


@pytest.fixture
async def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(served_log, "_ROWS_BETWEEN", 20)
    monkeypatch.setattr(served_log, "_NEWEST_BYTES", 4_000)
    return await write_history(tmp_path / "log", 12, 80, batches_an_epoch=16, as_by_controller=True)


def epochs(log: Path) -> dict[int, int]:
    """Return the epoch of each offset."""
    with LogReader.open(log) as reader:
        return {row.offset: row.leader_epoch for batch in reader.batches() for row in batch.rows}


@pytest.mark.parametrize("keep_newest", [False, True])
async def test_from_each_offset_the_same_bytes(
    log: Path, tmp_path: Path, keep_newest: bool
) -> None:
    whole = export(log, tmp_path / "whole")
    served, at = ServedLog(log), epochs(log)
    served.advance(keep_newest=keep_newest)
    batches = batches_of(whole)
    assert len(served._kept) > 5, "reads begin in the middle"
    for offset in random.Random(1).sample(range(served.end_offset), 40):
        base = max(start for start in batches if start <= offset)
        epoch = at[offset - 1] if offset else 0
        found = served.read(offset, epoch, _ALL, _ALL)
        assert whole.endswith(found.batches)
        assert parse_header(found.batches).base_offset == base
        one = served.read(offset, epoch, _ALL, 1)
        assert one == Reading(batches=batches[base]), "at least one batch, whatever its size"
    assert served.read(served.end_offset, at[served.end_offset - 1], _ALL, _ALL) == Reading()


async def test_size_and_end_bound_what_is_read(log: Path, tmp_path: Path) -> None:
    batches = batches_of(export(log, tmp_path / "whole"))
    served = ServedLog(log)
    served.advance(keep_newest=False)
    starts = sorted(batches)
    three = b"".join(batches[start] for start in starts[:3])
    assert served.read(0, 0, _ALL, len(three)).batches == three
    assert served.read(0, 0, _ALL, len(three) - 1).batches == three[: -len(batches[starts[2]])]
    assert served.read(0, 0, starts[2], _ALL).batches == three[: -len(batches[starts[2]])]
    assert served.read(0, 0, starts[2] + 1, _ALL).batches.startswith(three[:-1]) is (
        starts[3] == starts[2] + 1
    )


async def test_an_observer_that_follows_gets_what_a_later_one_reads(
    log: Path, tmp_path: Path
) -> None:
    served = ServedLog(log)
    seen, epoch = b"", 0
    for seed in (21, 22, 23):
        served.advance(keep_newest=True)
        while (found := served.read(_end(seen), epoch, _ALL, 3_000)).batches:
            seen += found.batches
            epoch = [parse_header(batch).leader_epoch for _, batch in _placed(seen)][-1]
        await write_history(log, seed, 10, create=False, as_by_controller=True)
    served.advance(keep_newest=True)
    seen += served.read(_end(seen), epoch, _ALL, _ALL).batches
    assert seen == export(log, tmp_path / "whole")


def _end(content: bytes) -> int:
    return max((parse_header(batch).end_offset for _, batch in _placed(content)), default=0)


async def test_a_log_that_differs_is_told_where(log: Path) -> None:
    served, at = ServedLog(log), epochs(log)
    served.advance(keep_newest=False)
    end, last = served.end_offset, at[served.end_offset - 1]
    first_end = min(offset for offset, epoch in at.items() if epoch > at[0])
    for offset, epoch, diverging in (
        (end + 1, last, Point(end, last)),
        (end, last + 7, Point(end, last)),
        (first_end + 1, at[0], Point(first_end, at[0])),
        (5, 0, Point(0, 0)),
    ):
        assert served.read(offset, epoch, _ALL, _ALL) == Reading(diverging=diverging)


async def test_before_the_start_there_is_only_the_base(log: Path) -> None:
    served, at = ServedLog(log), epochs(log)
    served.advance(keep_newest=False)
    whole = served.read(0, 0, _ALL, _ALL).batches
    retain(log, served.end_offset * 2 // 3, check_dropped=lambda _: None)
    opened = ServedLog(log)
    opened.advance(keep_newest=False)
    served.advance(keep_newest=False)
    start = opened.start_offset
    base = Point(start, at[start - 1])
    assert 0 < start == served.start_offset
    for each in (served, opened):
        for offset, epoch in ((0, 0), (start - 1, at[start - 2]), (start, base.leader_epoch + 1)):
            assert each.read(offset, epoch, _ALL, _ALL) == Reading(snapshot=base)
        assert each.read(start, base.leader_epoch - 1, _ALL, _ALL) == Reading(snapshot=base)
        assert each.read(start + 1, base.leader_epoch - 1, _ALL, _ALL) == Reading(snapshot=base)
        rest = each.read(start, base.leader_epoch, _ALL, _ALL).batches
        assert parse_header(rest).base_offset == start
        assert whole.endswith(rest)


async def test_a_start_whose_names_were_not_kept_is_read_anew(log: Path) -> None:
    served = ServedLog(log)
    served.advance(keep_newest=False)
    retain(log, served.end_offset * 2 // 3, check_dropped=lambda _: None)
    opened = ServedLog(log)
    opened.advance(keep_newest=False)
    start = opened.start_offset
    served._kept = [kept for kept in served._kept if kept.offset != start]
    served.advance(keep_newest=False)
    assert opened.base is not None
    last = opened.base.checkpoint.leader_epoch
    assert served.read(start, last, _ALL, _ALL) == opened.read(start, last, _ALL, _ALL)


async def test_reading_a_long_log_can_be_stopped(log: Path) -> None:
    served = ServedLog(log)
    served.stop()
    with pytest.raises(UnavailableError, match="the service is stopping"):
        served.advance(keep_newest=False)
    assert served.end_offset == 0
