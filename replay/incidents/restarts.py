"""Restarts of brokers and controllers: how the run before ended, and who restarted together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

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
from replay.incidents.causes import Cause, is_by_silence, is_up

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
        down_offset, down_time: Those of the record by which the node went down; those of the
            registration if there is no such record.
        is_clean: True after a controlled shutdown, False if the node was up until it registered
            again, or had missed its heartbeats. None if unknown: a broker that leads nothing is
            fenced when it stops, too.
    """

    node_id: int
    offset: int
    time: int
    down_offset: int
    down_time: int
    is_clean: bool | None


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """One restart of one node, or of several at the same time.

    Attributes:
        is_all: True if these are all brokers that were registered.
    """

    is_broker: bool
    is_all: bool
    restarts: tuple[Restart, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes, ascending."""
        return tuple(sorted(each.node_id for each in self.restarts))

    @property
    def down_offset(self) -> int:
        """The first record by which one of the nodes went down."""
        return min(each.down_offset for each in self.restarts)

    @property
    def is_clean(self) -> bool | None:
        """True if all were shut down, False if one was not, None if unknown."""
        ends = {each.is_clean for each in self.restarts}
        return False if False in ends else None if None in ends else True

    def off_ms(self, since: int) -> int:
        """Return how long all of the nodes were off, as far as the log shows it.

        Args:
            since: Time of their restart before, ms since 1970.
        """
        down = max(since, *(each.down_time for each in self.restarts))
        return max(0, min(each.time for each in self.restarts) - down)


class NodeRestarts(msgspec.Struct, frozen=True, kw_only=True):
    """The restarts of the same node or nodes.

    Attributes:
        nodes: Ids of the nodes, which restarted together each time.
        is_broker: True if they are brokers, also if they are controllers as well.
        is_all: True if they were all registered brokers, each time.
        times: How often they restarted.
        clean: How often after controlled shutdowns.
        unclean: How often at least one of them was not shut down: after a crash, a kill or a hang.
            For the rest it is not known.
        from_offset, from_time: Offset and append time of the first record that shows a restart.
        to_offset, to_time: Those of the last one.
        apart_ms_min, apart_ms_max: Shortest and longest time between two restarts; 0 for one.
        off_ms, off_ms_max: How long all of them were off, in all and at most.
    """

    nodes: tuple[int, ...]
    is_broker: bool
    is_all: bool
    times: int
    clean: int
    unclean: int
    from_offset: int
    from_time: int
    to_offset: int
    to_time: int
    apart_ms_min: int
    apart_ms_max: int
    off_ms: int
    off_ms_max: int


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
    """Collects the restarts in a range: a new registration, or a new term of the only voter."""

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

    def together(self) -> tuple[Together, ...]:
        """Return all restarts, in order; those of a node by what shows them best."""
        found = list(_brokers_together(self._of_brokers))
        told = [each for each, _ in self._of_brokers]
        for restarts in (self._of_controllers, self._of_terms):
            rest = _not_told(restarts, told)
            told += rest
            found += [Together(is_broker=False, is_all=False, restarts=(each,)) for each in rest]
        return tuple(sorted(found, key=lambda each: each.restarts[0].offset))

    def _register(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, RegisterBrokerRecord)
        before = self._brokers.get(record.broker_id)
        if before is not None and before.incarnation_id != record.incarnation_id:
            down = before.down or _place(row)
            restart = _restart(
                record.broker_id, row, down, self._is_clean(record.broker_id, before)
            )
            self._of_brokers.append((restart, frozenset(self._brokers)))
        is_down = record.fenced or record.in_controlled_shutdown
        down = (before and before.down) or _place(row)
        self._brokers[record.broker_id] = _Run(
            record.incarnation_id, down if is_down else None, record.in_controlled_shutdown
        )

    def _is_clean(self, broker_id: int, before: _Run) -> bool | None:
        if before.is_shut_down or before.down is None:
            return before.is_shut_down
        cause = self._down_by(broker_id)
        return False if cause is not None and is_by_silence(cause) else None

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

    def _unregister_controller(self, row: Envelope) -> None:
        assert isinstance(row.payload, UnregisterControllerRecord)
        self._controllers.pop(row.payload.controller_id, None)

    def _lead(self, row: Envelope) -> None:
        record = row.payload
        assert isinstance(record, LeaderChangeMessage)
        # One of several voters may be elected again without a restart.
        if record.leader_id == self._leader and len(record.voters) == 1:
            self._of_terms.append(_restart(record.leader_id, row, _place(row), None))
        self._leader = record.leader_id


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


def restarts_of(found: Iterable[Together]) -> tuple[NodeRestarts, ...]:
    """Return the restarts by the nodes that restarted together, those with most first."""
    by_nodes: dict[tuple[bool, tuple[int, ...]], list[Together]] = {}
    for each in found:
        by_nodes.setdefault((each.is_broker, each.nodes), []).append(each)
    summed = [_summed(nodes, each) for (_, nodes), each in by_nodes.items()]
    return tuple(sorted(summed, key=lambda each: (-each.times, each.from_offset)))


def _summed(nodes: tuple[int, ...], found: Sequence[Together]) -> NodeRestarts:
    first, last = found[0].restarts[0], found[-1].restarts[-1]
    begins = [each.restarts[0].time for each in found]
    apart = [max(0, after - before) for before, after in pairwise(begins)]
    ends = [0, *(each.restarts[-1].time for each in found)]
    off = [each.off_ms(since) for each, since in zip(found, ends, strict=False)]
    return NodeRestarts(
        nodes=nodes,
        is_broker=found[0].is_broker,
        is_all=all(each.is_all for each in found),
        times=len(found),
        clean=sum(each.is_clean is True for each in found),
        unclean=sum(each.is_clean is False for each in found),
        from_offset=first.offset,
        from_time=first.time,
        to_offset=last.offset,
        to_time=last.time,
        apart_ms_min=min(apart, default=0),
        apart_ms_max=max(apart, default=0),
        off_ms=sum(off),
        off_ms_max=max(off),
    )


def _not_told(restarts: Iterable[Restart], told: Iterable[Restart]) -> list[Restart]:
    """Return the restarts without those that belong to a told one of the same node.

    A node leads, then registers as a controller, then as a broker: the last one before is best.
    """
    rest = list(restarts)
    for each in told:
        near = [it for it in rest if it.node_id == each.node_id and _apart(it, each) <= SAME_MS_MAX]
        if near:
            rest.remove(min(near, key=lambda it: (it.offset > each.offset, _apart(it, each))))
    return rest


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
    return Together(is_broker=True, is_all=is_all, restarts=tuple(group))


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
