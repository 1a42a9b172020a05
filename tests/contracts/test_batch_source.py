"""The contract of `BatchSource`: a log, copies of it, a mirror, a source in memory."""

import asyncio
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from metadata_log.care.backup import back_up
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from metadata_log.writer.mirror import MirrorBuilder
from records.errors import UnknownHistoryError
from replay.image.digest import image_digest
from replay.loader import BatchSource, images, load_image
from tests.histories import random_history
from tests.own_logs import write_history
from tests.replay.builders import FakeLog
from tests.s3 import client_of, new_place


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of several segments."""
    directory = tmp_path_factory.mktemp("source") / "log"
    return asyncio.run(write_history(directory, seed=5, batches=40))


@pytest.fixture(scope="module")
def copy(log: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A backup in a directory."""
    return _back_up(log, str(tmp_path_factory.mktemp("copy") / "log"))


@pytest.fixture(scope="module")
def put_once(log: Path, s3_url: str) -> str:
    with client_of(s3_url):
        return _back_up(log, new_place(s3_url))


@pytest.fixture
def bucket(put_once: str, s3_environment: None) -> str:
    """A backup in a bucket."""
    return put_once


def _back_up(log: Path, place: str) -> str:
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, open_store(place))
    return place


def _mirror(directory: Path) -> LogReader:
    with MirrorBuilder(directory, "test-cluster") as builder:
        for batch in random_history(random.Random(3), 30):
            builder.append(batch.rows, batch.end_offset)
        builder.finish(0)
    return LogReader.open(directory)


@pytest.fixture(params=["log", "copy", "bucket", "mirror", "memory"])
def source(request: pytest.FixtureRequest, log: Path, tmp_path: Path) -> BatchSource:
    opened: dict[str, Callable[[], BatchSource]] = {
        "log": lambda: LogReader.open(log),
        "copy": lambda: LogReader.open(request.getfixturevalue("copy")),
        "bucket": lambda: LogReader.open(request.getfixturevalue("bucket")),
        "mirror": lambda: _mirror(tmp_path / "mirror"),
        "memory": lambda: FakeLog(random_history(random.Random(3), 30)),
    }
    return opened[request.param]()


def test_batches_follow_each_other_from_the_start_to_the_end(source: BatchSource) -> None:
    batches = list(source.batches())
    assert batches[0].base_offset == source.start_offset
    assert batches[-1].end_offset == source.end_offset
    assert all(before.end_offset == after.base_offset for before, after in pairwise(batches))
    assert list(source.batches()) == batches


def test_whole_batches_are_read_that_hold_any_offset_asked_for(source: BatchSource) -> None:
    batches = list(source.batches())
    for first, end in _ranges(source):
        wanted = [b for b in batches if b.end_offset > first and b.base_offset < end]
        assert list(source.batches(first, end)) == wanted


def _ranges(source: BatchSource) -> Iterator[tuple[int, int]]:
    start, end = source.start_offset, source.end_offset
    points = [start, start + 1, (start + end) // 2, end - 1, end]
    yield from ((first, last) for first in points for last in points if first < last)


def test_position_is_of_the_batch_before_it(source: BatchSource) -> None:
    for batch in source.batches():
        position = source.position(batch.end_offset)
        assert position.cluster_id == "test-cluster"
        assert position.end_offset == batch.end_offset
        assert position.leader_epoch == batch.leader_epoch
        assert not position.contradicts(source.position(batch.end_offset))
    assert source.position(source.history_start).end_offset == source.history_start


def test_image_at_the_end_is_that_of_the_last_step(source: BatchSource) -> None:
    *_, (_, last) = images(source, source.history_start, source.end_offset)
    assert image_digest(load_image(source)) == image_digest(last)


def test_offset_before_the_history_is_unknown(source: BatchSource) -> None:
    with pytest.raises(UnknownHistoryError):
        load_image(source, source.history_start - 2)


def test_copies_of_a_log_give_its_batches_and_positions(log: Path, copy: str, bucket: str) -> None:
    whole = LogReader.open(log)
    batches = list(whole.batches())
    for place in (copy, bucket):
        copied = LogReader.open(place)
        assert list(copied.batches()) == batches
        for batch in batches[::7]:
            assert copied.position(batch.end_offset) == whole.position(batch.end_offset)
            assert copied.last_offset_at(batch.timestamp) == whole.last_offset_at(batch.timestamp)
