"""A torn slot of the commit mark: readers show what is proven, followers go on."""

import logging
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFs
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.batch import NewBatch
from metadata_log.format.commit_mark import SLOT_SIZE, read_mark
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.cut_off_log import settle
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from tests.failing_fs import FailingFs


def note(text: str) -> NewBatch:
    return NewBatch(records=(NoteRecord(at_offset=0, author="ada", text=text),))


async def cut_off(directory: Path) -> int:
    """Write some batches with a writer that dies after its last answer; return the log's end."""
    create_log(directory, "AAECAwQFBgcICQoLDA0ODw")
    fs = FailingFs()
    log = await MetadataLog.open(directory, fs=fs)
    for text in ("a", "b", "c"):
        end = (await log.append(note(text))).end_offset
    fs.calls.fail_at = 0
    with pytest.raises(OSError, match="was told to fail"):
        await log.close()
    return end


def tear(directory: Path) -> None:
    newest = read_mark(OsFs(), directory)
    with (directory / COMMIT_MARK).open("r+b") as file:
        file.seek(newest.slot_position + SLOT_SIZE // 2)
        file.write(bytes(SLOT_SIZE // 2))


async def test_reader_shows_what_is_proven_and_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end = await cut_off(tmp_path / "log")
    tear(tmp_path / "log")
    with caplog.at_level(logging.WARNING), LogReader.open(tmp_path / "log") as reader:
        # The last block alone has no later one that proves it.
        assert (reader.end_offset, reader.awaits_writer) == (end - 1, True)
        assert [batch.end_offset for batch in reader.batches()][-1] == end - 1
    (message,) = (record.getMessage() for record in caplog.records)
    assert f"{COMMIT_MARK} byte " in message
    assert f"up to offset {end - 1} (exclusive)" in message


async def test_writer_keeps_what_a_reader_could_not_show(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end = await cut_off(tmp_path / "log")
    tear(tmp_path / "log")
    await settle(tmp_path / "log")
    assert caplog.records == [], "nothing is wrong any more"
    with LogReader.open(tmp_path / "log") as reader:
        # The leader change of the new writer follows.
        assert (reader.end_offset, reader.awaits_writer) == (end + 1, False)


async def test_log_that_hides_nothing_is_left_alone(tmp_path: Path) -> None:
    await cut_off(tmp_path / "log")
    before = (tmp_path / "log" / COMMIT_MARK).read_bytes()
    await settle(tmp_path / "log")
    assert (tmp_path / "log" / COMMIT_MARK).read_bytes() == before


async def test_log_with_a_running_writer_is_left_alone(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "AAECAwQFBgcICQoLDA0ODw")
    log = await MetadataLog.open(tmp_path / "log")
    await log.append(note("a"))
    tear(tmp_path / "log")
    await settle(tmp_path / "log")
    await log.append(note("b"))
    await log.close()


async def test_follower_waits_if_the_mark_that_it_has_read_is_torn(tmp_path: Path) -> None:
    end = await cut_off(tmp_path / "log")
    cursor = LogCursor(tmp_path / "log")
    assert cursor.read()[-1].end_offset == end
    tear(tmp_path / "log")
    assert cursor.read() == []
    await settle(tmp_path / "log")
    assert [batch.base_offset for batch in cursor.read()] == [end]
