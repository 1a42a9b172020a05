"""Requests that are asked again, because their first answer was lost on its way.

A request with an id is recognised by it for as long as the log remembers
(`metadata_log.request_window`), by whichever process writes the log then. It is not decided again:
its first answer is made anew from what it wrote.
"""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from controller.controller import Decision
from controller.decisions.context import Settings
from controller.first_answer import carried_out, first_answer
from controller.parking import Answer
from metadata_log.append_result import AppendResult
from metadata_log.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX, REQUEST_WINDOW_OFFSETS
from metadata_log.log_reader import LogReader
from metadata_log.request_window import RequestWindow, takes_part
from records.envelope import Origin
from records.errors import RequestError, UnknownHistoryError
from replay.image.metadata import MetadataImage
from replay.loader import load_image

T = TypeVar("T")

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


def told_again(
    reader: LogReader,
    committed: AppendResult,
    decide: Decision[T],
    settings: Settings,
    kept: Callable[[int], MetadataImage | None] = lambda _: None,
) -> Answer[T]:
    """Return the first answer of a request that was committed.

    Args:
        kept: Gives the image whose last offset is this one, if it is at hand; else the log is
            replayed up to there.

    Raises:
        RequestError: DUPLICATE_REQUEST, it was carried out, but its answer cannot be made again.
    """
    try:
        batches = _batches_of_request(reader, committed)
        last_before = batches[0].base_offset - 1
        before = kept(last_before) or load_image(reader, last_before)
    except UnknownHistoryError as error:
        raise carried_out(committed.base_offset, str(error)) from error
    return first_answer(decide, before, batches, settings)


def _batches_of_request(reader: LogReader, committed: AppendResult) -> list[Batch]:
    """Return all batches of a request; only the last one carries its id, those before are full."""
    batches = [next(iter(reader.batches(committed.base_offset)))]
    origin = batches[0].rows[0].origin
    assert origin is not None, "it was found by it"
    earlier = replace(origin, request_id=None, request_hash=None)
    while (base := batches[0].base_offset - BATCH_RECORDS_MAX) >= reader.start_offset:
        batch = next(iter(reader.batches(base)))
        if batch.end_offset != batches[0].base_offset or batch.rows[0].origin != earlier:
            break
        batches.insert(0, batch)
    return batches
