"""Whether the log will take a batch, asked before others are decided on it.

A batch that the log refuses takes all behind it along, so it is to be found out for its own caller
alone.
"""

from collections.abc import Sequence

import msgspec

from controller.decisions.context import Context
from controller.decisions.levels import record_version
from metadata_log.block import BlockEncoder
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.base import Record
from records.envelope import Asked, Envelope

# MessagePack names every field, so that a batch takes more room there than in the log; it is made
# in a fifteenth of the time.
_SURELY_FITS_BYTES = BATCH_SIZE_BYTES_MAX // 2


def check_size(context: Context, records: Sequence[Record], asked: Asked | None = None) -> None:
    """Refuse a batch that is too large for the log, with the origin that it would have.

    Args:
        asked: What its first record is stored with.

    Raises:
        RequestError: POLICY_VIOLATION, or INVALID_RECORD as `check_encoding`.
    """
    if len(msgspec.msgpack.encode((records, context.origin, asked))) > _SURELY_FITS_BYTES:
        first, *others = rows_of(context, records)
        check_encoding([msgspec.structs.replace(first, asked=asked), *others])


def check_encoding(rows: Sequence[Envelope]) -> None:
    """Encode a batch as the log would.

    Raises:
        RequestError: POLICY_VIOLATION, it is too large; or INVALID_RECORD, a value is not of its
            field's type.
    """
    BlockEncoder(BATCH_SIZE_BYTES_MAX).encode(rows, b"")


def rows_of(context: Context, records: Sequence[Record]) -> list[Envelope]:
    """Return records as the log would hold them, were they the next batch."""
    return [
        Envelope(
            offset=offset,
            leader_epoch=context.image.provenance.leader_epoch,
            timestamp=context.now_ms,
            batch_offset=context.next_offset,
            record_version=record_version(record, context.metadata_version),
            origin=context.origin,
            payload=record,
        )
        for offset, record in enumerate(records, context.next_offset)
    ]
