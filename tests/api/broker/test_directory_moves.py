"""A running replica moves between two log directories of its broker, also when it crashes."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.broker.authorization import Authorization
from api.broker.disk import Disk
from api.broker.future_log import FutureLog
from api.broker.log_directory import LogDirectory
from api.broker.log_dirs import LogDirsRequests
from api.broker.replica import Replica
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.frames import RequestFrame
from api.kafka.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    MovedLogDirTopic,
)
from api.kafka.messages.records_io import EARLIEST
from api.kafka.messages.replicas import StoppedTopic, StopReplicaRequest
from controller.authorization.authorizer import CLUSTER, Operation
from tests.api.broker.leader import ASKER, ID, Broker
from tests.api.guarded import Rights

VALUES = [b"zero", b"one", b"two"]


class Pair:
    """A broker with two log directories, and a replica in one of them."""

    def __init__(self, path: Path, rights: Rights | None = None) -> None:
        self.broker = Broker(path / "one", Authorization(rights or Rights()), path / "two")
        self.requests = LogDirsRequests(
            self.broker.directories,
            self.broker.replicas,
            Disk(16),
            self.broker.authorization.access,
        )

    @property
    def replica(self) -> Replica:
        replica = self.broker.replicas.get("a", 0)
        assert replica is not None
        return replica

    @property
    def other(self) -> LogDirectory:
        """The directory that does not contain the replica."""
        return next(d for d in self.broker.directories if d is not self.replica.directory)

    async def write(self) -> None:
        await self.broker.lead()
        for value in VALUES:
            assert await self.broker.produce(value) == "NONE"

    async def move(self, path: Path | None = None, partition: int = 0) -> str:
        """Ask to move a replica, by default to the other directory; return the error."""
        topic = MovedLogDirTopic(name="a", partitions=(partition,))
        wanted = AlterReplicaLogDir(path=str(path or self.other.path), topics=(topic,))
        response = await self._ask(
            apis.ALTER_REPLICA_LOG_DIRS, AlterReplicaLogDirsRequest(dirs=(wanted,))
        )
        assert isinstance(response, AlterReplicaLogDirsResponse)
        return name_of(response.results[0].partitions[0].error_code)

    async def logs(self) -> dict[str, list[tuple[int, bool]]]:
        """Return, by directory, the size of each log of partition 0 and whether it is a future
        log.
        """
        response = await self._ask(apis.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest())
        assert isinstance(response, DescribeLogDirsResponse)
        return {
            Path(result.log_dir).name: [
                (each.partition_size, each.is_future_key)
                for topic in result.topics
                for each in topic.partitions
                if each.partition_index == 0
            ]
            for result in response.results
        }

    async def _ask(self, api: Any, request: Any) -> Any:
        frame = RequestFrame(
            api=api, version=api.max_version, correlation_id=1, client_id=None, body=request
        )
        return await self.requests.handlers()[api](frame, ASKER)

    async def ended(self) -> None:
        """Wait until no replica is being moved."""
        async with asyncio.timeout(60):
            while self.broker.replicas.moves.get(self.replica) is not None:
                await asyncio.sleep(0)


def folders(path: Path) -> list[str]:
    """Return the folders of partition 0, including those left over from moves."""
    found = [*path.glob("*/a_0"), *path.glob("*/*-future")]
    return sorted(str(p.relative_to(path)) for p in found)


class Crash:
    """Lets the first `count` changes of the disk succeed; all later ones fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.left = count
        changes = "mkdir rename pwrite fsync fdatasync ftruncate write unlink rmdir"
        for name in changes.split():
            monkeypatch.setattr(os, name, self._failing(getattr(os, name)))

    @property
    def has_happened(self) -> bool:
        return self.left < 0

    def _failing(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.EIO, "the machine is gone")
            return change(*arguments, **options)

        return failing


@pytest.fixture
async def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    await pair.write()
    return pair


async def test_running_replica_moves_with_its_records_and_metadata(
    pair: Pair, tmp_path: Path
) -> None:
    target, before = pair.other, (pair.replica.path / "partition.metadata").read_bytes()
    ((old_size, _),) = (await pair.logs())[pair.replica.directory.path.name]
    assert await pair.move() == "NONE"
    assert await pair.broker.produce(b"meanwhile") == "NONE"
    await pair.ended()
    assert await pair.broker.produce(b"after") == "NONE"
    assert await pair.broker.fetch() == ("NONE", [*VALUES, b"meanwhile", b"after"])
    assert pair.replica.directory is target
    assert folders(tmp_path) == [f"{target.path.name}/a_0"]
    assert (pair.replica.path / "partition.metadata").read_bytes() == before
    ((size, is_future),) = (await pair.logs())[target.path.name]
    assert size > old_size and not is_future
    await pair.broker.replicas.close()
    again = Pair(tmp_path)
    await again.broker.lead()
    assert await again.broker.fetch() == ("NONE", [*VALUES, b"meanwhile", b"after"])


async def test_copy_is_described_as_a_future_log(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up, may_end = FutureLog.catch_up, asyncio.Event()
    begun = asyncio.Event()

    def slow(future: FutureLog, source: Any) -> bool:
        is_whole = catch_up(future, source)
        loop.call_soon_threadsafe(begun.set)
        return is_whole and may_end.is_set()

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(FutureLog, "catch_up", slow)
    target = pair.other.path.name
    await pair.move()
    await begun.wait()
    ((_, is_future),) = (await pair.logs())[target]
    assert is_future
    may_end.set()
    await pair.ended()
    ((_, is_future),) = (await pair.logs())[target]
    assert not is_future


async def test_truncation_during_the_copy_is_followed(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up, replica = FutureLog.catch_up, pair.replica
    calls = 0

    def truncated(future: FutureLog, source: Any) -> bool:
        nonlocal calls
        calls += 1
        is_whole = catch_up(future, source)
        if calls == 1:
            source.truncate_to(1)
        return is_whole

    monkeypatch.setattr(FutureLog, "catch_up", truncated)
    await pair.move()
    await pair.ended()
    assert replica.log.end_offset == 1
    assert (await pair.broker.fetch())[1] == VALUES[:1]


async def test_start_of_the_log_moves_along(pair: Pair, tmp_path: Path) -> None:
    pair.replica.log.delete_before(2)
    await pair.move()
    await pair.ended()
    await pair.broker.replicas.close()
    again = Pair(tmp_path)
    await again.broker.lead()
    assert await again.broker.list_offset(EARLIEST) == ("NONE", 2)
    assert await again.broker.fetch(2) == ("NONE", VALUES[2:])


async def test_move_to_where_the_replica_lies_cancels(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FutureLog, "catch_up", lambda *_: False)
    here = pair.replica.directory
    await pair.move()
    assert await pair.move(here.path) == "NONE"
    await pair.broker.replicas.moves.close()
    assert pair.replica.directory is here
    assert folders(tmp_path) == [f"{here.path.name}/a_0"]


async def test_deleted_partition_leaves_no_copy(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FutureLog, "catch_up", lambda *_: False)
    await pair.move()
    stopped = StoppedTopic(topic="a", topic_id=ID, partition_ids=(0,))
    request = StopReplicaRequest(
        controller_id=0,
        controller_epoch=1,
        broker_epoch=1,
        delete_partitions=True,
        partitions=(stopped,),
    )
    replicas = pair.broker.replicas
    assert {each.error_code for each in await replicas.leave(request)} == {0}
    async with asyncio.timeout(60):
        while folders(tmp_path):
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("directory", "partition", "code"),
    [("three", 0, "LOG_DIR_NOT_FOUND"), ("two", 9, "REPLICA_NOT_AVAILABLE")],
)
async def test_what_cannot_move_is_refused(
    pair: Pair, tmp_path: Path, directory: str, partition: int, code: str
) -> None:
    assert await pair.move(tmp_path / directory, partition) == code


async def test_move_to_a_directory_that_cannot_be_written_is_refused(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = pair.replica.directory
    with monkeypatch.context() as failing:
        Crash(failing, 0)
        assert await pair.move() == "KAFKA_STORAGE_ERROR"
    assert pair.broker.replicas.moves.get(pair.replica) is None
    assert folders(tmp_path) == [f"{here.path.name}/a_0"]
    assert await pair.broker.fetch() == ("NONE", VALUES)


async def test_move_needs_the_right_to_alter_the_cluster(tmp_path: Path) -> None:
    rights = Rights()
    pair = Pair(tmp_path, rights)
    await pair.write()
    rights.but = {(Operation.ALTER, CLUSTER)}
    assert await pair.move() == "CLUSTER_AUTHORIZATION_FAILED"
    assert pair.broker.replicas.moves.get(pair.replica) is None


async def test_crash_at_any_change_of_the_disk_loses_nothing(tmp_path: Path) -> None:
    count, has_crashed = 0, True
    while has_crashed:
        path = tmp_path / str(count)
        has_crashed = await _crash(path, count)
        again = Pair(path)
        await again.broker.lead()
        assert (await again.broker.fetch())[1] == VALUES, f"after {count} changes"
        await again.broker.replicas.resume_moves()
        await again.ended()
        assert (await again.broker.fetch())[1] == VALUES, f"after {count} changes, moved"
        assert len(folders(path)) == 1, f"after {count} changes"
        await again.broker.replicas.close()
        count += 1
    assert count > 20


async def _crash(path: Path, count: int) -> bool:
    """Move a replica on a disk that fails after `count` changes; return whether it failed."""
    pair = Pair(path)
    await pair.write()
    for log in pair.broker.replicas:
        log.log.close()
    with pytest.MonkeyPatch.context() as patch:
        crash = Crash(patch, count)
        await pair.move()
        await pair.ended()
    return crash.has_happened
