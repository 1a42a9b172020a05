"""Checks that the log will accept a batch, before further decisions build on it.

A batch that the log refuses fails every batch after it, so it must be found first and refused to
its own caller only.
"""

from collections.abc import Sequence

import msgspec

from controller.decisions.context import Context
from controller.decisions.levels import record_version
from metadata_log.block import encode_ahead
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.base import Record
from records.envelope import Asked, Envelope

# MessagePack names every field, so a batch is larger there than in the log; encoding takes a
# fifteenth of the time.
_SURELY_FITS_BYTES = BATCH_SIZE_BYTES_MAX // 2


def check_size(context: Context, records: Sequence[Record], asked: Asked | None = None) -> None:
    """Refuse a batch that is too large for the log, including its origin.

    Args:
        asked: Stored with its first record.

    Raises:
        RequestError: POLICY_VIOLATION, or INVALID_RECORD as `encode_ahead`.
    """
    if len(msgspec.msgpack.encode((records, context.origin, asked))) > _SURELY_FITS_BYTES:
        first, *others = rows_of(context, records)
        encode_ahead([msgspec.structs.replace(first, asked=asked), *others])


def rows_of(context: Context, records: Sequence[Record]) -> list[Envelope]:
    """Return the records as rows of the next batch."""
    level, origin = context.metadata_version, context.origin
    leader_epoch = context.image.provenance.leader_epoch
    return [
        Envelope(
            offset=offset,
            leader_epoch=leader_epoch,
            timestamp=context.now_ms,
            batch_offset=context.next_offset,
            record_version=record_version(record, level),
            origin=origin,
            payload=record,
        )
        for offset, record in enumerate(records, context.next_offset)
    ]
