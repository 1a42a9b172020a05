"""An event of a timeline: related records, described in words."""

import msgspec
from msgspec import UNSET, UnsetType

from records.envelope import Envelope
from replay.image.partitions import NO_LEADER, Partition
from replay.incidents.why import is_unclean

CONTROLLERS = "controllers"
BROKERS = "brokers"
PARTITIONS = "partitions"
TOPICS = "topics"
NOTES = "notes"
OTHERS = "others"

KINDS = (CONTROLLERS, BROKERS, PARTITIONS, TOPICS, NOTES, OTHERS)


_DETAILS_MAX = 3
"""An event that has an effect more often only counts it."""


class TimelineEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The effect of one or several related records.

    Attributes:
        from_offset, to_offset: Offsets of the first and the last record. Unrelated records may lie
        between them.
        time: Append time of the first record, ms since 1970.
        kind: One of KINDS.
        objects: Names of the changed objects, in the order of the log.
        cause: Offset of the record that caused the event, possibly one of the event's own records.
            None if the cause is unknown, or if no record caused the event (a decision of the
            controller).
        principal, reason, client: Principal, reason, and client with its address, of the request
            that wrote the first record, as far as the log contains them.
        active_ms: For an event that begins a controller's term: how long that controller was
            active, up to the end of the range.
    """

    from_offset: int
    to_offset: int
    time: int
    kind: str
    text: str
    objects: tuple[str, ...]
    cause: int | None
    principal: str | None
    reason: str | None = None
    client: str | None = None
    active_ms: int | UnsetType = UNSET


class Group:
    """Collects the records of one event.

    Attributes:
        number: How many events of the range were made before this one.
    """

    __slots__ = (
        *("_cause", "_counts", "_details", "_first", "_last", "_objects"),
        *("active_ms", "heading", "kind", "number"),
    )

    def __init__(self, number: int, kind: str, first: Envelope, cause: int | None = None) -> None:
        self.number = number
        self.kind = kind
        self.heading = ""
        self.active_ms: int | UnsetType = UNSET
        self._first = self._last = first
        self._cause = cause
        self._objects: dict[str, None] = {}
        # How often what was done together.
        self._counts: dict[tuple[str, ...], int] = {}
        # The first few details of each.
        self._details: dict[tuple[str, ...], list[str]] = {}

    @property
    def first(self) -> Envelope:
        """The first record."""
        return self._first

    @property
    def objects(self) -> int:
        """The number of changed objects."""
        return len(self._objects)

    def touch(self, name: str) -> None:
        """Add the name of a changed object."""
        self._objects[name] = None

    def add(
        self, row: Envelope, name: str | None, effects: tuple[str, ...], detail: str = ""
    ) -> None:
        """Add a record, the name of the object it changed, and its effects, which are counted.

        Args:
            detail: More about the effects, shown if the event has them only a few times.
        """
        if row.offset > self._last.offset:
            self._last = row
        elif row.offset < self._first.offset:
            self._first = row
        if name is not None:
            self._objects[name] = None
        if effects:
            count = self._counts.get(effects, 0)
            if detail and count < _DETAILS_MAX:
                self._details.setdefault(effects, []).append(detail)
            self._counts[effects] = count + 1

    def event(self) -> TimelineEvent:
        """Return the event."""
        origin = self._first.origin
        counts: dict[str, int] = {}
        details: dict[str, list[str]] = {}
        for together, count in self._counts.items():
            for effect in together:
                counts[effect] = counts.get(effect, 0) + count
                details.setdefault(effect, []).extend(self._details.get(together, ()))
        effects = ", ".join(
            [_told(count, effect, details[effect]) for effect, count in counts.items()]
        )
        return TimelineEvent(
            from_offset=self._first.offset,
            to_offset=self._last.offset,
            time=self._first.timestamp,
            kind=self.kind,
            text=": ".join(filter(None, (self.heading, effects))),
            objects=tuple(self._objects),
            cause=self._cause,
            principal=None if origin is None else origin.principal,
            reason=None if origin is None else origin.reason,
            client=None if origin is None else origin.client,
            active_ms=self.active_ms,
        )


def partition_effects(before: Partition, after: Partition) -> tuple[str, ...]:
    """Return the effects of a record on a partition, as texts in which %s marks a plural s.

    Equal texts are counted, so that one text can stand for many partitions.
    """
    # What a record leaves alone is the same object.
    if (
        before.leader == after.leader
        and before.replicas is after.replicas
        and before.adding_replicas is after.adding_replicas
        and before.mode == after.mode
    ):
        grown = len(after.isr) - len(before.isr)
        return _GREW if grown > 0 else _SHRANK if grown else _OTHERWISE
    effects: list[str] = []
    if before.leader != after.leader:
        if after.leader == NO_LEADER:
            effects.append("partition%s lost their leader")
        elif is_unclean(before, after):
            effects.append("unclean election%s")
        elif before.leader == NO_LEADER:
            effects.append("partition%s got a leader again")
        else:
            effects.append("leader%s moved")
    if len(after.isr) < len(before.isr):
        effects += _SHRANK
    elif len(after.isr) > len(before.isr):
        effects += _GREW
    if before.replicas != after.replicas or before.adding_replicas != after.adding_replicas:
        effects.append("assignment%s changed")
    if before.mode != after.mode:
        effects.append("mode%s changed")
    return tuple(effects) or _OTHERWISE


_SHRANK = ("ISR%s shrank",)
_GREW = ("ISR%s grew",)
_OTHERWISE = ("partition%s changed otherwise",)


def _told(count: int, effect: str, details: list[str]) -> str:
    text = _counted(count, effect)
    return f"{text} ({', '.join(details)})" if details and count <= _DETAILS_MAX else text


def _counted(count: int, effect: str) -> str:
    if "%s" not in effect:
        return effect if count == 1 else f"{count:,} {effect}"
    text = effect % ("" if count == 1 else "s")
    return f"{count:,} {text.replace('lost their', 'lost its') if count == 1 else text}"
