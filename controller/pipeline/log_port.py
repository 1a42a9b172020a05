"""Interface of the log for the controller; `metadata_log.writer.log.MetadataLog` implements it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import Clock
from metadata_log.writer.request_window import Committed, EarlierHash
from records.envelope import Origin


class LogPort(Protocol):
    """A log of which this process is the only writer."""

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of this writer."""
        ...

    @property
    def end_offset(self) -> int:
        """First offset not yet written; includes batches that are not committed yet."""
        ...

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> Awaitable[AppendResult]:
        """Commit a batch, completely or not at all, in the order of the calls.

        The error's outcome says whether the batch may be in the log.

        Raises:
            RequestError: the batch is too large, or the log does not end at
                `expected_end_offset`.
            UnavailableError: try again.
            FencedError: this writer may not write any more.
        """
        ...


class ServedLog(LogPort, Protocol):
    """Interface of the log for a service: write, read, and look up earlier requests.

    Attributes:
        on_sync: Called, in any thread, with the duration of each fsync in seconds.
    """

    on_sync: Callable[[float], None]

    @property
    def clock(self) -> Clock:
        """The clock that batches get their times from."""
        ...

    @property
    def directory(self) -> Path:
        """The directory from which processes started by the service read the log."""
        ...

    def reader(self) -> LogReader:
        """Open the committed part of the log for reading; blocks."""
        ...

    async def find_request(
        self, origin: Origin, earlier_hash: EarlierHash | None = None
    ) -> Committed | None:
        """Return where a request was committed; None if it is new or still in flight.

        Args:
            earlier_hash: Returns the request's hash as an earlier release computed it.

        Raises:
            RequestError: the id was used for another request.
        """
        ...

    def first_batch(self, committed: Committed) -> Batch:
        """Return the first batch of a committed request; blocks.

        Raises:
            UnknownHistoryError: the batch is no longer in the log.
        """
        ...

    async def close(self) -> None:
        """Commit the accepted batches and release the log."""
        ...
