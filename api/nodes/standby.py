"""The folder of a node that does not lead: it follows the shared log."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.shared.identity import Identity, join
from metadata_log.shared.shared_log import SharedLog
from metadata_log.writer.creation import create_log
from metadata_log.writer.folder_copy import FolderCopy, place_of, too_old
from metadata_log.writer.owned_log import take_over
from records.errors import RequestError, UnknownHistoryError

_READ_BYTES = 4 * 1024 * 1024
"""Of the groups that are read, checked and written at once."""

_SYNC_EVERY_S = 1.0

T = TypeVar("T")

Applied = Callable[[Sequence[Batch]], Awaitable[None]]


class Standby:
    """A folder that follows a shared log.

    Attributes:
        copy: The folder.
    """

    def __init__(self, log: SharedLog, copy: FolderCopy, directory: Path) -> None:
        self._log = log
        self._directory = directory
        self.copy = copy
        self._synced = asyncio.get_running_loop().time()

    @classmethod
    async def open(
        cls, directory: Path, log: SharedLog, node_id: int, fs: Fs | None = None
    ) -> Self:
        """Take a folder over, which is made if there is none.

        Raises:
            RequestError: the folder belongs to another node, another shared log or no log.
            UnknownHistoryError: the shared log is trimmed beyond the folder's end.
            LostRecordsError: the folder has records that the shared log lacks.
            UnavailableError: the store does not answer, or another process has the folder.
            CorruptLogError: the folder is damaged where the shared log has nothing any more.
        """
        identity = await log.identity()
        fs = fs or OsFs()
        _make_folder(fs, directory, identity)
        join(fs, directory, identity, node_id)
        owned = await asyncio.to_thread(take_over, fs, directory, Kind.OWN, is_copy=True)
        try:
            place = await place_of(log, owned.writer.tail, directory)
            if owned.writer.tail.position:
                await asyncio.to_thread(owned.writer.continue_segment)
            return cls(log, FolderCopy(directory, owned, place), directory)
        except BaseException:
            owned.writer.abandon()
            owned.lock.release()
            raise

    async def follow(self, timeout_s: float, applied: Applied) -> None:
        """Wait for more, at most for a time, and copy what is committed.

        Raises:
            MetadataLogError, OSError: as `catch_up`.
        """
        if await self._log.wait(self.copy.position.number, timeout_s):
            await self.catch_up(applied)
        await self._sync_in_time()

    async def catch_up(self, applied: Applied) -> None:
        """Copy everything that is committed now.

        Args:
            applied: Called with the batches of each step, when they are in the folder.

        Raises:
            UnavailableError: the store does not answer, or the disk is full.
            UnknownHistoryError: the shared log is trimmed beyond the folder's end.
            CorruptLogError: a group does not follow from what the folder has.
            OSError: the disk fails; open the folder again.
        """
        end = await self._log.confirmed_end()
        while self.copy.position.number < end.number:
            try:
                found = await self._log.read(self.copy.position.number, _READ_BYTES)
            except UnknownHistoryError as error:
                raise too_old(self._directory, self.copy.tail) from error
            proven = [group for group in found if group.number < end.number]
            await applied(await _finished(partial(self.copy.apply, proven)))

    async def _sync_in_time(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._synced >= _SYNC_EVERY_S:
            self._synced = now
            await _finished(self.copy.sync)


async def _finished(call: Callable[[], T]) -> T:
    """Run a blocking call in a thread; also if this is cancelled, it ends before this returns."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait([running])


def _make_folder(fs: Fs, directory: Path, identity: Identity) -> None:
    """Make an empty log of a shared log's cluster, unless there is a log of it."""
    if not fs.exists(directory) or not fs.list(directory):
        create_log(directory, identity.cluster_id, fs=fs)
        return
    cluster_id = read_manifest(fs, directory).cluster_id
    if cluster_id != identity.cluster_id:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is a log of cluster {cluster_id}, the shared log is of "
            f"{identity.cluster_id}; name a new directory",
        )
