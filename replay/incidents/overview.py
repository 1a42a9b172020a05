"""Overview: the facts for a summary of a range, found in one pass over the log."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from metadata_log.format.batch import Batch
from metadata_log.format.parts import Gap
from records.configs import ConfigRecord
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from replay.image.partitions import NO_LEADER
from replay.image.provenance import Provenance
from replay.incidents.addresses import TYPES as OF_ADDRESSES
from replay.incidents.addresses import Addresses, ListenerChange, SharedAddress, joined_shared
from replay.incidents.event import (
    BROKERS,
    CONTROLLERS,
    OTHERS,
    PARTITIONS,
    SILENT,
    TOPICS,
    kind_of,
)
from replay.incidents.health import Health, health
from replay.incidents.leaderless_times import LeaderlessTime, leaderless_times
from replay.incidents.outages import Tracking
from replay.incidents.replay_state import ReplayState
from replay.incidents.restarts import TYPES as OF_RESTARTS
from replay.incidents.restarts import Restarts, Together
from replay.incidents.silences import Silence, silence_before
from replay.incidents.single_replicas import SingleReplicas, single_replicas
from replay.incidents.topic_changes import TopicChanges, TopicLog, is_format, joined_changes
from replay.incidents.under_replicated import ShortOfReplicas, short_of_replicas
from replay.loader import BatchSource, Newest, check_point
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.contradictions import explained
from replay.time_travel.leader_changes import leader_before
from replay.transactions import rows_within

_RECOVERING = 1
"""The recovery state of a leader after an unclean election."""


class Unclean(msgspec.Struct, frozen=True):
    """An unclean election: the record, the partition's object name, and its number of replicas."""

    offset: int
    time: int
    object: str
    replicas: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The facts for a summary of a range, and the state at its end.

    Attributes:
        leaderless: The periods in which any partition had no leader, in order.
        controllers: The node of each active controller whose term began in the range, in order.
        controller_before: The active controller before the range; None if there is none, or it is
            unknown.
        restarts: The restarts of brokers and controllers, in order.
        silences: The silences before the controllers' terms, in order.
        unclean: The unclean elections that the log marks as such (since Kafka 3.2), in order.
        has_noops: True if the range has NoOps, which an idle controller writes since Kafka 3.3.
        shared: The addresses that several brokers advertised, by when that began.
        listeners: The registrations of known brokers with other listeners, in order.
        topics: How topics were changed.
        changes: Number of events by principal (None: unknown). Events of an unknown principal
            count only if they are about topics, and not what a format of the storage wrote.
        short: The partitions that are under-replicated at the end, by when that began.
        single: The partitions that have only one replica at the end.
        brokers, fenced: Number of all registered brokers, and of the fenced ones.
        shut_down: Number of brokers in or after a controlled shutdown.
        shutting_down: Number of those that are not fenced yet.
        provenance: Provenance of the image at the end.
    """

    leaderless: list[LeaderlessTime]
    controllers: tuple[int, ...]
    controller_before: int | None
    restarts: tuple[Together, ...]
    silences: tuple[Silence, ...]
    unclean: tuple[Unclean, ...]
    has_noops: bool
    shared: tuple[SharedAddress, ...]
    listeners: tuple[ListenerChange, ...]
    topics: TopicChanges
    changes: Mapping[str | None, int]
    health: Health
    short: tuple[ShortOfReplicas, ...]
    single: SingleReplicas
    brokers: int
    fenced: int
    shut_down: int
    shutting_down: int
    provenance: Provenance


class OverviewReader:
    """Collects the overview of a range; another reader of the log may pass it the batches."""

    def __init__(
        self,
        source: BatchSource,
        end_offset: int,
        from_offset: int,
        newest: Newest = lambda _: None,
        index: ChangeIndex | None = None,
    ) -> None:
        """Start before a range; arguments and errors as for `find_outages`."""
        check_point(source, end_offset - 1)
        self._source, self._end = source, end_offset
        self._from, self._known_from = from_offset, source.history_start
        self._tracking = Tracking(source, end_offset, from_offset, newest, index)
        tracker = self._tracking.tracker
        self._leader = leader_before(source, from_offset)
        self._restarts = Restarts(
            tracker.state.brokers(),
            tracker.state.controllers(),
            self._leader,
            tracker.down_since,
            tracker.down_by,
        )
        self._addresses = Addresses(tracker.state.brokers())
        self._topics = TopicLog(tracker.state)
        self._by_whom = _ByWhom(self._restarts, self._addresses, self._topics)
        self._silences: list[Silence] = []
        self._unclean: list[Unclean] = []
        self._stateless_from = from_offset

    @property
    def next_offset(self) -> int:
        """The first offset that was not read yet."""
        if self._stateless_from < self._known_from:
            return self._stateless_from
        return self._tracking.next_offset

    def read(self, progress: Callable[[int], None] | None = None) -> None:
        """Read the rest of the range; raises the same errors as `find_outages`."""
        with explained(self._source):
            for batch in self._source.batches(self.next_offset, self._end):
                self.follow(batch)
                if progress is not None:
                    progress(batch.end_offset)

    def follow(self, batch: Batch) -> None:
        """Process a batch up to the range's end, unless it was processed before.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        if self._stateless_from < min(batch.end_offset, self._known_from):
            rows = rows_within(batch, self._stateless_from, self._known_from)
            self._by_whom.add_stateless(rows)
            self._stateless_from = batch.end_offset
        if batch.end_offset > self._tracking.next_offset:
            before = self._tracking.place.last.timestamp
            if batch.end_offset > self._from:
                self._topics.begin()
            for each in self._tracking.follow(batch):
                rows = each.rows_from(self._from)
                self._topics.together(each.rows)
                if len(rows) < len(each.rows):
                    self._by_whom.know([row for row in each.rows if row.offset < self._from])
                self._restarts.last_time = before
                self._by_whom.add(rows)
                self._unclean += _unclean(rows, self._tracking.tracker.state)
                if before:
                    self._silences += silence_before(rows, before)

    def overview(self, until_ms: int | None = None) -> Overview:
        """Return the overview, after the range was read; `until_ms` as for `find_outages`."""
        tracker, place = self._tracking.tracker, self._tracking.place
        outages = self._tracking.finish(self._from, until_ms)
        brokers = list(tracker.state.brokers())
        return Overview(
            leaderless=leaderless_times(outages.intervals),
            controllers=tuple(self._by_whom.controllers),
            controller_before=self._leader,
            restarts=self._restarts_together(),
            silences=tuple(self._silences),
            unclean=tuple(self._unclean),
            has_noops=self._by_whom.has_noops,
            shared=self._addresses.shared(),
            listeners=tuple(self._addresses.changes),
            topics=self._topics.changes(),
            changes=self._by_whom.changes,
            health=health(tracker.state.all_partitions()),
            short=short_of_replicas(outages.intervals, tracker.state),
            single=single_replicas(tracker.state),
            brokers=len(brokers),
            fenced=sum(broker.fenced for broker in brokers),
            shut_down=sum(broker.in_controlled_shutdown for broker in brokers),
            shutting_down=sum(each.in_controlled_shutdown and not each.fenced for each in brokers),
            provenance=tracker.state.provenance(place.of_image),
        )

    def _restarts_together(self) -> tuple[Together, ...]:
        found = self._restarts.together(self._silences)
        partitions_at = self._topics.partitions_at
        return tuple([replace(it, partitions=partitions_at(it.down_offset)) for it in found])


def joined(parts: Sequence[Overview], gaps: Sequence[Gap]) -> Overview:
    """Return the overview of a recording, given those of its parts and the gaps between them.

    A time without a leader that reaches a gap counts once on each side, because it is not known
    whether it ended in the gap; a shared address once in all.
    """
    if not gaps:
        return parts[0]
    changes: Counter[str | None] = Counter()
    for part in parts:
        changes.update(part.changes)
    return replace(
        parts[-1],
        leaderless=[
            _cut(each, gap_before, gap_after)
            for part, gap_before, gap_after in zip(parts, [None, *gaps], [*gaps, None], strict=True)
            for each in part.leaderless
        ],
        controllers=tuple([node for part in parts for node in part.controllers]),
        controller_before=parts[0].controller_before,
        restarts=tuple([each for part in parts for each in part.restarts]),
        silences=tuple([each for part in parts for each in part.silences]),
        unclean=tuple([each for part in parts for each in part.unclean]),
        has_noops=any(part.has_noops for part in parts),
        shared=joined_shared([part.shared for part in parts], gaps),
        listeners=tuple([each for part in parts for each in part.listeners]),
        topics=joined_changes([part.topics for part in parts]),
        changes=changes,
    )


def _cut(time: LeaderlessTime, before: Gap | None, after: Gap | None) -> LeaderlessTime:
    if before is not None and time.from_offset is None:
        time = replace(time, found_at=before.to_offset - 1, is_at_least=True)
    if after is not None and time.to_offset is None:
        time = replace(time, last_seen_at=after.from_offset - 1, is_at_least=True)
    return time


def _unclean(rows: Iterable[Envelope], state: ReplayState) -> Iterator[Unclean]:
    """Yield the unclean elections; the controller sets a leader and its recovery state then."""
    for row in rows:
        record = row.payload
        if (
            isinstance(record, PartitionChangeRecord)
            and record.leader_recovery_state == _RECOVERING
            and record.leader > NO_LEADER
        ):
            name = state.partition_name(record.topic_id, record.partition_id)
            partition = state.partition(record.topic_id, record.partition_id)
            replicas = 0 if partition is None else len(partition.replicas)
            yield Unclean(row.offset, row.timestamp, name, replicas)


class _ByWhom:
    """Counts a timeline's events by principal, without describing them."""

    def __init__(self, restarts: Restarts, addresses: Addresses, topics: TopicLog) -> None:
        self.controllers: list[int] = []
        self.has_noops = False
        self._restarts, self._addresses, self._topics = restarts, addresses, topics
        # By kind and batch, which make an event: the principal of its first record.
        self._principals: dict[tuple[str, int], str | None] = {}

    @property
    def changes(self) -> Counter[str | None]:
        """The number of events by principal."""
        return Counter(
            who for (kind, _), who in self._principals.items() if kind == TOPICS or who is not None
        )

    def know(self, rows: Sequence[Envelope]) -> None:
        """Follow rows before the range."""
        self._restarts.know(rows)
        self._addresses.know(rows)
        self._topics.know(rows)

    def add(self, rows: Sequence[Envelope]) -> None:
        """Add rows that take effect."""
        is_formatting = not self._restarts.has_brokers and is_format(rows)
        for row in rows:
            kind, type_ = kind_of(row.payload), type(row.payload)
            if kind == PARTITIONS:
                continue
            if type_ in OF_RESTARTS:
                self._restarts.add(row)
                if type_ in OF_ADDRESSES:
                    self._addresses.add(row)
            if kind == TOPICS:
                if not (is_formatting and type_ is ConfigRecord):
                    self._topics.add(row)
                    self._add(kind, row)
            elif type_ in SILENT:
                self.has_noops = True
            elif kind == OTHERS:
                self._add(kind, row)
            elif kind == CONTROLLERS:
                self._lead(row)

    def add_stateless(self, rows: Iterable[Envelope]) -> None:
        """Add rows before which the state is unknown; most count as events of the kind OTHERS."""
        for row in rows:
            kind = kind_of(row.payload)
            if kind == CONTROLLERS:
                self._lead(row)
            elif kind != BROKERS and type(row.payload) not in SILENT:
                self._add(OTHERS, row)

    def _lead(self, row: Envelope) -> None:
        assert isinstance(row.payload, LeaderChangeMessage), "no other record begins a term"
        self.controllers.append(row.payload.leader_id)

    def _add(self, kind: str, row: Envelope) -> None:
        principal = None if row.origin is None else row.origin.principal
        self._principals.setdefault((kind, row.batch_offset), principal)
