"""Compresses whole answers to questions with gzip, for clients that accept it.

Not compressed: streams, whose parts must arrive at once; answers with an `ETag`, which identifies
the uncompressed bytes; and answers that may contain a secret, because the compressed size reveals
something about the content (docs/http.md, Compression).

Source: RFC 9110, 8.4 and 12.5.3.
"""

import asyncio
import gzip
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from msgspec.structs import replace

from api.http.limits import COMPRESSED_BYTES_MIN, COMPRESSED_ON_LOOP_BYTES_MAX
from api.http.request import JSON, Reply, headers_of

if TYPE_CHECKING:
    from litestar.types import HTTPResponseStartEvent, Message, Send

_Headers = Iterable[tuple[bytes, bytes]]

_FORMS = (b"application/json", b"text/html", b"text/plain")
"""Content types that are compressed; a report's columns are compressed already."""

# The fastest: answers are made once and sent once.
_LEVEL = 1

_VARY = (b"vary", b"accept-encoding")


def compressing(scope: Mapping[str, Any], send: "Send") -> "Send":
    """Return a function that sends an answer, compressed if that is allowed and accepted."""
    if _may_have_secret(scope):
        return send
    start: HTTPResponseStartEvent | None = None

    async def send_compressed(message: "Message") -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_compressible(message["headers"]):
            message["headers"] = [*message["headers"], _VARY]
            if _is_accepted(scope):
                start = message
                return
        elif message["type"] == "http.response.body" and start is not None:
            head, start = start, None
            if not message.get("more_body") and len(message["body"]) >= COMPRESSED_BYTES_MIN:
                message["body"] = await _gzipped(message["body"])
                head["headers"] = _encoded(head["headers"], len(message["body"]))
            await send(head)
        await send(message)

    return send_compressed


def _may_have_secret(scope: Mapping[str, Any]) -> bool:
    return b"secret" in unquote_to_bytes(scope["query_string"])


async def compressed(reply: Reply, scope: Mapping[str, Any]) -> Reply:
    """Return a whole reply, compressed if that is allowed and accepted."""
    if "ETag" in reply.headers or reply.media_type != JSON or _may_have_secret(scope):
        return reply
    content, headers = reply.content, {**reply.headers, _VARY[0].decode(): _VARY[1].decode()}
    if len(content) >= COMPRESSED_BYTES_MIN and _is_accepted(scope):
        content = await _gzipped(content)
        headers["content-encoding"] = "gzip"
    return replace(reply, content=content, headers=headers)


def accepts_gzip(accepted: str) -> bool:
    """Return True if a header `Accept-Encoding` accepts gzip.

    An answer without compression is always taken for acceptable, because no client excludes it.
    """
    weights = {}
    for each in accepted.lower().split(","):
        coding, _, parameters = each.partition(";")
        name, _, weight = parameters.strip().partition("=")
        weights[coding.strip()] = weight.strip() if name.strip() == "q" else "1"
    found = weights.get("gzip", weights.get("x-gzip", weights.get("*", "0")))
    return found.strip("0.") != ""


def _is_accepted(scope: Mapping[str, Any]) -> bool:
    return accepts_gzip(headers_of(scope).get("accept-encoding", ""))


def _is_compressible(headers: _Headers) -> bool:
    given = {name.lower(): value for name, value in headers}
    return b"etag" not in given and given.get(b"content-type", b"").startswith(_FORMS)


async def _gzipped(content: bytes) -> bytes:
    if len(content) <= COMPRESSED_ON_LOOP_BYTES_MAX:
        return gzip.compress(content, _LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, content, _LEVEL, mtime=0)


def _encoded(headers: _Headers, size: int) -> _Headers:
    kept = [each for each in headers if each[0].lower() != b"content-length"]
    return [*kept, (b"content-encoding", b"gzip"), (b"content-length", b"%d" % size)]
