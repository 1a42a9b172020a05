"""What every shared log does, in memory, in PostgreSQL and in a bucket."""

import asyncio
import contextlib
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from random import Random

import pytest

from metadata_log.shared.identity import Identity
from metadata_log.shared.postgres import PostgresSharedLog
from metadata_log.shared.settlement import Settled, Settlement
from metadata_log.shared.shared_log import (
    EMPTY,
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Lease,
    OtherHeartbeatError,
    Position,
    SharedLog,
    claim_of,
)
from records.errors import CorruptLogError, FencedError, Outcome, RequestError, UnknownHistoryError
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.stores import STORES, lose

Connect = Callable[[], AbstractAsyncContextManager[SharedLog]]


@pytest.fixture(params=STORES)
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Yield what connects to a new, empty shared log."""
    async with STORES[request.param](request) as connect:
        yield connect


@pytest.fixture
async def log(connect: Connect) -> AsyncIterator[SharedLog]:
    async with connect() as found:
        yield found


def group(at: Position, *contents: bytes, records: int = 1, epoch: int | None = None) -> Group:
    return Group(
        number=at.number,
        epoch=at.epoch if epoch is None else epoch,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=at.end_offset + records,
        crc32c=(at.crc32c * 31 + 1) % 2**32,
        entries=tuple([Entry(EntryKind.BLOCK, content) for content in contents or (b"x",)]),
    )


async def _claim(log: SharedLog, at: Position, epoch: int) -> Position:
    claim = claim_of(at, epoch, secrets.token_bytes(NONCE_SIZE))
    await log.append(claim, after=at)
    return claim.end


async def _append(log: SharedLog, at: Position, *contents: bytes) -> Position:
    added = group(at, *contents)
    await log.append(added, after=at)
    return added.end


async def _all(log: SharedLog, number: int = 0) -> list[Group]:
    found: list[Group] = []
    while more := await log.read(number + len(found), 1_000):
        found += more
    return found


async def _fenced(writing: Awaitable[object]) -> Outcome:
    with pytest.raises(FencedError) as caught:
        await writing
    return caught.value.outcome


async def test_a_new_one_is_empty(log: SharedLog) -> None:
    assert await log.end() == await log.confirmed_end() == EMPTY
    assert list(await log.read(0, 1_000)) == []
    assert await log.start() == 0
    assert await log.lease() is None


async def test_a_store_is_of_one_shared_log(log: SharedLog, connect: Connect) -> None:
    with pytest.raises(RequestError) as caught:
        await log.identity()
    assert caught.value.code == "SHARED_LOG_NOT_FOUND"
    mine = Identity(cluster_id="c", log_id="1")
    await log.create(mine)
    await log.create(mine)  # its first answer was lost
    async with connect() as other:
        assert await other.identity() == mine
        for strange in (Identity(cluster_id="d", log_id="1"), Identity(cluster_id="c", log_id="2")):
            with pytest.raises(RequestError) as caught:
                await other.create(strange)
            assert caught.value.code == "LOG_EXISTS"
        assert await other.identity() == mine


async def test_groups_come_back_as_they_were(log: SharedLog, connect: Connect) -> None:
    at = await _claim(log, EMPTY, 1)
    contents = [b"", bytes(range(256)), b"\0" * 70_000, b"\xff\x00\\x41'"]
    first = Group(
        number=1,
        epoch=1,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=2**62,
        crc32c=2**32 - 1,
        entries=(Entry(EntryKind.SEGMENT, b"header"), *_blocks(contents)),
    )
    await log.append(first, after=at)
    async with connect() as other:
        claim, found = await _all(other)
        assert claim.is_claim
        assert claim.end == at
        assert found == first
        assert await other.end() == await other.confirmed_end() == first.end


def _blocks(contents: list[bytes]) -> list[Entry]:
    return [Entry(EntryKind.BLOCK, content) for content in contents]


async def test_a_position_is_taken_once(log: SharedLog, connect: Connect) -> None:
    at = await _claim(log, EMPTY, 1)
    first, second = group(at, b"a"), group(at, b"b")
    await log.append(first, after=at)
    async with connect() as other:
        assert await _fenced(other.append(second, after=at)) is Outcome.NOTHING
    await log.append(first, after=at)  # it is its own
    assert (await _all(log))[1:] == [first]
    assert await log.end() == first.end


async def test_nothing_is_appended_behind_a_gap(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    ahead = group(at).end
    assert await _fenced(log.append(group(ahead), after=ahead)) is Outcome.NOTHING
    assert await log.end() == at


async def test_a_claim_fences_lower_epochs(log: SharedLog, connect: Connect) -> None:
    at = await _append(log, await _claim(log, EMPTY, 1), b"a")
    async with connect() as other:
        taken = await _claim(other, at, 7)
        assert await _fenced(log.append(group(at, b"b"), after=at)) is Outcome.NOTHING
        # Also where the fenced writer reads how far the log goes, and does not look at its epoch.
        stale = group(taken, b"c", epoch=1)
        after = Position(
            number=taken.number, epoch=1, end_offset=taken.end_offset, crc32c=taken.crc32c
        )
        assert await _fenced(log.append(stale, after=after)) is Outcome.NOTHING
        end = await _append(other, taken, b"d")
    assert await log.end() == end
    contents = [[e.content for e in each.entries] for each in await _all(log)]
    assert contents == [[], [b"a"], [], [b"d"]]


async def test_of_many_claims_one_succeeds(connect: Connect) -> None:
    async with contextlib.AsyncExitStack() as stack:
        logs = [await stack.enter_async_context(connect()) for _ in range(6)]
        at = EMPTY
        for round_number in range(5):
            racing = [_claim(each, at, at.epoch + 1 + n) for n, each in enumerate(logs)]
            outcomes = await asyncio.gather(*racing, return_exceptions=True)
            won = [each for each in outcomes if isinstance(each, Position)]
            assert len(won) == 1
            assert all(isinstance(each, Position | FencedError) for each in outcomes)
            at = won[0]
            assert at.number == round_number + 1
            assert await logs[0].end() == at


async def test_a_race_of_appends_and_claims_leaves_one_history(connect: Connect) -> None:
    """Each node appends as long as it leads and claims when it does not."""
    async with contextlib.AsyncExitStack() as stack:
        logs = [await stack.enter_async_context(connect()) for _ in range(4)]
        written = await asyncio.gather(
            *(_node(each, Random(number)) for number, each in enumerate(logs))
        )
        found = await _all(logs[0])
    assert [each.number for each in found] == list(range(len(found)))
    acknowledged = [each for groups in written for each in groups]
    assert sorted(acknowledged, key=lambda each: each.number) == found
    for before, after in itertools.pairwise(found):
        assert after.epoch > before.epoch if after.is_claim else after.epoch == before.epoch


async def _node(log: SharedLog, random: Random) -> list[Group]:
    acknowledged: list[Group] = []
    for _ in range(8):
        try:
            at = await log.end()
            made = claim_of(at, at.epoch + 1, secrets.token_bytes(NONCE_SIZE))
            for _ in range(random.randrange(1, 5)):
                await log.append(made, after=at)
                acknowledged.append(made)
                at = made.end
                made = group(at, random.randbytes(random.randrange(1, 100)))
                await asyncio.sleep(random.random() / 200)
        except FencedError:
            continue
    return acknowledged


async def test_reads_are_bounded_in_bytes(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    for _ in range(6):
        at = await _append(log, at, b"x" * 1_000)
    assert [len(await log.read(1, size)) for size in (0, 999, 2_500, 10_000)] == [1, 1, 2, 6]
    assert [each.number for each in await log.read(3, 2_500)] == [3, 4]
    assert list(await log.read(at.number, 1_000)) == []


async def _committed(log: SharedLog, number: int, size: int = 10_000) -> tuple[Position, list[int]]:
    end, groups = await log.read_committed(number, size)
    return end, [each.number for each in groups]


async def test_what_is_committed_is_read_with_an_end(log: SharedLog, connect: Connect) -> None:
    assert await _committed(log, 0) == (EMPTY, [])
    at = await _claim(log, EMPTY, 1)
    for _ in range(6):
        at = await _append(log, at, b"x" * 1_000)
    async with connect() as other:
        for size, numbers in ((0, [1]), (999, [1]), (2_500, [1, 2]), (10_000, [*range(1, 7)])):
            assert await _committed(other, 1, size) == (at, numbers)
        assert (await other.read_committed(3, 2_500)).groups == await other.read(3, 2_500)
        assert await _committed(other, at.number) == (at, [])


async def test_what_is_trimmed_or_lost_is_not_read_as_committed(
    log: SharedLog, connect: Connect
) -> None:
    at = await _claim(log, EMPTY, 1)
    for number in range(5):
        at = await _append(log, at, b"%d" % number)
    await lose(log, 4)
    await log.trim(2)
    async with connect() as other:
        for number in (0, 1):
            with pytest.raises(UnknownHistoryError):
                await other.read_committed(number, 10_000)
        with pytest.raises(CorruptLogError, match="group 4 of the shared log is missing in"):
            await other.read_committed(4, 10_000)
        assert await _committed(other, 2) == (at, [2, 3])
        assert await _committed(other, 5) == (at, [5])


async def test_waiting_ends_when_there_is_something(log: SharedLog, connect: Connect) -> None:
    at = await _claim(log, EMPTY, 1)
    async with connect() as follower:
        assert await follower.wait(0, 30) == at
        assert await follower.wait(at.number, 0) == at
        waiting = asyncio.ensure_future(follower.wait(at.number, 30))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        after = await _append(log, at, b"a")
        async with asyncio.timeout(10):
            assert await waiting == after
        assert await follower.wait(after.number, 0.05) == after


async def test_the_size_is_that_of_the_groups(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    before = await log.size_bytes()
    for _ in range(4):
        at = await _append(log, at, secrets.token_bytes(50_000))
    assert 200_000 <= await log.size_bytes() - before < 400_000


async def test_what_is_trimmed_is_gone_and_the_rest_stays(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    for number in range(5):
        at = await _append(log, at, b"%d" % number)
    await log.trim(3)
    assert await log.start() == 3
    for number in (0, 2):
        with pytest.raises(UnknownHistoryError):
            await log.read(number, 1_000)
    assert [each.number for each in await _all(log, 3)] == [3, 4, 5]
    await log.trim(1)
    assert await log.start() == 3
    at = await _append(log, at, b"more")
    await log.trim(1_000)
    assert [each.end for each in await _all(log, at.number - 1)] == [at]
    assert await log.end() == at
    await _append(log, at, b"and more")


async def test_a_group_that_the_store_has_lost_is_named(log: SharedLog, connect: Connect) -> None:
    at = await _claim(log, EMPTY, 1)
    for number in range(5):
        at = await _append(log, at, b"%d" % number)
    await lose(log, 3)
    async with connect() as other:
        for reader, number in ((log, 3), (other, 3), (other, 1)):
            with pytest.raises(CorruptLogError, match="group 3 of the shared log is missing in"):
                await _all(reader, number)
        assert [each.number for each in await other.read(1, 10_000)] == [1, 2]
        assert [each.number for each in await other.read(4, 10_000)] == [4, 5]
        await other.trim(4)
        with pytest.raises(UnknownHistoryError):
            await other.read(3, 10_000)
    await _append(log, at, b"goes on")


async def test_what_the_store_has_lost_is_put_back_under_its_number(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    made = [claim_of(EMPTY, 1, b"")]
    for _ in range(6):
        made.append(group(at))
        await log.append(made[-1], after=at)
        at = made[-1].end
    assert await log.lost() == []
    for number in (2, 3, 5):
        await lose(log, number)
    assert await log.lost() == [range(2, 4), range(5, 6)]
    for number in (2, 3, 5):
        await log.put_back(made[number])
    assert await log.lost() == []
    assert [each.entries for each in await log.read(1, 10_000)] == [
        each.entries for each in made[1:]
    ]
    with pytest.raises(FencedError, match="group 3 of the shared log is not lost"):
        await log.put_back(group(made[2].end, b"other"))
    await log.trim(5)
    assert await log.lost() == []


async def test_a_bucket_tells_where_the_kept_groups_begin_if_the_first_is_lost(
    log: SharedLog,
) -> None:
    """PostgreSQL keeps its groups in a table, and begins with the first one that is there."""
    at = await _claim(log, EMPTY, 1)
    assert await log.last_trimmed() is None
    made = [claim_of(EMPTY, 1, b"")]
    for _ in range(6):
        made.append(group(at))
        await log.append(made[-1], after=at)
        at = made[-1].end
    await log.trim(2)
    await log.trim(4)
    await lose(log, 4)
    if isinstance(log, PostgresSharedLog):
        assert await log.start() == 5
        assert await log.lost() == []
        assert await log.last_trimmed() is None
        return
    assert await log.start() == 4
    assert await log.lost() == [range(4, 5)]
    assert await log.last_trimmed() == made[3]
    await log.put_back(made[4])
    assert await log.lost() == []
    assert await log.read(4, 10_000) == made[4:]
    await lose(log, 4)
    await log.trim(5)
    assert await log.lost() == []
    assert await log.last_trimmed() is None


async def test_a_trimmed_number_is_not_free(log: SharedLog, connect: Connect) -> None:
    """A writer that slept while others wrote and trimmed gets nothing in where the log was."""
    old = await _append(log, await _claim(log, EMPTY, 1), b"a")
    async with connect() as other:
        at = await _claim(other, old, 2)
        for _ in range(4):
            at = await _append(other, at, b"b")
        await other.trim(at.number - 1)
    for late in (group(old, b"late"), claim_of(old, 9, secrets.token_bytes(NONCE_SIZE))):
        assert await _fenced(log.append(late, after=old)) is Outcome.NOTHING
    first = claim_of(EMPTY, 9, secrets.token_bytes(NONCE_SIZE))
    assert await _fenced(log.append(first, after=EMPTY)) is Outcome.NOTHING
    assert [each.number for each in await _all(log, await log.start())] == [
        at.number - 1,
    ]
    assert await log.end() == at


async def test_the_lease_is_renewed_by_who_knows_it(log: SharedLog, connect: Connect) -> None:
    mine = _lease(1)
    assert await log.renew(mine, instead_of=None)
    assert not await log.renew(_lease(1), instead_of=None)
    async with connect() as other:
        assert await other.lease() == mine
        theirs = _lease(2)
        assert not await other.renew(theirs, instead_of=_lease(1))
        assert await other.renew(theirs, instead_of=mine)
    assert not await log.renew(_lease(1), instead_of=mine)
    assert await log.lease() == theirs


async def test_of_many_that_want_the_lease_one_gets_it(connect: Connect) -> None:
    async with contextlib.AsyncExitStack() as stack:
        logs = [await stack.enter_async_context(connect()) for _ in range(5)]
        held: Lease | None = None
        for _ in range(4):
            wanted = [_lease(number) for number in range(len(logs))]
            got = await asyncio.gather(
                *(
                    each.renew(lease, instead_of=held)
                    for each, lease in zip(logs, wanted, strict=True)
                )
            )
            assert sum(got) == 1
            held = wanted[got.index(True)]
            assert await logs[0].lease() == held


def _lease(node_id: int) -> Lease:
    return Lease(
        node_id=node_id,
        process=b"p%d" % node_id,
        nonce=secrets.token_bytes(NONCE_SIZE),
        duration_ms=3_000,
        proven=Position(number=3, epoch=2, end_offset=2**40, crc32c=2**32 - 1),
        content=b"kafka=10.0.0.1:9092",
    )


async def test_an_unknown_group_that_is_there_is_settled_as_committed(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    mine = group(at, b"mine")
    await log.append(mine, after=at)
    assert await Settlement(mine, after=at).attempt(log) == Settled(True, mine.end)
    await _append(log, mine.end, b"next")


async def test_an_unknown_group_that_is_not_there_never_will_be(log: SharedLog) -> None:
    at = await _claim(log, EMPTY, 1)
    mine = group(at, b"mine")
    settlement = Settlement(mine, after=at)
    found = await settlement.attempt(log)
    assert not found.is_committed
    assert found.end == await log.end()
    assert (found.end.number, found.end.epoch) == (at.number + 1, 2)
    assert await _fenced(log.append(mine, after=at)) is Outcome.NOTHING
    assert await settlement.attempt(log) == found  # its first answer was lost
    await _append(log, found.end, b"next")


async def test_an_unknown_claim_is_settled_like_a_group(log: SharedLog) -> None:
    claim = claim_of(EMPTY, 4, secrets.token_bytes(NONCE_SIZE))
    await log.append(claim, after=EMPTY)
    assert await Settlement(claim, after=EMPTY).attempt(log) == Settled(True, claim.end)


async def test_who_was_fenced_meanwhile_hears_so(log: SharedLog, connect: Connect) -> None:
    at = await _claim(log, EMPTY, 1)
    mine = group(at, b"mine")
    async with connect() as other:
        end = await _claim(other, at, 2)
        assert await _fenced(Settlement(mine, after=at).attempt(log)) is Outcome.NOTHING
        for _ in range(3):
            end = await _append(other, end, b"x")
        await other.trim(end.number)
    assert await _fenced(Settlement(mine, after=at).attempt(log)) is Outcome.UNKNOWN


async def test_a_late_group_loses_to_the_settlement_of_itself() -> None:
    """Only in memory can a request be held back at will."""
    store = MemoryStore()
    log = MemorySharedLog(store)
    at = await _claim(log, EMPTY, 1)
    mine = group(at, b"mine")
    log.lose_next = "late"
    with pytest.raises(Exception, match="lost"):
        await log.append(mine, after=at)
    found = await Settlement(mine, after=at).attempt(log)
    log.deliver()
    assert not found.is_committed
    assert await log.end() == found.end


async def test_members_are_the_nodes_that_register(log: SharedLog, connect: Connect) -> None:
    assert list(await log.members()) == []
    before_ms = time.time_ns() // 1_000_000
    told_ms = await log.register(2, b"two")
    assert before_ms - 2_000 <= told_ms <= time.time_ns() // 1_000_000 + 2_000
    async with connect() as other:
        await other.register(1, b"one")
        await other.register(2, b"two again")
        found = await other.members()
    assert [(each.node_id, each.content) for each in found] == [(1, b"one"), (2, b"two again")]
    assert all(0 <= each.age_ms < 30_000 for each in found)
    await log.unregister(1)
    await log.unregister(1)  # its first answer was lost
    assert [each.node_id for each in await log.members()] == [2]


async def test_a_heartbeat_replaces_the_one_that_its_writer_knows(
    log: SharedLog, connect: Connect
) -> None:
    await log.register(1, b"first")
    await log.register(1, b"again", b"first")
    async with connect() as other:
        await other.register(1, b"other's")
        with pytest.raises(OtherHeartbeatError) as caught:
            await log.register(1, b"lost", b"again")
        assert caught.value.content == b"other's"
        assert [each.content for each in await other.members()] == [b"other's"]
        await log.register(1, b"mine", b"other's")
        with pytest.raises(OtherHeartbeatError) as caught:
            await other.register(1, b"lost", b"other's")
        assert caught.value.content == b"mine"
    await log.unregister(1)
    await log.register(1, b"back", b"mine")
    assert [each.content for each in await log.members()] == [b"back"]


async def test_members_grow_older(log: SharedLog) -> None:
    await log.register(1, b"")
    (before,) = await log.members()
    await asyncio.sleep(2.2)  # a bucket tells whole seconds
    (after,) = await log.members()
    assert after.age_ms >= before.age_ms + 2_000
    await log.register(1, b"")
    (again,) = await log.members()
    assert again.age_ms < after.age_ms
