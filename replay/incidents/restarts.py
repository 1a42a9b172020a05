"""Restarts of brokers and controllers: how the run before ended, and who restarted together."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

import msgspec
from msgspec.structs import replace

from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.cluster import Broker, Controller
from replay.incidents.causes import Cause, is_by_silence, is_inferred_stop, is_up
from replay.incidents.silences import Silence

TOGETHER_MS_MAX = 120_000
"""Maximum time between the first and the last registration of nodes that restarted together, ms."""

DOWN_LATER_MS_MAX = 5_000
"""Maximum time in which a node goes down after the first one is back. In a rolling restart the next
node goes down later."""

SAME_MS_MAX = 60_000
"""Maximum time between two records of one node that show the same restart, ms."""


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """A restart of one node.

    Attributes:
        offset, time: Offset and append time of the registration (or term) that shows it.
        down_offset, down_time: Those of the record by which the node went down, or which shows that
            its process had restarted before it registered; those of the registration if there is
            neither.
        is_clean: True after a controlled shutdown, False if the node was up until it registered
            again, or had missed its heartbeats. None if unknown: a broker that leads nothing is
            fenced when it stops, too.
        is_inferred: True if the shutdown is not recorded, but follows from other records.
    """

    node_id: int
    offset: int
    time: int
    down_offset: int
    down_time: int
    is_clean: bool | None
    is_inferred: bool = False


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """One restart of one node, or of several at the same time.

    Attributes:
        is_all: True if these are all brokers that were registered.
        is_both: True if they are brokers and controllers, each in one process.
        seen_time: Append time of the last record before that one of them wrote as the controller;
            None if it is not known, or if the log has none between that and their restart.
        partitions: Number of partitions that there were when the first of them went down.
        wrote_ms: For a restart of a controller: time from the first to the last record of the term
            that shows it, if the term ended.
    """

    is_broker: bool
    is_all: bool
    is_both: bool
    restarts: tuple[Restart, ...]
    seen_time: int | None = None
    partitions: int = 0
    wrote_ms: int | None = None

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes, ascending."""
        return tuple(sorted(each.node_id for each in self.restarts))

    @property
    def down_time(self) -> int:
        """When the first of the nodes went down, ms since 1970."""
        return min(each.down_time for each in self.restarts)

    @property
    def down_offset(self) -> int:
        """The first record by which one of the nodes went down."""
        return min(each.down_offset for each in self.restarts)

    @property
    def is_clean(self) -> bool | None:
        """True if all were shut down, False if one was not, None if unknown.

        One of which it is unknown went down with one that was shut down: so it was, too.
        """
        ends = {each.is_clean for each in self.restarts}
        if False in ends:
            return False
        clean = [each.down_time for each in self.restarts if each.is_clean]
        return True if all(_is_near(each.down_time, clean) for each in self.restarts) else None

    @property
    def is_inferred(self) -> bool:
        """True if all were shut down, but no record says so of any of them."""
        recorded = [each for each in self.restarts if each.is_clean and not each.is_inferred]
        return self.is_clean is True and not recorded

    def off_ms(self, since: int) -> int:
        """Return how long all of the nodes were off, as far as the log shows it.

        It does not show when a controller stopped.

        Args:
            since: Time of their restart before, ms since 1970.
        """
        if not self.is_broker:
            return 0
        down = max(since, *(each.down_time for each in self.restarts))
        return max(0, min(each.time for each in self.restarts) - down)

    def off_ms_most(self, since: int) -> int | None:
        """Return how long they may have been off, as `off_ms`; None if that is not known."""
        least = self.off_ms(since)
        if self.is_clean:
            return least
        if self.seen_time is None:
            return None
        seen = max(since, self.seen_time)
        return max(least, min(each.time for each in self.restarts) - seen)


def _is_near(time: int, others: Iterable[int]) -> bool:
    return any(abs(time - other) <= DOWN_LATER_MS_MAX for other in others)


class _Run(msgspec.Struct):
    """The current run of a broker.

    Attributes:
        down: Place of the record by which it went down; None while it is up.
        is_shut_down: True after it began a controlled shutdown.
    """

    incarnation_id: Uuid
    down: tuple[int, int] | None
    is_shut_down: bool


class Restarts:
    """Collects the restarts in a range: a new registration, or a new term of the only voter.

    Attributes:
        last_time: Append time of the record before the row that is added, set by the caller.
    """

    def __init__(
        self,
        brokers: Iterable[Broker],
        controllers: Iterable[Controller],
        leader: int | None,
        down_since: Callable[[int], tuple[int, int] | None],
        down_by: Callable[[int], Cause | None],
    ) -> None:
        """Start with the registered brokers and controllers before the first row.

        Args:
            leader: The active controller before the range; None if unknown.
            down_since: Returns offset and time of the record by which a broker went down that is
                down; None if that is before the kept history.
            down_by: Returns why a broker is down; called when its registration was followed.
        """
        self._down_by = down_by
        self._brokers = {
            each.broker_id: _Run(
                each.incarnation_id,
                None if is_up(each) else down_since(each.broker_id) or _UNKNOWN,
                each.in_controlled_shutdown,
            )
            for each in brokers
        }
        self._controllers = {each.controller_id: each.incarnation_id for each in controllers}
        self._leader = leader
        # Nodes that were voters or controllers, and who led before each term.
        self._voters = set(self._controllers) | ({leader} if leader is not None else set())
        self._terms: list[tuple[int, int | None]] = []
        # By the first offset of each term that ended: time from its first to its last record.
        self._wrote: dict[int, int] = {}
        self._term: Envelope | None = None
        self.last_time = 0
        self._of_brokers: list[tuple[Restart, frozenset[int]]] = []
        self._of_controllers: list[Restart] = []
        self._of_terms: list[Restart] = []
        self._rules: dict[type[Record], Callable[[Envelope], None]] = {
            RegisterBrokerRecord: self._register,
            UnregisterBrokerRecord: self._unregister,
            FenceBrokerRecord: self._fence,
            UnfenceBrokerRecord: self._unfence,
            BrokerRegistrationChangeRecord: self._change,
            RegisterControllerRecord: self._register_controller,
            UnregisterControllerRecord: self._unregister_controller,
            LeaderChangeMessage: self._lead,
        }

    @property
    def has_brokers(self) -> bool:
        """True if any broker is registered."""
        return bool(self._brokers)

    def know(self, rows: Iterable[Envelope]) -> None:
        """Follow rows before the range, whose restarts do not count."""
        for row in rows:
            if type(row.payload) in TYPES - {LeaderChangeMessage}:
                self.add(row)
        self._of_brokers.clear()
        self._of_controllers.clear()

    def add(self, row: Envelope) -> None:
        """Add a row of the range whose type is one of TYPES."""
        self._rules[type(row.payload)](row)

    def together(self, silences: Sequence[Silence] = ()) -> tuple[Together, ...]:
        """Return all restarts, in order; those of a node by what shows them best.

        Args:
            silences: The silences before the controllers' terms, in order.
        """
        told = [each for each, _ in self._of_brokers]
        others: list[Restart] = []
        for restarts in (self._of_controllers, self._of_terms):
            told, rest = _merged(told, restarts, _of_process)
            others, rest = _merged(others, rest, _from_term)
            others += rest
        registered = [brokers for _, brokers in self._of_brokers]
        found = [*_brokers_together([*zip(told, registered, strict=False)])]
        found += [
            Together(
                is_broker=False,
                is_all=False,
                is_both=False,
                restarts=(each,),
                wrote_ms=self._wrote_of(each),
            )
            for each in others
        ]
        leaders = dict(self._terms)
        found = [self._placed(each, silences, leaders) for each in found]
        return tuple(sorted(found, key=lambda each: each.restarts[0].offset))

    def _wrote_of(self, restart: Restart) -> int | None:
        """Return how long the restarted controller wrote, if its term shows the restart."""
        index = bisect_right(self._terms, restart.offset, key=itemgetter(0))
        begin = self._terms[index - 1][0] if index else -1
        return self._wrote.get(begin) if begin >= restart.down_offset else None

    def _placed(
        self, each: Together, silences: Sequence[Silence], leaders: Mapping[int, int | None]
    ) -> Together:
        """Return a restart with `is_both` and `seen_time`.

        Args:
            leaders: The controller before each term, by the offset with which the term begins.
        """
        first, seen = each.restarts[0], None
        before = bisect_right(silences, first.offset, key=attrgetter("offset"))
        if before and first.time - silences[before - 1].time <= SAME_MS_MAX:
            silence = silences[before - 1]
            seen = silence.begin_time if leaders.get(silence.offset) in each.nodes else None
        is_both = all(node in self._voters and node in self._brokers for node in each.nodes)
        return replace(each, is_both=is_both, seen_time=seen)

    def _register(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, RegisterBrokerRecord)
        before = self._brokers.get(record.broker_id)
        if before is not None and before.incarnation_id != record.incarnation_id:
            restart = self._restarted(row, record.broker_id, before)
            self._of_brokers.append((restart, frozenset(self._brokers)))
        is_down = record.fenced or record.in_controlled_shutdown
        down = (before and before.down) or _place(row)
        self._brokers[record.broker_id] = _Run(
            record.incarnation_id, down if is_down else None, record.in_controlled_shutdown
        )

    def _restarted(self, row: Envelope, broker_id: int, before: _Run) -> Restart:
        """Return the restart that a registration shows, given the run before."""
        down = before.down or _place(row)
        if before.is_shut_down or before.down is None:
            return _restart(broker_id, row, down, before.is_shut_down)
        cause = self._down_by(broker_id)
        if cause is not None and is_inferred_stop(cause):
            return replace(_restart(broker_id, row, down, True), is_inferred=True)
        is_missed = cause is not None and is_by_silence(cause)
        return _restart(broker_id, row, down, False if is_missed else None)

    def _unregister(self, row: Envelope) -> None:
        assert isinstance(row.payload, UnregisterBrokerRecord)
        self._brokers.pop(row.payload.broker_id, None)

    def _fence(self, row: Envelope) -> None:
        assert isinstance(row.payload, FenceBrokerRecord)
        self._set(row.payload.id, row, is_down=True)

    def _unfence(self, row: Envelope) -> None:
        assert isinstance(row.payload, UnfenceBrokerRecord)
        self._set(row.payload.id, row, is_down=False)

    def _change(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, BrokerRegistrationChangeRecord)
        if record.in_controlled_shutdown and (run := self._brokers.get(record.broker_id)):
            run.is_shut_down = True
        if record.fenced or record.in_controlled_shutdown:
            self._set(record.broker_id, row, is_down=record.fenced != _UNFENCED)

    def _set(self, broker_id: int, row: Envelope, *, is_down: bool) -> None:
        run = self._brokers.get(broker_id)
        if run is None:
            return
        if not is_down:
            run.down, run.is_shut_down = None, False
        elif run.down is None:
            run.down = _place(row)

    def _register_controller(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, RegisterControllerRecord)
        before = self._controllers.get(record.controller_id)
        if before not in (None, record.incarnation_id):
            self._of_controllers.append(_restart(record.controller_id, row, _place(row), None))
        self._controllers[record.controller_id] = record.incarnation_id
        self._voters.add(record.controller_id)

    def _unregister_controller(self, row: Envelope) -> None:
        assert isinstance(row.payload, UnregisterControllerRecord)
        self._controllers.pop(row.payload.controller_id, None)

    def _lead(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, LeaderChangeMessage)
        # One of several voters may be elected again without a restart.
        if record.leader_id == self._leader and len(record.voters) == 1:
            self._of_terms.append(_restart(record.leader_id, row, _place(row), None))
        self._voters.update(each.voter_id for each in record.voters)
        self._terms.append((row.offset, self._leader))
        if self._term is not None:
            self._wrote[self._term.offset] = max(0, self.last_time - self._term.timestamp)
        self._leader, self._term = record.leader_id, row


_UNFENCED = -1
"""Value of a registration change's `fenced` that says that the broker is no longer fenced."""

_UNKNOWN = (-1, 0)
"""Place of a record before the kept history."""

TYPES: frozenset[type[Record]] = frozenset(
    {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        BrokerRegistrationChangeRecord,
        RegisterControllerRecord,
        UnregisterControllerRecord,
        LeaderChangeMessage,
    }
)
"""Types of the records that show restarts."""


def _merged(
    told: Iterable[Restart],
    restarts: Iterable[Restart],
    joined: Callable[[Restart, Restart], Restart],
) -> tuple[list[Restart], list[Restart]]:
    """Return the told restarts, joined with those that belong to them, and the rest of these.

    A node leads, then registers as a controller, then as a broker: the last one before is best.
    """
    found, rest = [], list(restarts)
    for each in told:
        near = [it for it in rest if it.node_id == each.node_id and _apart(it, each) <= SAME_MS_MAX]
        if near:
            same = min(near, key=lambda it: (it.offset > each.offset, _apart(it, each)))
            rest.remove(same)
            each = joined(each, same)
        found.append(each)
    return found, rest


def _of_process(broker: Restart, process: Restart) -> Restart:
    """Return a broker's restart, given one that shows when its process was back."""
    if process.offset >= broker.down_offset:
        return broker
    # It was missed, or registered again, only after that.
    place = {"down_offset": process.offset, "down_time": process.time}
    return replace(broker, **place, is_clean=False, is_inferred=False)


def _from_term(controller: Restart, term: Restart) -> Restart:
    """Return a controller's restart, given the term that shows its process before it registered."""
    if term.offset >= controller.down_offset:
        return controller
    return replace(controller, down_offset=term.offset, down_time=term.time)


def _apart(one: Restart, other: Restart) -> int:
    return abs(one.time - other.time)


def _brokers_together(
    restarts: Sequence[tuple[Restart, frozenset[int]]],
) -> Iterator[Together]:
    """Group restarts of different brokers, all of which went down before the first was back."""
    group: list[Restart] = []
    registered: frozenset[int] = frozenset()
    for restart, brokers in restarts:
        if group and not _is_together(group, restart):
            yield _together(group, registered)
            group = []
        group.append(restart)
        registered = brokers
    if group:
        yield _together(group, registered)


def _is_together(group: Sequence[Restart], restart: Restart) -> bool:
    first = group[0]
    return (
        restart.node_id not in [each.node_id for each in group]
        and restart.down_time <= first.time + DOWN_LATER_MS_MAX
        and restart.time <= first.time + TOGETHER_MS_MAX
    )


def _together(group: Sequence[Restart], registered: frozenset[int]) -> Together:
    is_all = registered == {each.node_id for each in group}
    return Together(is_broker=True, is_all=is_all, is_both=False, restarts=tuple(group))


def _restart(node_id: int, row: Envelope, down: tuple[int, int], is_clean: bool | None) -> Restart:
    offset, time = down if down != _UNKNOWN else _place(row)
    return Restart(
        node_id=node_id,
        offset=row.offset,
        time=row.timestamp,
        down_offset=offset,
        down_time=time,
        is_clean=is_clean,
    )


def _place(row: Envelope) -> tuple[int, int]:
    return row.offset, row.timestamp
