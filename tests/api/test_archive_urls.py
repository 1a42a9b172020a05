"""Logs named by `s3://bucket/prefix`: same answers as from a directory, read by ranges."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metadata_log.care.archive import archive
from metadata_log.care.backup import back_up
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.control import NoteRecord
from records.errors import RequestError, UnavailableError
from records.topics import TopicRecord
from tests.api.conftest import Metalog
from tests.own_logs import SteadyClock, write_history
from tests.s3 import Requests, client_of, counted, new_place

# What is read of a file that is only looked at: its header, by one range.
HEADER_READ_SIZE = 64 * 1024
NOTES = 24


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of five epochs; tests must not change it."""
    directory = tmp_path_factory.mktemp("archived") / "log"
    return asyncio.run(write_history(directory, seed=5, batches=40))


@pytest.fixture(scope="module")
def large_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose segments are many times larger than their headers."""
    directory = tmp_path_factory.mktemp("large") / "log"

    async def write() -> None:
        create_log(directory, "test-cluster")
        log = await MetadataLog.open(directory, clock=SteadyClock(), segment_size_bytes_max=400_000)
        for number in range(NOTES):
            text = random.Random(number).randbytes(100_000).hex()
            note = NoteRecord(at_offset=0, author="test", text=text)
            await log.append(NewBatch(records=(note,)))
        await log.close()

    asyncio.run(write())
    return directory


def put(log: Path, place: str) -> None:
    with LogReader.open(log) as reader:
        assert archive(OsFs(), reader, open_store(place), place)


def put_in_new_bucket(log: Path, s3_url: str) -> str:
    place = new_place(s3_url)
    with client_of(s3_url):
        put(log, place)
    return place


@pytest.fixture(scope="module")
def cold(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the log in a directory."""
    directory = tmp_path_factory.mktemp("archive") / "cold"
    put(log, str(directory))
    return directory


@pytest.fixture(scope="module")
def put_once(log: Path, s3_url: str) -> str:
    return put_in_new_bucket(log, s3_url)


@pytest.fixture
def bucket(put_once: str, s3_environment: None) -> str:
    """The archive of the log in a bucket; tests must not change it."""
    return put_once


@pytest.fixture(scope="module")
def put_large(large_log: Path, s3_url: str) -> str:
    return put_in_new_bucket(large_log, s3_url)


@pytest.fixture
def large_bucket(put_large: str, requests: Requests) -> str:
    """The archive of the large log in a bucket, with all requests counted."""
    return put_large


@pytest.fixture
def requests(
    s3_environment: None, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Requests]:
    """The requests to the S3 server from now on."""
    with counted(s3_url) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
        yield found


@pytest.mark.parametrize(
    "question",
    [
        "info LOG",
        "image LOG",
        "image LOG --at 60",
        "image LOG --at start",
        "dump LOG",
        "dump LOG --from 70 --to 80",
        "dump LOG --from 70 --to 80 --verbose",
        "digest LOG",
        "digest LOG --at end-20",
        "diff LOG 20 80",
        "history LOG broker:3",
        "blame LOG broker:3",
        "verify LOG",
    ],
)
def test_archive_in_a_bucket_answers_like_one_in_a_directory(
    metalog: Metalog, cold: Path, bucket: str, question: str
) -> None:
    words = question.split()
    here, there = (
        metalog(*(place if word == "LOG" else word for word in words), "--json")
        for place in (cold, bucket)
    )
    assert (there.code, there.err) == (here.code, here.err) == (0, "")
    found = without_clock(there)
    if words[0] == "info":
        # Counting would fetch all segments.
        assert found[0].pop("not_counted")
        found[0]["not_understood"] = None
    assert found == without_clock(here)


def test_info_of_a_bucket_says_that_nothing_was_counted(metalog: Metalog, bucket: str) -> None:
    last = metalog("info", bucket).out.splitlines()[-1]
    assert last == (
        "records not understood were not counted: that would fetch all segments of the archive"
    )


def without_clock(answer: object) -> list[dict[str, Any]]:
    documents = answer.lines if "\n{" in answer.out else [answer.json]  # type: ignore[attr-defined]
    return [{**document, "clock_difference_ms": None} for document in documents]


def test_image_at_a_point_reads_nothing_after_it(
    metalog: Metalog, large_log: Path, large_bucket: str, requests: Requests
) -> None:
    whole = sum(path.stat().st_size for path in large_log.glob("*.avro"))
    assert metalog("image", large_bucket, "--at", 6, "--json").json["as_of"] == 6
    assert requests.bytes_of(".avro") < whole / 2
    first, *_, last = sorted({name for _, name, _ in requests.made if name.endswith(".avro")})
    assert requests.bytes_of(first) <= (large_log / first).stat().st_size + HEADER_READ_SIZE
    assert requests.bytes_of(last) <= 2 * HEADER_READ_SIZE


def test_dump_of_one_record_reads_its_segment_and_headers(
    metalog: Metalog, large_log: Path, large_bucket: str, requests: Requests
) -> None:
    segments = sorted(large_log.glob("*.avro"))
    target = segments[-3]
    offset = int(target.stem) + 1
    (row,) = metalog("dump", large_bucket, "--from", offset, "--to", offset, "--json").lines
    assert row["offset"] == offset
    for path in segments:
        allowed = path.stat().st_size if path == target else 0
        assert requests.bytes_of(path.name) <= allowed + HEADER_READ_SIZE


def test_replay_reads_each_byte_about_once(
    metalog: Metalog, large_log: Path, large_bucket: str, requests: Requests
) -> None:
    expected = metalog("image", large_log, "--at", NOTES - 4, "--json").json
    found = metalog("image", large_bucket, "--at", NOTES - 4, "--json").json
    assert found["parts"] == expected["parts"]
    for path in sorted(large_log.glob("*.avro")):
        assert requests.bytes_of(path.name) <= path.stat().st_size + 2 * HEADER_READ_SIZE


def test_history_of_one_object_fetches_each_byte_once_in_few_requests(
    metalog: Metalog, tmp_path: Path, s3_place: str, requests: Requests
) -> None:
    """All blocks are fetched, because a block must be decompressed to be searched."""
    log = tmp_path / "log"
    size = asyncio.run(write_one_segment(log, size_bytes_min=8_000_000))
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
    requests.made.clear()
    (change,) = metalog("history", s3_place, "topic:orders", "--json").lines
    assert change["offset"] == 1
    asked = [count for _, name, count in requests.made if name.endswith(".avro")]
    # The header, then ranges of 1, 2, 4 and 8 MiB.
    assert len(asked) == 5
    assert size <= sum(asked) <= size + HEADER_READ_SIZE


async def write_one_segment(directory: Path, *, size_bytes_min: int) -> int:
    """Write a topic and many notes; return the size of the only segment."""
    create_log(directory, "test-cluster")
    log = await MetadataLog.open(directory, clock=SteadyClock())
    orders = TopicRecord(name="orders", topic_id=Uuid(bytes(15) + b"1"))
    await log.append(NewBatch(records=(orders,)))
    (path,) = directory.glob("*.avro")
    for number in itertools.count():
        if path.stat().st_size >= size_bytes_min:
            break
        text = random.Random(number).randbytes(500_000).hex()
        note = NoteRecord(at_offset=0, author="test", text=text)
        await log.append(NewBatch(records=(note,)))
    await log.close()
    return path.stat().st_size


def test_store_that_lists_no_e_tags_is_read_and_written(
    log: Path, s3_url: str, s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(s3_url, lists_e_tags=False) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
        put(log, s3_place)
        put(log, s3_place)
        with LogReader.open(s3_place) as reader, LogReader.open(log) as whole:
            batches = list(reader.batches())
            assert batches == list(whole.batches())[: len(batches)]


def test_reader_keeps_to_the_version_that_it_opened(
    log: Path, tmp_path: Path, s3_place: str
) -> None:
    put(log, s3_place)
    grown = tmp_path / "grown"
    asyncio.run(write_history(grown, seed=5, batches=40))
    with LogReader.open(s3_place) as reader:
        before = list(reader.batches())
        asyncio.run(write_history(grown, seed=8, batches=4, create=False))
        put(grown, s3_place)
        assert list(reader.batches()) == before
    with LogReader.open(s3_place) as newer:
        assert newer.end_offset > reader.end_offset


def test_file_that_was_replaced_while_it_was_read_is_named(log: Path, s3_place: str) -> None:
    put(log, s3_place)
    with LogReader.open(s3_place) as reader:
        name = reader.segment_paths[1].name
        open_store(s3_place).put(name, [b"another content"])
        with pytest.raises(UnavailableError, match=f"{s3_place}/{name} was replaced while it was"):
            list(reader.batches())


def test_damage_in_a_bucket_is_named_by_url(metalog: Metalog, log: Path, s3_place: str) -> None:
    put(log, s3_place)
    name = sorted(path.name for path in log.glob("*.avro"))[1]
    data = bytearray((log / name).read_bytes())
    data[-40] ^= 1
    open_store(s3_place).put(name, [bytes(data)])
    answer = metalog("digest", s3_place)
    assert answer.code == 5
    assert f"{s3_place}/{name} byte " in answer.err
    assert metalog("verify", s3_place).code == 1


def test_place_without_a_log_is_named_by_url(metalog: Metalog, s3_place: str) -> None:
    answer = metalog("image", s3_place)
    assert answer.code == 3
    assert f"LOG_NOT_FOUND: {s3_place} is not a log" in answer.err
    assert "`metalog archive`" in answer.err


@pytest.mark.parametrize("command", ["repair URL COPY", "backup URL COPY", "snapshot create URL"])
def test_command_that_needs_a_directory_says_how_to_get_one(metalog: Metalog, command: str) -> None:
    words = ["s3://bucket/cold" if word == "URL" else word for word in command.split()]
    answer = metalog(*words)
    assert answer.code == 2
    assert "needs a log directory; `metalog restore s3://bucket/cold LOG` makes one" in answer.err


@pytest.mark.parametrize("command", ["advise URL", "import kraft URL LOG"])
def test_files_of_kafka_in_a_bucket_are_refused_by_their_url(
    metalog: Metalog, command: str
) -> None:
    words = ["s3://bucket/cold" if word == "URL" else word for word in command.split()]
    answer = metalog(*words)
    assert answer.code == 2
    assert "read from a directory; copy the files of s3://bucket/cold to one" in answer.err


@pytest.mark.parametrize("prefix", ["../logs", "a/../b", "a/./b", "a//b", ".."])
def test_prefix_that_no_object_can_have_is_refused(prefix: str) -> None:
    with pytest.raises(RequestError, match="no part of a prefix can be empty") as refused:
        open_store(f"s3://bucket/{prefix}")
    assert refused.value.code == "INVALID_REQUEST"


def test_archive_in_a_bucket_holds_no_snapshots(metalog: Metalog, bucket: str) -> None:
    answer = metalog("digest", bucket, "--by", "snapshot")
    assert answer.code == 3
    assert f"SNAPSHOT_NOT_FOUND: {bucket} holds no snapshots" in answer.err
