"""Checks that the log will accept a batch, before further decisions build on it.

If the log refuses a batch, all batches after it fail, too. Therefore such a batch is found before
it is sent, so that only the request that caused it is refused.
"""

from collections.abc import Sequence

import msgspec

from controller.decisions.context import Context
from controller.decisions.levels import record_versions
from controller.results.decided_batch import DecidedBatch
from metadata_log.format.batch import EncodedRows
from metadata_log.format.block import encode_ahead
from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.base import Record
from records.envelope import Asked

# MessagePack names every field, so a batch is larger there than in the log; encoding takes a
# fifteenth of the time.
SURELY_FITS_BYTES = BATCH_SIZE_BYTES_MAX // 2


def check_size(
    context: Context,
    records: Sequence[Record],
    asked: Asked | None = None,
    encoded: EncodedRows | None = None,
) -> None:
    """Refuse a batch that is too large for the log, including its origin.

    Args:
        asked: The decision's inputs, logged with the first record.
        encoded: All records but the first, if they are already encoded.

    Raises:
        RequestError: POLICY_VIOLATION, the batch is too large; or INVALID_RECORD, as from
            `encode_ahead`.
    """
    measured = records if encoded is None else records[:1]
    size_bytes = len(msgspec.msgpack.encode((measured, context.origin, asked)))
    if size_bytes + (0 if encoded is None else len(encoded.rows)) > SURELY_FITS_BYTES:
        batch = msgspec.structs.replace(next_batch(context, records), asked=asked)
        encode_ahead(batch.as_read.rows)


def next_batch(context: Context, records: Sequence[Record]) -> DecidedBatch:
    """Return records as the next batch after a context's image."""
    return DecidedBatch(
        base_offset=context.next_offset,
        leader_epoch=context.image.provenance.leader_epoch,
        timestamp=context.now_ms,
        records=tuple(records),
        versions=record_versions(records, context.metadata_version),
        origin=context.origin,
    )
