"""Requests that are asked again while the first asking is still under way.

The log knows a request by its id once its batch is committed (`MetadataLog.find_request`, which a
service asks before it submits). Until then the loop must know it: deciding it a second time would
do it twice.
"""

import asyncio
from typing import Any

import msgspec

from metadata_log.request_window import RequestKey, request_key
from records.envelope import Origin
from records.errors import Outcome, RequestError, UnavailableError


class _UnderWay(msgspec.Struct, frozen=True):
    request_hash: bytes
    answer: asyncio.Future[Any]


class Repeats:
    """The requests under way that have an id and a hash of their body."""

    def __init__(self) -> None:
        self._under_way: dict[RequestKey, _UnderWay] = {}

    def find(self, origin: Origin | None) -> asyncio.Future[Any] | None:
        """Return a future with the answer of the same request, None when it is a new one.

        Raises:
            RequestError: INVALID_REQUEST, the id is another request's.
        """
        key = request_key(origin)
        if origin is None or key is None:
            return None
        first = self._under_way.get(key)
        if first is None:
            return None
        if first.request_hash != origin.request_hash:
            raise RequestError(
                "INVALID_REQUEST",
                f"request id {origin.request_id!r} is another request's, which is under way; "
                "give each request its own",
            )
        again: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        first.answer.add_done_callback(lambda answer: _copy(answer, again))
        return again

    def add(self, origin: Origin | None, answer: asyncio.Future[Any]) -> None:
        """Remember a request until it is answered."""
        key = request_key(origin)
        if origin is None or key is None:
            return
        assert origin.request_hash is not None
        self._under_way[key] = _UnderWay(origin.request_hash, answer)
        answer.add_done_callback(lambda _: self._under_way.pop(key))


def _copy(answer: asyncio.Future[Any], again: asyncio.Future[Any]) -> None:
    """Two callers must not share a future: one that goes away would take it from the other."""
    if again.done():
        return
    if answer.cancelled():
        again.set_exception(
            UnavailableError(
                "the outcome is unknown: the first asking of this request was given up; ask again",
                outcome=Outcome.UNKNOWN,
            )
        )
    elif (error := answer.exception()) is not None:
        again.set_exception(error)
    else:
        again.set_result(answer.result())
