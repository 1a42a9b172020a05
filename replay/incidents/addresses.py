"""Addresses that brokers advertise: those that several share, and listeners that changed."""

from collections.abc import Iterable, Sequence

import msgspec

from records.base import Record
from records.brokers import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.envelope import Envelope
from replay.image.cluster import Broker

TYPES: frozenset[type[Record]] = frozenset(
    {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        BrokerRegistrationChangeRecord,
    }
)
"""Types of the records that change which brokers advertise what."""

_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}

_UNFENCED = -1
"""Value of a registration change's `fenced` that says that the broker is no longer fenced."""


class SharedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """An address that several brokers advertised: a connection to it reaches only one of them.

    Attributes:
        address: Host and port.
        listeners: The names of the listeners with this address.
        brokers: The brokers that share it at the end, ascending; those that did, if it has ended.
        from_offset, from_time: Offset and append time of the registration by which that began; None
            if it was so before the range.
        to_offset, to_time: Those of the registration that ended it; None if none did.
    """

    address: str
    listeners: tuple[str, ...]
    brokers: tuple[int, ...]
    from_offset: int | None
    from_time: int | None
    to_offset: int | None = None
    to_time: int | None = None


class Listener(msgspec.Struct, frozen=True, order=True):
    """A listener of a broker: its name, its address, and the name of its security protocol."""

    name: str
    address: str
    protocol: str


class ListenerChange(msgspec.Struct, frozen=True, kw_only=True):
    """A registration of a known broker with other listeners: those that went, and those that came.

    Attributes:
        offset, time: Offset and append time of the registration.
    """

    broker: int
    offset: int
    time: int
    removed: tuple[Listener, ...]
    added: tuple[Listener, ...]


class _Sharing(msgspec.Struct):
    """Brokers that share an address now.

    Attributes:
        since: Offset and time of the registration with which it began; None: before the range.
        brokers: All brokers that took part.
        was_up: True if two of them were up at the same time. A broker that replaces a dead one may
            have its address.
    """

    since: tuple[int, int] | None
    brokers: set[int]
    was_up: bool = False


class Addresses:
    """Follows what brokers advertise."""

    def __init__(self, brokers: Iterable[Broker]) -> None:
        """Start from the registered brokers."""
        self.changes: list[ListenerChange] = []
        self._listeners: dict[int, frozenset[Listener]] = {}
        self._up: set[int] = set()
        self._holders: dict[str, set[int]] = {}
        self._shared: dict[str, _Sharing] = {}
        self._ended: list[SharedAddress] = []
        for each in brokers:
            self._set(each.broker_id, _listeners_of(each.end_points), None)
            self._see(each.broker_id, is_up=not each.fenced)

    def know(self, rows: Iterable[Envelope]) -> None:
        """Follow rows before the range, whose changes do not count."""
        for row in rows:
            if type(row.payload) in TYPES:
                self.add(row)
        self.changes.clear()
        self._ended.clear()
        for address, each in self._shared.items():
            each.since, each.brokers = None, set(self._holders[address])
            each.was_up = len(each.brokers & self._up) > 1

    def add(self, row: Envelope) -> None:
        """Add a row of the range whose type is one of TYPES."""
        match row.payload:
            case RegisterBrokerRecord() as record:
                self._register(row, record)
            case UnregisterBrokerRecord() as record:
                self._set(record.broker_id, frozenset(), row)
                self._up.discard(record.broker_id)
                self._listeners.pop(record.broker_id, None)
            case FenceBrokerRecord() | UnfenceBrokerRecord() as record:
                self._see(record.id, is_up=isinstance(record, UnfenceBrokerRecord))
            case BrokerRegistrationChangeRecord() as record if record.fenced:
                self._see(record.broker_id, is_up=record.fenced == _UNFENCED)

    def shared(self) -> tuple[SharedAddress, ...]:
        """Return the addresses that several brokers shared, in the order in which that began."""
        found = [*self._ended]
        for address, each in self._shared.items():
            if each.was_up:
                holders = self._holders[address]
                up = holders & self._up
                found.append(self._told(address, each, up if len(up) > 1 else holders))
        return tuple(sorted(found, key=lambda each: (each.from_offset or 0, each.address)))

    def _register(self, row: Envelope, record: RegisterBrokerRecord) -> None:
        broker_id, now = record.broker_id, _listeners_of(record.end_points)
        before = self._listeners.get(broker_id)
        if before is not None and before != now:
            self.changes.append(
                ListenerChange(
                    broker=broker_id,
                    offset=row.offset,
                    time=row.timestamp,
                    removed=tuple(sorted(before - now)),
                    added=tuple(sorted(now - before)),
                )
            )
        self._set(broker_id, now, row)
        self._see(broker_id, is_up=not record.fenced)

    def _set(self, broker_id: int, now: frozenset[Listener], row: Envelope | None) -> None:
        """Set what a broker advertises; `row` is the record, None at the start."""
        old = {each.address for each in self._listeners.get(broker_id, ())}
        new = {each.address for each in now}
        for address in old - new:
            self._holders[address].discard(broker_id)
            sharing = self._shared.get(address)
            if sharing is not None and len(self._holders[address]) < 2:
                del self._shared[address]
                if sharing.was_up and row is not None:
                    self._ended.append(self._told(address, sharing, sharing.brokers, row))
        self._listeners[broker_id] = now
        for address in new - old:
            holders = self._holders.setdefault(address, set())
            holders.add(broker_id)
            if len(holders) > 1:
                since = None if row is None else (row.offset, row.timestamp)
                self._shared.setdefault(address, _Sharing(since, set())).brokers |= holders

    def _see(self, broker_id: int, *, is_up: bool) -> None:
        if not is_up:
            self._up.discard(broker_id)
            return
        self._up.add(broker_id)
        for each in self._listeners.get(broker_id, ()):
            sharing = self._shared.get(each.address)
            if sharing is not None and len(self._holders[each.address] & self._up) > 1:
                sharing.was_up = True

    def _told(
        self, address: str, sharing: _Sharing, brokers: Iterable[int], end: Envelope | None = None
    ) -> SharedAddress:
        names = {
            each.name
            for broker_id in sharing.brokers
            for each in self._listeners.get(broker_id, ())
            if each.address == address
        }
        since = sharing.since
        return SharedAddress(
            address=address,
            listeners=tuple(sorted(names)),
            brokers=tuple(sorted(brokers)),
            from_offset=None if since is None else since[0],
            from_time=None if since is None else since[1],
            to_offset=None if end is None else end.offset,
            to_time=None if end is None else end.timestamp,
        )


def _listeners_of(end_points: Sequence[BrokerEndpoint]) -> frozenset[Listener]:
    return frozenset(
        Listener(
            each.name,
            f"[{each.host}]:{each.port}" if ":" in each.host else f"{each.host}:{each.port}",
            _PROTOCOLS.get(each.security_protocol, str(each.security_protocol)),
        )
        for each in end_points
    )
