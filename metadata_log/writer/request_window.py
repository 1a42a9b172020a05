"""The request window: the recent committed requests, and where they were committed.

A batch whose origin has a request id and the hash of the request's body is recognized when it is
sent again. Ids belong to a principal, so that no caller can use the id of another. The window is
not stored: it covers a number of offsets, and is read from the log's tail. A writer reads it when
the first request id arrives. A node that stands by keeps it up to date, and leads with it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Self

import msgspec

from metadata_log.format.batch import AppendResult, Batch
from metadata_log.format.segment_file import BlockPlace
from metadata_log.limits import REQUEST_WINDOW_OFFSETS
from metadata_log.reader.log_reader import LogReader
from records.envelope import Origin
from records.errors import RequestError

RequestKey = tuple[str | None, str]
"""A principal and its request id."""

EarlierHash = Callable[[], bytes | None]
"""Computes a request's hash as an earlier release did; None if that is the same as today's."""

RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a blocking call without blocking the event loop."""


def window_start(end_offset: int) -> int:
    """Return the first offset of the request window of a log that ends at an offset."""
    return max(end_offset - REQUEST_WINDOW_OFFSETS, 0)


class Committed(msgspec.Struct, frozen=True, gc=False):
    """Result and place of a request's last batch, which is the batch with the request's id."""

    request_hash: bytes
    result: AppendResult
    place: BlockPlace


class RequestWindow:
    """The requests of the last REQUEST_WINDOW_OFFSETS offsets, oldest first."""

    def __init__(self) -> None:
        # In a plain dict, the search for the first key passes all keys that were deleted before.
        self._committed: OrderedDict[RequestKey, Committed] = OrderedDict()

    @classmethod
    def of_tail(cls, reader: LogReader) -> Self:
        """Read the window from the tail of a log."""
        window = cls()
        start = max(reader.start_offset, window_start(reader.end_offset))
        for place, block in reader.placed_blocks(start):
            window.follow(block.batches[0], place)  # an own log's blocks hold one
        return window

    def find(
        self, origin: Origin | None, earlier_hash: EarlierHash | None = None
    ) -> Committed | None:
        """Return where this request was committed; None if it is new.

        Args:
            earlier_hash: Returns the request's hash as an earlier release computed it. Called only
                if the id is known with another hash.

        Raises:
            RequestError: INVALID_REQUEST, the id was used for another request.
        """
        key = request_key(origin)
        found = None if key is None else self._committed.get(key)
        if origin is None or found is None:
            return None
        is_same = found.request_hash == origin.request_hash
        if not is_same and (earlier_hash is None or found.request_hash != earlier_hash()):
            raise RequestError(
                "INVALID_REQUEST",
                f"request id {origin.request_id!r} was used for another request, at offset "
                f"{found.result.base_offset}; give each request its own id",
            )
        return found

    def add(self, origin: Origin | None, result: AppendResult, place: BlockPlace) -> None:
        """Add a request that may still be rolled back."""
        key = request_key(origin)
        if origin is None or key is None:
            return
        assert origin.request_hash is not None
        self._committed.setdefault(key, Committed(origin.request_hash, result, place))

    def follow(self, batch: Batch, place: BlockPlace) -> None:
        """Add a committed batch that comes right after the batches added before."""
        # First, so that an id is found at a later place once its first one is out of the window.
        self.drop_before(batch.base_offset)
        result = AppendResult(
            base_offset=batch.base_offset,
            end_offset=batch.end_offset,
            leader_epoch=batch.leader_epoch,
            timestamp=batch.timestamp,
        )
        self.add(batch.rows[0].origin, result, place)

    def drop_before(self, committed_end: int) -> None:
        """Drop the requests that are before the window of a log committed up to an offset.

        Not when they are added: the log may be rolled back, and then the window begins earlier.
        """
        start = window_start(committed_end)
        while self._committed:
            oldest = next(iter(self._committed))
            if self._committed[oldest].result.base_offset >= start:
                break
            del self._committed[oldest]

    def drop_from(self, offset: int) -> None:
        """Drop requests at or above an offset, because they were rolled back."""
        while self._committed:
            newest = next(reversed(self._committed))
            if self._committed[newest].result.base_offset < offset:
                break
            del self._committed[newest]


class KnownRequests:
    """The request window of one writer, read on demand, or taken over from a standby.

    Attributes:
        window: The recent committed requests; empty before `load`.
        is_loaded: True once the window was read from the log, or taken over.
    """

    def __init__(self, open_reader: Callable[[], LogReader], run_blocking: RunBlocking) -> None:
        """Start with an empty window.

        Args:
            open_reader: Opens the log (a blocking call).
        """
        self._open_reader = open_reader
        self._run_blocking = run_blocking
        self._loading = asyncio.Lock()
        self.window = RequestWindow()
        self.is_loaded = False

    def take_over(self, window: RequestWindow) -> None:
        """Use the window at the log's end, which a standby kept, instead of reading it."""
        self.window = window
        self.is_loaded = True

    async def load(self) -> None:
        """Read the window from the log, unless it is loaded already.

        Raises:
            CorruptLogError: the log's tail is damaged.
        """
        async with self._loading:
            if not self.is_loaded:
                await self._run_blocking(self._read)
                self.is_loaded = True

    def _read(self) -> None:
        with self._open_reader() as reader:
            self.window = RequestWindow.of_tail(reader)


def request_key(origin: Origin | None) -> RequestKey | None:
    """Return the key by which a repeated batch is recognized; None if it cannot be recognized."""
    if origin is None or origin.request_id is None or origin.request_hash is None:
        return None
    return origin.principal, origin.request_id


def has_id(origin: Origin | None) -> bool:
    """True if a request of this origin has an id."""
    return origin is not None and origin.request_id is not None


def is_repeatable(origin: Origin | None) -> bool:
    """True if a repeated batch of this origin is recognized."""
    return request_key(origin) is not None
