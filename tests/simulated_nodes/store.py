"""A store of shared logs that is slow, loses answers, and commits before its standbys have it.

Like PostgreSQL, it shows a group as soon as it is written, and acknowledges it when its standbys
have it, too. While they are away nothing is acknowledged, and a fail-over to one of them takes back
everything since.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import Context
from random import Random

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
)
from records.errors import FencedError, Outcome, UnavailableError, UnknownHistoryError
from tests.simulated_nodes.link import Link, lost_answer

STATEMENT_TIMEOUT_S = 2.0

WALL_MS = 1_700_000_000_000
"""The store's wall clock when the loop begins."""


class SimulatedStore:
    """What the nodes share.

    Attributes:
        start: Number of the first group that can be read; those before are kept for comparison.
        confirmed: Number of groups that the standbys have, too: they can never vanish.
        is_alone: True while the standbys are away.
        fail_overs: How often a standby took over; connections from before are lost.
        shown: Number of groups that nodes have seen, confirmed or not.
        LATE_S: Longest time that a write is on its way.
        events: What happened, and how often.
    """

    FATES = ("request", "answer", "late", "refused")
    LEASE_FATES = ("request", "answer", "late")
    LATE_S = 8.0
    LOST_FATES = ("request", "answer", "late")

    def __init__(self) -> None:
        self.identity = Identity(cluster_id="simulated", log_id="1")
        self.groups: list[Group] = []
        self.start = 0
        self.confirmed = 0
        self.is_alone = False
        self.fail_overs = 0
        self._leases: list[Lease] = []
        self._confirmed_leases = 0
        self.members: dict[int, tuple[float, bytes]] = {}
        self.shown = 0
        self.events: Counter[str] = Counter()
        self._grown = asyncio.Event()

    def connect(self, random: Random) -> "SimulatedSharedLog":
        """Return the connections of a process."""
        return SimulatedSharedLog(self, random)

    def forget_member(self, node_id: int) -> None:
        self.members.pop(node_id, None)

    @property
    def end(self) -> Position:
        return self.groups[-1].end if self.groups else EMPTY

    def show_end(self) -> Position:
        """Return the end as nodes see it, also of what is not confirmed."""
        self.shown = max(self.shown, len(self.groups))
        return self.end

    def put(self, group: Group, after: Position) -> bool:
        """Write a group if the log ends at a position; return whether it is there."""
        if self.end != after:
            at = group.number
            return at < len(self.groups) and self.groups[at].nonce == group.nonce
        self.groups.append(group)
        self._grown.set()
        self._grown = asyncio.Event()
        return True

    def put_late(self, group: Group, after: Position) -> None:
        self.events["late"] += self.put(group, after)

    async def grown(self) -> None:
        """Wait for a group."""
        await self._grown.wait()

    @property
    def lease(self) -> Lease | None:
        """The lease as nodes see it, confirmed or not."""
        return self._leases[-1] if self._leases else None

    def renew(self, lease: Lease, before: Lease | None) -> bool:
        if self.lease != before:
            return False
        self._leases.append(lease)
        return True

    def come_back(self) -> None:
        """The standbys have everything again."""
        self.is_alone = False
        self.confirmed = len(self.groups)
        self._confirmed_leases = len(self._leases)

    def fail_over(self) -> None:
        """A standby takes over: the groups and leases that were not confirmed are gone."""
        if self.is_alone:
            self.events["taken back"] += len(self.groups) > self.confirmed
            self.events["taken back, seen before"] += self.shown > self.confirmed
            self.shown = min(self.shown, self.confirmed)
            del self.groups[self.confirmed :]
            del self._leases[self._confirmed_leases :]
        self.is_alone = False
        self.fail_overs += 1

    def lose(self, count: int) -> None:
        """Go back as an older dump does: some acknowledged groups are gone, and the lease."""
        kept = max(len(self.groups) - count, self.start + 1)
        del self.groups[kept:]
        self.confirmed = min(self.confirmed, len(self.groups))
        self.is_alone = False
        del self._leases[-1:]
        self._confirmed_leases = len(self._leases)
        self.fail_overs += 1

    async def confirm(self) -> None:
        """Wait until everything that is written now is on the standbys.

        Raises:
            UnavailableError: not in time, or a standby took over.
        """
        written, leases, before = len(self.groups), len(self._leases), self.fail_overs
        waited = 0.0
        while self.is_alone:
            if waited >= STATEMENT_TIMEOUT_S or self.fail_overs != before:
                raise lost_answer()
            await asyncio.sleep(0.05)
            waited += 0.05
        if self.fail_overs != before:
            raise lost_answer()
        self.confirmed = max(self.confirmed, written)
        self._confirmed_leases = max(self._confirmed_leases, leases)


class SimulatedSharedLog(Link):
    """One node's connections to a store.

    Fates of a write: `request` and `answer` are lost, `late` arrives later, `refused` was never
    sent.
    """

    def __init__(self, store: SimulatedStore, random: Random) -> None:
        super().__init__(random, store.events)
        self._store = store

    async def create(self, identity: Identity) -> None:
        raise AssertionError("it is made")

    async def identity(self) -> Identity:
        await self.reach()
        return self._store.identity

    async def end(self) -> Position:
        await self.reach()
        return self._store.show_end()

    async def confirmed_end(self) -> Position:
        await self.reach()
        end = self._store.end
        await self._store.confirm()
        await self.come_back()
        return end

    async def append(self, group: Group, *, after: Position) -> None:
        check_follows(group, after)
        await self.reach()
        fate = self.next_fate("claim" if group.is_claim else "group")
        if fate == "refused":
            raise UnavailableError("the store cannot be reached")
        if fate == "late":
            self._send_late(self._store.put_late, group, after)
        if fate in ("late", "request"):
            await asyncio.sleep(STATEMENT_TIMEOUT_S)
            raise lost_answer()
        is_there = self._store.put(group, after)
        if not is_there:
            await self.come_back()
            raise FencedError(f"group {group.number} is another", outcome=Outcome.NOTHING)
        if fate == "answer":
            raise lost_answer()
        await self._store.confirm()
        await self.come_back()

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        await self.reach()
        if number < self._store.start:
            raise UnknownHistoryError(f"the shared log begins with group {self._store.start}")
        count = 1 if size_bytes_max == 0 else self.random.randrange(1, 6)
        found = self._store.groups[number : number + count]
        await self.come_back()
        return found

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        # One statement: what it has seen is what its commit confirms.
        await self.reach()
        end = self._store.end
        if number < self._store.start:
            raise UnknownHistoryError(f"the shared log begins with group {self._store.start}")
        found = self._store.groups[number : number + self.random.randrange(1, 6)]
        await self._store.confirm()
        await self.come_back()
        return CommittedGroups(end, found)

    async def wait(self, number: int, timeout_s: float) -> Position:
        await self.reach()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._store.end.number <= number:
                    await self._store.grown()
                await asyncio.sleep(self.random.uniform(0.000_1, 0.02))
        return self._store.show_end()

    async def start(self) -> int:
        await self.reach()
        return self._store.start

    async def size_bytes(self) -> int:
        raise AssertionError("operators ask")

    async def last_trimmed(self) -> Group | None:
        raise AssertionError("operators ask")

    async def lost(self) -> Sequence[range]:
        raise AssertionError("operators ask")

    async def put_back(self, group: Group) -> None:
        raise AssertionError("it has lost none")

    async def trim(self, number: int) -> None:
        await self.reach()
        self._store.start = max(self._store.start, min(number, len(self._store.groups) - 1))
        await self.come_back()

    async def lease(self) -> Lease | None:
        await self.reach()
        return self._store.lease

    def _send_late(self, write: Callable[..., object], *args: object) -> None:
        loop = asyncio.get_running_loop()
        # In no process's context: it is on its way, whatever becomes of the node.
        loop.call_later(
            self.random.uniform(0.01, self._store.LATE_S), write, *args, context=Context()
        )

    async def renew(self, lease: Lease, *, instead_of: Lease | None) -> bool:
        await self.reach()
        fate = self.next_fate("lease")
        if fate == "late":
            self._send_late(self._store.renew, lease, instead_of)
        if fate in ("late", "request"):
            await asyncio.sleep(STATEMENT_TIMEOUT_S)
            raise lost_answer()
        is_renewed = self._store.renew(lease, instead_of)
        if fate == "answer":
            raise lost_answer()
        if is_renewed:
            await self._store.confirm()
        await self.come_back()
        return is_renewed

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        await self.reach()
        _, found = self._store.members.get(node_id, (0.0, None))
        if instead_of is not None and found is not None and found != instead_of:
            raise OtherHeartbeatError(found)
        now_s = asyncio.get_running_loop().time()
        self._store.members[node_id] = (now_s, content)
        await self.come_back()
        return WALL_MS + int(now_s * 1_000)

    async def members(self) -> Sequence[Member]:
        await self.reach()
        now_s = asyncio.get_running_loop().time()
        return [
            Member(node_id=node_id, content=content, age_ms=int((now_s - then_s) * 1_000))
            for node_id, (then_s, content) in sorted(self._store.members.items())
        ]

    async def unregister(self, node_id: int) -> None:
        await self.reach()
        self._store.members.pop(node_id, None)

    async def close(self) -> None:
        """Do nothing: there is no connection."""
