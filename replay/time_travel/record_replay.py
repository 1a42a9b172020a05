"""Replays a log record by record and returns what each record changed."""

from collections.abc import Callable, Iterable, Iterator

from records.base import Record
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, check_point
from replay.time_travel.affected import AFFECTED, types_reaching
from replay.time_travel.changes import EffectiveChange, changes_of_one, effective_changes_of
from replay.time_travel.effects import OF_A_PARTITION, Effect, Effects
from replay.time_travel.objects import ObjectName


class RecordReplay:
    """Replays a log for one object, and passes over contradictions of the state of others.

    Attributes:
        before: The image before the last record that may have changed the object.
        image: The image after that record.
    """

    def __init__(self, image: MetadataImage, name: ObjectName) -> None:
        """Start from an image."""
        self.before = self.image = image
        self._name = name
        self._reaching = types_reaching(name.kind.name)
        self._effects = Effects(image)

    def replay(self, rows: Iterable[Envelope]) -> Iterator[tuple[Envelope, list[EffectiveChange]]]:
        """Apply rows; yield each that may have changed the object, with its changes.

        Args:
            rows: Rows that take effect, in order.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        for row in rows:
            try:
                if type(row.payload) not in self._reaching:
                    self._effects.apply(row)
                    continue
                effect = self._effects.of(row)
            except ContradictionError:
                if self._concerns(row.payload):
                    raise
                continue
            if self._may_change(effect):
                self.before, self.image = self.image, self._effects.image
                yield row, changes_of_one(self._name, row, self.before, self.image)

    def _concerns(self, record: Record) -> bool:
        """True if a record may be about the object."""
        kind, key = self._name.kind.name, self._name.key(self.image)
        if type(record) not in self._reaching:
            return False
        keys = AFFECTED.get(type(record), {}).get(kind)
        # It may also say which object the name means.
        return key is None or keys is None or key in keys(record, self.image)

    def _may_change(self, effect: Effect) -> bool:
        if type(effect.row.payload) not in OF_A_PARTITION:
            return True  # it may also say which object the name means
        kind, key = self._name.kind.name, self._name.key(self.image)
        # Skip the records of other partitions: they are most of a log. One that does not exist yet
        # has no key.
        return key is None or any(
            each.key == key and each.kind.name == kind for each in effect.touched
        )


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
    # Of a transaction that is open at `from_offset`, what came before that is left out.
    for effect in Effects(start(from_offset - 1)).until(source, to_offset, aborted=True):
        if effect.row.offset >= from_offset:
            yield from effective_changes_of(effect)
