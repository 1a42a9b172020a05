"""A shared log in memory, whose answers can be lost or late."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import (
    EMPTY,
    CommittedGroups,
    Group,
    Lease,
    Member,
    OtherHeartbeatError,
    Position,
    check_follows,
    missing_group,
    no_shared_log,
    not_lost,
    other_shared_log,
)
from records.errors import FencedError, Outcome, UnavailableError, UnknownHistoryError


class MemoryStore:
    """What the nodes share: groups from `start` on, but for those it has lost, and the lease."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.start = 0
        self.last_trimmed: Group | None = None
        self.lost: set[int] = set()
        self.lease: Lease | None = None
        self.members: dict[int, tuple[int, bytes]] = {}
        self.identity: Identity | None = None
        self.grown = asyncio.Event()

    @property
    def end(self) -> Position:
        return self.groups[-1].end if self.groups else EMPTY

    def put(self, group: Group, after: Position) -> bool:
        """Commit a group if the log ends at a position; return whether it is there."""
        if self.end != after:
            place = group.number - self.start
            return 0 <= place < len(self.groups) and self.groups[place].nonce == group.nonce
        self.groups.append(group)
        self.grown.set()
        return True


class MemorySharedLog:
    """One node's connection to a store.

    Attributes:
        is_cut: No request reaches the store.
        lose_next: What happens to the next append: None, `request` (it never arrives), `answer` (it
            is committed, without an answer), or `late` (it arrives when `deliver` is called).
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.is_cut = False
        self.lose_next: str | None = None
        self._late: list[tuple[Group, Position]] = []

    async def create(self, identity: Identity) -> None:
        self._reach()
        if self._store.identity not in (None, identity):
            raise other_shared_log("memory")
        self._store.identity = identity

    async def identity(self) -> Identity:
        self._reach()
        if self._store.identity is None:
            raise no_shared_log("memory")
        return self._store.identity

    async def end(self) -> Position:
        self._reach()
        return self._store.end

    async def confirmed_end(self) -> Position:
        return await self.end()

    async def append(self, group: Group, *, after: Position) -> None:
        check_follows(group, after)
        self._reach()
        lost, self.lose_next = self.lose_next, None
        if lost == "late":
            self._late.append((group, after))
        if lost not in ("request", "late"):
            is_committed = self._store.put(group, after)
            if not is_committed and lost is None:
                raise FencedError(f"group {group.number} is another", outcome=Outcome.NOTHING)
        if lost is not None:
            raise UnavailableError("the answer was lost", outcome=Outcome.UNKNOWN)

    def deliver(self) -> None:
        """Let what was late arrive."""
        for group, after in self._late:
            self._store.put(group, after)
        self._late.clear()

    def lose(self, number: int) -> None:
        """Lose a group, as a store does that is damaged."""
        self._store.lost.add(number)

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        self._reach()
        if number < self._store.start:
            raise UnknownHistoryError(f"the shared log begins with group {self._store.start}")
        found: list[Group] = []
        size = 0
        for group in self._store.groups[number - self._store.start :]:
            size += sum(len(entry.content) for entry in group.entries)
            if found and (size > size_bytes_max or group.number in self._store.lost):
                break
            if group.number in self._store.lost:
                raise missing_group(group.number, "memory")
            found.append(group)
        return found

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        return CommittedGroups(await self.end(), await self.read(number, size_bytes_max))

    async def wait(self, number: int, timeout_s: float) -> Position:
        self._reach()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._store.end.number <= number:
                    self._store.grown.clear()
                    await self._store.grown.wait()
        return self._store.end

    async def start(self) -> int:
        self._reach()
        return self._store.start

    async def size_bytes(self) -> int:
        self._reach()
        return sum(len(e.content) for group in self._store.groups for e in group.entries)

    async def trim(self, number: int) -> None:
        self._reach()
        kept = min(number, self._store.end.number - 1)
        while self._store.start < kept:
            group = self._store.groups.pop(0)
            self._store.last_trimmed = None if group.number in self._store.lost else group
            self._store.lost.discard(group.number)
            self._store.start += 1

    async def last_trimmed(self) -> Group | None:
        self._reach()
        return self._store.last_trimmed

    async def lost(self) -> Sequence[range]:
        self._reach()
        lost = sorted(self._store.lost)
        # As in the other stores, what is lost together is one range.
        firsts = [number for number in lost if number - 1 not in lost]
        lasts = [number for number in lost if number + 1 not in lost]
        return [range(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]

    async def put_back(self, group: Group) -> None:
        self._reach()
        if group.number not in self._store.lost:
            raise not_lost(group.number)
        self._store.lost.remove(group.number)
        self._store.groups[group.number - self._store.start] = group

    async def lease(self) -> Lease | None:
        self._reach()
        return self._store.lease

    async def renew(self, lease: Lease, *, instead_of: Lease | None) -> bool:
        self._reach()
        if self._store.lease != instead_of:
            return False
        self._store.lease = lease
        return True

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        self._reach()
        _, found = self._store.members.get(node_id, (0, None))
        if instead_of is not None and found is not None and found != instead_of:
            raise OtherHeartbeatError(found)
        now_ms = time.time_ns() // 1_000_000
        self._store.members[node_id] = (now_ms, content)
        return now_ms

    async def members(self) -> Sequence[Member]:
        self._reach()
        now_ms = time.time_ns() // 1_000_000
        return [
            Member(node_id=node_id, content=content, age_ms=now_ms - then_ms)
            for node_id, (then_ms, content) in sorted(self._store.members.items())
        ]

    async def unregister(self, node_id: int) -> None:
        self._reach()
        self._store.members.pop(node_id, None)

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def _reach(self) -> None:
        if self.is_cut:
            raise UnavailableError("the store cannot be reached")
