"""The folder of a node that does not lead: it follows the shared log."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from api.nodes.lost_records import ToldToStopError, check_not_stopped, check_nothing_lost
from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.names import segment_offsets
from metadata_log.format.batch import Batch
from metadata_log.format.manifest import read_manifest
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity, join, node_of
from metadata_log.shared.shared_log import Lease, Position, SharedLog
from metadata_log.writer.creation import create_log_of
from metadata_log.writer.folder_copy import (
    FolderCopy,
    LostRecordsError,
    place_of,
    take_copy_over,
    too_old,
)
from metadata_log.writer.request_window import RequestWindow, window_start
from records.errors import (
    CorruptLogError,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from replay.snapshot.database import without_password

_READ_BYTES = 4 * 1024 * 1024
"""Size of the batch groups that are read, checked and written in one step."""

_SYNC_EVERY_S = 1.0

T = TypeVar("T")

Applied = Callable[[Sequence[Batch]], Awaitable[None]]


class Standby:
    """A folder that follows a shared log.

    Attributes:
        copy: The folder, as a copy of the shared log.
        known_s: Time of the event loop at which the store had no more than the folder has now.
    """

    def __init__(self, log: SharedLog, copy: FolderCopy, directory: Path, fs: Fs) -> None:
        self._log = log
        self._directory = directory
        self._fs = fs
        self.copy = copy
        self.known_s = self._synced = asyncio.get_running_loop().time()

    @classmethod
    async def open(
        cls,
        directory: Path,
        log: SharedLog,
        node_id: int,
        fs: Fs | None = None,
        *,
        shared: str = "",
        before: FolderCopy | None = None,
    ) -> Self:
        """Open a node's folder, and create it if there is none.

        Args:
            shared: The URL of the store; recorded in the folder without the password.
            before: The folder as this process had it open before; its request window is used again
                if the folder has not changed.

        Raises:
            RequestError: the folder belongs to another node, another shared log or no log.
            UnknownHistoryError: the shared log is trimmed beyond the folder's end.
            LostRecordsError: the folder has records that the shared log lacks.
            UnavailableError: the store does not answer, or another process has the folder.
            CorruptLogError: whole segments would have to be fetched again, and the shared log is
                trimmed, or has lost a group; nothing was removed.
        """
        identity = await log.identity()
        fs = fs or OsFs()
        _make_folder(fs, directory, identity)
        if node_of(fs, directory) is None:
            await _check_is_copy(log, fs, directory)
        join(fs, directory, identity, node_id, without_password(shared))
        owned = await take_copy_over(log, fs, directory)
        try:
            try:
                place = await place_of(log, owned.writer.tail, directory)
            except LostRecordsError:
                await check_nothing_lost(log, fs, directory)
                raise
            if not owned.writer.is_open:
                await asyncio.to_thread(owned.writer.continue_segment)
            requests = None if before is None else before.requests_of(owned.writer.tail)
            if requests is None:
                requests = await asyncio.to_thread(_requests_in, fs, directory)
            return cls(log, FolderCopy(directory, owned, place, requests), directory, fs)
        except BaseException:
            owned.writer.abandon()
            owned.lock.release()
            raise

    @property
    def requests_from(self) -> int:
        """Offset from which the folder has the request window; 0: it has the whole window."""
        bases = segment_offsets(self._fs.list(self._directory))
        start = bases[0] if bases else 0
        return start if start > window_start(self.copy.tail.end_offset) else 0

    async def follow(self, timeout_s: float, applied: Applied) -> None:
        """Wait up to `timeout_s` for new committed records, and copy them to the folder.

        Raises:
            MetadataLogError, OSError: the errors of `catch_up`.
        """
        asked_s = asyncio.get_running_loop().time()
        if await self._log.wait(self.copy.position.number, timeout_s) != self.copy.position:
            await self.catch_up(applied)
        else:
            self.known_s = asked_s  # the store's last look may have been its first
        await self._sync_in_time()

    async def catch_up(self, applied: Applied) -> None:
        """Copy all committed records that the folder lacks.

        Args:
            applied: Called with the batches of each step, when they are in the folder.

        Raises:
            UnavailableError: the store does not answer, or the disk is full; or the shared log's
                end went back, without records of the folder being lost: open the folder again.
            LostRecordsError: the shared log's end went back to before the folder's end.
            UnknownHistoryError: the shared log is trimmed beyond the folder's end.
            CorruptLogError: a batch group does not follow the folder's last one.
            OSError: the disk fails; open the folder again.
        """
        asked_s = asyncio.get_running_loop().time()
        end = await self._copy_some(applied)
        while self.copy.position.number < end.number:
            # An end that has gone back is not waited for, and one that moves on is not pursued.
            end = min(end, await self._copy_some(applied), key=lambda each: each.number)
        self.known_s = asked_s

    async def _copy_some(self, applied: Applied) -> Position:
        """Copy some of the groups that the folder lacks; return an end of the shared log."""
        try:
            end, groups = await self._log.read_committed(self.copy.position.number, _READ_BYTES)
        except UnknownHistoryError as error:
            raise too_old(self._directory, self.copy.tail) from error
        if end.number <= self.copy.position.number and end != self.copy.position:
            await check_nothing_lost(self._log, self._fs, self._directory)
            raise UnavailableError(
                f"the shared log's end went back to before batch group {end.number}; open the "
                "folder again"
            )
        if groups:
            try:
                batches = await _finished(partial(self.copy.apply, groups))
            except CorruptLogError:
                await check_nothing_lost(self._log, self._fs, self._directory)
                raise
            await applied(batches)
        return end

    async def check_not_stopped(self, lease: Lease | None) -> None:
        """Check that neither this nor another node has records that the store has lost.

        Raises:
            LostRecordsError: a node has such records.
            UnavailableError: the store does not answer.
        """
        try:
            check_not_stopped(lease)
        except ToldToStopError:
            await check_nothing_lost(self._log, self._fs, self._directory)
            raise

    async def sync(self) -> None:
        """Put the folder on stable storage; errors as for `FolderCopy.sync`."""
        self._synced = asyncio.get_running_loop().time()
        await _finished(self.copy.sync)

    async def _sync_in_time(self) -> None:
        if asyncio.get_running_loop().time() - self._synced >= _SYNC_EVERY_S:
            await self.sync()


def _requests_in(fs: Fs, directory: Path) -> RequestWindow:
    with LogReader.open(directory, fs=fs) as reader:
        return RequestWindow.of_tail(reader)


async def _finished(call: Callable[[], T]) -> T:
    """Run a blocking call in a thread; wait for its end even if cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait([running])


async def _check_is_copy(log: SharedLog, fs: Fs, directory: Path) -> None:
    """Refuse a folder whose records differ from the shared log's: it is no copy of it."""
    try:
        await check_nothing_lost(log, fs, directory)
    except LostRecordsError as error:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is no copy of the shared log: the two differ from offset "
            f"{error.from_offset}; name a new directory, or, if the shared log has lost records, "
            f"see `metalog nodes repair {directory} --shared URL`",
        ) from error


def _make_folder(fs: Fs, directory: Path, identity: Identity) -> None:
    """Create an empty log of a shared log's cluster, unless the directory has one."""
    if not fs.exists(directory) or not fs.list(directory):
        create_log_of(fs, directory, identity.cluster_id)
        return
    cluster_id = read_manifest(fs, directory).cluster_id
    if cluster_id != identity.cluster_id:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is a log of cluster {cluster_id}, the shared log is of "
            f"{identity.cluster_id}; name a new directory",
        )
