"""Membership of a node: registers it with the store, and checks its clock against the store's."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable

import msgspec

from api.nodes.fitness import Unfit
from api.transport.shutdown import cancel_all
from metadata_log.shared.shared_log import NONCE_SIZE, Member, OtherHeartbeatError, SharedLog
from metadata_log.writer.clock import MachineClocks
from records.errors import RequestError, UnavailableError

_LOG = logging.getLogger(__name__)

REGISTER_EVERY_S = 5.0

GONE_MS = 20_000
"""Age of a node's last registration after which the node counts as gone."""

CLOCK_OFF_MS = 60_000
"""Difference from the store's clock above which a node lets other nodes lead."""

_NS_PER_MS = 1_000_000


class MemberContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a node writes about itself when it registers with the store.

    Attributes:
        role: `leader`, `standby` or `stopped`.
        version: The release of the program that the node runs.
        log_end: End of the records that the node has, exclusive.
        durable_end: Offset up to which the node's folder is on stable storage.
        clock_off_ms: How far the node's clock is ahead of the store's; negative: behind.
        addresses: Where clients reach the node, by listener.
        unfit: Why the node would not lead.
        lost_from: The node has records from this offset on that the shared log has lost.
        archived_end: Offset up to which the node has archived the log; None: it archives nothing.
        process: Random bytes of the node's process; empty: an earlier release, which has none.
        since_ms: Time at which this process registered first, by the store's clock, in ms since
            1970; None: it registers first now.
        runs_at: The machine and the number of the process there, for people.
    """

    role: str
    version: str
    log_end: int
    clock_off_ms: int
    durable_end: int = 0
    addresses: dict[str, str] = {}
    unfit: Unfit = Unfit()
    lost_from: int | None = None
    archived_end: int | None = None
    process: bytes = b""
    since_ms: int | None = None
    runs_at: str = ""

    def is_earlier_than(self, other: "MemberContent") -> bool:
        """Return whether this process registered before another one with the same number."""
        mine, others = (
            (each.since_ms is None, each.since_ms or 0, each.process) for each in (self, other)
        )
        return mine < others

    @property
    def clock_is_off(self) -> bool:
        """Whether this node's clock is too wrong to timestamp records."""
        return abs(self.clock_off_ms) > CLOCK_OFF_MS


def content_of(member: Member) -> MemberContent:
    """Return what a member wrote about itself when it last registered."""
    return _decoded(member.content)


def _decoded(content: bytes) -> MemberContent:
    return msgspec.msgpack.decode(content, type=MemberContent)


class Membership:
    """Registers a node with the store, at intervals.

    Two processes can have one node's number: a folder was copied, or `--node` is wrong. Each
    heartbeat replaces the one that its process wrote or saw last, so it finds the other's. The
    process that registered later stops: the node that ran before is not disturbed.

    Attributes:
        clock_off_ms: How far this machine's clock is certainly ahead of the store's; negative:
            behind.
        doubled: Why this process has to stop, because another one has its number; None if not.
    """

    clock_off_ms = 0
    doubled: RequestError | None = None

    def __init__(
        self,
        log: SharedLog,
        node_id: int,
        clocks: MachineClocks,
        content: Callable[[int], MemberContent],
    ) -> None:
        """Prepare to register.

        Args:
            content: Takes `clock_off_ms`, and returns what the node writes about itself.
        """
        self._log = log
        self._node_id = node_id
        self._clocks = clocks
        self._content = content
        self._changed = asyncio.Event()
        self._process = secrets.token_bytes(NONCE_SIZE)
        self._since_ms: int | None = None
        self._seen: bytes | None = None

    @property
    def clock_is_off(self) -> bool:
        """True if this node lets other nodes lead, because its clock is wrong."""
        return abs(self.clock_off_ms) > CLOCK_OFF_MS

    @contextlib.asynccontextmanager
    async def kept(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Register now, and at intervals while the `with` block runs.

        Args:
            stop: Is set once this process is `doubled`.
        """
        with contextlib.suppress(UnavailableError):
            await self._register()
        registering = asyncio.create_task(self._run(stop), name="membership")
        try:
            yield
        finally:
            await cancel_all(registering)

    def changed(self) -> None:
        """Register soon: what the node writes about itself has changed."""
        self._changed.set()

    async def stopped(self) -> None:
        """Tell the store that this node has stopped; if that fails, its registration grows old.

        Raises:
            RequestError: this process is `doubled`; the other's registration stays.
        """
        if self.doubled is not None:
            raise self.doubled
        content = msgspec.structs.replace(self._about(), role="stopped")
        with contextlib.suppress(UnavailableError, OtherHeartbeatError):
            await self._replace_own(msgspec.msgpack.encode(content))

    async def outranked(self) -> int:
        """Wait until this clock is wrong and another node's is right; return that node's id."""
        while True:
            if self.clock_is_off:
                with contextlib.suppress(UnavailableError):
                    better = await self._better_leader()
                    if better is not None:
                        return better
            await asyncio.sleep(REGISTER_EVERY_S)

    async def _replace_own(self, content: bytes) -> None:
        """Replace this process's last heartbeat, also if its answer never came."""
        try:
            await self._log.register(self._node_id, content, instead_of=self._seen)
        except OtherHeartbeatError as other:
            if _decoded(other.content).process != self._process:
                raise
            await self._log.register(self._node_id, content, instead_of=other.content)

    async def _better_leader(self) -> int | None:
        for member in await self._log.members():
            content = content_of(member)
            is_here = content.role == "standby" and member.age_ms < GONE_MS
            is_fit = content.unfit.may_lead(is_told=False) and not content.clock_is_off
            if is_here and is_fit and member.node_id != self._node_id:
                return member.node_id
        return None

    async def _run(self, stop: asyncio.Event) -> None:
        while self.doubled is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REGISTER_EVERY_S):
                    await self._changed.wait()
            self._changed.clear()
            with contextlib.suppress(UnavailableError):
                await self._register()
        stop.set()

    def _about(self) -> MemberContent:
        return msgspec.structs.replace(
            self._content(self.clock_off_ms),
            process=self._process,
            since_ms=self._since_ms,
            runs_at=f"{socket.gethostname()}, process {os.getpid()}",
        )

    def _check_is_first(self, other: MemberContent) -> None:
        """Stop this process if another one, which is alive, had registered this number before.

        The other's heartbeat came after this process's last one; if it registered later than this
        process, it finds out by the same look and stops itself.
        """
        is_another = other.process not in (b"", self._process) and other.role != "stopped"
        if is_another and other.is_earlier_than(self._about()):
            self.doubled = RequestError(
                "INVALID_REQUEST",
                f"another process is node {self._node_id} of this shared log, too, at "
                f"{other.runs_at}, and registered before this one; this process stops. Start it "
                "with a number (--node) and a folder of its own",
            )

    async def _register(self) -> None:
        content = msgspec.msgpack.encode(self._about())
        sent_ms, sent_ns = self._clocks.wall_ns() // _NS_PER_MS, self._clocks.boot_ns()
        try:
            store_ms = await self._log.register(self._node_id, content, instead_of=self._seen)
        except OtherHeartbeatError as other:
            self._seen = other.content
            self._check_is_first(_decoded(other.content))
            self.changed()
            return
        self._seen = content
        self._since_ms = self._since_ms or store_ms
        took_ms = (self._clocks.boot_ns() - sent_ns) // _NS_PER_MS
        # The store's time is of some moment between the request and the answer.
        self.clock_off_ms = certain_ms(sent_ms - store_ms, took_ms)
        if self.clock_is_off:
            _LOG.warning(
                "this machine's clock is %d s %s that of the shared log's store: other nodes lead "
                "if they can; set the clock",
                abs(self.clock_off_ms) // 1_000,
                "ahead of" if self.clock_off_ms > 0 else "behind",
            )


def certain_ms(sent_off_ms: int, took_ms: int) -> int:
    """Return how far this clock is certainly ahead of the store's, in ms; negative: behind.

    The store's clock was read at an unknown time during a request.

    Args:
        sent_off_ms: This clock when the request was sent, less the store's clock.
        took_ms: Duration of the request.
    """
    if sent_off_ms > 0:
        return sent_off_ms
    return min(sent_off_ms + took_ms, 0)
