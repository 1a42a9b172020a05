"""Interface of a shared log: a log in a store that commits for several nodes.

A shared log is a sequence of groups, numbered from 0 without gaps. A group is committed as a whole
or not at all, and never changes. The leader appends a group of entries; a node that takes over
appends a claim, which is a group without entries in a higher epoch. Both name the number that they
are for, and of several writers exactly one gets this number. Hence a claim fences every writer of a
lower epoch: the number after the last group that such a writer knows is taken.

    0: claim, epoch 1 | 1: group | 2: group | 3: claim, epoch 2 | 4: group ...

Safety needs nothing else: no clock, no lease, no notification. The lease says who should lead, so
that nodes do not fence each other for nothing; `wait` only saves polling.

A write whose outcome is unknown is settled by fencing first, then reading (settlement.py).

Source: the append condition is that of Delos' loglets (Balakrishnan et al., OSDI 2020) and of logs
on object stores with conditional writes.
"""

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from metadata_log.shared.identity import Identity
from records.errors import (
    CorruptLogError,
    FencedError,
    Outcome,
    RequestError,
    UnknownHistoryError,
)

GROUP_SIZE_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of all entries of a group together."""

NONCE_SIZE = 16


class EntryKind(enum.IntEnum):
    """The use of an entry's bytes in a node's folder."""

    SEGMENT = 0
    """The header of a new segment file, which begins with these bytes."""
    BLOCK = 1
    """A block, appended to the last segment file."""
    BASE = 2
    """A part of the checkpoint that a log starts from; all parts come before the first segment."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """Bytes that every node writes to its folder, unchanged."""

    kind: EntryKind
    content: bytes


class Position(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An end of the shared log: the place of the next group, and what is before it.

    Attributes:
        number: Number of the next group.
        epoch: Epoch of the last group; 0 if there is none.
        end_offset: Offset of the log's next record.
        crc32c: CRC-32C of the log's last block, which is chained to all earlier blocks (see
            docs/log_format.md); 0 if there is none. It is the same for a node's folder, so that
            folder and shared log can be compared.
    """

    number: int = 0
    epoch: int = 0
    end_offset: int = 0
    crc32c: int = 0


EMPTY = Position()
"""The end of a shared log without groups."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group of batches in a shared log, committed or to be committed.

    Attributes:
        number: The group's place in the shared log, from 0.
        epoch: Epoch of the leader that wrote it.
        nonce: NONCE_SIZE random bytes, by which a writer that does not know the outcome recognizes
            its own group.
        end_offset: As in `Position`, after this group.
        crc32c: As in `Position`, after this group.
        entries: The stored blocks of the batches, and headers of new segments; empty in a claim.
    """

    number: int
    epoch: int
    nonce: bytes
    end_offset: int
    crc32c: int
    entries: tuple[Entry, ...] = ()

    @property
    def is_claim(self) -> bool:
        """True if the group begins an epoch and has no records."""
        return not self.entries

    @property
    def end(self) -> Position:
        """The end of the shared log right after this group."""
        return Position(
            number=self.number + 1,
            epoch=self.epoch,
            end_offset=self.end_offset,
            crc32c=self.crc32c,
        )


class CommittedGroups(NamedTuple):
    """An end of the shared log that is committed, and groups before it."""

    end: Position
    groups: Sequence[Group]


def claim_of(at: Position, epoch: int, nonce: bytes) -> Group:
    """Return the claim with which a node takes over at a position."""
    end, crc32c = at.end_offset, at.crc32c
    return Group(number=at.number, epoch=epoch, nonce=nonce, end_offset=end, crc32c=crc32c)


def check_follows(group: Group, after: Position) -> None:
    """Assert that a group may come right after a position, without asking the store."""
    assert group.number == after.number, "groups have no gaps"
    assert len(group.nonce) == NONCE_SIZE
    if group.is_claim:
        assert group.epoch > after.epoch, "a claim fences lower epochs"
    else:
        assert group.epoch == after.epoch > 0, "an epoch begins with a claim"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The node that should lead, according to the last renewal.

    For an observer, the lease has expired if the observer saw the same nonce for `duration_ms` by
    its own clock: no two clocks are compared.

    Attributes:
        node_id: The node that leads.
        process: Random bytes of the node's process: a second process of the same node is another
            holder.
        nonce: NONCE_SIZE random bytes, new with each renewal.
        duration_ms: Time without a renewal after which others may take over.
        proven: An end of the shared log that the holder knows to be committed.
        content: What nodes tell each other, such as addresses; opaque to the store.
    """

    node_id: int
    process: bytes
    nonce: bytes
    duration_ms: int
    proven: Position
    content: bytes = b""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A node, as described in its last message to the store.

    Attributes:
        node_id: The node's number.
        content: The node's description of itself; opaque to the store.
        age_ms: Time since that message.
    """

    node_id: int
    content: bytes
    age_ms: int


class OtherHeartbeatError(Exception):
    """The store has another heartbeat of a node than its writer knows: `content`."""

    def __init__(self, content: bytes) -> None:
        super().__init__("the store has another heartbeat of this node")
        self.content = content


class MissingGroupError(CorruptLogError):
    """The store has lost a group of a shared log, but has later groups."""


class SharedLog(Protocol):
    """A shared log in a store.

    All methods may raise UnavailableError with outcome NOTHING: the store cannot be reached, and
    nothing was sent to it.
    """

    async def create(self, identity: Identity) -> None:
        """Initialize the store for a new, empty shared log.

        Raises:
            RequestError: LOG_EXISTS, the store holds another shared log.
        """
        ...

    async def identity(self) -> Identity:
        """Return which shared log this is.

        Raises:
            RequestError: SHARED_LOG_NOT_FOUND, the store holds no shared log.
        """
        ...

    async def end(self) -> Position:
        """Return the end that the store shows.

        In a store that replicates, visible groups are not always committed; `confirmed_end` is
        always committed.
        """
        ...

    async def confirmed_end(self) -> Position:
        """Return an end that is committed, by a store operation that begins after this call.

        Every group acknowledged before the call is below this end, so an answer from the state at
        this end is linearizable.

        Raises:
            UnavailableError: the store did not confirm; nothing is known about the end.
        """
        ...

    async def append(self, group: Group, *, after: Position) -> None:
        """Commit a group of batches, or a claim, right after a position; one call at a time.

        If the store has this group already, with the same nonce, the call succeeds.

        Raises:
            FencedError: another group has this number, or the shared log does not end at `after`;
                the outcome is NOTHING.
            UnavailableError: with outcome UNKNOWN: the group may be committed now, or later, until
                another group has its number. Only a `Settlement` may follow.
        """
        ...

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        """Return groups of batches from a number on, up to a size; the first one whatever its size.

        Raises:
            UnknownHistoryError: the shared log begins after this number.
            MissingGroupError: the store has later groups, but has lost the one of this number.
        """
        ...

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        """Return an end as `confirmed_end`, and groups before it as `read`.

        There are no groups only if none before that end has this number.

        Raises:
            UnavailableError: the store did not confirm; nothing is known.
            UnknownHistoryError, MissingGroupError: as `read`.
        """
        ...

    async def wait(self, number: int, timeout_s: float) -> Position:
        """Wait up to `timeout_s` for a group of this number; return the end that the store shows.

        Before it returns an end without this group, it has asked the store.
        """
        ...

    async def start(self) -> int:
        """Return the number of the first group of batches that the store keeps."""
        ...

    async def size_bytes(self) -> int:
        """Return roughly how many bytes the kept groups of batches take in the store."""
        ...

    async def trim(self, number: int) -> None:
        """Remove the groups of batches before a number, but never the last group of all."""
        ...

    async def last_trimmed(self) -> Group | None:
        """Return the group before the first that the store keeps, if it still has that group.

        Its end is where the kept groups begin, which nothing else tells if the first is lost.
        """
        ...

    async def lost(self) -> Sequence[range]:
        """Return the numbers of the groups that the store has lost although it has later groups."""
        ...

    async def put_back(self, group: Group) -> None:
        """Store a group under a number that `lost` returned; call it in the order of the numbers.

        Raises:
            FencedError: the number has a group by now, or all groups before it were trimmed.
            UnavailableError: the outcome may be UNKNOWN; call `lost` again.
        """
        ...

    async def lease(self) -> Lease | None:
        """Return the lease; None if no node ever held it."""
        ...

    async def renew(self, lease: Lease, *, instead_of: Lease | None) -> bool:
        """Replace the lease if it still is `instead_of`; otherwise change nothing and return False.

        Raises:
            UnavailableError: the outcome may be UNKNOWN; read the lease.
        """
        ...

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        """Store a heartbeat of a node, with the node's description of itself.

        Args:
            instead_of: The heartbeat that is replaced; None, or if the node was removed: any.

        Returns:
            The store's time, in milliseconds since 1970.

        Raises:
            OtherHeartbeatError: the store has another one than `instead_of`, and keeps it.
        """
        ...

    async def members(self) -> Sequence[Member]:
        """Return the nodes that have registered, by their numbers."""
        ...

    async def unregister(self, node_id: int) -> None:
        """Remove a node from the members; it may register again."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


async def kept_group(log: SharedLog, number: int, last: int) -> Group:
    """Return the group of a number; if the store has lost it, the next group in the store.

    Args:
        last: Number of the last group to try.

    Raises:
        UnknownHistoryError, UnavailableError: as `SharedLog.read`.
        MissingGroupError: the store has none of the groups from `number` to `last`.
    """
    while True:
        try:
            (group, *_) = await log.read(number, 0)
        except MissingGroupError:
            if number >= last:
                raise
            number += 1
        else:
            return group


def missing_group(number: int, where: str) -> MissingGroupError:
    """Return the error for a group that a store has lost although it has later groups.

    Args:
        where: Where the store should have the group.
    """
    return MissingGroupError(
        f"group {number} of the shared log is missing in {where}, though later groups are there: "
        "the store has lost it. Nodes that have its records go on; on the machine of one of them "
        "`metalog nodes repair LOG --shared URL` shows what can be put back"
    )


def not_lost(number: int) -> FencedError:
    """Return the error for a group that is to be put back under a number that is not free."""
    return FencedError(
        f"group {number} of the shared log is not lost: it is there, or trimmed by now",
        outcome=Outcome.NOTHING,
    )


def no_shared_log(where: str) -> RequestError:
    """Return the error for a store that holds no shared log."""
    return RequestError(
        "SHARED_LOG_NOT_FOUND",
        f"{where} has no shared log; make one with `metalog nodes create`",
    )


def other_shared_log(where: str) -> RequestError:
    """Return the error for a store that holds another shared log."""
    return RequestError(
        "LOG_EXISTS", f"{where} holds another shared log already; name another store"
    )


def trimmed_group(number: int, start: int) -> UnknownHistoryError:
    """Return the error for a group that was trimmed; the shared log begins with group `start`."""
    return UnknownHistoryError(
        f"group {number} is trimmed; the shared log begins with group {start}"
    )


def fenced_group(number: int) -> FencedError:
    """Return the error for a group of a node whose lease another node has taken over."""
    return FencedError(
        f"another node has taken over: group {number} of this node does not follow the end of the "
        "shared log",
        outcome=Outcome.NOTHING,
    )
