"""Requests that are asked again, because their first answer was lost on its way.

A request with an id is recognised by it for as long as the log remembers
(`metadata_log.request_window`), by whichever process writes the log then. It is not decided again:
its answer stands beside its records.
"""

import hashlib
from typing import Any

from msgspec.structs import replace

from controller.asked import BoundDecision, version_of
from controller.controller import Decision
from controller.packed import unpacked
from controller.pending_answers import Answer
from metadata_log.append_result import AppendResult
from metadata_log.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX, REQUEST_WINDOW_OFFSETS
from metadata_log.log_reader import LogReader
from metadata_log.request_window import RequestWindow, takes_part
from records.envelope import Origin
from records.errors import RequestError

REQUEST_ID_CHARACTERS_MAX = 200
"""An id stands on every batch of its request."""


def identified(origin: Origin, request_id: str | None, command: str, payload: bytes) -> Origin:
    """Return the origin of a request that may be asked again; without an id it stays as it is.

    Args:
        payload: The request as it was sent: the same id with another one is refused.

    Raises:
        RequestError: INVALID_REQUEST, the id is empty or too long.
    """
    check_request_id(request_id)
    if request_id is None:
        return origin
    body = hashlib.sha256(command.encode() + b"\0" + payload).digest()
    return replace(origin, request_id=request_id, request_hash=body)


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


def committed_request(reader: LogReader, origin: Origin) -> AppendResult | None:
    """Return where a request was committed, as far as the log remembers; None for a new one.

    Raises:
        RequestError: INVALID_REQUEST, the id was used for another request.
    """
    if not takes_part(origin):
        return None
    window = RequestWindow()
    start = max(reader.start_offset, reader.end_offset - REQUEST_WINDOW_OFFSETS)
    window.load(reader.batches(start))
    return window.find(origin)


def told_again(reader: LogReader, committed: AppendResult, decision: Decision[Any]) -> Answer[Any]:
    """Return the first answer of a request that was committed, by reading its first batch.

    Args:
        committed: Where its last batch stands, the one that carries its id.
        decision: The request, bound to what decides it.

    Raises:
        RequestError: DUPLICATE_REQUEST, it was carried out, and its answer was not kept: it was
            too large, or an earlier release wrote the log.
    """
    first = _first_batch(reader, committed)
    asked = first.rows[0].asked
    if asked is None or not isinstance(decision, BoundDecision):
        raise _carried_out(first, "the log holds none")
    if asked.response is None:
        raise _carried_out(first, "it was too large to be kept")
    if (asked.command, asked.version) != (decision.command, version_of(decision.command)):
        raise _carried_out(first, f"{asked.command} answered in version {asked.version}")
    try:
        response = unpacked(asked.response, decision.response_type, from_log=True)
    except RequestError as error:
        raise _carried_out(first, f"this release cannot read it: {error}") from error
    return Answer(response, committed.end_offset)


def _first_batch(reader: LogReader, committed: AppendResult) -> Batch:
    """Return the first batch of a request; only its last one carries its id, others are full."""
    batch = _batch_at(reader, committed.base_offset)
    origin = batch.rows[0].origin
    assert origin is not None, "it was found by it"
    earlier = replace(origin, request_id=None, request_hash=None)
    while batch.rows[0].asked is None:
        base = batch.base_offset - BATCH_RECORDS_MAX
        if base < reader.start_offset:
            break
        before = _batch_at(reader, base)
        if before.end_offset != batch.base_offset or before.rows[0].origin != earlier:
            break
        batch = before
    return batch


def _batch_at(reader: LogReader, offset: int) -> Batch:
    return next(iter(reader.batches(offset)))


def _carried_out(first: Batch, why: str) -> RequestError:
    return RequestError(
        "DUPLICATE_REQUEST",
        f"the request was carried out, its records begin at offset {first.base_offset}; "
        f"its answer cannot be told again: {why}",
    )
