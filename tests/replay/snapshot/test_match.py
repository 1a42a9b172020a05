"""A snapshot is used only for the history and the replay rules it was made with."""

import logging
import shutil
from pathlib import Path

import msgspec
import pytest
from alembic import command
from sqlalchemy import Engine, text

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.control import UnknownRecord
from replay.image.digest import image_digest
from replay.image.rules import RULES_VERSION
from replay.loader import load_image
from replay.snapshot import schema
from replay.snapshot.database import writing
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.match import is_of
from replay.snapshot.store import SnapshotStore
from replay.snapshot.stored import ManifestEntry, manifest_checksum
from replay.snapshot_lifecycle import create_snapshot
from tests.replay.builders import FakeLog, batches, partition, topic
from tests.replay.snapshot.conftest import CLUSTER, FixedClock
from tests.replay.snapshot.test_schema import _config
from tests.replay.snapshot.test_tail import TEN_TOPICS, Log


async def append(directory: Path, *records: Record) -> None:
    log = await MetadataLog.open(directory)
    for record in records:
        await log.append(NewBatch(records=(record,), timestamp=1_700_000_000_000))
    await log.close()


async def test_fork_of_the_same_epoch_and_time_is_told_apart(
    tmp_path: Path, store: SnapshotStore, caplog: pytest.LogCaptureFixture
) -> None:
    ours, fork = tmp_path / "ours", tmp_path / "fork"
    create_log(ours, CLUSTER)
    await append(ours, topic("a"))
    shutil.copytree(ours, fork)
    await append(ours, topic("b"), topic("d"))
    await append(fork, topic("c"), topic("d"))
    with LogReader.open(ours) as reader, LogReader.open(fork) as other:
        at = reader.end_offset - 1
        info = create_snapshot(reader, store, at)
        mine, theirs = reader.position(at + 1), other.position(at + 1)
        assert (mine.leader_epoch, mine.end_offset) == (theirs.leader_epoch, theirs.end_offset)
        assert info.position == mine
        assert is_of(reader, info)
        with caplog.at_level(logging.WARNING):
            assert not is_of(other, info)
        assert "another history" in caplog.text
        early = create_snapshot(reader, store, 0)
        assert is_of(other, early)


def test_snapshot_of_another_cluster_is_not_taken(store: SnapshotStore) -> None:
    info = create_snapshot(TEN_TOPICS, store, 5)
    assert is_of(TEN_TOPICS, info)
    assert not is_of(FakeLog(TEN_TOPICS.log, cluster_id="another"), info)


def test_snapshot_of_other_replay_rules_is_skipped_and_created_again(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("replay.snapshot.info.RULES_VERSION", RULES_VERSION + 1)
    old = create_snapshot(TEN_TOPICS, store, 5)
    monkeypatch.undo()
    assert old.rules == RULES_VERSION + 1
    with caplog.at_level(logging.WARNING):
        assert not is_of(TEN_TOPICS, old)
    assert f"made by version {RULES_VERSION + 1} of the rules" in caplog.text
    create_snapshot(TEN_TOPICS, store, 5)
    assert [info.rules for info in store.list()] == [RULES_VERSION]


def test_snapshot_carries_versions_and_what_was_not_understood(store: SnapshotStore) -> None:
    future = UnknownRecord(api_key=99, record_version=0, value=b"?")
    log = Log(batches([topic("t"), partition("t", 0)], [future], [future]))
    create_snapshot(log, store)
    assert store.load(4) == load_image(log)
    info = store.info(4)
    assert (info.not_understood, info.not_understood_from) == (2, 2)


def test_snapshot_of_an_early_release_is_read_but_not_started_from(
    engine: Engine, store: SnapshotStore
) -> None:
    """A database of the first schema, with a row of that release, is upgraded."""
    info = create_snapshot(TEN_TOPICS, store, 5)
    early = msgspec.structs.replace(
        info, last_crc32c=None, rules=None, not_understood=None, not_understood_from=None
    )
    with writing(engine) as connection:
        rows = connection.execute(text("SELECT part, ordinal, chunk_hash FROM snapshot_manifest"))
        checksum = manifest_checksum(early, [ManifestEntry(*row) for row in rows])
        connection.execute(
            text("UPDATE snapshot SET rules = NULL, last_crc32c = NULL, checksum = :checksum"),
            {"checksum": checksum},
        )
        command.downgrade(_config(connection), "0001")
    schema.upgrade(engine)
    again = SnapshotStore(engine, CLUSTER, FixedClock())
    (found,) = again.list()
    assert _without_new_fields(found) == _without_new_fields(info)
    assert found.rules is None
    assert image_digest(again.load(6)) == info.digest
    assert not is_of(TEN_TOPICS, found)


def _without_new_fields(info: SnapshotInfo) -> str:
    return msgspec.structs.replace(info, rules=None).identity
