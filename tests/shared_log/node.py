"""A node of a shared log, without a service: it follows, leads and stops when a test says so."""

import secrets
from collections.abc import Callable
from pathlib import Path

from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.limits import SEGMENT_SIZE_BYTES_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import NONCE_SIZE, Position, SharedLog, claim_of
from metadata_log.writer.creation import create_log
from metadata_log.writer.folder_copy import FolderCopy, place_of, take_copy_over
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.owned_log import OwnedLog
from metadata_log.writer.request_window import RequestWindow
from metadata_log.writer.shared_commit import SharedCommit
from records.control import NoOpRecord

CLUSTER_ID = "shared"


async def _at_once(call: Callable[[], None]) -> None:
    call()


class Node:
    """One node's folder and its connection to the shared log."""

    def __init__(
        self,
        directory: Path,
        log: SharedLog,
        number: int,
        fs: Fs | None = None,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    ) -> None:
        self._segment_size_bytes_max = segment_size_bytes_max
        self.fs = fs or OsFs()
        self.directory = directory
        self.log = log
        self.number = number
        self.copy: FolderCopy | None = None
        self.leads: MetadataLog | None = None
        self.commit: SharedCommit | None = None
        self.owned: OwnedLog | None = None
        if not self.fs.exists(directory):
            create_log(directory, CLUSTER_ID, fs=self.fs)

    async def take_over(self) -> OwnedLog:
        """Lock and recover the folder."""
        return await take_copy_over(
            self.log,
            self.fs,
            self.directory,
            segment_size_bytes_max=self._segment_size_bytes_max,
        )

    async def start(self) -> None:
        """Take the folder over, and find its place in the shared log."""
        owned = await self.take_over()
        try:
            place = await place_of(self.log, owned.writer.tail, self.directory)
        except BaseException:
            owned.writer.abandon()
            owned.lock.release()
            raise
        if not owned.writer.is_open:
            owned.writer.continue_segment()
        with LogReader.open(self.directory, fs=self.fs) as reader:
            requests = RequestWindow.of_tail(reader)
        self.copy = FolderCopy(self.directory, owned, place, requests)

    async def follow(self) -> list[Batch]:
        """Copy everything that is committed."""
        assert self.copy is not None
        batches: list[Batch] = []
        end = await self.log.confirmed_end()
        while self.copy.position.number < end.number:
            batches += self.copy.apply(await self.log.read(self.copy.position.number, 10_000))
        return batches

    async def lead(self, settle_for_s: float = 5.0) -> MetadataLog:
        """Follow to the end, claim the next epoch, and announce it."""
        await self.follow()
        assert self.copy is not None
        claim = await self.claim(self.copy.position)
        requests, owned = self.copy.requests, self.copy.hand_over()
        assert isinstance(owned.writer, NodeWriter)
        self.owned = owned
        self.commit = SharedCommit(
            self.log, owned.writer, claim, settle_for_s=settle_for_s, run_blocking=_at_once
        )
        self.leads = await MetadataLog.lead(
            self.directory, owned, self.commit, requests=requests, node_id=self.number, fs=self.fs
        )
        return self.leads

    async def claim(self, at: Position) -> Position:
        claim = claim_of(at, at.epoch + 1, secrets.token_bytes(NONCE_SIZE))
        await self.log.append(claim, after=at)
        return claim.end

    async def append(self, count: int = 1) -> AppendResult:
        assert self.leads is not None
        return await self.leads.append(NewBatch(records=(NoOpRecord(),) * count))

    async def stop(self) -> None:
        """Close what is open."""
        if self.leads is not None:
            await self.leads.close()
            self.owned = None
        elif self.copy is not None:
            self.copy.close()
        self.leads = self.copy = None

    def crash(self) -> None:
        """Forget everything that is not in the folder, as if the process had been killed."""
        assert self.copy is not None
        if self.owned is None:
            self.copy.abandon()
        else:
            self.owned.writer.abandon()
            self.owned.lock.release()
            self.owned = None
        self.leads = self.copy = None

    def files(self) -> dict[str, bytes]:
        """Return the segments of the folder, by name."""
        names = [name for name in self.fs.list(self.directory) if name.endswith(".avro")]
        return {name: self._content(name) for name in names}

    def _content(self, name: str) -> bytes:
        file = self.fs.open(self.directory / name)
        try:
            return file.pread(file.size(), 0)
        finally:
            file.close()

    def batches(self) -> list[Batch]:
        """Return what a reader of the folder sees."""
        return list(LogReader.open(self.directory, fs=self.fs).batches())
