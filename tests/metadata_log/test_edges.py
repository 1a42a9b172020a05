"""Small values that everything else rests on."""

from pathlib import Path

import pytest

from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord
from records.errors import UnavailableError


async def test_a_writer_announces_itself_in_version_0(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "c")
    async with await MetadataLog.open(tmp_path / "log"):
        pass
    with LogReader.open(tmp_path / "log") as reader:
        (batch,) = reader.batches()
    assert [row.record_version for row in batch.rows] == [0]


async def test_syncs_are_told_in_seconds(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "c")
    took: list[float] = []
    async with await MetadataLog.open(tmp_path / "log") as log:
        log.on_sync = took.append
        await log.append(_one())
    assert len(took) == 1
    assert 0 <= took[0] < 60


async def test_a_writer_that_cannot_announce_itself_releases_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_log(tmp_path / "log", "c")

    async def refuse(*_: object, **__: object) -> None:
        raise UnavailableError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(MetadataLog, "append", refuse)
        with pytest.raises(UnavailableError):
            await MetadataLog.open(tmp_path / "log")
    async with await MetadataLog.open(tmp_path / "log") as log:
        assert log.end_offset == 1


def test_the_commit_mark_has_two_slots(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "c")
    assert (tmp_path / "log" / COMMIT_MARK).stat().st_size == 2 * 512


def _one() -> NewBatch:
    return NewBatch(records=(NoOpRecord(),))
