"""Answers of a bucket that are no answers, through a proxy that makes them."""

import asyncio
import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from obstore.store import S3Store

from metadata_log.shared.bucket import BucketSharedLog
from metadata_log.shared.settlement import Settlement
from metadata_log.shared.shared_log import (
    EMPTY,
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Lease,
    Position,
    claim_of,
)
from records.errors import (
    CorruptLogError,
    FencedError,
    Outcome,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from tests.s3 import new_place
from tests.shared_log.faulty_s3 import FaultyS3, faulty_s3


@pytest.fixture
def s3(s3_url: str) -> Iterator[FaultyS3]:
    with faulty_s3(s3_url) as proxy:
        yield proxy


@pytest.fixture
async def log(s3: FaultyS3, s3_url: str, s3_environment: None) -> BucketSharedLog:
    return _connect(s3.url, new_place(s3_url))


def _connect(endpoint: str, place: str) -> BucketSharedLog:
    parts = urlsplit(place)
    assert parts.hostname
    store = S3Store(
        parts.hostname,
        prefix=parts.path.strip("/"),
        endpoint=endpoint,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    return BucketSharedLog(store)


def _group(at: Position, content: bytes = b"x") -> Group:
    return Group(
        number=at.number,
        epoch=at.epoch,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=at.end_offset + 1,
        crc32c=1,
        entries=(Entry(EntryKind.BLOCK, content),),
    )


async def _led(log: BucketSharedLog) -> Position:
    claim = claim_of(EMPTY, 1, secrets.token_bytes(NONCE_SIZE))
    await log.append(claim, after=EMPTY)
    return claim.end


@pytest.mark.parametrize("fault", ["twice", "no answer", "error after"])
async def test_a_put_that_arrived_is_a_success(
    log: BucketSharedLog, s3: FaultyS3, fault: str
) -> None:
    """Also if a proxy sent it twice, so that the answer says that the object exists."""
    at = await _led(log)
    mine = _group(at)
    s3.next_put = fault
    await log.append(mine, after=at)
    assert list(await log.read(1, 1_000)) == [mine]


@pytest.mark.parametrize("fault", ["dropped", "conflict", "error before"])
async def test_a_put_that_is_not_there_is_unknown(
    log: BucketSharedLog, s3: FaultyS3, fault: str
) -> None:
    """Also if the answer says that the object exists, or that another request was faster."""
    at = await _led(log)
    mine = _group(at)
    s3.next_put = fault
    with pytest.raises(UnavailableError) as caught:
        await log.append(mine, after=at)
    assert caught.value.outcome is Outcome.UNKNOWN
    found = await Settlement(mine, after=at).attempt(log)
    assert not found.is_committed
    assert found.end.epoch == 2
    await log.append(_group(found.end), after=found.end)


async def test_a_put_that_arrives_late_finds_its_number_taken(
    log: BucketSharedLog, s3: FaultyS3
) -> None:
    at = await _led(log)
    mine = _group(at)
    s3.next_put = "late"
    with pytest.raises(UnavailableError):
        await log.append(mine, after=at)
    found = await Settlement(mine, after=at).attempt(log)
    s3.deliver()
    assert not found.is_committed
    assert [each.is_claim for each in await log.read(0, 1_000)] == [True, True]
    assert await log.end() == found.end


async def test_a_put_that_arrives_late_after_a_trim_changes_nothing(
    log: BucketSharedLog, s3: FaultyS3
) -> None:
    """Its object is deleted, so the store takes it again."""
    at = await _led(log)
    mine = _group(at)
    await log.append(mine, after=at)
    s3.next_put = "late"
    await _connect_again(log).append(mine, after=at)  # it is there from the first time
    end = mine.end
    for _ in range(3):
        more = _group(end)
        await log.append(more, after=end)
        end = more.end
    await log.trim(4)
    s3.deliver()
    fresh = _connect_again(log)
    assert await fresh.end() == end
    assert await fresh.start() == 4
    assert [each.number for each in await fresh.read(4, 10_000)] == [4]


async def test_a_claim_for_a_number_that_is_trimmed_does_not_count(
    log: BucketSharedLog, s3: FaultyS3
) -> None:
    """A leader whose group had an unknown outcome sleeps; others go on and trim."""
    at = await _led(log)
    mine = _group(at)
    s3.next_put = "no answer"
    asleep = _connect_again(log)
    await asleep.append(mine, after=at)
    end = mine.end
    for _ in range(3):
        claim = claim_of(end, end.epoch + 1, secrets.token_bytes(NONCE_SIZE))
        await log.append(claim, after=end)
        end = claim.end
    await log.trim(end.number)
    with pytest.raises(FencedError) as caught:
        await Settlement(mine, after=at).attempt(asleep)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert await log.end() == await _connect_again(log).end() == end


async def test_a_renewal_of_the_lease_whose_answer_is_lost(
    log: BucketSharedLog, s3: FaultyS3
) -> None:
    first, second, third = (_lease() for _ in range(3))
    assert await log.renew(first, instead_of=None)
    s3.next_put = "no answer"
    assert await log.renew(second, instead_of=first)
    s3.next_put = "dropped"
    with pytest.raises(UnavailableError) as caught:
        await log.renew(third, instead_of=second)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert await log.lease() == second


def _lease() -> Lease:
    return Lease(
        node_id=1,
        process=b"p",
        nonce=secrets.token_bytes(NONCE_SIZE),
        duration_ms=3_000,
        proven=EMPTY,
    )


@pytest.mark.parametrize("header", ["If-None-Match", "If-Match"])
async def test_a_store_that_ignores_a_condition_is_refused(
    log: BucketSharedLog, s3: FaultyS3, header: str
) -> None:
    await log.open()
    s3.ignores = frozenset({header.lower()})
    with pytest.raises(RequestError, match=f"ignores {header}"):
        await log.open()
    s3.ignores = frozenset()
    await log.open()
    assert await log.end() == EMPTY


async def test_a_store_that_looks_first_and_writes_later_is_refused(
    log: BucketSharedLog, s3: FaultyS3
) -> None:
    s3.looks_first = True
    with pytest.raises(RequestError, match="ignores If-None-Match"):
        await log.open()


async def test_a_store_that_is_trusted_is_not_tested(s3: FaultyS3, s3_url: str) -> None:
    place = new_place(s3_url)
    log = BucketSharedLog(_connect(s3.url, place)._store, is_trusted=True)
    s3.requests.clear()
    await log.open()
    assert s3.requests == []


async def test_an_append_is_one_request(log: BucketSharedLog, s3: FaultyS3) -> None:
    at = await _led(log)
    s3.requests.clear()
    for _ in range(5):
        mine = _group(at)
        await log.append(mine, after=at)
        at = mine.end
    assert [method for method, _ in s3.requests] == ["PUT"] * 5


async def test_a_look_that_finds_nothing_is_one_request(log: BucketSharedLog, s3: FaultyS3) -> None:
    at = await _led(log)
    s3.requests.clear()
    assert await log.wait(1, 0.01) == at
    assert [method for method, _ in s3.requests] == ["GET"]


async def test_a_store_that_cannot_be_reached(log: BucketSharedLog, s3: FaultyS3) -> None:
    at = await _led(log)
    s3.stop()
    for ask in (log.end, log.lease, log.start, log.confirmed_end):
        with pytest.raises(UnavailableError):
            await ask()
    with pytest.raises(UnavailableError):
        await log.read(0, 1)
    with pytest.raises(UnavailableError) as caught:
        await log.append(_group(at), after=at)
    assert caught.value.outcome is Outcome.UNKNOWN


async def test_an_object_that_is_no_group_is_named(log: BucketSharedLog, s3: FaultyS3) -> None:
    at = await _led(log)
    await log.append(_group(at, b"y" * 100), after=at)
    s3.flip = "groups/00000000000000000001"
    with pytest.raises(CorruptLogError, match=r"groups/0+1"):
        await log.read(1, 1_000)


async def test_a_reader_behind_the_trimmed_start_is_told_so(log: BucketSharedLog) -> None:
    at = await _led(log)
    for _ in range(4):
        mine = _group(at)
        await log.append(mine, after=at)
        at = mine.end
    reader = _connect_again(log)
    assert await reader.read(1, 1)
    await log.trim(4)
    with pytest.raises(UnknownHistoryError, match=r"group 2 is trimmed; .* begins with group 4"):
        await reader.read(2, 1_000)


async def test_a_reader_behind_the_trimmed_start_gets_no_claim(log: BucketSharedLog) -> None:
    """Claims are never deleted, so one may be there whose place in the log was trimmed."""
    at = await _led(log)
    claim = claim_of(at, at.epoch + 1, secrets.token_bytes(NONCE_SIZE))
    await log.append(claim, after=at)
    at = claim.end
    for _ in range(3):
        mine = _group(at)
        await log.append(mine, after=at)
        at = mine.end
    reader = _connect_again(log)
    assert await reader.read(claim.number, 1)
    await log.trim(at.number - 1)
    with pytest.raises(UnknownHistoryError, match=f"group {claim.number} is trimmed"):
        await reader.read(claim.number, 1)


async def test_many_nodes_read_while_one_trims(log: BucketSharedLog) -> None:
    """A reader gets a group, or hears that it is trimmed; never another end."""
    at = await _led(log)
    for _ in range(30):
        mine = _group(at)
        await log.append(mine, after=at)
        at = mine.end

    async def read() -> int:
        reader, number = _connect_again(log), 0
        while number < at.number:
            try:
                found = await reader.read(number, 300)
            except UnknownHistoryError:
                number = await reader.start()
                continue
            assert [each.number for each in found] == list(range(number, number + len(found)))
            assert found, f"group {number} is missing"
            number += len(found)
        return number

    async def trim() -> None:
        for number in range(0, at.number, 3):
            await log.trim(number)

    ends = await asyncio.gather(*(read() for _ in range(4)), trim())
    assert [each for each in ends if each is not None] == [at.number] * 4


def _connect_again(log: BucketSharedLog) -> BucketSharedLog:
    return BucketSharedLog(log._store)
