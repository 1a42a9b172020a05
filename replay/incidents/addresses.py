"""Addresses that brokers advertise: those that several share, and listeners that changed."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from metadata_log.format.parts import Gap
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
            if it was so before the range, or after a gap.
        to_offset, to_time: Those of the record from which on fewer than two of the brokers were up
            at it, or of the last one before the gap in which it ended; None if it has not ended.
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
        ended: The record from which on no two of them were up; None if they are, or never were.
    """

    since: tuple[int, int] | None
    brokers: set[int]
    was_up: bool = False
    ended: Envelope | None = None


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
            self._see(each.broker_id, None, is_up=not each.fenced)

    def know(self, rows: Iterable[Envelope]) -> None:
        """Follow rows before the range, whose changes do not count."""
        for row in rows:
            if type(row.payload) in TYPES:
                self.add(row)
        self.changes.clear()
        self._ended.clear()
        for address, each in self._shared.items():
            each.since, each.ended, each.brokers = None, None, set(self._holders[address])
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
                self._see(record.id, row, is_up=isinstance(record, UnfenceBrokerRecord))
            case BrokerRegistrationChangeRecord() as record if record.fenced:
                self._see(record.broker_id, row, is_up=record.fenced == _UNFENCED)

    def shared(self) -> tuple[SharedAddress, ...]:
        """Return the addresses that several brokers shared, in the order in which that began."""
        found = [*self._ended]
        for address, each in self._shared.items():
            if each.was_up:
                found.append(self._told(address, each))
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
        self._see(broker_id, row, is_up=not record.fenced)

    def _set(self, broker_id: int, now: frozenset[Listener], row: Envelope | None) -> None:
        """Set what a broker advertises; `row` is the record, None at the start."""
        old = {each.address for each in self._listeners.get(broker_id, ())}
        new = {each.address for each in now}
        for address in old - new:
            self._holders[address].discard(broker_id)
            self._check(address, row)
            if address in self._shared and len(self._holders[address]) < 2:
                sharing = self._shared.pop(address)
                if sharing.was_up:
                    self._ended.append(self._told(address, sharing))
        self._listeners[broker_id] = now
        for address in new - old:
            holders = self._holders.setdefault(address, set())
            holders.add(broker_id)
            if len(holders) > 1:
                since = None if row is None else (row.offset, row.timestamp)
                self._shared.setdefault(address, _Sharing(since, set())).brokers |= holders

    def _see(self, broker_id: int, row: Envelope | None, *, is_up: bool) -> None:
        if is_up:
            self._up.add(broker_id)
        else:
            self._up.discard(broker_id)
        for each in self._listeners.get(broker_id, ()):
            self._check(each.address, row)

    def _check(self, address: str, row: Envelope | None) -> None:
        """See whether two brokers at an address are up, after a record."""
        sharing = self._shared.get(address)
        if sharing is None:
            return
        if len(self._holders[address] & self._up) > 1:
            sharing.was_up, sharing.ended = True, None
        elif sharing.was_up and sharing.ended is None:
            sharing.ended = row

    def _told(self, address: str, sharing: _Sharing) -> SharedAddress:
        since, end = sharing.since, sharing.ended
        brokers = self._holders[address] & self._up if end is None else sharing.brokers
        names = {
            each.name
            for broker_id in sharing.brokers
            for each in self._listeners.get(broker_id, ())
            if each.address == address
        }
        return SharedAddress(
            address=address,
            listeners=tuple(sorted(names)),
            brokers=tuple(sorted(brokers)),
            from_offset=None if since is None else since[0],
            from_time=None if since is None else since[1],
            to_offset=None if end is None else end.offset,
            to_time=None if end is None else end.timestamp,
        )


def joined_shared(
    parts: Sequence[Sequence[SharedAddress]], gaps: Sequence[Gap]
) -> tuple[SharedAddress, ...]:
    """Return the shared addresses of a recording, given those of its parts and the gaps between.

    One that was shared both before and after a gap counts once.
    """
    found = [*parts[0]]
    for part, gap in zip(parts[1:], gaps, strict=True):
        going_on = {each.address: each for each in part if each.from_offset is None}
        found = [
            _across(each, going_on.pop(each.address, None), gap) if each.to_offset is None else each
            for each in found
        ]
        found += [each for each in part if each.from_offset is not None or each.address in going_on]
    return tuple(found)


def _across(before: SharedAddress, after: SharedAddress | None, gap: Gap) -> SharedAddress:
    if after is None:
        return replace(before, to_offset=gap.from_offset - 1, to_time=gap.from_time)
    brokers = {*after.brokers, *(() if after.to_offset is None else before.brokers)}
    return replace(
        after,
        listeners=tuple(sorted({*before.listeners, *after.listeners})),
        brokers=tuple(sorted(brokers)),
        from_offset=before.from_offset,
        from_time=before.from_time,
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
