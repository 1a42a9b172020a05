"""Replays a log record by record and returns what each record changed."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from records.base import Record
from records.envelope import Envelope
from records.errors import ContradictionError
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import BatchSource, check_point, explains
from replay.time_travel.affected import AFFECTED, types_reaching
from replay.time_travel.changes import EffectiveChange, partition_changes, record_changes
from replay.time_travel.objects import ObjectName
from replay.transactions import Transactions, rows_within


class RecordReplay:
    """Replays a log row by row.

    Attributes:
        before: The image before the last record that may have changed something.
        image: The image after that record. If all objects are followed, both images may lack the
            latest changes of partitions.
    """

    def __init__(self, image: MetadataImage, only: ObjectName | None = None) -> None:
        """Start from an image.

        Args:
            only: Find only the changes of this object, which is faster.
        """
        self.before = self.image = image
        self._only = only
        self._reaching = AFFECTED.keys() if only is None else types_reaching(only.kind.name)
        self._delta = MetadataDelta(image)
        # The last record in the delta that is not in the image yet.
        self._behind: int | None = None

    def replay(self, rows: Iterable[Envelope]) -> Iterator[tuple[Envelope, list[EffectiveChange]]]:
        """Apply rows; yield each that may have changed something, with its changes.

        If only one object is followed, a record that contradicts the state of another object is
        skipped, and the replay continues.

        Args:
            rows: Rows that take effect, in order.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        for row in rows:
            if self._only is None and type(row.payload) is PartitionChangeRecord:
                yield row, self._change_partition(row)
                continue
            self._catch_up()
            try:
                self._delta.replay(row)
            except ContradictionError:
                if self._concerns(row.payload):
                    raise
                continue
            if type(row.payload) in self._reaching and self._may_change(row.payload):
                self._advance(row.offset)
                yield row, record_changes(self.before, row, self.image, only=self._only)

    def would_change(self, rows: Iterable[Envelope]) -> Iterator[EffectiveChange]:
        """Yield the changes that the rows of an aborted transaction would have made.

        Stops at a record that contradicts the state.
        """
        self._catch_up()
        self._advance(self.image.provenance.offset)
        tried = RecordReplay(self.image, self._only)
        for row in rows:
            try:
                tried._delta.replay(row)
            except ContradictionError:
                return
            tried._advance(row.offset)
            yield from record_changes(
                tried.before, row, tried.image, only=self._only, in_effect=False
            )

    def _change_partition(self, row: Envelope) -> list[EffectiveChange]:
        """Apply a change of a partition, and return what it changed.

        Most records of a log are such changes. The delta has the partition before and after the
        record, so no image is made.
        """
        self._delta.replay(row)
        self._behind = row.offset
        old, new = self._delta.topics.before, self._delta.topics.after
        assert old is not None and new is not None, "the record changed an existing partition"
        return partition_changes(self.image, row, old, new)

    def _catch_up(self) -> None:
        if self._behind is not None:
            self._advance(self._behind)
            self._behind = None

    def _advance(self, offset: int | None) -> None:
        self.before, self.image = self.image, self._delta.apply(Provenance(offset=offset))
        self._delta = MetadataDelta(self.image)

    def _concerns(self, record: Record) -> bool:
        """True if a record may be about the followed object."""
        if self._only is None:
            return True
        kind, key = self._only.kind.name, self._only.key(self.image)
        if type(record) not in self._reaching:
            return False
        keys = AFFECTED.get(type(record), {}).get(kind)
        # It may also say which object the name means.
        return key is None or keys is None or key in keys(record, self.image)

    def _may_change(self, record: Record) -> bool:
        if self._only is None or not isinstance(record, PartitionChangeRecord | PartitionRecord):
            return True
        # Skip the records of other partitions: they are most of a log.
        key = self._only.key(self.image)
        affected = AFFECTED[type(record)][self._only.kind.name](record, self.image)
        # A partition that does not exist yet has no key.
        return key is None or key in affected


@explains
def effective_changes(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    start: Callable[[int], MetadataImage],
) -> Iterator[EffectiveChange]:
    """Yield every field that a record in [from_offset, to_offset) changed, in order of effect.

    Changes in a transaction are yielded when it ends or is aborted; not at all if it is still open
    at `to_offset`.

    Args:
        start: Returns the image as of an offset.

    Raises:
        UnknownHistoryError: `from_offset` lies before the kept history.
        RequestError: OFFSET_OUT_OF_RANGE, `to_offset` lies past the end.
        CorruptLogError: a record contradicts the state before it; names the offset.
    """
    check_point(source, from_offset - 1)
    check_point(source, to_offset - 1)
    image = start(from_offset - 1)
    replay, transactions = RecordReplay(image), Transactions()
    # Of a transaction that is open at `from_offset`, what came before that is left out.
    first = max(image.provenance.next_offset, source.history_start)
    for batch in source.batches(first, to_offset) if first < to_offset else ():
        for found in transactions.resolved(rows_within(batch, first, to_offset)):
            changes = (
                chain.from_iterable(changes for _, changes in replay.replay(found.rows))
                if found.in_effect
                else replay.would_change(found.rows)
            )
            yield from (change for change in changes if change.offset >= from_offset)
