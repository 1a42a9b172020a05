"""Restart loops: nodes that start again and again, by their registrations and terms."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from records.base import Record, Uuid
from records.brokers import (
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.cluster import Broker

RESTARTS_MIN = 3
"""Minimum number of restarts that make a loop."""

PERIOD_MS_MAX = 3_600_000
"""Maximum time in which so many restarts happen, in ms: restarts for a change are rarer."""

TYPES: frozenset[type[Record]] = frozenset(
    {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        RegisterControllerRecord,
        UnregisterControllerRecord,
        LeaderChangeMessage,
    }
)
"""Types of the records that show restarts."""


class RestartLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A node that restarted at least three times within an hour.

    Attributes:
        node_id: The id of the broker or controller.
        is_broker: True if it is a broker, also if it is a controller as well.
        restarts: How often it restarted; each restart is one of three in a row within an hour.
        from_offset, from_time: Offset and append time of the first record that shows a restart.
        to_offset, to_time: Those of the last one.
    """

    node_id: int
    is_broker: bool
    restarts: int
    from_offset: int
    from_time: int
    to_offset: int
    to_time: int


class Restarts:
    """Collects the restarts in a range: a new registration, or a new term of the only voter."""

    def __init__(self, brokers: Iterable[Broker]) -> None:
        """Start with the registered brokers before the first row."""
        self._brokers: dict[int, Uuid] = {each.broker_id: each.incarnation_id for each in brokers}
        self._controllers: dict[int, Uuid] = {}
        self._leader: int | None = None
        # By node; a restart of a node that is both broker and controller is in several.
        self._of_brokers: dict[int, list[Envelope]] = {}
        self._of_controllers: dict[int, list[Envelope]] = {}
        self._of_terms: dict[int, list[Envelope]] = {}

    def know(self, rows: Iterable[Envelope]) -> None:
        """Follow rows before the range; only the brokers' registrations matter."""
        for row in rows:
            record = row.payload
            if isinstance(record, RegisterBrokerRecord):
                self._brokers[record.broker_id] = record.incarnation_id
            elif isinstance(record, UnregisterBrokerRecord):
                self._brokers.pop(record.broker_id, None)

    def add(self, row: Envelope) -> None:
        """Add a row of the range whose type is one of TYPES."""
        record = row.payload
        if isinstance(record, RegisterBrokerRecord):
            before = self._brokers.get(record.broker_id)
            if before not in (None, record.incarnation_id):
                self._of_brokers.setdefault(record.broker_id, []).append(row)
            self._brokers[record.broker_id] = record.incarnation_id
        elif isinstance(record, RegisterControllerRecord):
            before = self._controllers.get(record.controller_id)
            if before not in (None, record.incarnation_id):
                self._of_controllers.setdefault(record.controller_id, []).append(row)
            self._controllers[record.controller_id] = record.incarnation_id
        elif isinstance(record, UnregisterBrokerRecord):
            self._brokers.pop(record.broker_id, None)
        elif isinstance(record, UnregisterControllerRecord):
            self._controllers.pop(record.controller_id, None)
        elif isinstance(record, LeaderChangeMessage):
            # One of several voters may be elected again without a restart.
            if record.leader_id == self._leader and len(record.voters) == 1:
                self._of_terms.setdefault(record.leader_id, []).append(row)
            self._leader = record.leader_id

    def loops(self) -> tuple[RestartLoop, ...]:
        """Return the loops, those with most restarts first; each node's by what shows it best."""
        found: dict[int, list[RestartLoop]] = {}
        for rows_of, is_broker in (
            (self._of_brokers, True),
            (self._of_controllers, False),
            (self._of_terms, False),
        ):
            for node_id, rows in rows_of.items():
                if node_id not in found and (runs := list(_runs(rows))):
                    found[node_id] = [_loop(node_id, is_broker, run) for run in runs]
        return most_first(each for loops in found.values() for each in loops)


def most_first(loops: Iterable[RestartLoop]) -> tuple[RestartLoop, ...]:
    """Return loops ordered: those with most restarts first, then by offset."""
    return tuple(sorted(loops, key=lambda each: (-each.restarts, each.from_offset)))


def _runs(rows: Sequence[Envelope]) -> Iterator[Sequence[Envelope]]:
    """Yield the longest runs of rows each of which is one of three in a row within the period."""
    start, end = 0, 0
    for last in range(RESTARTS_MIN - 1, len(rows)):
        first = last - (RESTARTS_MIN - 1)
        if rows[last].timestamp - rows[first].timestamp > PERIOD_MS_MAX:
            continue
        if first >= end:
            if end:
                yield rows[start:end]
            start = first
        end = last + 1
    if end:
        yield rows[start:end]


def _loop(node_id: int, is_broker: bool, run: Sequence[Envelope]) -> RestartLoop:
    return RestartLoop(
        node_id=node_id,
        is_broker=is_broker,
        restarts=len(run),
        from_offset=run[0].offset,
        from_time=run[0].timestamp,
        to_offset=run[-1].offset,
        to_time=run[-1].timestamp,
    )
