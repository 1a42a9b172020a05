"""A repeated request is committed once."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFs
from metadata_log.files.names import segment_name
from metadata_log.format.batch import AppendResult
from metadata_log.format.segment_file import BlockPlace, read_batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer import request_window
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.request_window import KnownRequests
from records.envelope import Origin
from records.errors import CorruptLogError, FencedError, Outcome, RequestError
from tests.metadata_log.conftest import topics

PLACE = BlockPlace(0, 100, 200)


async def test_repeated_request_gets_the_first_answer(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    first, *repeated = await asyncio.gather(
        *(log.append(topics(0, 3, request_id="r1")) for _ in range(4))
    )
    other = await log.append(topics(5, 1, request_id="r2"))
    assert repeated == [first] * 3
    assert (first.base_offset, other.base_offset) == (1, 4)
    await log.close()


async def test_window_outlives_the_writer(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    first = await log.append(topics(0, 3, request_id="r1"))
    await log.close()
    log = await MetadataLog.open(directory)
    assert result_of(await log.find_request(Origin(request_id="r1", request_hash=b"r1"))) == first
    assert await log.append(topics(0, 3, request_id="r1")) == first
    await log.close()
    with LogReader.open(directory) as reader:
        assert reader.end_offset == 5


async def test_window_is_read_from_the_log_once(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1, request_id="r1"))
    opened: list[LogReader] = []

    def open_reader() -> LogReader:
        opened.append(LogReader.open(directory))
        return opened[-1]

    known = KnownRequests(open_reader, asyncio.to_thread)
    await asyncio.gather(known.load(), known.load())
    await known.load()
    assert len(opened) == 1
    assert known.is_loaded
    await log.close()


async def test_same_id_for_another_request_is_refused(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1, request_id="r1"))
    with pytest.raises(RequestError, match="'r1' was used for another request, at offset 1"):
        await log.append(topics(0, 1, request_id="r1", request_hash=b"other"))
    await log.close()


async def test_hash_of_an_earlier_release_is_computed_only_if_the_hash_differs(
    directory: Path,
) -> None:
    computed = []

    def earlier_hash() -> bytes:
        computed.append(b"r1")
        return b"r1"

    async def find(request_id: str, request_hash: bytes) -> request_window.Committed | None:
        origin = Origin(request_id=request_id, request_hash=request_hash)
        return await log.find_request(origin, earlier_hash)

    log = await MetadataLog.open(directory)
    first = await log.append(topics(0, 1, request_id="r1"))
    assert await find("new", b"new") is None
    assert result_of(await find("r1", b"r1")) == first
    assert computed == []
    assert result_of(await find("r1", b"without secrets")) == first
    assert len(computed) == 1
    await log.close()


async def test_request_is_forgotten_when_it_falls_out_of_the_window(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_window, "REQUEST_WINDOW_OFFSETS", 10)
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1, request_id="old"))
    for n in range(12):
        await log.append(topics(n, 1, request_id=f"r{n}"))
    assert await log.find_request(Origin(request_id="old", request_hash=b"old")) is None
    assert await log.find_request(Origin(request_id="r5", request_hash=b"r5")) is not None
    await log.close()


async def test_request_id_without_a_hash_stands_for_its_records(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    batch = topics(0, 1, request_id="r1", request_hash=None)
    assert await log.append(batch) == await log.append(batch)
    with pytest.raises(RequestError, match="request id 'r1' was used for another request"):
        await log.append(topics(1, 1, request_id="r1", request_hash=None))
    await log.close()
    log = await MetadataLog.open(directory)
    assert (await log.append(batch)).base_offset == 1
    await log.close()


async def test_request_under_way_is_not_found_as_committed(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1, request_id="r0"))
    request = topics(1, 1, request_id="r1")
    assert request.origin is not None
    answer, found = log.append(request), None
    while found is None:
        found = await log.find_request(request.origin)
        assert found is None or answer.done()
        await asyncio.sleep(0)
    assert found.result == await answer
    await log.close()


async def test_request_that_comes_while_a_segment_begins_is_recognised(directory: Path) -> None:
    request = topics(0, 1, request_id="r1")
    log = await MetadataLog.open(directory)
    first = await log.append(request)
    await log.close()
    came: list[asyncio.Future[AppendResult]] = []

    async def run_blocking(action: Callable[[], None]) -> None:
        if isinstance(action, partial) and action.func.__name__ == "start_segment":
            came.append(log.append(request))
        action()

    log = await MetadataLog.open(
        directory, run_blocking=run_blocking, segment_size_bytes_max=14_000
    )
    await log.append(topics(0, 1_000))
    await log.append(topics(1, 1))
    assert await came[0] == first
    await log.close()


async def test_batch_of_a_request_is_read_at_its_place(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 3))
    first = await log.append(topics(3, 2, request_id="r1"))
    await log.append(topics(5, 1))
    found = await log.find_request(Origin(request_id="r1", request_hash=b"r1"))
    await log.close()
    assert found is not None
    with LogReader.open(directory) as reader:
        (expected,) = list(reader.batches(first.base_offset, first.end_offset))
        again = request_window.RequestWindow.of_tail(reader)
    assert again.find(expected.rows[0].origin) == found
    assert read_batch(OsFs(), directory, found.place) == expected
    segment = directory / segment_name(found.place.segment_offset)
    content = bytearray(segment.read_bytes())
    content[found.place.position + 20] ^= 1
    segment.write_bytes(content)
    with pytest.raises(CorruptLogError, match=f"{segment} byte {found.place.position}: "):
        read_batch(OsFs(), directory, found.place)


async def test_id_that_goes_out_of_the_window_and_in_again_is_followed(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_window, "REQUEST_WINDOW_OFFSETS", 10)
    log = await MetadataLog.open(directory)
    for n in (0, 1):
        await log.append(topics(n, 9, request_id="late"))
        await log.append(topics(20 + n, 3, request_id=f"r{n}"))
    last = await log.append(topics(2, 9, request_id="late"))
    await log.close()
    followed = request_window.RequestWindow()
    with LogReader.open(directory) as reader:
        for place, block in reader.placed_blocks(0):
            followed.follow(block.batches[0], place)
        read = request_window.RequestWindow.of_tail(reader)
    origin = Origin(request_id="late", request_hash=b"late")
    assert followed.find(origin) == read.find(origin)
    assert result_of(followed.find(origin)) == last
    assert followed.find(Origin(request_id="r0", request_hash=b"r0")) is None


async def test_damage_in_the_window_names_file_and_byte(written: Path) -> None:
    log = await MetadataLog.open(written)
    segment = min(written.glob("*.avro"))
    content = bytearray(segment.read_bytes())
    content[-100] ^= 1
    segment.write_bytes(content)
    with pytest.raises(CorruptLogError, match=f"{segment} byte "):
        await log.append(topics(0, 1, request_id="r1"))
    with pytest.raises(FencedError, match=f"{segment} byte ") as caught:
        await log.append(topics(0, 1))
    assert caught.value.outcome is Outcome.NOTHING
    await log.close()


def result_of(committed: request_window.Committed | None) -> AppendResult | None:
    return None if committed is None else committed.result


def answered(base_offset: int) -> AppendResult:
    return AppendResult(
        base_offset=base_offset, end_offset=base_offset + 3, leader_epoch=1, timestamp=0
    )


def test_request_is_recognised_100_000_offsets_back_and_no_further() -> None:
    first, second, later = (Origin(request_id=name, request_hash=b"") for name in "abc")
    window = request_window.RequestWindow()
    window.add(first, answered(7), PLACE)
    window.add(second, answered(10), PLACE)
    window.add(later, answered(100_004), PLACE)
    window.drop_before(100_007)
    assert result_of(window.find(first)) == answered(7)
    window.drop_before(100_008)
    assert window.find(first) is None
    assert result_of(window.find(second)) == answered(10)


def test_what_was_taken_back_has_moved_the_window_for_nobody() -> None:
    first, taken_back = (Origin(request_id=name, request_hash=b"") for name in "ab")
    window = request_window.RequestWindow()
    window.add(first, answered(7), PLACE)
    window.add(taken_back, answered(100_100), PLACE)
    window.drop_from(100_100)
    window.drop_before(10)
    assert result_of(window.find(first)) == answered(7)


def test_what_was_taken_back_is_forgotten() -> None:
    window = request_window.RequestWindow()
    for number, name in enumerate("abc"):
        window.add(Origin(request_id=name, request_hash=b""), answered(10 * number), PLACE)
    window.drop_from(10)
    found = [result_of(window.find(Origin(request_id=n, request_hash=b""))) for n in "abc"]
    assert found == [answered(0), None, None]


def test_first_answer_to_an_id_is_the_one_that_is_kept() -> None:
    window = request_window.RequestWindow()
    origin = Origin(request_id="a", request_hash=b"")
    window.add(origin, answered(0), PLACE)
    window.add(origin, answered(10), PLACE)
    assert result_of(window.find(origin)) == answered(0)


@pytest.mark.parametrize(
    "origin",
    [None, Origin(), Origin(request_id="a"), Origin(request_hash=b"h"), Origin(principal="p")],
)
def test_batch_without_id_and_hash_takes_no_part(origin: Origin | None) -> None:
    window = request_window.RequestWindow()
    window.add(origin, answered(0), PLACE)
    assert window.find(origin) is None
    assert not request_window.is_repeatable(origin)
    assert request_window.is_repeatable(Origin(request_id="", request_hash=b""))
