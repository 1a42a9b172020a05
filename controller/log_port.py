"""The log as the controller needs it; `metadata_log.log.MetadataLog` implements it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from metadata_log.append_result import AppendResult
from metadata_log.batch import Batch, NewBatch
from metadata_log.clock import Clock
from metadata_log.log_reader import LogReader
from metadata_log.request_window import Committed, EarlierHash
from records.envelope import Origin


class LogPort(Protocol):
    """A log of which this process is the only writer."""

    @property
    def leader_epoch(self) -> int:
        """The epoch this writer claimed."""
        ...

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive, committed or not."""
        ...

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> Awaitable[AppendResult]:
        """Commit a batch: all of it or nothing, in the order of the calls.

        The error's outcome says whether the batch may be in the log.

        Raises:
            RequestError: the batch is too large, or the log does not end at
                `expected_end_offset`.
            UnavailableError: try again.
            FencedError: this writer may not write any more.
        """
        ...


class ServedLog(LogPort, Protocol):
    """A log as a service uses it: written, read, and asked for requests of before.

    Attributes:
        on_sync: Called in some thread with the seconds that each sync took.
    """

    on_sync: Callable[[float], None]

    @property
    def clock(self) -> Clock:
        """The clock that batches get their times from."""
        ...

    @property
    def directory(self) -> Path:
        """Where processes that a service starts beside it read the log."""
        ...

    def reader(self) -> LogReader:
        """Open what is committed for reading; blocks."""
        ...

    async def find_request(
        self, origin: Origin, earlier_hash: EarlierHash | None = None
    ) -> Committed | None:
        """Return where a request was committed; None for a new one, or one in flight.

        Args:
            earlier_hash: As in `RequestWindow.find`.

        Raises:
            RequestError: the id was used for another request.
        """
        ...

    def first_batch(self, committed: Committed) -> Batch:
        """Return the first batch of a committed request; blocks.

        Raises:
            UnknownHistoryError: the log no longer holds it.
        """
        ...

    async def close(self) -> None:
        """Commit what was accepted and release the log."""
        ...
