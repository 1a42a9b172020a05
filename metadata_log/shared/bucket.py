"""A shared log in a bucket of a store with conditional writes.

A group is an object named by its number, written by one PUT that succeeds only if there is no such
object. The lease is one object, replaced only in the version that was read. An error of a
conditional write does not tell whether the write succeeded: a PUT that the network or a proxy
repeated is refused because of its own first copy, and some stores refuse where nothing exists. So
after any error the object is read: it is the writer's own (success) or another's (refused); if
there is none, the outcome is unknown.

    groups/00000000000000000000   one object a group; a claim has a header only
    trimmed                       the number of the first group that is kept
    lease
    nodes/1                       a node's description of itself
    shared-log.json                the identity of the shared log

A trim writes `trimmed` before it deletes groups, and never deletes claims. So a writer that slept
meanwhile may find its number free, because the group with this number was deleted. Only a claim can
be written there: the writer of any other group was fenced by a claim with the same number, or wrote
the deleted group itself. Hence a claim counts only if `trimmed`, read after it was written, is not
above its number. Readers check this for each claim that they read, and check `trimmed` before they
take a missing object for the end of the log.

Source: conditional PUT of S3 (If-None-Match, If-Match); requests cost money, so an append is a
single request.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import msgspec
from obstore.exceptions import BaseError

from metadata_log.shared.bucket_groups import (
    GROUPS,
    HEADER_SIZE,
    decoded,
    encoded,
    group_name,
    header_of,
)
from metadata_log.shared.bucket_members import Members
from metadata_log.shared.bucket_objects import Objects, first_line
from metadata_log.shared.bucket_probe import check_conditions, check_lifecycle
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import (
    EMPTY,
    CommittedGroups,
    Group,
    Lease,
    Member,
    Position,
    check_follows,
    fenced_group,
    missing_group,
    no_shared_log,
    not_lost,
    other_shared_log,
    trimmed_group,
)
from metadata_log.stores.object_store import bucket_of
from records.errors import (
    Outcome,
    UnavailableError,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

POLL_S = 0.5
"""Pause before a follower polls again for new groups: a bucket sends no notifications."""

_TRIMMED = "trimmed"
_LEASE = "lease"
_IDENTITY = "shared-log.json"
_READ_AT_ONCE = 8
"""Maximum number of objects that a reader fetches at the same time."""


class BucketSharedLog:
    """One node's access to a shared log under a prefix of a bucket."""

    @classmethod
    def of_url(cls, url: str, *, is_trusted: bool = False) -> Self:
        """Use `s3://bucket/prefix`; errors as for `bucket_of`."""
        return cls(bucket_of(url, retries=False)[0], is_trusted=is_trusted)

    def __init__(
        self,
        store: "S3Store",
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        is_trusted: bool = False,
    ) -> None:
        """Use a store that adds the prefix to all keys and does not retry requests.

        Args:
            wall_ns: This machine's time, in nanoseconds since 1970.
            is_trusted: `open` tests nothing: the nodes that write have tested the store.
        """
        self._store = store
        self._is_trusted = is_trusted
        self._objects = Objects(store)
        self._members = Members(store, self._objects)
        self._wall_ns = wall_ns
        # An end that was right once: there is nothing to look up before it.
        self._known = EMPTY
        self._start = 0

    async def open(self) -> None:
        """Test that this prefix can hold a shared log, unless the store is trusted.

        Raises:
            RequestError: INVALID_REQUEST, the store overwrites an object although the condition is
                not met; or a lifecycle rule takes objects of the prefix away.
            UnavailableError: the store does not answer.
        """
        if not self._is_trusted:
            await check_conditions(self._store, self._objects)
            await check_lifecycle(self._store, self._objects)

    async def create(self, identity: Identity) -> None:
        """Initialize this prefix for a new shared log, as `SharedLog.create`."""
        content = msgspec.json.encode(identity)
        if (
            not await self._objects.replaced(_IDENTITY, content, None)
            and await self.identity() != identity
        ):
            raise other_shared_log(self._objects.where)

    async def identity(self) -> Identity:
        """Return which shared log this is, as `SharedLog.identity`."""
        content = await self._objects.get(_IDENTITY)
        if content is None:
            raise no_shared_log(self._objects.where)
        return msgspec.json.decode(content, type=Identity)

    async def end(self) -> Position:
        """Return the end that the store shows, as `SharedLog.end`."""
        if self._known == EMPTY:
            await self.start()
        last = await self._last_number()
        if last is None:
            return self._known
        if last + 1 > self._known.number:
            self._known = header_of(
                await self._objects.get(group_name(last), HEADER_SIZE), last
            ).end
        return self._known

    async def confirmed_end(self) -> Position:
        """Return an end that is committed now, as `SharedLog.confirmed_end`.

        Listed groups are committed, because the store is strongly consistent.
        """
        return await self.end()

    async def append(self, group: Group, *, after: Position) -> None:
        """Commit a group of batches or a claim, as `SharedLog.append`."""
        check_follows(group, after)
        if after != self._known:
            await self._check_ends_at(after)
        content = encoded(group)
        name = group_name(group.number)
        try:
            await self._store.put_async(name, content, mode="create", use_multipart=False)
        except (BaseError, OSError) as error:
            if not await self._is_own(name, group, error):
                raise fenced_group(group.number) from error
        if group.is_claim and group.number < await self.start():
            raise fenced_group(group.number)
        self._known = group.end

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        """Return groups of batches from a number on, as `SharedLog.read`."""
        found: list[Group] = []
        size = 0
        while not found or (size < size_bytes_max and number + len(found) < self._known.number):
            next_number = number + len(found)
            # Objects that are not known to be there are asked for one by one: each costs a request.
            ahead = min(_READ_AT_ONCE, self._known.number - next_number) if size_bytes_max else 1
            numbers = range(next_number, next_number + max(ahead, 1))
            contents = await asyncio.gather(
                *(self._objects.get(group_name(each)) for each in numbers)
            )
            for each, content in zip(numbers, contents, strict=True):
                if content is None or (found and size + len(content) > size_bytes_max):
                    if not found:
                        await self._check_not_lost(number)
                    return await self._checked(number, found)
                found.append(decoded(content, each))
                size += len(content)
        return await self._checked(number, found)

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        """Return the end and groups before it, as `SharedLog.read_committed`."""
        end = await self.confirmed_end()
        found = await self.read(number, size_bytes_max) if number < end.number else []
        return CommittedGroups(end, [group for group in found if group.number < end.number])

    async def wait(self, number: int, timeout_s: float) -> Position:
        """Poll for a group of this number, as `SharedLog.wait`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while (end := await self.end()).number <= number:
            left_s = until - loop.time()
            await asyncio.sleep(max(min(left_s, POLL_S), 0))
            if left_s <= POLL_S:
                break  # a last look would be a request more
        return end

    async def start(self) -> int:
        """Return the number of the first kept group of batches, as `SharedLog.start`."""
        content = await self._objects.get(_TRIMMED)
        self._start = 0 if content is None else int(content)
        return self._start

    async def size_bytes(self) -> int:
        """Return the sizes of all objects of groups, as `SharedLog.size_bytes`.

        Lists these objects, with one request for each thousand.
        """
        return sum([item["size"] async for page in self._listed(-1) for item in page])

    async def trim(self, number: int) -> None:
        """Remove groups of batches before a number, as `SharedLog.trim`.

        Claims stay, and the last group before the number, for `last_trimmed`.
        """
        end, start = await self.end(), await self.start()
        number = min(number, end.number - 1)
        if number <= start:
            return
        await self._objects.put_larger(_TRIMMED, number)
        self._start = max(self._start, number)
        async for page in self._listed(start - 2):
            names = [item["path"] for item in page if item["size"] > HEADER_SIZE]
            old = [name for name in names if name < group_name(number - 1)]
            if old:
                with self._objects.named_errors(old[0]):
                    await self._store.delete_async(old)
            if len(old) < len(names):
                return

    async def last_trimmed(self) -> Group | None:
        """Return the group before the first that is kept, as `SharedLog.last_trimmed`."""
        number = await self.start() - 1
        content = None if number < 0 else await self._objects.get(group_name(number))
        return None if content is None else decoded(content, number)

    async def lost(self) -> Sequence[range]:
        """Return the numbers of lost groups, as `SharedLog.lost`.

        Lists all objects of groups, with one request for each thousand.
        """
        names = [item["path"] async for page in self._listed(-1) for item in page]
        # Read behind the listing, in which a trim may have made gaps.
        start = await self.start()
        numbers = [int(name.removeprefix(GROUPS)) for name in names]
        found = [start - 1, *(number for number in numbers if number >= start)]
        return [range(a + 1, b) for a, b in pairwise(found) if b > a + 1]

    async def put_back(self, group: Group) -> None:
        """Store a group that was lost, as `SharedLog.put_back`."""
        name = group_name(group.number)
        try:
            await self._store.put_async(name, encoded(group), mode="create", use_multipart=False)
        except (BaseError, OSError) as error:
            if not await self._is_own(name, group, error):
                raise not_lost(group.number) from error

    async def lease(self) -> Lease | None:
        """Return the lease, as `SharedLog.lease`."""
        found = await self._objects.versioned(_LEASE)
        return None if found is None else msgspec.msgpack.decode(found[0], type=Lease)

    async def renew(self, lease: Lease, *, instead_of: Lease | None) -> bool:
        """Replace the lease, as `SharedLog.renew`."""
        found = await self._objects.versioned(_LEASE)
        before = None if found is None else msgspec.msgpack.decode(found[0], type=Lease)
        if before != instead_of:
            return False
        return await self._objects.replaced(_LEASE, msgspec.msgpack.encode(lease), found)

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        """Store a node's heartbeat, as `SharedLog.register`; the time has whole seconds only."""
        return await self._members.register(node_id, content, instead_of)

    async def members(self) -> Sequence[Member]:
        """Return the nodes that have registered, as `SharedLog.members`.

        Ages are computed with this machine's clock, because a bucket does not tell its time.
        """
        return await self._members.all(self._wall_ns() // 1_000_000)

    async def unregister(self, node_id: int) -> None:
        """Remove a node from the members, as `SharedLog.unregister`."""
        await self._members.remove(node_id)

    async def close(self) -> None:
        """Do nothing: no connection belongs to this object."""

    async def _last_number(self) -> int | None:
        """Return the number of the last group after the known groups; None if there is none."""
        last = None
        async for page in self._listed(max(self._known.number, self._start) - 1):
            last = page[-1]["path"] if page else last
        return None if last is None else int(last.removeprefix(GROUPS))

    async def _listed(self, number: int) -> "AsyncIterator[Sequence[ObjectMeta]]":
        """Yield the objects of the groups after a number, one page of a listing at a time."""
        with self._objects.named_errors(GROUPS):
            async for page in self._store.list(prefix=GROUPS, offset=group_name(number)):
                yield page

    async def _check_ends_at(self, after: Position) -> None:
        """Check that the group before a position exists and ends at that position."""
        if after == EMPTY:
            is_right = await self.start() == 0
        else:
            content = await self._objects.get(group_name(after.number - 1), HEADER_SIZE)
            is_right = content is not None and header_of(content, after.number - 1).end == after
        if not is_right:
            raise fenced_group(after.number)

    async def _is_own(self, name: str, group: Group, error: Exception) -> bool:
        """True if a group was stored although its PUT failed; False if another has this number.

        Raises:
            UnavailableError: no group has this number yet; the PUT may still succeed.
        """
        try:
            content = await self._objects.get(name, HEADER_SIZE)
        except UnavailableError:
            content = None
        if content is None:
            raise UnavailableError(
                f"{self._objects.where}{name}: {first_line(error)}; the batch group may still be "
                "stored",
                outcome=Outcome.UNKNOWN,
            ) from error
        return header_of(content, group.number).nonce == group.nonce

    async def _check_not_lost(self, number: int) -> None:
        """Check that a group that was not found is trimmed, or not written yet.

        Raises:
            CorruptLogError: there are later groups.
        """
        if number >= (await self.end()).number:
            return
        # It may have been written before the later ones, and after the first look.
        name = group_name(number)
        is_there = await self._objects.get(name, HEADER_SIZE) is not None
        if not is_there and number >= await self.start():
            raise missing_group(number, f"{self._objects.where}{name}")

    async def _checked(self, number: int, found: list[Group]) -> list[Group]:
        """Return the groups that were read, after checking that their number is not trimmed.

        What is found may be read although it was trimmed by another node: it is unchanged.
        """
        needs_check = not found or any(group.is_claim for group in found)
        if number < self._start or (needs_check and number < await self.start()):
            raise trimmed_group(number, self._start)
        return found
