"""An event of a timeline: related records, described in words."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from records import configs, control, partitions, topics
from records.base import Record
from records.envelope import Envelope
from replay.image.partitions import NO_LEADER, NONE, READ_ONLY, READ_WRITE, Partition
from replay.incidents.by_people import is_by_people
from replay.incidents.causes import BROKER_RECORDS
from replay.incidents.why import is_unclean
from replay.time_travel.asked_for import Asker

CONTROLLERS = "controllers"
BROKERS = "brokers"
PARTITIONS = "partitions"
TOPICS = "topics"
NOTES = "notes"
OTHERS = "others"

KINDS = (CONTROLLERS, BROKERS, PARTITIONS, TOPICS, NOTES, OTHERS)

SILENT: frozenset[type[Record]] = frozenset({control.NoOpRecord, control.NoOpRunRecord})
"""Types of the records that appear in no event."""

_KIND_OF_TYPE: dict[type[Record], str] = {
    topics.TopicRecord: TOPICS,
    topics.RemoveTopicRecord: TOPICS,
    topics.MoveTopicRecord: TOPICS,
    partitions.PartitionRecord: TOPICS,
    partitions.RemovePartitionsRecord: TOPICS,
    partitions.PartitionChangeRecord: PARTITIONS,
    configs.ConfigRecord: TOPICS,
    control.NoteRecord: NOTES,
    control.LeaderChangeMessage: CONTROLLERS,
    **dict.fromkeys(BROKER_RECORDS, BROKERS),
}


def kind_of(record: Record) -> str:
    """Return the kind of event that describes a record; the record's type must not be in SILENT.

    A partition change caused by a broker's record is described in the event of that record.
    """
    return _KIND_OF_TYPE.get(type(record), OTHERS)


GREW = "ISR%s grew"
SHRANK = "ISR%s shrank"
"""Effects of records that change the size of an ISR."""

_DETAILS_MAX = 3
"""Maximum number of details per effect; if an effect occurs more often, it is only counted."""


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
        asked: The earlier records that requested this event's changes, ordered by offset.
        by_people: True if a person or a tool asked for the change; otherwise unset.
        active_ms: For an event that begins a controller's term: how long that controller was
            active, up to the end of the range, or at least, up to the last record of the term.
        active_ms_max: How long it was active at most, up to the next controller's first record; set
            only if that is longer.
        is_flap: True if the event sums up others, and so comes after the last of them; otherwise
            unset.
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
    asked: tuple[Asker, ...] | UnsetType = UNSET
    by_people: bool | UnsetType = UNSET
    active_ms: int | UnsetType = UNSET
    active_ms_max: int | UnsetType = UNSET
    is_flap: bool | UnsetType = UNSET


def in_order(events: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """Return events ordered by their first record; what sums up others comes after the last."""
    return sorted(events, key=_order)


def _order(event: TimelineEvent) -> tuple[int, bool]:
    is_flap = event.is_flap is True
    return event.to_offset if is_flap else event.from_offset, is_flap


class Group:
    """Collects the records of one event.

    Attributes:
        number: Number of the range's events that were created before this one.
        first, last: The first and the last record; records are added in the order of the log.
        names: Names of the changed objects, in the order of the log.
        counts: Number of records with each effect, a text in which %s stands for a plural s.
    """

    __slots__ = (
        *(
            "_asked",
            "_cause",
            "_details",
            "active_ms",
            "active_ms_max",
            "counts",
            "first",
            "heading",
            "kind",
            "last",
        ),
        *("names", "number"),
    )

    def __init__(self, number: int, kind: str, first: Envelope, cause: int | None = None) -> None:
        self.number = number
        self.kind = kind
        self.heading = ""
        self.active_ms: int | UnsetType = UNSET
        self.active_ms_max: int | UnsetType = UNSET
        self.first = self.last = first
        self.names: dict[str, None] = {}
        self.counts: dict[str, int] = {}
        self._cause = cause
        self._asked: dict[int, Asker] = {}
        # The first few details of each effect.
        self._details: dict[str, list[str]] = {}

    def add(self, row: Envelope, name: str, effects: Sequence[str] = ()) -> None:
        """Add a record, the name of the object it changed, and its effects, which are counted."""
        self.last = row
        self.names[name] = None
        counts = self.counts
        for effect in effects:
            counts[effect] = counts.get(effect, 0) + 1

    def add_detailed(self, row: Envelope, names: Iterable[str], effect: str, detail: str) -> None:
        """Add a record, the names of the objects it changed, and its effect.

        Args:
            detail: More about the effect, shown if the effect occurs only a few times in the event.
        """
        self.last = row
        for name in names:
            self.names[name] = None
        count = self.counts.get(effect, 0)
        if detail and count < _DETAILS_MAX:
            self._details.setdefault(effect, []).append(detail)
        self.counts[effect] = count + 1

    def add_asked(self, rows: Iterable[Envelope]) -> None:
        """Add earlier rows that requested the changes of the group's records."""
        for row in rows:
            self._asked.setdefault(row.offset, Asker.of(row))

    def event(self) -> TimelineEvent:
        """Return the event."""
        origin = self.first.origin
        effects = ", ".join(
            [
                _text(count, effect, self._details.get(effect, ()))
                for effect, count in self.counts.items()
            ]
        )
        return TimelineEvent(
            from_offset=self.first.offset,
            to_offset=self.last.offset,
            time=self.first.timestamp,
            kind=self.kind,
            text=": ".join(filter(None, (self.heading, effects))),
            objects=tuple(self.names),
            cause=self._cause,
            principal=None if origin is None else origin.principal,
            reason=None if origin is None else origin.reason,
            client=None if origin is None else origin.client,
            asked=tuple([asker for _, asker in sorted(self._asked.items())]) or UNSET,
            by_people=is_by_people(self.first) or UNSET,
            active_ms=self.active_ms,
            active_ms_max=self.active_ms_max,
        )


def partition_effects(
    before: Partition, after: Partition, *, is_alone: bool = False
) -> tuple[str, ...]:
    """Return the effects of a record on a partition, as texts in which %s stands for a plural s.

    Equal texts are counted, so that one text can stand for many partitions.

    Args:
        is_alone: True if no broker's record was the cause: the text then names the new leader.
    """
    # What a record leaves alone is the same object.
    if (
        before.leader == after.leader
        and before.replicas is after.replicas
        and before.adding_replicas is after.adding_replicas
        and before.mode == after.mode
    ):
        grown = len(after.isr) - len(before.isr)
        return _GREW if grown > 0 else _SHRANK if grown else _other_effects(before, after)
    effects: list[str] = []
    if before.leader != after.leader:
        if after.leader == NO_LEADER:
            if after.mode != NONE:
                effects.append("partition%s lost their leader")
        elif is_unclean(before, after):
            effects.append("unclean election%s")
        elif before.leader == NO_LEADER:
            effects.append("partition%s got a leader again")
        else:
            effects.append(_moved(after) if is_alone else "leader%s moved")
    if len(after.isr) < len(before.isr):
        effects += _SHRANK
    elif len(after.isr) > len(before.isr):
        effects += _GREW
    if before.replicas != after.replicas or before.adding_replicas != after.adding_replicas:
        effects.append("assignment%s changed")
    if before.mode != after.mode:
        effects.append(_MODES.get(after.mode, "mode%s changed"))
    return tuple(effects) or _other_effects(before, after)


def _moved(after: Partition) -> str:
    if after.replicas[:1] == (after.leader,):
        return "leader%s moved to the preferred replica"
    return f"leader%s moved to broker {after.leader}"


def _other_effects(before: Partition, after: Partition) -> tuple[str, ...]:
    """Return the effects of a record that changed neither leader, ISR size, replicas nor mode."""
    # The epochs rise with every record.
    effects = [
        text for name, text in _OTHERS.items() if getattr(before, name) != getattr(after, name)
    ]
    return tuple(dict.fromkeys(effects)) or ("leader epoch%s raised",)


_MODES = {
    READ_WRITE: "partition%s writable again",
    READ_ONLY: "partition%s made read-only before removal",
    NONE: "partition%s taken offline for removal",
}
_ELR = "set%s of eligible leaders changed"
_OTHERS = {
    "isr": "ISR%s changed",
    "removing_replicas": "assignment%s changed",
    "leader_recovery_state": "recovery state%s after an unclean election changed",
    "eligible_leader_replicas": _ELR,
    "last_known_elr": _ELR,
    "directories": "log directory assignment%s changed",
}


_SHRANK = (SHRANK,)
_GREW = (GREW,)


def _text(count: int, effect: str, details: Sequence[str]) -> str:
    text = _counted(count, effect)
    return f"{text} ({', '.join(details)})" if details and count <= _DETAILS_MAX else text


def _counted(count: int, effect: str) -> str:
    if "%s" not in effect:
        return effect if count == 1 else f"{count:,} {effect}"
    text = effect % ("" if count == 1 else "s")
    return f"{count:,} {text.replace('lost their', 'lost its') if count == 1 else text}"
