"""Comparison of the log's past with a fork: fields that differ, and the offsets where they do."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from records.base import Record, Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from replay.image.metadata import MetadataImage
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, Key

EPOCHS = frozenset({"leader_epoch", "partition_epoch", "broker_epoch"})
"""Fields that count changes; they still differ between past and fork when the rest is equal."""

_ANY_ORDER = frozenset({"isr", "eligible_leader_replicas", "last_known_elr"})

_Object = tuple[str, Key]


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """A field whose value in the past, `happened`, differs from its value in the fork, `forked`.

    The difference begins at `from_offset`. At `to_offset` the values become equal, or differ in
    another way; None: the difference lasts until the end. The times are those of these offsets, ms
    since 1970.
    """

    object: str
    field: str
    happened: Any
    forked: Any
    from_offset: int
    from_time: int
    to_offset: int | None = None
    to_time: int | None = None


class Comparison:
    """Follows the images of past and fork, comparing the objects that rows may have changed.

    Attributes:
        partings: Differences that have ended, in the order of their ends; see `all_partings`.
        first: First offset at which anything differed; None if there was no difference.
        equal_from: First offset from which past and fork are equal, ignoring epochs and the order
            of ISRs; None while they differ.
    """

    def __init__(self, start_offset: int) -> None:
        """Start with equal images; `start_offset` is the first offset to compare."""
        self.partings: list[Parting] = []
        self.first: int | None = None
        self.equal_from: int | None = start_offset
        self._open: dict[_Object, dict[str, Parting]] = {}
        # Objects of which only epochs or the order of an ISR differ.
        self._alike: set[_Object] = set()

    @property
    def is_equal(self) -> bool:
        """True if nothing currently differs, epochs included."""
        return not self._open and not self._alike

    def all_partings(self) -> list[Parting]:
        """Return current and ended differences, in the order in which they began."""
        lasting = [each for fields in self._open.values() for each in fields.values()]
        return sorted(
            [*self.partings, *lasting],
            key=lambda each: (each.from_offset, each.object, each.field),
        )

    def step(
        self,
        offset: int,
        time: int,
        rows: Iterable[Envelope],
        before: Sequence[MetadataImage],
        past: MetadataImage,
        fork: MetadataImage,
    ) -> None:
        """Compare the images after a step.

        Args:
            offset, time: The step's last offset, and its time.
            rows: All rows written by the step, in the past or in the fork.
            before: The two images before the step.
            past, fork: The images after the step.
        """
        rows = [row for row in rows if not _is_shared(row.payload, past, fork)]
        for of in _touched(rows, before):
            self._compare(of, (offset, time), past, fork)
        if self._open:
            self.equal_from = None
            self.first = offset if self.first is None else self.first
        elif self.equal_from is None:
            self.equal_from = offset

    def _compare(
        self, of: _Object, place: tuple[int, int], past: MetadataImage, fork: MetadataImage
    ) -> None:
        kind = KINDS[of[0]]
        if of[0] == "partition" and of not in self._open and of not in self._alike:
            topic_id, partition_id = cast(tuple[Uuid, int], of[1])
            if past.partition(topic_id, partition_id) == fork.partition(topic_id, partition_id):
                return  # most decisions are about many partitions
        was, now = kind.fields(past, of[1]), kind.fields(fork, of[1])
        differing = _differing(was or {}, now or {})
        if was != now and not differing.keys() - EPOCHS:
            self._alike.add(of)
        else:
            self._alike.discard(of)
        known = self._open.get(of, {})
        found: dict[str, Parting] = {}
        for field, (happened, forked) in differing.items():
            open_ = known.get(field)
            if field in EPOCHS and was is not None and now is not None:
                continue
            if open_ is not None and (open_.happened, open_.forked) == (happened, forked):
                found[field] = open_
                continue
            label = kind.label(past if was is not None else fork, of[1])
            found[field] = Parting(
                object=f"{of[0]}:{label}",
                field=field,
                happened=happened,
                forked=forked,
                from_offset=place[0],
                from_time=place[1],
            )
        for field, open_ in known.items():
            if found.get(field) is not open_:
                ended = msgspec.structs.replace(open_, to_offset=place[0], to_time=place[1])
                self.partings.append(ended)
        if found:
            self._open[of] = found
        else:
            self._open.pop(of, None)


def _is_shared(record: Record, past: MetadataImage, fork: MetadataImage) -> bool:
    """True if past and fork share the part that a record changed, so it need not be compared."""
    return isinstance(record, PartitionChangeRecord) and past.shares_topic(fork, record.topic_id)


def _touched(rows: Iterable[Envelope], before: Sequence[MetadataImage]) -> Iterator[_Object]:
    seen: set[_Object] = set()
    for row in rows:
        for kind, keys in AFFECTED.get(type(row.payload), {}).items():
            for image in before:
                for key in keys(row.payload, image):
                    if (kind, key) not in seen:
                        seen.add((kind, key))
                        yield kind, key


def _differing(was: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        field: (was.get(field), now.get(field))
        for field in dict.fromkeys((*was, *now))
        if not _is_same(field, was.get(field), now.get(field))
    }


def _is_same(field: str, was: Any, now: Any) -> bool:
    if field in _ANY_ORDER and was is not None and now is not None:
        return sorted(was) == sorted(now)
    return bool(was == now)
