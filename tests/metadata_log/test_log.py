"""The own log: every reader gets the acknowledged batches, in order."""

import asyncio
import os
import stat
import threading
from collections import deque
from itertools import pairwise
from pathlib import Path

import fastavro
import pytest

from metadata_log.files.fs import File, OsFs
from metadata_log.files.lock import writer_process
from metadata_log.format.batch import NewBatch
from metadata_log.format.commit_mark import MARK_SIZE
from metadata_log.limits import BATCH_RECORDS_MAX, GROUP_BATCHES_MAX, GROUP_SIZE_BYTES_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer import log_writer
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.control import LeaderChangeMessage, NoOpRunRecord, NoteRecord
from records.envelope import Envelope, Origin
from records.errors import FencedError, RequestError, UnavailableError
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord
from tests.metadata_log.conftest import StepClock, topics
from tests.metadata_log.test_lock import no_room


def rows(directory: Path) -> list[Envelope]:
    with LogReader.open(directory) as reader:
        return [row for batch in reader.batches() for row in batch.rows]


def test_empty_log_has_nothing_to_read(directory: Path) -> None:
    with LogReader.open(directory) as reader:
        assert (reader.start_offset, reader.end_offset) == (0, 0)
        assert list(reader.batches()) == []


def test_log_is_not_made_over_something_else(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    with pytest.raises(RequestError, match="not empty") as refused:
        create_log(tmp_path, "test-cluster")
    assert refused.value.code == "LOG_EXISTS"
    assert os.listdir(tmp_path) == ["precious.txt"]


def test_log_that_finds_no_room_when_it_is_made_leaves_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with no_room(MARK_SIZE), pytest.raises(UnavailableError, match="no room on the disk"):
        create_log(tmp_path / "log", "test-cluster")
    assert len(os.listdir("/dev/fd")) == before


async def test_appended_records_are_read_back_with_offsets_epoch_and_time(directory: Path) -> None:
    log = await MetadataLog.open(directory, clock=StepClock())
    origin = Origin(principal="User:alice", reason="a test")
    result = await log.append(NewBatch(records=topics(0, 2).records, origin=origin))
    await log.close()
    assert (result.base_offset, result.end_offset, result.leader_epoch) == (1, 3, 1)
    leader_change, first, second = rows(directory)
    assert isinstance(leader_change.payload, LeaderChangeMessage)
    assert (first.offset, second.offset) == (1, 2)
    assert (first.batch_offset, second.batch_offset) == (1, 1)
    assert first.timestamp == second.timestamp == result.timestamp
    assert first.origin == second.origin == origin
    assert first.payload == topics(0, 1).records[0]


async def test_each_start_as_writer_claims_a_higher_epoch_in_a_new_segment(written: Path) -> None:
    log = await MetadataLog.open(written)
    await log.close()
    assert log.leader_epoch == 2
    with LogReader.open(written) as reader:
        assert [p.name for p in reader.segment_paths] == [
            "00000000000000000000.avro",
            "00000000000000000031.avro",
        ]
    last = rows(written)[-1]
    assert isinstance(last.payload, LeaderChangeMessage)
    assert last.leader_epoch == 2


async def test_every_segment_is_a_plain_avro_file(written: Path) -> None:
    found = []
    for path in sorted(written.glob("*.avro")):
        with path.open("rb") as file:
            found += list(fastavro.reader(file))
    assert [row["offset"] for row in found] == list(range(31))


async def test_segments_roll_and_read_as_one(directory: Path) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=14_000)
    for n in range(200):
        await log.append(topics(n, 1))
    await log.close()
    with LogReader.open(directory) as reader:
        assert len(reader.segment_paths) > 3
        assert [b.base_offset for b in reader.batches()] == list(range(201))
        assert [b.base_offset for b in reader.batches(77, 80)] == [77, 78, 79]


async def test_reader_sees_what_is_committed_while_the_writer_goes_on(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    for n in range(20):
        await log.append(topics(n, 1))
        with LogReader.open(directory) as reader:
            assert reader.end_offset == n + 2
            assert sum(len(b.rows) for b in reader.batches()) == n + 2
    await log.close()


async def test_second_writer_is_refused_with_the_holder_of_the_lock(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    assert writer_process(directory) == os.getpid()
    with pytest.raises(UnavailableError, match=f"process {os.getpid()}"):
        await MetadataLog.open(directory)
    await log.close()
    assert writer_process(directory) is None


async def test_concurrent_appends_share_syncs_and_keep_the_order_of_the_calls(
    directory: Path,
) -> None:
    log = await MetadataLog.open(directory)
    syncs: list[float] = []
    log.on_sync = syncs.append
    results = await asyncio.gather(*(log.append(topics(n, 1)) for n in range(500)))
    assert [r.base_offset for r in results] == list(range(1, 501))
    assert 0 < len(syncs) < 10
    await log.close()
    assert [r.payload for r in rows(directory)[1:]] == list(topics(0, 500).records)


async def test_event_loop_goes_on_between_large_batches_that_compress_well(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    note = NoteRecord(at_offset=0, author="a", text="x" * (GROUP_SIZE_BYTES_MAX + 1))
    answers = [log.append(NewBatch(records=(note,))) for _ in range(30)]
    done_at_each_turn = [0]
    while not answers[-1].done():
        await asyncio.sleep(0)
        done_at_each_turn.append(sum(answer.done() for answer in answers))
    # The last one, behind which nothing waits, may be committed in the loop itself.
    assert max(after - before for before, after in pairwise(done_at_each_turn)) <= 2
    await log.close()


async def test_readers_that_take_all_common_threads_hold_no_append_up(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    done = threading.Event()
    readers = [asyncio.create_task(asyncio.to_thread(done.wait)) for _ in range(50)]
    try:
        async with asyncio.timeout(60):
            await asyncio.gather(*(log.append(topics(n, 1)) for n in range(3)))
    finally:
        done.set()
    await asyncio.gather(*readers)
    await log.close()


async def test_mark_is_synced_also_while_there_is_always_something_to_write(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_log.writer.log.MARK_SYNC_INTERVAL_MS", 10)
    log = await MetadataLog.open(directory)
    syncs = 0
    sync = log_writer.LogWriter.sync_mark

    def counted(writer: log_writer.LogWriter) -> None:
        nonlocal syncs
        syncs += 1
        sync(writer)

    monkeypatch.setattr(log_writer.LogWriter, "sync_mark", counted)
    # More than fit into one group: when it is answered, the next ones wait already.
    waiting = deque(log.append(topics(0, 1)) for _ in range(GROUP_BATCHES_MAX + 500))
    for _ in range(5_000):
        await waiting.popleft()
        waiting.append(log.append(topics(0, 1)))
        if syncs >= 2:
            break
    assert syncs >= 2
    await log.close()


@pytest.mark.parametrize("count", [0, BATCH_RECORDS_MAX + 1])
async def test_batch_of_no_or_too_many_records_is_refused(directory: Path, count: int) -> None:
    log = await MetadataLog.open(directory)
    with pytest.raises(RequestError, match=f"batch has {count} records"):
        await log.append(topics(0, count))
    await log.close()


async def test_batch_of_too_many_bytes_is_refused_and_others_go_on(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    note = NoteRecord(at_offset=0, author="a", text="x" * (8 * 1024 * 1024))
    large = log.append(NewBatch(records=(note,)))
    refused, accepted = await asyncio.gather(
        large, log.append(topics(0, 1)), return_exceptions=True
    )
    assert isinstance(refused, RequestError)
    assert not isinstance(accepted, BaseException)
    await log.close()
    assert [type(r.payload) for r in rows(directory)] == [LeaderChangeMessage, TopicRecord]


async def test_cancelled_caller_does_not_disturb_the_others(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    first = asyncio.ensure_future(log.append(topics(0, 1)))
    second = asyncio.ensure_future(log.append(topics(1, 1)))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).base_offset == 2
    await log.close()


async def test_closing_twice_harms_no_file_that_was_opened_since(
    directory: Path, tmp_path: Path
) -> None:
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1))
    await log.close()
    # They get the descriptors that the log had.
    others = [(tmp_path / str(n)).open("w+b") for n in range(8)]
    for other in others:
        other.write(b"precious")
        other.flush()
    await log.close()
    for other in others:
        assert os.pread(other.fileno(), 100, 0) == b"precious"
        other.close()


async def test_closing_goes_to_its_end_also_when_its_caller_is_cancelled(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    answers = [log.append(topics(n, 1)) for n in range(10)]
    closing = asyncio.create_task(log.close())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    results = await asyncio.wait_for(asyncio.gather(*answers), timeout=60)
    assert [result.base_offset for result in results] == list(range(1, 11))
    await log.close()
    assert writer_process(directory) is None


async def test_failed_close_leaves_no_file_open(directory: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    fs = _FailingFs()
    log = await MetadataLog.open(directory, fs=fs)
    fs.failing = True
    with pytest.raises(OSError, match="Input/output error"):
        await log.close()
    assert len(os.listdir("/dev/fd")) == before


async def test_time_never_goes_back_in_an_own_log(directory: Path) -> None:
    clock = StepClock()
    log = await MetadataLog.open(directory, clock=clock)
    later = await log.append(topics(0, 1))
    clock.time_ms = 5
    result = await log.append(topics(1, 1))
    await log.close()
    assert result.timestamp == later.timestamp


class _FailingFs(OsFs):
    """A file system whose syncs fail once the test says so."""

    failing = False

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        file = super().open(path, write=write, create=create)
        sync = file.sync

        def maybe_sync() -> None:
            if self.failing:
                raise OSError(5, "Input/output error")
            sync()

        file.sync = maybe_sync  # type: ignore[method-assign]
        return file


async def test_nothing_is_acknowledged_after_a_failed_sync(directory: Path) -> None:
    fs = _FailingFs()
    log = await MetadataLog.open(directory, fs=fs)
    fs.failing = True
    with pytest.raises(FencedError, match="Input/output error"):
        await log.append(topics(0, 1))
    fs.failing = False
    with pytest.raises(FencedError, match="Input/output error"):
        await log.append(topics(1, 1))
    await log.close()
    with LogReader.open(directory) as reader:
        assert reader.end_offset == 1


def test_log_is_readable_by_its_owner_only(directory: Path) -> None:
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in directory.iterdir()} == {0o600}


@pytest.mark.parametrize(
    "record",
    [
        TopicRecord(name=7, topic_id=Uuid(bytes(16))),  # type: ignore[arg-type]
        TopicRecord(name="t", topic_id=Uuid(bytes(3))),
        PartitionChangeRecord(topic_id=Uuid(bytes(16)), partition_id=1 << 70),
        PartitionChangeRecord(topic_id=Uuid(bytes(16)), partition_id=1, isr="12"),  # type: ignore[arg-type]
        PartitionChangeRecord(topic_id=Uuid(bytes(16)), partition_id=1, isr=(None,)),  # type: ignore[arg-type]
        "no record",
    ],
    ids=str,
)
async def test_record_that_cannot_be_encoded_is_refused_and_others_go_on(
    directory: Path, record: Record
) -> None:
    log = await MetadataLog.open(directory)
    answers = await asyncio.gather(
        log.append(topics(0, 1)),
        log.append(NewBatch(records=(record,))),
        log.append(topics(1, 1)),
        return_exceptions=True,
    )
    assert isinstance(answers[1], RequestError) and answers[1].code == "INVALID_RECORD"
    await log.close()
    assert [row.offset for row in rows(directory)] == [0, 1, 2]


@pytest.mark.parametrize(
    "origin",
    [Origin(request_id=["r1"], request_hash=b"r1"), "User:ada", 7],  # type: ignore[arg-type]
    ids=repr,
)
async def test_origin_that_is_none_is_refused_and_others_go_on(
    directory: Path, origin: Origin
) -> None:
    log = await MetadataLog.open(directory)
    answers = await asyncio.gather(
        log.append(topics(0, 1)),
        log.append(NewBatch(records=topics(1, 1).records, origin=origin)),
        log.append(topics(2, 1)),
        return_exceptions=True,
    )
    assert isinstance(answers[1], RequestError) and answers[1].code == "INVALID_RECORD"
    await log.close()
    assert [row.offset for row in rows(directory)] == [0, 1, 2]


async def test_record_version_that_no_other_reader_could_hold_is_refused(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    with pytest.raises(RequestError, match="does not fit in 32 bits"):
        await log.append(NewBatch(records=topics(0, 1).records, record_versions=(1 << 31,)))
    await log.close()


async def test_run_of_noops_is_refused_because_it_takes_more_offsets_than_it_has_records(
    directory: Path,
) -> None:
    log = await MetadataLog.open(directory)
    run = NoOpRunRecord(count=5, batch_count=5, last_timestamp=0)
    with pytest.raises(RequestError, match="append NoOpRecords"):
        await log.append(NewBatch(records=(*topics(0, 1).records, run)))
    await log.append(topics(0, 1))
    await log.close()
    assert [row.offset for row in rows(directory)] == [0, 1]
