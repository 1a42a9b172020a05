"""Commit by a leader: in the shared log first, then in the leader's folder."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from functools import partial

from metadata_log.shared.settlement import Settlement
from metadata_log.shared.shared_log import (
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Position,
    SharedLog,
)
from metadata_log.writer.commit import in_own_thread
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.request_window import RunBlocking
from records.errors import FencedError, MetadataLogError, Outcome, UnavailableError

_PATIENCE_SHARE = 1 / 8
_PATIENCE_S_MAX = 0.05

SETTLE_PAUSE_S = 0.2
"""Pause between two attempts to find out whether a group was committed."""


class SharedCommit:
    """Commits the groups of one leader in a shared log, then writes them to the leader's folder.

    Attributes:
        end: The end of the shared log, right after the leader's claim or its last group.
        leader_epoch: The epoch of the claim.
        patience_s: As in `GroupCommit`: a small part of the time that the last commit took.
    """

    def __init__(
        self,
        log: SharedLog,
        writer: NodeWriter,
        end: Position,
        *,
        settle_for_s: float,
        run_blocking: RunBlocking | None = None,
    ) -> None:
        """Continue after a claim.

        Args:
            settle_for_s: How long to try to find out whether a group was committed.
            run_blocking: Runs blocking disk calls; by default in a thread of this writer.
        """
        self._log = log
        self._writer = writer
        self.run_blocking = run_blocking or in_own_thread()
        self._settle_for_s = settle_for_s
        self.end = end
        self.leader_epoch = end.epoch
        self.patience_s = 0.0

    async def start_segment(self) -> None:
        """Start a segment at the writer's tail; errors as for `commit`."""
        header = self._writer.next_header(self.leader_epoch)
        encoded = header.encode()
        await self._commit((Entry(EntryKind.SEGMENT, encoded),))
        with _full_as_fenced():
            await self.run_blocking(partial(self._writer.copy_segment, header, encoded))

    async def commit(self, *, is_alone: bool) -> float:
        """Commit everything that was written.

        Raises:
            UnavailableError: with outcome NOTHING: the store cannot be reached.
            FencedError: with outcome NOTHING: another node has taken over, or nothing of the group
                was committed and never will be, and `end` is right after a claim of this node in a
                higher epoch. With outcome UNKNOWN: the store does not tell whether the group was
                committed; or it has committed it, and this node's disk is full.
        """
        time = asyncio.get_running_loop().time
        start = time()
        blocks = tuple([Entry(EntryKind.BLOCK, each) for each in self._writer.unwritten])
        try:
            await self._commit(blocks)
        except MetadataLogError as error:
            if error.outcome is Outcome.NOTHING:
                self._writer.drop_unwritten()
            raise
        with _full_as_fenced():
            self._writer.commit()
        took_s = time() - start
        self.patience_s = min(took_s * _PATIENCE_SHARE, _PATIENCE_S_MAX)
        return took_s

    async def _commit(self, entries: tuple[Entry, ...]) -> None:
        tail, synced = self._writer.tail, self._writer.synced
        # Otherwise the next block would not follow the last one that the store has.
        assert (synced.end_offset, synced.last_crc32c) == (self.end.end_offset, self.end.crc32c)
        group = Group(
            number=self.end.number,
            epoch=self.end.epoch,
            nonce=secrets.token_bytes(NONCE_SIZE),
            end_offset=tail.end_offset,
            crc32c=tail.last_crc32c,
            entries=entries,
        )
        try:
            await self._log.append(group, after=self.end)
        except UnavailableError as error:
            if error.outcome is Outcome.NOTHING:
                raise
            await self._settle(group, error)
        self.end = group.end

    async def _settle(self, group: Group, error: UnavailableError) -> None:
        """Find out if a group that got no answer is committed; raise if not, or if unknown."""
        settlement = Settlement(group, after=self.end)
        try:
            async with asyncio.timeout(self._settle_for_s):
                while True:
                    try:
                        found = await settlement.attempt(self._log)
                        break
                    except UnavailableError:
                        await asyncio.sleep(SETTLE_PAUSE_S)
        except TimeoutError:
            raise FencedError(
                f"{error}; the outcome of the last batches is unknown",
                outcome=Outcome.UNKNOWN,
            ) from error
        if not found.is_committed:
            self.end = found.end
            raise FencedError(
                f"{error}; nothing of the last batches was committed", outcome=Outcome.NOTHING
            ) from error


@contextlib.contextmanager
def _full_as_fenced() -> Iterator[None]:
    """Stop the leader if its disk is too full for batches that the shared log has committed.

    Without them, the folder's next block would not continue the shared log. So another node must
    lead; this node fetches the batches when its disk has room again.
    """
    try:
        yield
    except UnavailableError as error:
        raise FencedError(
            f"{error}; the shared log has the last batches, so another node must lead",
            outcome=Outcome.UNKNOWN,
        ) from error
