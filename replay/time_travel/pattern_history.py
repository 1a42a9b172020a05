"""History of all objects whose names match a pattern, such as `topic:orders*`."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from records.base import ZERO_UUID, Uuid
from records.envelope import Envelope
from records.errors import ContradictionError, CorruptLogError, RequestError
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, check_point
from replay.name_patterns import name_matcher
from replay.time_travel.affected import types_reaching
from replay.time_travel.changes import EffectiveChange, effective_changes_of
from replay.time_travel.effects import OF_A_PARTITION, Effects
from replay.time_travel.kinds import Kind
from replay.time_travel.objects import ObjectName, is_label, label_in
from replay.time_travel.pattern_rows import Missed, Shown, matching_rows
from replay.transactions import effective_rows


def history_matching(
    source: BatchSource,
    pattern: ObjectName,
    from_offset: int,
    to_offset: int,
    start: MetadataImage,
    *,
    shown: Shown,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[str, Envelope, list[EffectiveChange]]]:
    """Yield each change of a matching object: the object's label, the record, the changed fields.

    An object matches by its name at the time of the change. Changes by one record are ordered by
    name.

    Args:
        start: The image before `from_offset`.
        progress: Called with the offset reached.

    Raises:
        RequestError: RESOURCE_NOT_FOUND, no object matched in the range; OFFSET_OUT_OF_RANGE.
        CorruptLogError: a record contradicts the state before it.
    """
    check_point(source, to_offset - 1)
    first = max(start.provenance.next_offset, source.history_start)
    yielded = 0

    def changes_in(
        rows: Iterable[Envelope],
    ) -> Iterator[tuple[str, Envelope, list[EffectiveChange]]]:
        replayer = _PatternReplayer(start, pattern, shown)
        for row in rows:
            if progress is not None and row.offset % 1000 == 0:
                progress(row.offset)
            for label, changes in replayer.replay(row):
                if row.offset >= from_offset:
                    yield label, row, changes
        if not replayer.has_matched and not replayer.matches_any():
            raise RequestError(
                "RESOURCE_NOT_FOUND",
                f"no {pattern.kind.name} matches {pattern.text} between offsets {from_offset} and "
                f"{to_offset - 1}",
            )

    skimmed = matching_rows(source, pattern, shown, start, first, to_offset)
    if skimmed is not None:
        try:
            for each in changes_in(skimmed):
                yield each
                yielded += 1
            return
        except (ContradictionError, CorruptLogError, Missed):
            pass  # reading all of it raises the same error as other commands
    rows = effective_rows(source.batches(first, to_offset), first, to_offset)
    yield from islice(changes_in(rows), yielded, None)


class _PatternReplayer:
    """Replays rows, and yields the changes of matching objects."""

    def __init__(self, image: MetadataImage, pattern: ObjectName, shown: Shown) -> None:
        self.has_matched = False
        self._pattern = pattern
        self._kind: Kind = pattern.kind
        # Of most patterns the same in every image.
        self._text = pattern.object if is_label(pattern.object) else None
        self._reaching = types_reaching(pattern.kind.name)
        self._shown = shown
        self._matcher: tuple[str | None, Callable[[str], bool]] = None, lambda _: False
        self._effects = Effects(image)
        # By topic and partition, whether the object that its records are about matches.
        self._matching: dict[Uuid, dict[int, bool]] = {}

    def matches_any(self) -> bool:
        """True if an object matches after the last row."""
        image = self._effects.image
        return any(self._is_match(key, image) for key, _ in self._kind.objects(image))

    def replay(self, row: Envelope) -> Iterator[tuple[str, list[EffectiveChange]]]:
        """Apply a row; yield the label and the changes of each matching object."""
        if type(row.payload) not in self._reaching:
            self._effects.apply(row)
            return
        if type(row.payload) in OF_A_PARTITION:
            # Most of a log; they change no name.
            if not self._is_about_match(row.payload):
                self._effects.of_partition(row)
                return
        else:
            self._matching.pop(getattr(row.payload, "topic_id", ZERO_UUID), None)
        effect = self._effects.of(row)
        before, after = effect.before, effect.after
        touched = [each for each in effect.touched if each.kind is self._kind]
        found: dict[str, list[EffectiveChange]] = {}
        for change in effective_changes_of(effect, touched):
            label = change.object.partition(":")[2]
            if self._is_named(label, before, after):
                found.setdefault(label, []).append(change)
        for label, changes in found.items():
            self.has_matched = True
            field = self._pattern.field
            chosen = [each for each in changes if field is None or each.field == field]
            if chosen:
                yield label, chosen

    def _is_about_match(self, record: Any) -> bool:
        """True if a PartitionRecord or PartitionChangeRecord is about a matching object."""
        topic_id, number = record.topic_id, record.partition_id
        known = self._matching.setdefault(topic_id, {})
        if number not in known:
            key = topic_id if self._kind.name == "topic" else (topic_id, number)
            known[number] = self._is_match(key, self._effects.named)
        return known[number]

    def _is_match(self, key: object, image: MetadataImage) -> bool:
        return self._is_named(self._kind.label(image, key), image)

    def _is_named(self, label: str, *images: MetadataImage) -> bool:
        """True if the pattern, resolved in any of the images, matches an object's label."""
        name = self._name(label)
        return any(self._matches_in(image)(name) for image in images)

    def _matches_in(self, image: MetadataImage) -> Callable[[str], bool]:
        pattern = self._text or label_in(self._pattern.object, image)
        if pattern != self._matcher[0]:
            matches = (lambda _: False) if pattern is None else name_matcher(pattern, ())
            self._matcher = pattern, matches
            self._matching.clear()
        return self._matcher[1]

    def _name(self, label: str) -> str:
        return f"{self._kind.name}:{self._shown(self._kind.name, label)}"
