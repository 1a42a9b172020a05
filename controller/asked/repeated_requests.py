"""Repeated requests: a client sends a request again with the same id, after losing the answer.

A request with an id is executed only once. When it arrives, it is one of these:

    in flight           wait for the first request's answer                 InFlight
    committed at X      return the answer stored in the batch at X          first_answer
    neither             decide it

A log knows the ids of its last REQUEST_WINDOW_OFFSETS offsets, whichever process wrote them
(`metadata_log.writer.request_window`).
"""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.asked.asked import BoundDecision, version_of
from controller.asked.kept_answers import decode_answer
from controller.asked.kept_secrets import has_same_secrets, restored, with_hmac, without_secrets
from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import TokenCreated
from controller.raw_appends.raw_append import AppendRecords
from controller.results.answer import Answer
from controller.wire import from_log, to_wire
from metadata_log.format.batch import Batch
from metadata_log.writer.request_window import (
    Committed,
    RequestKey,
    has_id,
    is_repeatable,
    request_key,
)
from records.envelope import Origin
from records.errors import (
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)

REQUEST_ID_CHARACTERS_MAX = 200
"""Maximum length of a request id, which is logged with the request."""


def identified(origin: Origin, request_id: str | None, command: str, payload: bytes) -> Origin:
    """Return a request's origin with its id and hash; without an id, the origin is unchanged.

    The hash leaves secrets out, so that they cannot be guessed from it. `first_answer` compares the
    secrets with those in the log.

    Args:
        payload: The request as it was sent; the same id with another payload is refused.

    Raises:
        RequestError: INVALID_REQUEST, the id is empty or too long.
    """
    check_request_id(request_id)
    if request_id is None:
        return origin
    public = without_secrets(payload)
    body = _hash(command, payload if public is None else public)
    return replace(origin, request_id=request_id, request_hash=body)


def earlier_hash(command: str, request: Any) -> bytes | None:
    """Return the hash that releases up to 0.2.0 stored for a request with secrets.

    Those releases included the secrets in the hash. Returns None for a request without secrets,
    because its hash is the same in all releases.
    """
    payload = to_wire(request)
    return None if without_secrets(payload) is None else _hash(command, payload)


def _hash(command: str, payload: bytes) -> bytes:
    return hashlib.sha256(command.encode() + b"\0" + payload).digest()


def check_request_id(request_id: str | None) -> None:
    """Refuse an id that is empty or too long.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if request_id is not None and not 0 < len(request_id) <= REQUEST_ID_CHARACTERS_MAX:
        raise RequestError(
            "INVALID_REQUEST",
            f"a request id has 1 to {REQUEST_ID_CHARACTERS_MAX} characters, not {len(request_id)}",
        )


class _Request(msgspec.Struct, frozen=True):
    request_hash: bytes
    body: Any
    answer: asyncio.Future[Any]


class InFlight:
    """The requests with an id that are not answered yet."""

    def __init__(self) -> None:
        self._requests: dict[RequestKey, _Request] = {}

    def find(
        self, origin: Origin | None, decision: Callable[..., Any]
    ) -> asyncio.Future[Any] | None:
        """Return a future with the answer to the same request; None if none is in flight.

        Args:
            decision: The request, bound to its decision.

        Raises:
            RequestError: INVALID_REQUEST, the id is used by a different request, or has no hash,
                without which a repetition cannot be distinguished from a different request.
        """
        if has_id(origin) and not is_repeatable(origin):
            raise RequestError(
                "INVALID_REQUEST",
                "a request id has no hash of its request; send both, or neither",
            )
        key = request_key(origin)
        first = None if key is None else self._requests.get(key)
        if origin is None or first is None:
            return None
        if (first.request_hash, first.body) != (origin.request_hash, _body(decision)):
            raise RequestError(
                "INVALID_REQUEST",
                f"request id {origin.request_id!r} belongs to another request, which is in "
                "flight; give each request its own id",
            )
        again: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        first.answer.add_done_callback(lambda answer: _copy(answer, again))
        return again

    def add(
        self, origin: Origin | None, decision: Callable[..., Any], answer: asyncio.Future[Any]
    ) -> None:
        """Add a request; it is removed when it is answered."""
        key = request_key(origin)
        if origin is None or key is None:
            return
        assert origin.request_hash is not None
        self._requests[key] = _Request(origin.request_hash, _body(decision), answer)
        answer.add_done_callback(lambda _: self._requests.pop(key))


def _body(decision: Callable[..., Any]) -> Any:
    """Return the request with its secrets; None for appends, whose callers choose the hash."""
    request = decision.request if isinstance(decision, BoundDecision) else None
    return None if isinstance(request, AppendRecords) else request


def _copy(answer: asyncio.Future[Any], again: asyncio.Future[Any]) -> None:
    """Copy an answer to the future of a repeated request.

    Each caller has its own future, so that cancelling one does not cancel the other.
    """
    if again.done():
        return
    if answer.cancelled():
        again.set_exception(
            UnavailableError(
                "the outcome is unknown: the first caller of this request was cancelled; try again",
                outcome=Outcome.UNKNOWN,
            )
        )
    elif (error := answer.exception()) is not None:
        again.set_exception(error)
    else:
        again.set_result(answer.result())


def first_answer(
    read: Callable[[Committed], Batch],
    committed: Committed,
    decision: Callable[..., Any],
    settings: Settings,
) -> Answer[Any]:
    """Return the first answer to a committed request; blocks.

    Args:
        read: Returns the request's first batch.
        decision: The request, bound to its decision.
        settings: With the secret key from which the HMAC of a token is computed again.

    Raises:
        RequestError: DUPLICATE_REQUEST, the request was executed but its answer is lost: the answer
            was too large, an earlier release wrote the log, the kept history starts after the
            request, or the secret key was changed since. INVALID_REQUEST, a secret differs
            from the first request's: the id was used for another request.
        CorruptLogError, UnavailableError: the batch cannot be read.

    The error's outcome is NOTHING if the id was used for another request, else DONE.
    """
    base_offset, last_offset = committed.result.base_offset, committed.result.end_offset - 1

    def lost(why: str) -> RequestError:
        return _answer_lost(base_offset, last_offset, why)

    try:
        first = read(committed)
    except UnknownHistoryError as error:
        raise lost(str(error)) from error
    except MetadataLogError as error:
        raise error.with_outcome(Outcome.DONE, done_to=last_offset) from error
    base_offset, asked = first.base_offset, first.rows[0].asked
    if asked is None or not isinstance(decision, BoundDecision):
        raise lost("the log has no answer")
    records = [row.payload for row in first.rows]
    if not has_same_secrets(decision.request, asked.secrets, records):
        raise RequestError(
            "INVALID_REQUEST",
            f"the request id was used for another request, at offset {base_offset}, with another "
            "secret; give each request its own id",
        )
    if asked.response is None:
        raise lost("the answer was too large to be logged")
    if (asked.command, asked.version) != (decision.command, version_of(decision.command)):
        raise lost(f"this release cannot read version {asked.version} of {asked.command}")
    try:
        kept, versions = decode_answer(asked.response)
        raw = restored(kept, asked.secrets, records, "response")
        response = from_log(raw, decision.response_type)
    except RequestError as error:
        raise lost(f"this release cannot read the answer: {error}") from error
    if isinstance(response, TokenCreated):
        try:
            response = with_hmac(response, asked, settings)
        except RequestError as error:
            raise lost(str(error)) from error
    if not decision.tells_versions:
        versions = ()
    return Answer(response, committed.result.end_offset, versions=versions)


def _answer_lost(base_offset: int, last_offset: int, why: str) -> RequestError:
    return RequestError(
        "DUPLICATE_REQUEST",
        f"the request was carried out before, at offsets {base_offset} to {last_offset}; do not "
        f"send it again under another id. Its answer cannot be repeated: {why}",
        outcome=Outcome.DONE,
        done_to=last_offset,
    )
