"""The changes from one image to the next. docs/replay.md describes the effect of each record."""

from collections.abc import Sequence
from typing import Any

from records.base import Record
from records.envelope import Envelope, Origin
from records.errors import ContradictionError, RecordPlace
from records.partitions import PartitionRecord
from replay.image.metadata import MetadataImage
from replay.image.part_deltas import PartDeltas
from replay.image.provenance import Provenance, has_unknown_tags
from replay.image.rules import RULES, Rule
from replay.image.topics import TopicsDelta
from replay.image.versions import UNKNOWN


class MetadataDelta(PartDeltas):
    """Applies records to an image, from one batch or from millions of them.

    After an error the delta must not be used.
    """

    def __init__(self, image: MetadataImage, topics: TopicsDelta | None = None) -> None:
        """Start from an image; `topics` are as for `PartDeltas`."""
        super().__init__(image, topics)
        self._rules: dict[type[Record], Rule[Any]] = {}

    def replay(self, row: Envelope, *, at: int | None = None) -> None:
        """Apply one record.

        Args:
            at: Offset of the record in the log, or UNKNOWN if that offset was not stored. None
                means `row.offset`.

        Raises:
            ContradictionError: the record contradicts the state before it; the error names the
                record.
        """
        offset = row.offset if at is None else at
        record = row.payload
        self.row = row
        try:
            self._rule(type(record))(record, offset)
        except ContradictionError as error:
            raise error.replaced(record=RecordPlace.of(row)) from None
        if row.extra is not None and has_unknown_tags(row):
            self.count_not_understood(offset)

    def replay_all(self, rows: Sequence[Envelope]) -> None:
        """Apply several records, in order."""
        known = self._rules
        try:
            for row in rows:
                self.row = row
                record = row.payload
                rule = known.get(type(record)) or self._rule(type(record))
                rule(record, row.offset)
                if row.extra is not None and has_unknown_tags(row):
                    self.count_not_understood(row.offset)
        except ContradictionError as error:
            raise error.replaced(record=RecordPlace.of(row)) from None

    def replay_records(
        self, records: Sequence[Record], base_offset: int, timestamp: int, origin: Origin | None
    ) -> None:
        """Apply the records of a batch, given without their rows: faster than `replay_all`.

        Args:
            records: Must not contain a record of a type in `NEED_ROWS`.
            timestamp, origin: Time and origin of the batch; used only in the ContradictionError.
        """
        known = self._rules
        try:
            for offset, record in enumerate(records, base_offset):
                rule = known.get(type(record)) or self._rule(type(record))
                rule(record, offset)
        except ContradictionError as error:
            place = RecordPlace(offset, type(record).__name__, timestamp, origin)
            raise error.replaced(record=place) from None

    def restore(self, row: Envelope) -> None:
        """Apply one record of a base checkpoint.

        Uses the offsets stored with the record, because `row.offset` is a position in the
        checkpoint.

        Raises:
            ContradictionError: as for `replay`.
        """
        kept, record = row.kept, row.payload
        if not isinstance(record, PartitionRecord):
            self.replay(row, at=UNKNOWN if kept is None else kept.version)
            return
        self.replay(row, at=UNKNOWN)
        if kept is not None:
            created = UNKNOWN if kept.created is None else kept.created
            self.topics.restore_offsets(record.topic_id, record.partition_id, kept.version, created)

    def apply(self, provenance: Provenance) -> MetadataImage:
        """Return the next image, like `PartDeltas.apply`."""
        self._rules.clear()  # some refer to the delta; the cycle would keep images alive
        return super().apply(provenance)

    def _rule(self, cls: type[Record]) -> Rule[Any]:
        rule = self._rules.get(cls)
        if rule is None:
            rule = self._rules[cls] = RULES[cls](self)
        return rule
