"""A batch that its decision has already encoded and replayed, to avoid doing both twice."""

import msgspec

from metadata_log.batch import Batch, EncodedRows
from records.base import Record
from records.envelope import Asked
from replay.image.metadata import MetadataImage


class CheckedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """All records of a decision as one batch, valid only at the log offset where it was decided.

    `after` is the image after the batch, provided that no transaction is open.
    """

    records: tuple[Record, ...]
    batch: Batch
    encoded: EncodedRows
    after: MetadataImage

    def with_asked(self, asked: Asked | None) -> Batch:
        """Return the batch with `asked` on its first row."""
        first, *others = self.batch.rows
        first = msgspec.structs.replace(first, asked=asked)
        return msgspec.structs.replace(self.batch, rows=(first, *others))
