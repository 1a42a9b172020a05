"""The next part of a recording: begun, refused, and completed after a kill at any step."""

import asyncio
import errno
import os
import shutil
import signal
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from metadata_log.files.fs import File, OsFs
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.parts import EarlierPart, Gap, earlier_parts
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.frozen import committed_history_changed
from metadata_log.kraft.new_mirror import begin_mirror
from metadata_log.kraft.next_part import Found, prepare_part, take_up_part
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from metadata_log.reader.follow import follow
from metadata_log.reader.log_reader import LogReader
from records.errors import (
    CommittedHistoryChangedError,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from tests.metadata_log.kraft.logs import topic
from tests.metadata_log.kraft.node import Node

_FOUND = Found(source="c1:9093", log_start_offset=7, leader_epoch=2)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose log ends with a checkpoint, at offset 7 of epoch 2."""
    node = Node(tmp_path / "node")
    node.append(topic("a"), topic("b"))
    node.elect()
    node.append(topic("c"), topic("d"), topic("e"))
    node.make_checkpoint()
    return node


@pytest.fixture
def base(node: Node) -> KraftCheckpoint:
    (path,) = node.partition.glob("*.checkpoint")
    return KraftCheckpoint(path)


@pytest.fixture
def log(node: Node, tmp_path: Path) -> Path:
    """A mirror of the node's offsets below 4, of which the last one is its tail."""
    log = tmp_path / "recordings" / "log"
    log.parent.mkdir()
    begin_mirror(log, "cluster")
    with ObservedMirror(log) as mirror:
        mirror.take(_batches(node, 0, 4), 3, "c1:9093")
    return log


def _batches(node: Node, start: int, end: int) -> bytes:
    """Return the batches from an offset to another."""
    records = b"".join(path.read_bytes() for path in sorted(node.partition.glob("*.log")))
    found, position = b"", 0
    while position + HEADER_SIZE <= len(records):
        header = parse_header(records, position)
        if start <= header.base_offset < end:
            found += records[position : position + header.size]
        position += header.size
    return found


def _segments(log: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log.glob("*.avro")}


async def test_follower_says_the_gap_also_if_the_mirror_is_away_for_an_instant(
    log: Path, base: KraftCheckpoint
) -> None:
    async with aclosing(follow(log)) as batches:
        while (await anext(batches)).end_offset < 4:
            pass
        prepare_part(log, base, _FOUND)
        os.rename(log, log.with_name("log.part-1"))
        waiting = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        take_up_part(log)
        with pytest.raises(UnknownHistoryError, match="offset 4 is not kept: history starts at 7"):
            await waiting


def test_part_is_not_prepared_while_another_reader_has_the_mirror(
    log: Path, base: KraftCheckpoint
) -> None:
    prepare_part(log, base, _FOUND)
    prepared = _segments(log.with_name("log.next"))
    with ObservedMirror(log), pytest.raises(UnavailableError, match=f"by process {os.getpid()}"):
        prepare_part(log, base, _FOUND)
    assert _segments(log.with_name("log.next")) == prepared
    assert take_up_part(log) is not None


def test_next_part_takes_the_name_and_lists_the_gap(log: Path, base: KraftCheckpoint) -> None:
    with LogReader.open(log) as reader:
        (last,) = reader.batches(2, 3)
        assert (reader.confirmed_end, reader.end_offset) == (3, 4)
    before = _segments(log)
    prepared = prepare_part(log, base, _FOUND, now_ms=5)
    assert _segments(log) == before
    assert take_up_part(log) == prepared
    gap = Gap(
        from_offset=3,
        from_epoch=1,
        from_time=last.timestamp,
        to_offset=base.end_offset,
        to_epoch=base.leader_epoch,
        to_time=base.timestamp,
        found_time=5,
        source="c1:9093",
        log_start_offset=7,
        leader_epoch=2,
    )
    assert earlier_parts(OsFs(), log) == (EarlierPart(folder="log.part-1", gap=gap),)
    assert _segments(log.with_name("log.part-1")) == before
    with LogReader.open(log) as reader:
        assert (reader.history_start, reader.end_offset) == (base.end_offset, base.end_offset)


class _FsBetweenRenames(OsFs):
    """A reader meets the instant in which the directory has moved and its successor is not there.

    The first file it opens, the manifest, is read before.
    """

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        if path.name == COMMIT_MARK and path.parent.exists():
            path.parent.rename(path.parent.with_name("log.part-1"))
        return super().open(path, write=write, create=create)


def test_reader_between_the_renames_is_told_to_try_again(log: Path) -> None:
    with pytest.raises(UnavailableError, match=f"{log} vanished: .*; try again"):
        LogReader.open(log, fs=_FsBetweenRenames())


def test_nothing_is_taken_up_without_a_part(log: Path) -> None:
    assert take_up_part(log) is None
    assert take_up_part(log.with_name("other")) is None


def test_name_of_an_earlier_part_is_not_taken_twice(log: Path, base: KraftCheckpoint) -> None:
    log.with_name("log.part-1").mkdir()
    assert prepare_part(log, base, _FOUND).folder == "log.part-2"


def test_mirror_that_grew_meanwhile_is_kept(log: Path, node: Node, base: KraftCheckpoint) -> None:
    prepare_part(log, base, _FOUND)
    with ObservedMirror(log) as mirror:
        mirror.take(_batches(node, 4, node.end_offset), node.end_offset, "c1:9093")
    assert take_up_part(log) is None
    assert sorted(path.name for path in log.parent.iterdir()) == ["log"]
    assert earlier_parts(OsFs(), log) == ()


def test_mirror_that_is_written_is_not_renamed(log: Path, base: KraftCheckpoint) -> None:
    prepare_part(log, base, _FOUND)
    with ObservedMirror(log), pytest.raises(UnavailableError, match="is being written"):
        take_up_part(log)
    assert take_up_part(log) is not None


def test_frozen_mirror_is_not_renamed(log: Path, base: KraftCheckpoint) -> None:
    prepare_part(log, base, _FOUND)
    committed_history_changed(log, source="c", leader_epoch=1, end_offset=1, confirmed_end=3)
    with pytest.raises(CommittedHistoryChangedError):
        take_up_part(log)


def test_snapshot_that_is_not_later_is_of_another_log(log: Path, base: KraftCheckpoint) -> None:
    prepare_part(log, base, _FOUND)
    assert take_up_part(log) is not None
    with pytest.raises(RequestError, match="the node has another log"):
        prepare_part(log, base, _FOUND)


def test_mount_point_is_refused(log: Path, base: KraftCheckpoint) -> None:
    class MountPoint(OsFs):
        def rename(self, source: Path, target: Path) -> None:
            raise OSError(errno.EBUSY, "busy")

    prepare_part(log, base, _FOUND)
    with pytest.raises(RequestError, match="mount point"):
        take_up_part(log, MountPoint())


def test_link_to_a_mirror_is_followed(log: Path, base: KraftCheckpoint, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(log)
    prepare_part(link, base, _FOUND)
    assert take_up_part(link) is not None
    assert link.is_symlink()
    assert len(earlier_parts(OsFs(), link)) == 1


def test_log_between_two_renames_says_what_completes_it(log: Path, base: KraftCheckpoint) -> None:
    prepare_part(log, base, _FOUND)
    log.rename(log.with_name("log.part-1"))
    with pytest.raises(RequestError, match="run its import again"):
        LogReader.open(log)
    assert take_up_part(log) is not None
    LogReader.open(log).close()


class _Dying(OsFs):
    """Kills its process with SIGKILL instead of doing its operation number `last`."""

    def __init__(self, last: int) -> None:
        self._left = last

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_"):
            return found

        def counted(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found(*args, **options)

        return counted


def _died(log: Path, base: KraftCheckpoint, operations: int) -> bool:
    """Begin a part in a process that is killed after some operations; return whether it was."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        fs = _Dying(operations)
        prepare_part(log, base, _FOUND, fs=fs)
        take_up_part(log, fs)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_kill_at_any_operation_leaves_what_the_next_start_completes(
    log: Path, base: KraftCheckpoint
) -> None:
    before = _segments(log)
    outcomes = set[tuple[bool, bool]]()
    operations = 0
    while _died(log, base, operations):
        state = log.exists(), log.with_name("log.next").exists()
        outcomes.add(state)
        if take_up_part(log) is None and not earlier_parts(OsFs(), log):
            assert _segments(log) == before
            prepare_part(log, base, _FOUND)
            assert take_up_part(log) is not None
        (part,) = earlier_parts(OsFs(), log)
        with LogReader.open(log) as reader:
            assert reader.history_start == part.gap.to_offset
        earlier = log.with_name(part.folder)
        assert _segments(earlier) == before
        # What a killed build leaves is removed by a later one, if it had its lock already.
        for path in log.parent.glob("log.next.importing-*"):
            shutil.rmtree(path)
        assert {path.name for path in log.parent.iterdir()} == {"log", "log.part-1"}
        shutil.rmtree(log)
        earlier.rename(log)
        operations += 1
    assert operations > 20
    # Of the table in next_part.py: nothing prepared, prepared, renamed once.
    assert outcomes >= {(True, False), (True, True), (False, True)}
