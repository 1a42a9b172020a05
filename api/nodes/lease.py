"""The lease: who leads, for how long, and when another node may try.

Clocks of two machines are never compared. A holder counts from the time when it *sent* a renewal,
an observer from the time when it first saw the renewal, each on its own boot clock; so the holder
stops before an observer begins. Safety does not depend on the lease: a node that leads too long is
fenced by the claim of the next leader.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable

from msgspec.structs import replace

from metadata_log.shared.shared_log import NONCE_SIZE, Lease, Position, SharedLog
from metadata_log.writer.clock import MachineClocks
from records.errors import UnavailableError

_RENEWALS = 3
"""Renewals that a holder attempts within the lease's duration."""

_SPARE = 0.15
"""Last part of the lease's duration, as a fraction: the holder stops leading before this part,
because stopping takes time."""

_NS_PER_MS = 1_000_000


class LeaseWatch:
    """Tells when another node's lease has run out."""

    def __init__(self, clocks: MachineClocks) -> None:
        self._clocks = clocks
        self._nonce: bytes | None = None
        self._since_ns: int | None = None

    def has_run_out(self, lease: Lease | None, *, patience_ms: int = 0) -> bool:
        """Return whether another node may take the lease, which was read just now.

        Args:
            patience_ms: Further time for which this node leaves an expired lease to other nodes.
        """
        nonce, duration_ms = (None, 0) if lease is None else (lease.nonce, lease.duration_ms)
        now_ns = self._clocks.boot_ns()
        if nonce != self._nonce or self._since_ns is None:
            self._nonce, self._since_ns = nonce, now_ns
        return now_ns - self._since_ns >= (duration_ms + patience_ms) * _NS_PER_MS


class HeldLease:
    """The lease while this process holds it.

    Attributes:
        lease: The lease as last written to the store.
        before: The lease that this one replaced when it was taken; None: there was none.
    """

    before: Lease | None = None

    def __init__(self, log: SharedLog, lease: Lease, clocks: MachineClocks) -> None:
        self._log = log
        self._clocks = clocks
        self._valid_until_ns = 0
        self._changed = asyncio.Event()
        self._content = lease.content
        self.lease = lease

    @classmethod
    async def take(
        cls, log: SharedLog, wanted: Lease, found: Lease | None, clocks: MachineClocks
    ) -> "HeldLease | None":
        """Take a lease that has run out; return None if another node was faster.

        Raises:
            UnavailableError: the store does not answer.
        """
        held = cls(log, wanted, clocks)
        held.before = found
        return held if await held._write(wanted, found) else None

    def tell(self, content: bytes) -> None:
        """Change the content of the lease; `keep` renews the lease with it at once."""
        self._content = content
        self._changed.set()

    async def keep(self, proven: Callable[[], Position]) -> None:
        """Renew the lease until it runs out, or until somebody else has changed it in the store.

        Args:
            proven: Returns an end of the shared log that is known to be committed.
        """
        pause_s = self.lease.duration_ms / 1_000 / _RENEWALS
        while self.left_s() > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(pause_s, max(self.left_s(), 0))):
                    await self._changed.wait()
            self._changed.clear()
            renewed = replace(
                self.lease,
                nonce=secrets.token_bytes(NONCE_SIZE),
                proven=proven(),
                content=self._content,
            )
            try:
                async with asyncio.timeout(max(self.left_s(), 0)):
                    if not await self._write(renewed, self.lease):
                        # An operator may have written it, for this node to hand over.
                        await self._found_again()
                        return
            except TimeoutError:
                return
            except UnavailableError:
                await self._found_again()

    async def release(self) -> None:
        """End the lease now, so that another node can lead; if the store fails, it runs out."""
        released = replace(self.lease, nonce=secrets.token_bytes(NONCE_SIZE), duration_ms=0)
        try:
            await self._log.renew(released, instead_of=self.lease)
        except UnavailableError:
            return

    async def _write(self, lease: Lease, before: Lease | None) -> bool:
        sent_ns = self._clocks.boot_ns()
        if not await self._log.renew(lease, instead_of=before):
            return False
        self.lease = lease
        valid_ns = int(lease.duration_ms * _NS_PER_MS * (1 - _SPARE))
        self._valid_until_ns = sent_ns + valid_ns
        return True

    async def _found_again(self) -> None:
        """Check whether the store has written a renewal that it did not confirm."""
        try:
            found = await self._log.lease()
        except UnavailableError:
            return
        if found is not None and found.process == self.lease.process:
            # Not longer valid by that: it is not known when it was sent.
            self.lease = found

    def left_s(self) -> float:
        """Return for how many seconds this process still holds the lease; negative: it ran out."""
        return (self._valid_until_ns - self._clocks.boot_ns()) / 1e9
