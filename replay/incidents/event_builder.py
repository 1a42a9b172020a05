"""Replays rows and groups them into the events of a timeline, by the rules of `events.py`."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import UNSET, UnsetType

from records import control, partitions, topics
from records.base import Record
from records.envelope import Envelope
from records.errors import ContradictionError, RecordPlace
from records.text import duration_text
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition
from replay.incidents.affected_objects import GOING, affected_objects
from replay.incidents.causes import BROKER_RECORDS, OWN, Causes, broker_of, is_up
from replay.incidents.compiled_changes import plain_changes
from replay.incidents.event import (
    BROKERS,
    CONTROLLERS,
    GREW,
    OTHERS,
    PARTITIONS,
    SHRANK,
    SILENT,
    TOPICS,
    Group,
    kind_of,
    partition_effects,
)
from replay.incidents.fencing_reasons import FencingReasons
from replay.incidents.flaps import Flaps
from replay.incidents.replay_state import ReplayState
from replay.incidents.unversioned_topics import UnversionedDelta
from replay.incidents.words import detail_of, effect_of
from replay.loader import BatchSource
from replay.time_travel.asked_for import PLANNING, AskedInRange, asked_before

_NEW_PARTITION = ("new partition%s",)


class EventBuilder:
    """Replays rows and groups them into events.

    Attributes:
        last_time: Append time of the last record that was read, set by the caller after each batch.
    """

    def __init__(
        self,
        image: MetadataImage,
        noted: Callable[[control.NoteRecord], object],
        reasons: FencingReasons | None,
    ) -> None:
        delta = UnversionedDelta(image)
        self._topics = delta.topics
        self._state = ReplayState(delta)
        self._noted = noted
        self._asked = AskedInRange(image)
        # What the rows of these events do may have been asked for before the range.
        self._asked_before: list[tuple[Group, Envelope]] = []
        self._causes = Causes(self._state, reasons=reasons)
        self._groups: dict[Hashable, Group] = {}
        # The events of partitions' changes with a cause in an earlier batch, by its offset.
        self._caused: dict[int, Group] = {}
        # Offset of what brought each broker back that is up, since the start of the range.
        self._up: dict[int, int] = {}
        self.flaps = Flaps()
        self._batch_start = 0
        # True while no broker's record can take a partition's leader or replica away.
        self._is_calm = True
        # The last event of each kind whose records are one event because of their batch.
        self._latest: dict[str, Group] = {}
        # The event of the active controller, and its text but for how long it lasted.
        self._term: Group | None = None
        self._term_heading = ""
        self._changed: dict[Group, None] = {}
        self._rules: dict[type[Record], Callable[[Envelope], None]] = {
            partitions.PartitionRecord: self._new_partition,
            control.NoteRecord: self._note,
            control.LeaderChangeMessage: self._leader_change,
            **dict.fromkeys(BROKER_RECORDS, self._broker),
            **dict.fromkeys(GOING, self._going),
            **dict.fromkeys(SILENT, self._state.replay),
        }
        self.last_time = 0
        self._plain = plain_changes(
            "EventChanges",
            delta.topics.live,
            self._partition_set,
            labels=self._state.labels,
            names=self._state.partition_names,
            up=self._up,
            caused=self._caused,
            latest=self._latest,
            changed=self._changed,
            group=Group,
            kinds=(PARTITIONS, TOPICS),
            effects=(GREW, SHRANK, *_NEW_PARTITION),
        )

    def stateless(self, rows: Iterable[Envelope]) -> None:
        """Add events for rows that cannot be replayed, because the state before them is unknown."""
        for row in rows:
            record = row.payload
            if isinstance(record, control.LeaderChangeMessage):
                self._controller(row, record)
            elif type(record) not in SILENT:
                name = type(record).__name__
                kind = BROKERS if type(record) in BROKER_RECORDS else OTHERS
                group = self._batch_group(kind, row)
                group.heading = "before: unknown"
                group.add_detailed(row, (), f"{name}%s", "")

    def follow(self, rows: Sequence[Envelope]) -> None:
        """Replay rows that take effect together, and add their events."""
        self._causes.enter(rows)
        self._batch_start = rows[0].offset if rows else 0
        self._is_calm = self._causes.is_calm
        change, changed, rules, row = (
            self._topics.change,
            self._partition_changed,
            self._rules,
            None,
        )
        left: Iterable[Envelope] = rows
        if self._plain is not None:
            left = self._plain.replay(tuple(rows), self._is_calm)
        try:
            for row in left:
                record = row.payload
                if type(record) is partitions.PartitionChangeRecord:
                    changed(row, *change(record))
                else:
                    rules.get(type(record), self._other)(row)
        except ContradictionError as error:
            assert row is not None, "a row contradicts the state"
            raise error.replaced(record=RecordPlace.of(row)) from None

    def groups(self) -> Iterable[Group]:
        """Return the groups of rows that form the events, except flaps, in a fixed order."""
        return self._groups.values()

    def changed_groups(self) -> list[Group]:
        """Return the groups that were made or changed since the last call."""
        found = list(self._changed)
        self._changed.clear()
        return found

    def add_asked_before(self, source: BatchSource, until: int) -> None:
        """Add requests from before the range to the events that they asked for.

        Reads the log before the range if there may be such requests.
        """
        if self._asked_before:
            found = asked_before(source, [row for _, row in self._asked_before], until)
            for group, row in self._asked_before:
                group.add_asked(found.get(row.offset, ()))
            self._asked_before = []

    def add_duration_of_term(self, until_ms: int) -> None:
        """Add the duration of the current controller's term to the event that began the term.

        Args:
            until_ms: Time up to which to count; the time of the last record if that is later.
        """
        if self._term is not None:
            until = max(until_ms, self.last_time)
            lasted_ms = max(0, until - self._term.first.timestamp)
            self._add_duration(lasted_ms, f"for {duration_text(lasted_ms)}")

    def _group(self, key: Hashable, kind: str, row: Envelope, cause: int | None = None) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(len(self._groups), kind, row, cause)
        self._changed[group] = None
        return group

    def _batch_group(self, kind: str, row: Envelope) -> Group:
        """Return the group of the records of a kind in a row's batch."""
        group = self._latest.get(kind)
        if group is None or group.first.batch_offset != row.batch_offset:
            group = self._latest[kind] = self._group((kind, row.batch_offset), kind, row)
        return group

    def _controller(self, row: Envelope, record: control.LeaderChangeMessage) -> None:
        self._end_term(row.timestamp)
        group = self._group((CONTROLLERS, row.offset), CONTROLLERS, row)
        group.heading = f"controller {record.leader_id} became active in epoch {row.leader_epoch}"
        group.add(row, f"controller:{record.leader_id}")
        self._term, self._term_heading = group, group.heading

    def _end_term(self, time: int) -> None:
        """Add the duration of the active controller's term to the event that began the term.

        A controller may have been down long before the next one became active, so the event also
        contains the time of the term's last record.
        """
        if self._term is None:
            return
        began = self._term.first.timestamp
        wrote_ms, whole_ms = (max(0, end - began) for end in (self.last_time, time))
        wrote = duration_text(wrote_ms)
        if wrote == duration_text(whole_ms):
            self._add_duration(whole_ms, f"for {wrote}")
            return
        active = f"for at least {wrote}" if wrote_ms else "wrote only this record"
        rest = duration_text(whole_ms - wrote_ms)
        self._add_duration(wrote_ms, f"{active}; the next controller {rest} later", whole_ms)

    def _add_duration(
        self, active_ms: int, lasted: str, active_ms_max: int | UnsetType = UNSET
    ) -> None:
        if self._term is None:
            return
        self._term.active_ms, self._term.active_ms_max = active_ms, active_ms_max
        self._term.heading = f"{self._term_heading}, {lasted}"
        self._changed[self._term] = None

    def _leader_change(self, row: Envelope) -> None:
        self._state.replay(row)
        assert isinstance(row.payload, control.LeaderChangeMessage)
        self._controller(row, row.payload)

    def _other(self, row: Envelope) -> None:
        self._state.replay(row)
        self._tell(row)

    def _going(self, row: Envelope) -> None:
        group, record = self._tell(row), row.payload
        self._state.replay(row)
        if isinstance(record, topics.RemoveTopicRecord | topics.MoveTopicRecord):
            self._state.forget_label(record.topic_id)
        if isinstance(record, topics.MoveTopicRecord):
            group.names.update(dict.fromkeys(affected_objects(record, self._state)))

    def _note(self, row: Envelope) -> None:
        self._other(row)
        assert isinstance(row.payload, control.NoteRecord)
        self._noted(row.payload)

    def _tell(self, row: Envelope) -> Group:
        """Add a record to the group of its kind in its batch; return the group."""
        record, state = row.payload, self._state
        group = self._batch_group(kind_of(record), row)
        names, effect = affected_objects(record, state), effect_of(record, state)
        group.add_detailed(row, names, effect, detail_of(record, state))
        if type(record) in PLANNING:
            self._ask(group, row)
        return group

    def _ask(self, group: Group, row: Envelope, before: Partition | None = None) -> None:
        """Add the earlier requests behind a row's changes to the group."""
        found = self._asked.of(row, before)
        group.add_asked([asked for asked in found if asked is not None])
        if None in found:
            self._asked_before.append((group, row))

    def _new_partition(self, row: Envelope) -> None:
        _, after = self._state.set_partition(row)
        self._partition_made(row, after)

    def _partition_set(self, row: Envelope, before: Partition | None, after: Partition) -> None:
        if before is None:
            self._partition_made(row, after)
        else:
            self._partition_changed(row, before, after)

    def _partition_made(self, row: Envelope, after: Partition) -> None:
        name = self._state.partition_name(after.topic_id, after.partition_id)
        self._batch_group(TOPICS, row).add(row, name, _NEW_PARTITION)

    def _broker(self, row: Envelope) -> None:
        broker_id = broker_of(row.payload)
        before = self._state.broker(broker_id)
        down = self._causes.down_by(row, before)
        self._state.replay(row)
        self._causes.broker_changed(row, before)
        after = self._state.broker(broker_id)
        if before == after:
            return
        text = f"broker {broker_id} changed its registration" if down is None else down.text
        if not is_up(after):
            self._up.pop(broker_id, None)
            if is_up(before):
                self.flaps.lost(f"broker:{broker_id}", row)
        elif not is_up(before):
            self._up[broker_id] = row.offset
            self.flaps.back(f"broker:{broker_id}", row)
            text = f"broker {broker_id} was unfenced"
        group = self._group(row.offset, BROKERS, row, row.offset)
        group.heading = text
        group.add(row, f"broker:{broker_id}")

    def _partition_changed(self, row: Envelope, before: Partition, after: Partition) -> None:
        """Add the change of a partition that a record has made."""
        is_moved = before.leader != after.leader
        # What a record leaves alone is the same object.
        cause = self._cause(row, before, after) if is_moved or before.isr is not after.isr else None
        if cause is None:
            group = self._batch_group(PARTITIONS, row)
        else:
            group = self._caused.get(cause) or self._caused_group(row, cause)
            self._changed[group] = None
        name = self._state.partition_name(after.topic_id, after.partition_id)
        group.add(row, name, partition_effects(before, after, is_alone=cause is None))
        # What a record leaves alone is the same object.
        if (
            before.replicas is not after.replicas
            or before.adding_replicas is not after.adding_replicas
            or before.removing_replicas is not after.removing_replicas
            or before.mode != after.mode
        ):
            self._ask(group, row, before)
        if is_moved:
            if after.leader == NO_LEADER:
                self.flaps.lost(name, row)
            elif before.leader == NO_LEADER:
                self.flaps.back(name, row)

    def _caused_group(self, row: Envelope, cause: int) -> Group:
        if cause >= self._batch_start:
            # Reported with the broker's record, which may come later in the batch.
            return self._group(cause, BROKERS, row, cause)
        group = self._caused[cause] = self._group((PARTITIONS, cause), PARTITIONS, row, cause)
        return group

    def _cause(self, row: Envelope, before: Partition, after: Partition) -> int | None:
        """Return the offset of the broker's record that caused a partition change, or None."""
        led, leader, old, new, up = before.leader, after.leader, before.isr, after.isr, self._up
        if len(new) >= len(old) and not leader == NO_LEADER != led:
            came = -1
            for each in new:
                if each not in old and each in up and up[each] > came:
                    came = up[each]
            if led == NO_LEADER and leader in up and up[leader] > came:
                came = up[leader]
            if came >= 0:
                return came
            if led == leader:
                return None
        # A broker that shuts down hands its leads over before it leaves the ISR.
        if self._is_calm:
            return None
        found = self._causes.of_brokers(row, before, after)
        return None if found is None or found is OWN else found.offset
