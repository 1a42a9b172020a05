"""Record keys that have different meanings in different versions and forks of Kafka.

Key 29 is UnregisterControllerRecord from metadata.version 33 on (4.4, KIP-1312). Forks and open
proposals use it for other records. So below version 33 a record with this key stays raw
(UnknownRecord), and is counted as not understood.
"""

from itertools import chain
from typing import Self

import msgspec

from metadata_log.format.needles import Needles
from metadata_log.kraft_format.batch import KraftBatch
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import UnregisterControllerRecord
from records.configs import FeatureLevelRecord
from records.control import UnknownRecord
from records.envelope import Envelope
from records.kafka import codec
from records.metadata_versions import METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL
from records.registry import schema

_KEY: int = schema("UnregisterControllerRecord")["kafka"]["api_key"]

_SEEN: frozenset[type[Record]] = frozenset({FeatureLevelRecord, UnregisterControllerRecord})
"""Types of records that `ContestedKeys.checked` looks at."""


class ContestedKeys:
    """Tracks metadata.version along a log; keeps a record raw if its type needs a higher level."""

    def __init__(self) -> None:
        self._level = 0

    @classmethod
    def after(cls, mirror: LogReader) -> Self:
        """Return the state at the end of a mirror.

        Raises:
            CorruptLogError: the mirror is damaged.
        """
        contested = cls()
        needles = Needles()
        needles.add_type(FeatureLevelRecord)
        base = () if mirror.base is None else mirror.base.rows()
        for rows in chain(base, (batch.rows for batch in mirror.skim(needles))):
            for row in rows:
                contested.checked(row)
        return contested

    def checked(self, row: Envelope) -> Envelope:
        """Return a row, made raw if its record's type needs a higher metadata.version.

        A raw row has an UnknownRecord with the same bytes.

        Args:
            row: The next row of the log or of its base checkpoint.
        """
        record = row.payload
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
            self._level = record.feature_level
        if not isinstance(record, UnregisterControllerRecord):
            return row
        # A tag would be another record's too: this one has none.
        tags = () if row.extra is None else row.extra.unknown_tags
        if self._level >= UNREGISTER_CONTROLLER_LEVEL and not tags:
            return row
        value = codec.encode_value(record, row.record_version, tags)
        extra = row.extra and msgspec.structs.replace(row.extra, unknown_tags=())
        raw = UnknownRecord(api_key=_KEY, record_version=row.record_version, value=value)
        return msgspec.structs.replace(row, payload=raw, extra=extra)

    def checked_batch(self, batch: KraftBatch) -> KraftBatch:
        """Return a batch with `checked` applied to each row.

        Returns the same batch object if no row changed.
        """
        if _SEEN.isdisjoint([type(row.payload) for row in batch.rows]):
            return batch
        rows = tuple([self.checked(row) for row in batch.rows])
        return batch if rows == batch.rows else msgspec.structs.replace(batch, rows=rows)
