"""The timeline reads only the records that the tables name; the answers stay the same."""

import logging
import random
import shutil
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import URL

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.errors import RequestError
from records.text import uuid_text
from records.topics import MoveTopicRecord
from replay.about import ConfirmedSource
from replay.image.configs import TOPIC
from replay.sql_history import index as sql_index
from replay.sql_history.file import HistoryFile
from replay.sql_history.index import HistoryIndex
from replay.sql_history.server import HistoryDatabase
from replay.sql_history.store import HistoryStore, default_url
from replay.sql_sync import sync
from replay.time_travel.change_index import FoundChanges
from replay.time_travel.objects import ObjectName, parse_object
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, change, namespace, partition, topic, uid
from tests.replay.sql_history.conftest import ON_BOTH, emptied
from tests.replay.time_travel.test_skim import SkimmedLog, names_in
from tests.samples import cases, sampled


class _Counting(HistoryIndex):
    """Counts the questions that were answered with the tables."""

    used = 0

    def changes_of(
        self, name: ObjectName, ids: Collection[Uuid], end_offset: int
    ) -> FoundChanges | None:
        found = super().changes_of(name, ids, end_offset)
        self.used += found is not None
        return found


class _Counted(_Counting, HistoryFile):
    """Tables in a SQLite file."""


class _CountedDatabase(_Counting, HistoryDatabase):
    """Tables in PostgreSQL."""


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the tables also for small logs."""
    monkeypatch.setattr(sql_index, "_RECORDS_PER_SEEK", 1)


def synced(log: ConfirmedSource, url: URL) -> Path:
    with HistoryStore.open(url, create=True) as store:
        sync(Timeline(log), log, store)
    return Path(str(url.database))


def answers(timeline: Timeline, name: str, at: int, other: int) -> list[object]:
    """Return the results of history, blame and diff, or their errors."""
    asked = parse_object(name)
    found: list[object] = []
    for ask in (
        lambda: list(timeline.history(asked, at + 1)),
        lambda: timeline.blame(asked, at),
        lambda: timeline.diff(other, at, asked),
    ):
        try:
            found.append(ask())
        except RequestError as error:
            found.append((error.code, str(error)))
    return found


@sampled
@pytest.mark.parametrize(
    ("seed", "url"),
    [*((seed, "sqlite") for seed in range(cases(6, 2))), (1, "postgresql")],
    indirect=["url"],
)
def test_answers_are_those_of_a_replay(seed: int, url: URL) -> None:
    rng = random.Random(seed)
    history = random_history(rng, 60)
    # The tables end somewhere before the log.
    path = synced(FakeLog(history[: rng.randint(30, 60)]), url)
    plain, skimmed = FakeLog(history), SkimmedLog(history)
    is_file = url.get_backend_name() == "sqlite"
    index = _Counted(path, skimmed) if is_file else _CountedDatabase(url, skimmed)
    names = names_in(plain)
    for name in rng.sample(names, min(len(names), 40)):
        at, other = (rng.randrange(-1, plain.end_offset) for _ in range(2))
        with_tables = answers(Timeline(skimmed, index=index), name, at, other)
        assert with_tables == answers(Timeline(plain), name, at, other), (name, at, other)
    assert index.used > 40


def why_answer(timeline: Timeline, name: str, at: int) -> object:
    try:
        return timeline.why(parse_object(name), at)
    except RequestError as error:
        return error.code, str(error)


@pytest.mark.parametrize("seed", range(4))
def test_chains_of_partitions_and_brokers_are_those_of_skimming(seed: int, url: URL) -> None:
    rng = random.Random(seed)
    history = random_history(rng, 60)
    path = synced(FakeLog(history[: rng.randint(30, 60)]), url)
    skimmed = SkimmedLog(history)
    index = _Counted(path, skimmed)
    names = [n for n in names_in(FakeLog(history)) if n.startswith(("partition:", "broker:"))]
    for name in rng.sample(names, min(len(names), 40)):
        at = rng.randrange(skimmed.end_offset)
        with_tables = why_answer(Timeline(skimmed, index=index), name, at)
        assert with_tables == why_answer(Timeline(skimmed), name, at), (name, at)
    assert index.used > 20


@sampled
@pytest.mark.parametrize("kind", ["config", "deletion", "removal"])
def test_answers_about_configs_and_removals_are_those_of_a_replay(kind: str, url: URL) -> None:
    used = 0
    for seed in range(100, 100 + cases(4, 2)):
        rng = random.Random(seed)
        history = random_history(rng, 60)
        path = synced(FakeLog(history[: rng.randint(45, 60)]), emptied(url, str(seed)))
        plain, skimmed = FakeLog(history), SkimmedLog(history)
        index = _Counted(path, skimmed)
        names = [name for name in names_in(plain) if name.startswith(f"{kind}:")]
        for name in rng.sample(names, min(len(names), 20)):
            at, other = (rng.randrange(-1, plain.end_offset) for _ in range(2))
            with_tables = answers(Timeline(skimmed, index=index), name, at, other)
            assert with_tables == answers(Timeline(plain), name, at, other), (name, at, other)
        used += index.used
    assert used > 20


def _set(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC, resource_name=name, name="retention.ms", value=value)


@pytest.mark.parametrize("in_tables", range(7))
def test_configs_that_moved_with_a_topic_are_answered_as_by_a_replay(
    in_tables: int, url: URL
) -> None:
    """A record that sets a config to its current value is in no table, but blame shows it."""
    history = batches(
        [namespace("n"), namespace("m")],
        [_set("n:orders", "1")],
        [_set("n:orders", "1")],
        [topic("orders", namespace="n")],
        [MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("m"), name="orders")],
        [_set("m:orders", "2")],
        [MoveTopicRecord(topic_id=uid("orders"), namespace_id=None, name="last")],
    )
    log = SkimmedLog(history)
    index = _Counted(synced(FakeLog(history[:in_tables]), url), log)
    for name in ("n:orders", "m:orders", "last", f"@{uuid_text(uid('orders'))}"):
        for at in range(8):
            asked = f"config:topic/{name}"
            with_tables = answers(Timeline(log, index=index), asked, at, 7)
            assert with_tables == answers(Timeline(FakeLog(history)), asked, at, 7), (name, at)


def test_only_what_follows_the_tables_is_searched(url: URL) -> None:
    history = batches(
        (topic("orders"), partition("orders", 0), partition("orders", 1)),
        *((change("orders", 1, leader=1 + n % 3),) for n in range(20)),
        (change("orders", 0, leader=2),),
        *((change("orders", 1, leader=1 + n % 3),) for n in range(20)),
        (change("orders", 0, leader=3),),
    )
    path = synced(FakeLog(history[:-1]), url)
    log = SkimmedLog(history)
    events = list(
        Timeline(log, index=HistoryFile(path, log)).history(parse_object("partition:orders/0"))
    )
    assert [event.row.offset for event in events] == [1, 23, 44]
    assert log.decoded == [44]


def _lock(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("CREATE TABLE other (id INTEGER)")
    return connection


def _execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


PASSED_OVER: dict[str, Callable[[Path], object]] = {
    "database is locked": _lock,
    "not a database": lambda path: path.write_bytes(b"no database" * 500),
    "revision 9999": lambda path: _execute(
        path, "UPDATE metalog_history_alembic_version SET version_num = '9999'"
    ),
    "version 0 of the replay rules": lambda path: _execute(
        path, "UPDATE history_position SET rules = 0"
    ),
    "another log": lambda path: _execute(path, "UPDATE history_position SET last_crc32c = 7"),
    "the SQL history is of offsets 0 to 99, the log has 0 to 3": lambda path: _execute(
        path, "UPDATE history_position SET end_offset = 99"
    ),
}


@pytest.mark.parametrize("why", PASSED_OVER)
def test_tables_that_do_not_help_are_passed_over_with_a_note(
    why: str, url: URL, caplog: pytest.LogCaptureFixture
) -> None:
    log = SkimmedLog(batches((topic("orders"), partition("orders", 0)), (topic("more"),)))
    path = synced(log, url)
    lock = PASSED_OVER[why](path)
    timeline = Timeline(log, index=HistoryFile(path, log))
    with caplog.at_level(logging.WARNING):
        (event,) = timeline.history(parse_object("topic:more"))
    assert event.row.offset == 2
    assert why in caplog.text
    if isinstance(lock, sqlite3.Connection):
        lock.close()


def test_tables_that_are_still_being_made_are_passed_over_without_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = SkimmedLog(batches((topic("orders"), partition("orders", 0)), (topic("more"),)))
    (tmp_path / "history.db").touch()
    timeline = Timeline(log, index=HistoryFile(tmp_path / "history.db", log))
    (event,) = timeline.history(parse_object("topic:more"))
    assert event.row.offset == 2
    assert caplog.text == ""


def test_reading_leaves_no_file_beside_the_tables(url: URL, tmp_path: Path) -> None:
    log = SkimmedLog(batches((topic("orders"), partition("orders", 0)), (topic("more"),)))
    path = synced(log, url)
    before = sorted(tmp_path.iterdir())
    assert before == [path]
    index = _Counted(path, log)
    list(Timeline(log, index=index).history(parse_object("topic:more")))
    assert index.used == 1
    assert sorted(tmp_path.iterdir()) == before


def test_what_a_writer_has_not_yet_moved_into_the_file_is_read(url: URL, tmp_path: Path) -> None:
    history = batches((topic("orders"), partition("orders", 0)), (topic("more"),), (topic("new"),))
    log = SkimmedLog(history)
    synced(FakeLog(history[:1]), url)
    with HistoryStore.open(url) as store, store.engine.connect():
        sync(Timeline(log), log, store)
        # As a crash leaves it.
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for each in tmp_path.glob("history.db*"):
            shutil.copy(each, crashed)
    path = Path(str(default_url(crashed).database))
    found = HistoryFile(path, log).changes_of(parse_object("topic:more"), (), 4)
    assert found == FoundChanges([2], 4)


@ON_BOTH
async def test_tables_that_are_ahead_of_a_log_as_it_was_opened_are_used(
    url: URL, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    create_log(log, "test-cluster")
    await _append(log, topic("orders"), partition("orders", 0))
    with LogReader.open(log) as opened:
        await _append(log, change("orders", 0, leader=2))
        with LogReader.open(log) as reader:
            path = synced(reader, url)
        is_file = url.get_backend_name() == "sqlite"
        index = _Counted(path, opened) if is_file else _CountedDatabase(url, opened)
        assert (index.end_offset() or 0) > opened.end_offset
        name = parse_object("partition:orders/0")
        with_tables = list(Timeline(opened, index=index).history(name))
        assert with_tables == list(Timeline(opened).history(name))
        assert len(with_tables) == 1
        assert index.used == 1
    assert not caplog.messages


async def _append(directory: Path, *records: Record) -> None:
    log = await MetadataLog.open(directory)
    await log.append(NewBatch(records=records))
    await log.close()
