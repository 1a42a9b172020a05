"""Answers `tail` from the newest records in memory, encoded once for all subscribers."""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from api.questions.rows import TAIL_BYTES, FollowRows
from api.service.feed import Event, Feed
from controller.wire import to_wire

_ROWS_MAX = 500
"""Records that an answer may take from memory: encoding them holds up the service for some
milliseconds, unless another subscriber had them before."""


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The response `RowsFollowed`, with rows already encoded."""

    rows: list[msgspec.Raw]
    next_offset: int


def live_rows(feed: Feed, request: FollowRows) -> bytes | None:
    """Return an encoded `RowsFollowed`; None if the log must be read.

    Args:
        request: Must have an offset as its `first`.
    """
    offset = int(request.first)
    events = feed.since(offset, _ROWS_MAX)
    if events is None:
        return None
    batches = [list(batch) for _, batch in groupby(events, lambda event: event.row.batch_offset)]
    if len(events) == _ROWS_MAX:
        batches.pop()  # perhaps not whole
        if not batches:
            return None
    return to_wire(_encoded(batches, request, offset))


def _encoded(batches: Sequence[Sequence[Event]], request: FollowRows, offset: int) -> _Rows:
    found: list[msgspec.Raw] = []
    size = 0
    for batch in batches:
        for event in batch:
            if not request.types or type(event.row.payload).__name__ in request.types:
                row = event.wire(show_secrets=request.show_secrets, asked=request.asked)
                found.append(msgspec.Raw(row))
                size += len(row)
        offset = batch[-1].row.offset + 1
        if size >= TAIL_BYTES:
            break
    return _Rows(rows=found, next_offset=offset)
