"""A batch that its decision has already encoded and replayed, to avoid doing both twice."""

import msgspec

from controller.decided_batch import DecidedBatch
from metadata_log.batch import EncodedRows
from replay.image.metadata import MetadataImage


class CheckedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """All records of a decision as one batch, valid only at the log offset where it was decided.

    `after` is the image after the batch, provided that no transaction is open.
    """

    batch: DecidedBatch
    encoded: EncodedRows
    after: MetadataImage
