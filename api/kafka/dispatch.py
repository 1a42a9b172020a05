"""What a listener answers: its request handlers, and the requests with special treatment."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping

import msgspec

from api.kafka.apis import API_VERSIONS, Api, by_key
from api.kafka.features import Features
from api.kafka.fields import Response
from api.kafka.frames import (
    FRAME_SIZE_BYTES_MAX,
    RequestFrame,
)
from api.kafka.request_order import Turn
from controller.authorization.caller import Caller

Handler = Callable[[RequestFrame, Caller], Coroutine[None, None, Response | bytes | None]]
"""Handles a request. Returns the response, an encoded body, or None if the client wants no answer.
An exception ends the connection, so it must not raise errors that clients can cause."""

Takeover = Callable[
    [RequestFrame, Caller, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
]
"""Takes over a connection after a request that changes its protocol."""


class DispatchTable(msgspec.Struct, frozen=True, kw_only=True):
    """The request handlers of a listener, and predicates for requests with special treatment.

    `is_from_broker` returns True for requests that only brokers send; it is None if no broker
    connects to the listener. A connection on which such a request succeeded is not closed when
    there are too many connections. `is_question` returns True for read-only queries, which are
    cancelled when the client disconnects. `turn` returns how a request is ordered with the others
    of its connection. `features` returns the feature levels for ApiVersions responses. `unlimited`
    are the requests that may have any number of items.
    """

    handlers: Mapping[Api, Handler]
    takeovers: Mapping[Api, Takeover] = {}
    is_from_broker: Callable[[RequestFrame], bool] | None = None
    is_question: Callable[[RequestFrame], bool] = lambda _: False
    turn: Callable[[RequestFrame], Turn] = lambda _: Turn.ALONE
    features: Callable[[], Features] = Features
    frame_size_bytes_max: int = FRAME_SIZE_BYTES_MAX
    unlimited: frozenset[Api] = frozenset()

    def apis(self) -> dict[int, Api]:
        """Return a dict of the supported requests by key."""
        return by_key([API_VERSIONS, *self.handlers, *self.takeovers])
