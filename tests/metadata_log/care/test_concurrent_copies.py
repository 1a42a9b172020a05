"""Two runs of `backup` or `archive` write to the same place at once: the copy stays intact."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from metadata_log.care.archive import archive, read_archive_list
from metadata_log.care.backup import back_up
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.files.names import COMMIT_MARK, MANIFEST, segment_name
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import Store, open_store
from records.errors import UnavailableError
from tests.own_logs import write_history

Copy = Callable[[Path, Store], None]


def backed_up(log: Path, store: Store) -> None:
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, store)


def archived(log: Path, store: Store) -> None:
    with LogReader.open(log) as reader:
        archive(OsFs(), reader, store, str(store.directory))


@pytest.fixture(params=["directory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "copy")
    found: str = request.getfixturevalue("s3_place")
    return found


class Delayed:
    """A store that runs a function before a file is first written."""

    def __init__(self, store: Store, name: str, meanwhile: Callable[[], None]) -> None:
        self._store = store
        self._name = name
        self._waiting = [meanwhile]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        if name == self._name and self._waiting:
            self._waiting.pop()()
        self._store.put(name, chunks)


def outcome(copy: Copy, log: Path, store: Store) -> str:
    try:
        copy(log, store)
    except UnavailableError as error:
        return str(error)
    return "done"


def check_whole(store: Store, log: Path) -> None:
    """Check that a copy is readable, undamaged, and a prefix of its log."""
    with LogReader.open(store.directory, fs=store.fs) as copied, LogReader.open(log) as whole:
        batches = list(copied.batches())
        assert batches == list(whole.batches())[: len(batches)]
    assert inspect_log(store.fs, store.directory).damage == []


@pytest.mark.parametrize("copy", [backed_up, archived])
@pytest.mark.parametrize("overtaken_at", [segment_name(33), COMMIT_MARK, MANIFEST])
def test_first_copies_do_not_mix(log: Path, place: str, copy: Copy, overtaken_at: str) -> None:
    fast = open_store(place)
    outcomes = []
    slow = Delayed(
        open_store(place), overtaken_at, lambda: outcomes.append(outcome(copy, log, fast))
    )
    outcomes.append(outcome(copy, log, slow))
    refused = [one for one in outcomes if one != "done"]
    assert len(refused) >= 1
    assert all("run again" in one or "process" in one for one in refused)
    copy(log, open_store(place))
    check_whole(open_store(place), log)


@pytest.mark.parametrize("copy", [backed_up, archived])
def test_slow_run_does_not_put_an_older_end_over_a_newer_one(
    log: Path, place: str, copy: Copy
) -> None:
    copy(log, open_store(place))
    asyncio.run(write_history(log, seed=9, batches=3, create=False))
    fast = open_store(place)
    outcomes: list[str] = []

    def overtake() -> None:
        asyncio.run(write_history(log, seed=10, batches=3, create=False))
        outcomes.append(outcome(copy, log, fast))

    slow = Delayed(open_store(place), COMMIT_MARK, overtake)
    outcomes.append(outcome(copy, log, slow))
    assert sorted(one == "done" for one in outcomes) == [False, True]
    check_whole(open_store(place), log)
    copy(log, open_store(place))
    if copy is archived:
        store = open_store(place)
        listed = read_archive_list(store)
        assert listed is not None
        assert listed.end_offset == LogReader.open(store.directory, fs=store.fs).end_offset
