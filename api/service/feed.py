"""The newest committed records in memory, for event streams and subscriptions.

A stream or subscription stores only the offset it has reached. A record is encoded only once,
however many streams read it. A reader further behind than the records kept here must read the log.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from itertools import groupby, islice

import msgspec

from api.questions.rows import TAIL_BYTES, FollowRows, row_json
from controller.wire import to_wire
from metadata_log.format.batch import Batch
from records.envelope import Envelope

ROWS_MAX = 10_000
"""Number of newest records kept; a reader that is further behind reads the log."""

_ANSWER_ROWS_MAX = 500
"""Maximum records of an answer from memory: encoding them blocks the service for some
milliseconds, unless they were encoded for another subscriber before."""


class Event(msgspec.Struct):
    """A committed record. Its encodings without secrets are computed on first use, and kept."""

    row: Envelope
    encoded: bytes = b""
    encoded_wire: bytes = b""

    def json(self, *, show_secrets: bool = False, asked: bool = False) -> bytes:
        """Return the record as JSON, in the form of `dump --json`.

        Args:
            asked: Include the logged request.
        """
        if show_secrets or asked:
            return msgspec.json.encode(
                row_json(self.row, show_secrets=show_secrets, show_asked=asked)
            )
        if not self.encoded:
            self.encoded = msgspec.json.encode(row_json(self.row, show_secrets=False))
        return self.encoded

    def wire(self, *, show_secrets: bool = False, asked: bool = False) -> bytes:
        """Return the record as a `Row`, encoded by `controller.wire`.

        Args:
            asked: Include the logged request.
        """
        if show_secrets or asked:
            return to_wire(row_json(self.row, show_secrets=show_secrets, show_asked=asked))
        if not self.encoded_wire:
            self.encoded_wire = to_wire(row_json(self.row, show_secrets=False))
        return self.encoded_wire


class Feed:
    """The newest records of a growing log."""

    def __init__(self, end_offset: int, rows_max: int = ROWS_MAX) -> None:
        """Start empty at the end of the log; requires a running event loop."""
        self._events: deque[Event] = deque(maxlen=rows_max)
        self._moved = asyncio.Event()
        self.end_offset = end_offset
        self.is_closed = False
        self.streams = 0

    def committed(self, batch: Batch) -> None:
        """Add a committed batch, and wake all waiting readers."""
        self._events.extend([Event(row) for row in batch.rows])
        self.end_offset = batch.rows[-1].offset + 1
        self.wake()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self.wake()

    def since(self, offset: int, count_max: int) -> list[Event] | None:
        """Return the next records from an offset on; None if the offset is no longer kept."""
        if offset >= self.end_offset:
            return []
        if not self._events or offset < self._events[0].row.offset:
            return None
        # Offsets of a log that a service writes have no gaps.
        found = list(islice(reversed(self._events), self.end_offset - offset))
        found.reverse()
        return found[:count_max]

    async def beyond(self, offset: int, within_s: float) -> None:
        """Wait until there is a record at an offset, the feed is closed, or the time is over."""
        if self.end_offset > offset:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.end_offset <= offset and not self.is_closed:
                    await self._moved.wait()

    async def beyond_or_woken(self, offset: int) -> None:
        """Wait until there is a record at an offset, the feed is closed, or `wake` is called."""
        if self.end_offset <= offset and not self.is_closed:
            await self._moved.wait()

    def wake(self) -> None:
        """Wake all waiting readers, also if there is no new record."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The response `RowsFollowed`, with rows already encoded."""

    rows: list[msgspec.Raw]
    next_offset: int


def followed_rows(feed: Feed, request: FollowRows) -> bytes | None:
    """Return the answer to `tail`, an encoded `RowsFollowed`; None if the log must be read.

    Args:
        request: Must have an offset as its `first`.
    """
    offset = int(request.first)
    events = feed.since(offset, _ANSWER_ROWS_MAX)
    if events is None:
        return None
    batches = [list(batch) for _, batch in groupby(events, lambda event: event.row.batch_offset)]
    if len(events) == _ANSWER_ROWS_MAX:
        batches.pop()  # perhaps not whole
        if not batches:
            return None
    return to_wire(_encoded(batches, request, offset))


def _encoded(batches: Sequence[Sequence[Event]], request: FollowRows, offset: int) -> _Rows:
    found: list[msgspec.Raw] = []
    size = 0
    for batch in batches:
        for event in batch:
            if not request.types or type(event.row.payload).__name__ in request.types:
                row = event.wire(show_secrets=request.show_secrets, asked=request.asked)
                found.append(msgspec.Raw(row))
                size += len(row)
        offset = batch[-1].row.offset + 1
        if size >= TAIL_BYTES:
            break
    return _Rows(rows=found, next_offset=offset)
