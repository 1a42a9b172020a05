"""The records of a decision as one batch with its offsets in the log, before it is written."""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from metadata_log.format.batch import Batch, EncodedRows, NewBatch
from records.base import Record
from records.envelope import Asked, Envelope, Origin
from replay.image.metadata import MetadataImage


class Decided(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Records, their layout versions, and the offset that the log will give the first one.

    `asked` is stored on the first record. `encoded` are the other records, and `after` is the image
    after all of them, if the decision has computed them already. Both are valid only at this
    offset; `after` includes the records of an open transaction.
    """

    base_offset: int
    leader_epoch: int
    timestamp: int
    records: tuple[Record, ...]
    versions: Sequence[int]
    origin: Origin | None
    asked: Asked | None = None
    encoded: EncodedRows | None = None
    after: MetadataImage | None = None

    @property
    def end_offset(self) -> int:
        """Offset after the last record."""
        return self.base_offset + len(self.records)

    @cached_property
    def types(self) -> frozenset[type[Record]]:
        """The types of the records."""
        return frozenset(map(type, self.records))

    # On first use: a batch that is encoded and replayed from its records needs no rows.
    @cached_property
    def as_read(self) -> Batch:
        """The batch with its rows, as a reader of the log gets it."""
        return Batch.of(
            [
                Envelope(
                    offset=self.base_offset + index,
                    leader_epoch=self.leader_epoch,
                    timestamp=self.timestamp,
                    batch_offset=self.base_offset,
                    record_version=version,
                    origin=self.origin,
                    asked=self.asked if index == 0 else None,
                    payload=record,
                )
                for index, (record, version) in enumerate(
                    zip(self.records, self.versions, strict=True)
                )
            ]
        )

    @property
    def new_batch(self) -> NewBatch:
        """The batch to append to the log."""
        return NewBatch(
            records=self.records,
            origin=self.origin,
            record_versions=tuple(self.versions),
            timestamp=self.timestamp,
            asked=self.asked,
            rows=self.as_read.rows if self.encoded is None else (),
            encoded=self.encoded,
        )
