"""The snapshot file beside a log, read without SQLAlchemy: the same images as with it."""

import logging
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import URL, text

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from replay.loader import load_image
from replay.snapshot.database import default_url, open_database, writing
from replay.snapshot.file import SnapshotFile
from replay.snapshot.ports import SNAPSHOTS_NAME
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import topic
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.images import cluster_of
from tests.replay.snapshot.test_tail import TEN_TOPICS, Log

ONE, TWO = cluster_of([1]), cluster_of([1, 2])


@pytest.fixture
def file(url: URL) -> SnapshotFile:
    """The file to which the fixtures `store` and `engine` write."""
    return SnapshotFile(Path(str(url.database)), CLUSTER)


@pytest.mark.parametrize("seed", range(4))
def test_the_file_gives_the_images_that_the_store_gives(
    store: SnapshotStore, file: SnapshotFile, seed: int
) -> None:
    rng = random.Random(seed)
    log = Log(random_history(rng, 60))
    for at in rng.sample(range(log.end_offset), 6):
        create_snapshot(log, store, at)
    points: list[int | None] = [None, *rng.sample(range(log.end_offset), 20)]
    for point in points:
        assert file.load_newest(point) == store.load_newest(point)
        assert Timeline(log, file).image(point) == load_image(log, point)


def test_a_file_that_is_not_there_is_no_snapshot_and_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / SNAPSHOTS_NAME
    assert SnapshotFile(path, CLUSTER).load_newest() is None
    assert not path.exists()


def test_reading_changes_no_byte_and_leaves_no_file(
    store: SnapshotStore, file: SnapshotFile, url: URL
) -> None:
    store.create(ONE)
    path = Path(str(url.database))
    before, names = path.read_bytes(), sorted(path.parent.iterdir())
    path.chmod(0o400)
    assert file.load_newest() == ONE
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == (before, names)


def test_snapshots_of_another_cluster_are_not_seen(store: SnapshotStore, url: URL) -> None:
    store.create(ONE)
    assert SnapshotFile(Path(str(url.database)), "other").load_newest() is None


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        ("UPDATE snapshot_chunk SET content = x'00'", "no whole zstandard frame"),
        ("UPDATE snapshot_chunk SET encoding = 'json'", "another release: encoding 'json'"),
        ("DELETE FROM snapshot_manifest WHERE ordinal = 0", "do not match its checksum"),
        ("UPDATE snapshot SET format = 99", "another release: format 99"),
        ("UPDATE snapshot SET digest = 'x'", "do not match its checksum"),
    ],
)
def test_what_cannot_be_read_is_passed_over_with_a_note(
    store: SnapshotStore,
    file: SnapshotFile,
    url: URL,
    caplog: pytest.LogCaptureFixture,
    statement: str,
    note: str,
) -> None:
    create_snapshot(TEN_TOPICS, store)
    with sqlite3.connect(str(url.database)) as connection:
        connection.execute(statement)
    with caplog.at_level(logging.WARNING):
        assert Timeline(TEN_TOPICS, file).image() == load_image(TEN_TOPICS)
    assert note in caplog.text


def test_an_older_snapshot_is_taken_when_the_newest_is_damaged(
    store: SnapshotStore, file: SnapshotFile, url: URL
) -> None:
    store.create(ONE)
    store.create(TWO)
    with sqlite3.connect(str(url.database)) as connection:
        connection.execute("UPDATE snapshot SET checksum = x'00' WHERE end_offset > 4")
    assert file.load_newest() == ONE


def test_a_schema_of_another_release_is_passed_over(
    store: SnapshotStore, file: SnapshotFile, url: URL, caplog: pytest.LogCaptureFixture
) -> None:
    store.create(ONE)
    with sqlite3.connect(str(url.database)) as connection:
        connection.execute("UPDATE metalog_alembic_version SET version_num = '9999'")
    assert file.load_newest() is None
    assert "revision 9999" in caplog.text


def test_a_database_without_tables_has_no_snapshots(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While a service makes its first snapshot, other readers find the file without a table."""
    (tmp_path / SNAPSHOTS_NAME).touch()
    assert SnapshotFile(tmp_path / SNAPSHOTS_NAME, CLUSTER).newest_first() == []
    assert caplog.text == ""


def test_a_file_that_is_no_database_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / SNAPSHOTS_NAME
    path.write_bytes(b"no database" * 200)
    assert SnapshotFile(path, CLUSTER).load_newest() is None
    assert f"snapshots in {path} passed over" in caplog.text


def test_a_database_that_is_being_committed_is_passed_over(
    store: SnapshotStore, file: SnapshotFile, url: URL, caplog: pytest.LogCaptureFixture
) -> None:
    store.create(ONE)
    with sqlite3.connect(str(url.database), isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert file.load_newest() is None
        connection.execute("ROLLBACK")
    assert "locked" in caplog.text
    assert file.load_newest() == ONE


def test_a_writer_that_has_not_committed_is_not_in_the_way(
    store: SnapshotStore, file: SnapshotFile, url: URL
) -> None:
    store.create(ONE)
    engine = open_database(url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE snapshot SET checksum = x'00'"))
        assert file.load_newest() == ONE
    engine.dispose()


async def test_a_log_finds_its_own_snapshots_without_sqlalchemy(tmp_path: Path) -> None:
    directory = tmp_path / "log ?#%"
    create_log(directory, CLUSTER)
    log = await MetadataLog.open(directory)
    for number in range(5):
        await log.append(NewBatch(records=(topic(f"t{number}"),)))
    await log.close()
    with (
        LogReader.open(directory) as reader,
        SnapshotStore.open(default_url(directory), CLUSTER, upgrade=True) as store,
    ):
        create_snapshot(reader, store, 3)
    script = (
        "import sys; from pathlib import Path\n"
        "from metadata_log.reader.log_reader import LogReader\n"
        "from replay.timeline import Timeline\n"
        "with LogReader.open(Path(sys.argv[1])) as reader:\n"
        "    replayed = []\n"
        "    Timeline.of(reader).image(progress=replayed.append)\n"
        "print(replayed, 'sqlalchemy' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(directory)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("] ")[1].strip() == "False"
    with LogReader.open(directory) as reader:
        replayed: list[int] = []
        assert Timeline.of(reader).image(progress=replayed.append) == load_image(reader)
        assert replayed[0] > 4 and done.stdout.startswith(str(replayed))
