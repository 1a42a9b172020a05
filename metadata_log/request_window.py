"""Repeated requests: which of the last ones were committed, and where.

A batch whose origin has a request id and the hash of the request's body takes part; ids are known
by principal, so that callers cannot take each other's. The log itself is the memory: the window is
kept by offsets, and read back from the tail.
"""

from collections.abc import Iterable

import msgspec

from metadata_log.append_result import AppendResult
from metadata_log.batch import Batch
from metadata_log.limits import REQUEST_WINDOW_OFFSETS
from records.envelope import Origin
from records.errors import RequestError


class _Answered(msgspec.Struct, frozen=True, gc=False):
    request_hash: bytes
    result: AppendResult


class RequestWindow:
    """The requests of the last REQUEST_WINDOW_OFFSETS offsets, oldest first."""

    def __init__(self) -> None:
        self._answered: dict[RequestKey, _Answered] = {}
        self.is_loaded = False

    def load(self, batches: Iterable[Batch]) -> None:
        """Take in the batches of the log's tail, in order."""
        self._answered.clear()
        for batch in batches:
            self.add(
                batch.rows[0].origin,
                AppendResult(
                    base_offset=batch.base_offset,
                    end_offset=batch.end_offset,
                    leader_epoch=batch.leader_epoch,
                    timestamp=batch.timestamp,
                ),
            )
        self.is_loaded = True

    def find(self, origin: Origin | None) -> AppendResult | None:
        """Return where this request was committed already, None for a new one.

        Raises:
            RequestError: the id was used for another request.
        """
        key = request_key(origin)
        if origin is None or key is None:
            return None
        found = self._answered.get(key)
        if found is None:
            return None
        if found.request_hash != origin.request_hash:
            raise RequestError(
                "INVALID_REQUEST",
                f"request id {origin.request_id!r} was used for another request, at offset "
                f"{found.result.base_offset}; give each request its own",
            )
        return found.result

    def add(self, origin: Origin | None, result: AppendResult) -> None:
        """Remember a request, and forget those that fell out of the window."""
        key = request_key(origin)
        if origin is None or key is None:
            return
        assert origin.request_hash is not None
        self._answered.setdefault(key, _Answered(origin.request_hash, result))
        start = result.end_offset - REQUEST_WINDOW_OFFSETS
        while self._answered:
            oldest = next(iter(self._answered))
            if self._answered[oldest].result.base_offset >= start:
                break
            del self._answered[oldest]

    def drop_from(self, offset: int) -> None:
        """Forget what stood at or above an offset: it was taken back."""
        dropped = [
            key for key, value in self._answered.items() if value.result.base_offset >= offset
        ]
        for key in dropped:
            del self._answered[key]


RequestKey = tuple[str | None, str]
"""A principal and its request id."""


def request_key(origin: Origin | None) -> RequestKey | None:
    """Return what a batch of this origin is recognised by when it comes again; None: by nothing."""
    if origin is None or origin.request_id is None or origin.request_hash is None:
        return None
    return origin.principal, origin.request_id


def takes_part(origin: Origin | None) -> bool:
    """True if a batch of this origin is recognised when it comes again."""
    return request_key(origin) is not None
