"""Subscriptions: yield committed batches from an offset on, as a service commits them.

The batches come as answers to the question `tail`, which is asked again once the batches of the
previous answer were consumed. So neither side buffers for a slow subscriber, and after a lost
connection nothing is missing: the same question is asked again.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import groupby
from operator import attrgetter
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.questions.rows import FollowRows, Row, RowsFollowed
from metadata_log.format.batch import Batch
from records.envelope import Envelope, Extra, Origin
from records.errors import RequestError, UnknownHistoryError
from records.json import from_json, struct_from_json
from records.secrets import REDACTED, SECRET_FIELDS
from replay.about import About

WAIT_MS = 10_000
"""How long a service waits for records before it answers that there are none; a connection that is
silent for longer is lost."""

Ask = Callable[[FollowRows], Awaitable[tuple[RowsFollowed, About | None]]]
"""Sends a service the question `tail`, and returns the answer."""


async def subscribed(
    ask: Ask, from_offset: int, *, show_secrets: bool = False
) -> AsyncGenerator[Batch, None]:
    """Yield committed batches from an offset on, then each new batch, without end.

    Raises:
        UnknownHistoryError: the offset is before the kept history; the error gives the history's
            start.
        RequestError: UNSUPPORTED_VERSION, a record is of a later release; or the question is
            refused.
        UnavailableError: no answer.
    """
    request = FollowRows(first=str(from_offset), show_secrets=show_secrets, wait_ms=WAIT_MS)
    while True:
        try:
            followed, _ = await ask(request)
        except RequestError as error:
            if error.code == "OFFSET_OUT_OF_RANGE":
                await _check_kept(ask, request)
            raise
        for _, rows in groupby(followed.rows, attrgetter("batch_offset")):
            yield Batch.of([_envelope(row) for row in rows])
        request = replace(request, first=str(followed.next_offset))


async def _check_kept(ask: Ask, request: FollowRows) -> None:
    """Raise UnknownHistoryError if the requested offset is before the kept history."""
    _, about = await ask(FollowRows())
    start = 0 if about is None else about.history_start
    if int(request.first) < start:
        raise UnknownHistoryError(
            f"offset {request.first} is not kept: history starts at {start}; read the image at "
            f"offset {start - 1}, then subscribe from {start}",
            history_start=start,
        )


def _envelope(row: Row) -> Envelope:
    try:
        return Envelope(
            offset=row.offset,
            leader_epoch=row.leader_epoch,
            timestamp=row.timestamp,
            batch_offset=row.batch_offset,
            record_version=row.record_version,
            origin=None if row.origin is None else struct_from_json(row.origin, Origin),
            extra=_extra(row.extra),
            payload=from_json(row.type, _readable(row)),
        )
    except ValueError as error:
        raise RequestError(
            "UNSUPPORTED_VERSION", f"the record at offset {row.offset}: {error}; upgrade the client"
        ) from error


def _extra(fields: dict[str, Any] | UnsetType) -> Extra | None:
    return None if fields is UNSET else struct_from_json(fields, Extra)


def _readable(row: Row) -> dict[str, Any]:
    """Return a record's fields; redacted keys and ids are empty, so that they can be decoded."""
    hidden = [n for n in SECRET_FIELDS.get(row.type, ()) if row.data.get(n) == REDACTED]
    return {**row.data, **dict.fromkeys(hidden, "")}
