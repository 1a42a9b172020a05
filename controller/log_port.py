"""The log as the controller needs it; `metadata_log.log.MetadataLog` implements it."""

from collections.abc import Awaitable
from typing import Protocol

from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch


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
