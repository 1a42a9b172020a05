"""A crash at every call to the file system: the next run completes the work.

The log itself stays unchanged, whatever happens to its copies; a log whose start is being moved can
be opened after every crash, with the same images.
"""

import asyncio
import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.care.archive import ARCHIVES_NOTE, archive, check_archived
from metadata_log.care.backup import back_up
from metadata_log.care.inspection import inspect_log
from metadata_log.care.repair import repair
from metadata_log.care.restore import Splice, restore
from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.names import MANIFEST
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import DirectoryStore
from metadata_log.writer.log import MetadataLog
from records.errors import MetadataLogError
from replay.care.proof import check_equal, prove
from replay.care.retain import retain
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.failing_fs import FailingFs
from tests.own_logs import content, write_history
from tests.replay.care.conftest import digests

Run = Callable[[Fs], object]


@pytest.fixture
async def small(tmp_path: Path) -> Path:
    """A log of three small segments: fewer bytes mean fewer calls."""
    return await write_history(tmp_path / "log", seed=2, batches=9, batches_an_epoch=3)


def crash_everywhere(run: Run, after: Callable[[int], None]) -> int:
    """Run with a crash at call 0, 1, 2, ... and check the result of each; return the number of
    crashes.
    """
    fail_at = 0
    while True:
        fs = FailingFs(fail_at)
        try:
            run(fs)
        except (OSError, MetadataLogError):
            after(fail_at)
            fail_at += 1
            continue
        assert fs.calls.made <= fail_at
        return fail_at


def digest(log: Path, at: int | None = None) -> str:
    with LogReader.open(log) as reader:
        return image_digest(load_image(reader, at))


def run_backup(log: Path, copy: Path) -> Run:
    def run(fs: Fs) -> None:
        with LogReader.open(log, fs=fs) as reader:
            back_up(fs, reader, DirectoryStore(fs, copy))

    return run


def test_backup_is_carried_on_after_any_failure(small: Path, tmp_path: Path) -> None:
    before, wanted, copy = content(small), digest(small), tmp_path / "copy"
    run = run_backup(small, copy)

    def after(_: int) -> None:
        assert content(small) == before
        if (copy / MANIFEST).exists():
            assert digest(copy) == wanted
        run(FailingFs())
        assert inspect_log(OsFs(), copy).damage == []
        assert digest(copy) == wanted
        assert not list(copy.glob("*.part"))
        shutil.rmtree(copy)

    assert crash_everywhere(run, after) > 50


def test_backup_that_is_carried_on_stays_whole_at_any_failure(small: Path, tmp_path: Path) -> None:
    old, copy = tmp_path / "old", tmp_path / "copy"
    run_backup(small, old)(FailingFs())
    with LogReader.open(old) as reader:
        first = reader.end_offset
    asyncio.run(write_history(small, seed=3, batches=4, batches_an_epoch=2, create=False))
    shutil.copytree(old, copy)
    before, digest_at = content(small), functools.cache(functools.partial(digest, small))
    run = run_backup(small, copy)

    def after(_: int) -> None:
        assert inspect_log(OsFs(), copy).damage == []
        with LogReader.open(copy) as reader:
            # Segments that are there already may prove more than the mark.
            end = reader.end_offset
        assert end >= first
        assert digest(copy) == digest_at(end - 1)
        run(FailingFs())
        assert inspect_log(OsFs(), copy).damage == []
        assert digest(copy) == digest_at()
        assert content(small) == before
        shutil.rmtree(copy)
        shutil.copytree(old, copy)

    assert crash_everywhere(run, after) > 50


def test_archive_is_carried_on_after_any_failure(small: Path, tmp_path: Path) -> None:
    before, copy = content(small), tmp_path / "archive"

    def run(fs: Fs) -> None:
        with LogReader.open(small, fs=fs) as reader:
            archive(fs, reader, DirectoryStore(fs, copy), str(copy))

    def after(_: int) -> None:
        kept = {name: data for name, data in content(small).items() if name in before}
        assert kept == before
        run(FailingFs())
        with LogReader.open(small) as reader:
            check_archived(OsFs(), small, committed_segments(OsFs(), reader)[:-1])
        assert inspect_log(OsFs(), copy).damage == []
        shutil.rmtree(copy)
        (small / ARCHIVES_NOTE).unlink()

    assert crash_everywhere(run, after) > 50


def test_restore_appears_whole_or_not_at_all(small: Path, tmp_path: Path) -> None:
    before, copy = content(small), tmp_path / "copy"

    def run(fs: Fs) -> None:
        with LogReader.open(small, fs=fs) as reader:
            at = reader.end_offset - 4
            expected = prove(reader, at)
            splice = Splice(copy_fs=fs, copy=reader)
            restore(splice, copy, at + 1, fs=fs, check=lambda made: check_equal(expected, made))

    with LogReader.open(small) as reader:
        wanted = image_digest(load_image(reader, reader.end_offset - 4))

    def after(_: int) -> None:
        assert content(small) == before
        if not copy.exists():
            run(FailingFs())
        assert digest(copy) == wanted
        assert inspect_log(OsFs(), copy).damage == []
        shutil.rmtree(copy)

    assert crash_everywhere(run, after) > 50


def test_repair_appears_whole_or_not_at_all(small: Path, tmp_path: Path) -> None:
    path = sorted(small.glob("*.avro"))[-1]
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    before, copy = content(small), tmp_path / "copy"

    def run(fs: Fs) -> None:
        repair(fs, small, copy, check=lambda made: None)

    def after(_: int) -> None:
        assert content(small) == before
        if not copy.exists():
            run(FailingFs())
        assert inspect_log(OsFs(), copy).damage == []
        shutil.rmtree(copy)

    assert crash_everywhere(run, after) > 50


async def test_log_opens_at_every_point_of_moving_its_start(small: Path, tmp_path: Path) -> None:
    with LogReader.open(small) as reader:
        start, end = int(reader.segment_paths[-1].stem), reader.end_offset
        images = {at: image_digest(load_image(reader, at)) for at in range(start - 1, end)}
    spare = tmp_path / "spare"
    shutil.copytree(small, spare)

    def run(fs: Fs) -> None:
        retain(small, start, fs=fs, check_dropped=lambda segments: None)

    def restart(_: int) -> None:
        shutil.copytree(small, tmp_path / "crashed")
        look(tmp_path / "crashed")
        asyncio.run(write_once(tmp_path / "crashed"))
        look(tmp_path / "crashed")
        shutil.rmtree(tmp_path / "crashed")
        run(FailingFs())
        with LogReader.open(small) as made:
            assert made.start_offset == made.history_start == start
        look(small)
        assert not list(small.glob("*.part"))
        segments = {path.stem for path in small.glob("*.avro")}
        assert {path.stem for path in small.glob("*.index")} <= segments
        shutil.rmtree(small)
        shutil.copytree(spare, small)

    def look(log: Path) -> None:
        assert inspect_log(OsFs(), log).damage == []
        with LogReader.open(log) as made:
            assert {at: each for at, each in digests(made, start - 1).items() if at < end} == images

    assert await asyncio.to_thread(crash_everywhere, run, restart) > 50


async def write_once(log: Path) -> None:
    writer = await MetadataLog.open(log)
    await writer.close()
