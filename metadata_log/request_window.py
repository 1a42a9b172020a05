"""Repeated requests: which of the last ones were committed, and where.

A batch whose origin has a request id and the hash of the request's body takes part. The log itself
is the memory: the window is kept by offsets, and read back from the tail.
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
        self._answered: dict[str, _Answered] = {}
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
        if not takes_part(origin):
            return None
        assert origin is not None and origin.request_id is not None
        found = self._answered.get(origin.request_id)
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
        if not takes_part(origin):
            return
        assert origin is not None
        assert origin.request_id is not None and origin.request_hash is not None
        self._answered.setdefault(origin.request_id, _Answered(origin.request_hash, result))
        start = result.end_offset - REQUEST_WINDOW_OFFSETS
        while self._answered:
            oldest = next(iter(self._answered))
            if self._answered[oldest].result.base_offset >= start:
                break
            del self._answered[oldest]

    def drop_from(self, offset: int) -> None:
        """Forget what stood at or above an offset: it was taken back."""
        for request_id in [
            key for key, value in self._answered.items() if value.result.base_offset >= offset
        ]:
            del self._answered[request_id]


def takes_part(origin: Origin | None) -> bool:
    """Whether a batch of this origin is to be recognised when it comes again."""
    return origin is not None and None not in (origin.request_id, origin.request_hash)
