"""The log of a process that only reads: another process writes the log, or nobody does."""

from collections.abc import Callable
from pathlib import Path

from controller.results.refusals import not_active
from metadata_log.files.fs import ByteStore
from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import Clock, SystemClock
from metadata_log.writer.request_window import Committed, EarlierHash
from records.envelope import Origin


class FollowedLog:
    """Implements `ServedLog` over a log that is read here.

    Attributes:
        directory: The log directory, or the path that represents a prefix of a bucket.
        on_sync: Not called, because this log is not written; kept for when this process leads.
    """

    leader_epoch = 0
    end_offset = 0

    def __init__(self, directory: Path, fs: ByteStore | None = None) -> None:
        """Create the log; `fs` is its file system, None: the one that the path gives."""
        self._fs = fs
        self.directory = directory
        self.clock: Clock = SystemClock()
        self.on_sync: Callable[[float], None] = lambda took_s: None

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        """Refuse with NOT_CONTROLLER."""
        raise not_active()

    def reader(self) -> LogReader:
        """Open the committed part of the log for reading; blocks."""
        return LogReader.open(str(self.directory), fs=self._fs)

    async def find_request(
        self, origin: Origin, earlier_hash: EarlierHash | None = None
    ) -> Committed | None:
        """Return None: only the log's writer knows the outcome of a request."""
        return None

    def first_batch(self, committed: Committed) -> Batch:
        """Refuse with NOT_CONTROLLER, as `find_request` never finds a request."""
        raise not_active()

    async def close(self) -> None:
        """Return at once, because there is nothing to release."""
