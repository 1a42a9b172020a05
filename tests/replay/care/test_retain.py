"""`retain`: history starts later, and everything from there on is unchanged."""

import asyncio
import threading
from functools import partial
from pathlib import Path

import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.care.retention import RETAIN_LOCK
from metadata_log.files.fs import OsFs
from metadata_log.files.names import NODE_FILE
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity, join
from metadata_log.writer import request_window
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.mirror import MirrorBuilder
from metadata_log.writer.request_window import window_start
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.errors import RequestError, UnavailableError, UnknownHistoryError
from replay.care.retain import RetainResult, retain
from replay.image.digest import image_digest
from replay.loader import load_image
from replay.time_travel.history import blame, history
from replay.time_travel.objects import parse_object
from tests.metadata_log.conftest import topics
from tests.metadata_log.test_mirror import level, row
from tests.own_logs import content


def run(log: Path, keep_from: int) -> RetainResult:
    return retain(log, keep_from, check_dropped=lambda segments: None)


def bases(log: Path) -> list[int]:
    with LogReader.open(log) as reader:
        return [int(path.stem) for path in reader.segment_paths]


def digests(log: Path, start: int) -> dict[int, str]:
    with LogReader.open(log) as reader:
        return {at: image_digest(load_image(reader, at)) for at in range(start, reader.end_offset)}


def test_images_from_the_new_start_on_are_as_before(log: Path) -> None:
    before = digests(log, -1)
    starts = bases(log)
    last = 0
    for keep_from in [starts[1] + 1, starts[3], starts[-1] + 3]:
        result = run(log, keep_from)
        assert last <= result.history_start <= keep_from
        last = result.history_start
        after = digests(log, last - 1)
        assert after == {at: before[at] for at in after}
        assert inspect_log(OsFs(), log).damage == []
    assert last > starts[1]
    with LogReader.open(log) as reader:
        assert reader.start_offset == reader.history_start == last
        with pytest.raises(UnknownHistoryError, match=f"history starts at {last}"):
            load_image(reader, last - 2)


async def test_start_never_moves_into_an_open_transaction(tmp_path: Path) -> None:
    """Three segments begin inside the transaction: none of them may become the start."""
    log = tmp_path / "log"
    create_log(log, "test-cluster")
    begin = NewBatch(records=(BeginTransactionRecord(name="grow"),))
    end = NewBatch(records=(EndTransactionRecord(),))
    for batch in (topics(0, 2), begin, topics(2, 2), topics(4, 2), end, topics(6, 2)):
        writer = await MetadataLog.open(log)
        await writer.append(batch)
        await writer.close()
    before = digests(log, -1)
    starts = bases(log)
    for keep_from in (starts[4], starts[3], starts[2]):
        result = run(log, keep_from)
        assert result.history_start == starts[1]
    assert digests(log, starts[1] - 1) == {at: before[at] for at in before if at >= starts[1] - 1}
    assert run(log, starts[5]).history_start == starts[5]


def test_history_and_blame_know_that_they_do_not_know(log: Path) -> None:
    with LogReader.open(log) as reader:
        kept = next(iter(load_image(reader, bases(log)[3]).topics()))
    start = run(log, bases(log)[3]).history_start
    with LogReader.open(log) as reader:
        name = parse_object(f"topic:{kept.name}")
        fields = blame(reader, name, start)
        assert fields
        assert not any(last.known for last in fields.values())
        assert all(event.row.offset >= start for event in history(reader, name))
        with pytest.raises(UnknownHistoryError):
            blame(reader, name, start - 2)


def test_nothing_is_changed_when_there_is_nothing_to_drop(log: Path) -> None:
    before = content(log)
    assert run(log, 1).dropped_segments == 0
    assert run(log, bases(log)[1] - 1).dropped_segments == 0
    assert {k: v for k, v in content(log).items() if k != RETAIN_LOCK} == before


def test_a_node_keeps_the_requests_that_it_has_to_know_when_it_leads(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LogReader.open(log) as reader:
        end_offset = reader.end_offset
    monkeypatch.setattr(request_window, "REQUEST_WINDOW_OFFSETS", end_offset - bases(log)[2])
    last = bases(log)[-1]
    join(OsFs(), log, Identity(cluster_id="c", log_id="1"), node_id=1)
    assert run(log, last).history_start == bases(log)[0] == window_start(end_offset)
    (log / NODE_FILE).unlink()
    assert run(log, last).history_start == last


def test_nothing_goes_that_must_not(log: Path) -> None:
    def refuse(segments: object) -> None:
        raise RequestError("NOT_ARCHIVED", "no")

    before = content(log)
    with pytest.raises(RequestError, match="no"):
        retain(log, bases(log)[-1], check_dropped=refuse)
    assert {k: v for k, v in content(log).items() if k != RETAIN_LOCK} == before


def test_only_one_run_at_a_time(log: Path) -> None:
    lock = OsFs().lock(log / RETAIN_LOCK, "4711\n")
    with pytest.raises(UnavailableError, match="process 4711"):
        run(log, 50)
    lock.release()


def test_mirror_keeps_what_kafka_may_still_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(LogWriter, segment_size_bytes_max=13_000)
    monkeypatch.setattr("metadata_log.writer.mirror.LogWriter", small)
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        for n in range(60):
            builder.append([row(n, n, level(n))], n + 1)
        builder.finish(25)
    starts = bases(tmp_path / "log")
    result = run(tmp_path / "log", 60)
    assert 0 < result.history_start == max(base for base in starts if base <= 25)
    assert inspect_log(OsFs(), tmp_path / "log").damage == []


async def test_start_moves_up_beside_a_writer_and_readers(log: Path) -> None:
    """The writer is not affected; a reader that reaches a removed segment has to try again."""
    writer = await MetadataLog.open(log)
    with LogReader.open(log) as reader:
        if load_image(reader).provenance.pending_transaction is not None:
            await writer.append(NewBatch(records=(AbortTransactionRecord(reason="test"),)))
    stop = threading.Event()
    surprises: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                with LogReader.open(log) as reader:
                    load_image(reader)
            except (UnavailableError, FileNotFoundError):
                continue
            except Exception as error:
                surprises.append(error)

    async def write() -> int:
        count = 0
        while not stop.is_set():
            await writer.append(topics(2 * count, 2))
            count += 1
        return count

    readers = [asyncio.create_task(asyncio.to_thread(read)) for _ in range(2)]
    writing = asyncio.create_task(write())
    try:
        for base in bases(log)[1:]:
            await asyncio.to_thread(run, log, base)
            await asyncio.sleep(0.02)
    finally:
        stop.set()
    appended = await writing
    await asyncio.gather(*readers)
    await writer.append(topics(99_999, 1))
    await writer.close()
    assert surprises == []
    found = inspect_log(OsFs(), log)
    assert found.damage == []
    assert found.history_start > 0
    with LogReader.open(log) as reader:
        image = load_image(reader)
    names = {topic.name for topic in image.topics()}
    assert {f"topic-{n}" for n in range(2 * appended)} | {"topic-99999"} <= names
