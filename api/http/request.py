"""Parts common to all requests: caller, query, headers, body in shared memory, and reply."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from api.http.metrics import STATUS
from api.http.problems import MEDIA_TYPE, Problem, problem
from api.http.problems import headers_of as headers_required_by
from api.http.versions import expected_versions
from api.questions.rows import is_offset
from api.service.service import Service
from api.service.trace import Trace
from api.transport.connections import Place
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from records.errors import RequestError

if TYPE_CHECKING:
    from litestar.types import HTTPScope, Receive

    from api.http.shared_state import SharedState

JSON = "application/json"

SHARED = "shared"
"""Key in a request's state for the `SharedState` of the handlers."""

PRINCIPAL = "principal"
"""Key in a connection's state for the principal of its certificate."""

IS_RESERVED = "is_reserved"
"""Key in a connection's state for whether it uses a place that is reserved for monitoring."""

TRACE = "trace"
"""Key in a request's state for its `Trace`, if it has one."""

MEMORY = "memory"
"""Key in a request's state for the `BodyMemory` of its connection."""

GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]
"""Headers of every answer: pages of other sites must not show or embed the answer."""

SEND_WHOLE = "send_whole"
"""Key in a request's state for the connection's function that sends a whole reply."""

SendWhole = Callable[[bytes, bytes], Awaitable[None]]
"""Sends a head, without the empty line at its end, and a body."""

_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\ndate: %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%b"
)

_HEADERS = "headers"
"""Key in a request's state for its decoded headers, set at their first use."""

# Source: W3C Trace Context, version 00 and later.
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

_FIELDS_MAX = 5_000

COUNT_MAX = 1_000_000_000
"""Maximum of a number of items."""

Values = Mapping[str, Sequence[str]]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a request that do not depend on its path.

    Attributes:
        documents: Semaphore that is held while a large answer is made.
        trace: Collects the spans of the request; None: it is not traced.
    """

    documents: asyncio.Semaphore
    service: Service
    caller: Caller
    values: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    trace: Trace | None = None

    def acting_caller(self) -> Caller:
        """Return the caller, acting as the identity in the parameter `as` if that is given.

        Raises:
            RequestError: CLUSTER_AUTHORIZATION_FAILED.
        """
        return self.service.access(self.caller).acting_as(one(self.values, "as"))

    @property
    def reason(self) -> str | None:
        """The reason for a change, to be stored in the log."""
        return one(self.values, "reason")

    @property
    def request_id(self) -> str | None:
        """The id that makes the request safe to repeat; None if it has no id."""
        given = self.headers.get("idempotency-key")
        return given if given is None else given.removeprefix('"').removesuffix('"')

    @property
    def trace_parent(self) -> str | None:
        """The W3C trace parent of the request; None if it is invalid, as the W3C requires."""
        found = self.headers.get("traceparent", "")
        return found if _TRACE_PARENT.fullmatch(found) else None

    @property
    def expected_versions(self) -> tuple[ExpectedVersion, ...]:
        """The versions that objects must have, from the header If-Match.

        Raises:
            RequestError: INVALID_REQUEST, the header cannot be read.
        """
        given = self.headers.get("if-match")
        return () if given is None else expected_versions(given)


def shared_state(scope: Mapping[str, Any]) -> "SharedState":
    """Return the state that the handlers of all requests share."""
    shared: SharedState = scope["state"][SHARED]
    return shared


def call_of(scope: Mapping[str, Any]) -> Call:
    """Return the parts of a request that do not depend on its path.

    Raises:
        UnavailableError: as `SharedState.unavailable`.
        RequestError: INVALID_REQUEST, the query cannot be read.
    """
    shared = shared_state(scope)
    if shared.service is None:
        raise shared.unavailable()
    return Call(
        documents=shared.documents,
        service=shared.service,
        caller=scope["state"]["caller"],
        values=query_of(scope["query_string"]),
        headers=headers_of(scope),
        trace=scope["state"].get(TRACE),
    )


def query_of(raw: bytes) -> dict[str, list[str]]:
    """Return the values of a query by name.

    Raises:
        RequestError: INVALID_REQUEST, the query cannot be read.
    """
    if not raw:
        return {}
    try:
        return parse_qs(
            raw.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_FIELDS_MAX,
        )
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"the query cannot be read: {error}") from error


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a request by name, in lower case.

    The values of a repeated header are joined by commas. Source: RFC 9110, 5.2.
    """
    state: dict[str, Any] = scope["state"]
    found: dict[str, str] | None = state.get(_HEADERS)
    if found is None:
        found = state[_HEADERS] = _decoded(scope)
    return found


def _decoded(scope: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def one(values: Values, name: str) -> str | None:
    """Return the value of a parameter that may be given once; None if it is not given.

    Raises:
        RequestError: INVALID_REQUEST, the parameter is repeated.
    """
    found = values.get(name)
    if found is None:
        return None
    if len(found) != 1:
        raise wrong_parameter(name, "must be given only once")
    return found[0]


def one_offset(values: Values, name: str) -> int | None:
    """Return the offset in a parameter that may be given once; None if it is not given.

    Raises:
        RequestError: INVALID_REQUEST, the parameter is repeated, or is not an offset.
    """
    found = one(values, name)
    if found is not None and not is_offset(found):
        raise wrong_parameter(name, "must be an offset")
    return None if found is None else int(found)


def one_count(values: Values, name: str) -> int | None:
    """Return the number in a parameter that may be given once; None if it is not given.

    Raises:
        RequestError: INVALID_REQUEST, the parameter is repeated, or is not from 1 to COUNT_MAX.
    """
    found = one(values, name)
    if found is None:
        return None
    count = whole_number(name, found)
    if not 1 <= count <= COUNT_MAX:
        raise wrong_parameter(name, f"must be a number from 1 to {COUNT_MAX}")
    return count


def flag(values: Values, name: str) -> bool:
    """Return the value of a boolean parameter; False if it is not given.

    Raises:
        RequestError: INVALID_REQUEST, the value is neither true nor false.
    """
    found = one(values, name)
    return found is not None and truth(name, found)


def truth(name: str, text: str) -> bool:
    """Return the boolean in a parameter's text; raises the errors of `flag`."""
    if text not in ("true", "false"):
        raise wrong_parameter(name, f"{text!r} is neither true nor false")
    return text == "true"


def whole_number(name: str, text: str) -> int:
    """Return the number in a parameter's text.

    Raises:
        RequestError: INVALID_REQUEST, it is not a whole number of at most 19 digits.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise wrong_parameter(name, f"{text!r} is not a whole number")
    return int(text)


def wrong_parameter(name: str, what: str) -> RequestError:
    """Return the error for a malformed parameter."""
    return RequestError("INVALID_REQUEST", f"parameter {name}: {what}")


class BodyMemory:
    """The memory of one connection for the bodies that it receives.

    A body is read when it gets a share of the memory for all connections; a small body needs none.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._changed = asyncio.Event()
        self._is_gone = False

    def disconnected(self) -> None:
        """End the wait for a share: the client has disconnected."""
        self._is_gone = True
        self._changed.set()

    @asynccontextmanager
    async def reserved(self, size_bytes: int) -> AsyncIterator[Callable[[int], None]]:
        """Wait for a share, and hold it for the `with` block.

        Yields a function to call with the size of each received part. If the client disconnects,
        the block may run without a share, because there is nothing to receive.
        """
        if not self._place.needs_share(size_bytes):
            yield lambda _: None
            return
        share = self._place.ask_for_share(size_bytes, self._changed.set)
        try:
            while not (share.is_granted or self._is_gone):
                self._changed.clear()
                await self._changed.wait()
            yield lambda received: self._place.received(share, received)
        finally:
            self._place.give_back(share)


async def received_body(
    receive: "Receive", size_max: int, part_received: Callable[[int], None]
) -> bytes | None:
    """Return the body of a request; None if the client disconnects.

    Raises:
        RequestError: MESSAGE_TOO_LARGE.
    """
    body = bytearray()
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message["body"]
        body += part
        part_received(len(part))
        if len(body) > size_max:
            raise too_large(size_max)
        if not message["more_body"]:
            return bytes(body)


def announced_size(scope: "HTTPScope", size_max: int) -> int:
    """Return the largest size that a request's body can have.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, the announced size is above `size_max`.
    """
    headers = headers_of(scope)
    if "transfer-encoding" in headers:
        return size_max
    size = int(headers.get("content-length", 0))
    if size > size_max:
        raise too_large(size_max)
    return size


def too_large(size_max: int) -> RequestError:
    """Return the error for a body of more than `size_max` bytes."""
    return RequestError("MESSAGE_TOO_LARGE", f"a body of this path has at most {size_max} bytes")


class Reply(msgspec.Struct, frozen=True):
    """The response to a request."""

    content: bytes
    status: int = 200
    media_type: str = JSON
    headers: Mapping[str, str] = {}


def reply_with(found: Problem, headers: Mapping[str, str] = {}) -> Reply:
    """Return the reply that reports a problem, with `headers` and the problem's own headers."""
    headers = {**headers_required_by(found), **headers}
    return Reply(msgspec.json.encode(found), found.status, MEDIA_TYPE, headers)


async def send_reply(reply: Reply, scope: Mapping[str, Any]) -> None:
    """Send the reply to the request of this scope."""
    send_whole: SendWhole = scope["state"][SEND_WHOLE]
    scope["state"][STATUS] = reply.status
    head = _head(reply.status, reply.media_type)
    if reply.status != 304:
        # That of a 304 would be the length of what is not sent. Source: RFC 9110, 8.6.
        head += b"content-length: %d\r\n" % len(reply.content)
    for name, value in reply.headers.items():
        head += f"{name.lower()}: {value}\r\n".encode()
    await send_whole(head, reply.content)


@lru_cache(64)
def _head(status: int, media_type: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(),
        *[b"%b: %b" % header for header in GUARDS],
        f"content-type: {media_type}".encode(),
    ]
    return b"\r\n".join([*lines, b""])


@lru_cache(maxsize=1)
def http_date(time_s: int) -> bytes:
    """Return a time (s since 1970) in the format of the header Date; RFC 9110, 6.6.1 and 5.6.7."""
    return formatdate(time_s, usegmt=True).encode()


def refusal(words: str) -> bytes:
    """Return the whole answer, with status 400, to bytes that are not valid HTTP."""
    content = msgspec.json.encode(problem(400, "INVALID_REQUEST", words))
    date = http_date(int(time.time()))
    return _REFUSAL % (date, MEDIA_TYPE.encode(), len(content), content)
