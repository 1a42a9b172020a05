"""Limits the number of connections of a process, and chooses which one to close to make room.

All listeners of a process share one `Connections`. While all places are taken, a new connection
gets the place of the connection that has been idle longest, which is closed; without an idle
connection it is refused. Some places are reserved for brokers, and a broker's connection is never
closed to make room. Connections that are silent, do not finish a frame, or are idle for too long
are closed as well.
"""

import asyncio
import resource
from collections import Counter
from collections.abc import Callable
from typing import Self

import msgspec

from api.transport import limits
from api.transport.log_limit import limited_logger
from api.transport.receive_budget import Close, ReceiveBudget, Share
from records.errors import UnavailableError

log = limited_logger(__name__)

_UNLIMITED = 1 << 20


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """The number of places that the connections of one listener may take.

    Attributes:
        name: The listener's name.
        places_max: Maximum number of places, including `reserve`.
        reserve: Number of places kept free for connections of brokers or of monitoring.
    """

    name: str
    places_max: int
    reserve: int = 0


class Place:
    """The place of one connection; records the connection's activity.

    Attributes:
        quota: The quota of the connection's listener.
        is_reserved: True if the place is one of the reserved ones: the connection must still prove
            that it belongs to a broker or to monitoring.
        is_kept: True if the connection is a broker's, and is never closed to make room.
    """

    def __init__(
        self, connections: "Connections", quota: Quota, close: Close, *, is_reserved: bool
    ) -> None:
        """Create a place; only for `Connections.enter`."""
        self._connections = connections
        self._shares: set[Share] = set()
        self._close = close
        self._frame_begun_at: float | None = None
        self._has_spoken = False
        self._active_at = connections.now()
        self._in_flight = 0
        self._in_flight_bytes = 0
        self.quota = quota
        self.is_reserved = is_reserved
        self.is_kept = False

    def frame_begun(self) -> None:
        """Record the first byte of a frame; later calls for the same frame change nothing."""
        if self._frame_begun_at is None:
            self._frame_begun_at = self._connections.now()

    def frame_paused(self) -> None:
        """Record that this side has stopped reading, which also stops the frame's time limit."""
        self._frame_begun_at = None

    def frame_ended(self) -> None:
        """Record that a frame is complete."""
        self._frame_begun_at = None
        self._has_spoken = True
        self._touch()

    def request_begun(self, size_bytes: int = 0) -> None:
        """Record a request in flight.

        Args:
            size_bytes: Size of the request's frame; 0 if the frame has a share of the memory
                budget.
        """
        self._in_flight += 1
        self._in_flight_bytes += size_bytes

    def request_ended(self, size_bytes: int = 0) -> None:
        """Record that a request is answered; the answer may still have to be sent."""
        self._in_flight -= 1
        self._in_flight_bytes -= size_bytes
        self._touch()

    def keep(self) -> None:
        """Mark the connection as a broker's, so that it is never closed to make room.

        Such connections are not authenticated yet, so at most about half of all places are kept for
        them.
        """
        if not self.is_kept and self._connections.may_keep_more:
            self._connections.leave(self)
            self.is_kept = True
            self._connections.add(self)

    def needs_share(self, size_bytes: int) -> bool:
        """True if a frame is too large to be read without a share of the budget."""
        return self._in_flight_bytes + size_bytes > limits.SMALL_FRAME_BYTES

    def ask_for_share(self, size_bytes: int, granted: Callable[[], None]) -> Share:
        """Request memory for a frame.

        Args:
            granted: Called later, unless the share is granted immediately.
        """

        def go_on() -> None:
            self.frame_begun()
            granted()

        self._has_spoken = True
        share = self._connections.budget.ask(size_bytes, granted=go_on, close=self.close)
        self._shares.add(share)
        if not share.is_granted:
            self.frame_paused()
        return share

    def received(self, share: Share, size_bytes: int) -> None:
        """Record a received part of a frame."""
        share.received(size_bytes, self._connections.now())

    def give_back(self, share: Share) -> None:
        """Return a share; may be called again."""
        self._shares.discard(share)
        share.release()

    def close(self, reason: str) -> None:
        """Close the connection, and free the place immediately."""
        self.leave()
        self._close(reason)

    def leave(self) -> None:
        """Free the place; may be called again."""
        self._connections.leave(self)
        while self._shares:
            self._shares.pop().release()

    @property
    def is_idle(self) -> bool:
        """True if no request of the connection is in flight."""
        return not self._in_flight

    def overdue(self, now: float) -> str | None:
        """Return why the connection must be closed, None if it is within its time limits."""
        begun_at = self._frame_begun_at
        if begun_at is not None:
            is_late = now - begun_at > limits.FRAME_TIMEOUT_S
            return f"a frame was not whole within {limits.FRAME_TIMEOUT_S:g} s" if is_late else None
        if self._in_flight:
            return None
        silent_s = now - self._active_at
        if not self._has_spoken and silent_s > limits.FIRST_REQUEST_TIMEOUT_S:
            return f"no request came within {limits.FIRST_REQUEST_TIMEOUT_S:g} s"
        if silent_s > limits.IDLE_TIMEOUT_S:
            return f"it was idle for {limits.IDLE_TIMEOUT_S:g} s"
        return None

    def _touch(self) -> None:
        self._active_at = self._connections.now()
        self._connections.touch(self)


class Connections:
    """All accepted connections of a process.

    Attributes:
        places_max: Maximum number of connections.
        budget: Memory budget for large frames, shared by all connections.
    """

    def __init__(
        self,
        places_max: int = limits.KAFKA_CONNECTIONS_MAX,
        *,
        broker_reserve: int = limits.BROKER_RESERVE,
        receive_bytes_max: int = limits.RECEIVE_BYTES_MAX,
    ) -> None:
        """Create without connections; requires a running event loop.

        Args:
            broker_reserve: Places reserved for brokers; at most a quarter of all places.
        """
        self.places_max = places_max
        self._broker_reserve = min(broker_reserve, places_max // 4)
        self._loop = asyncio.get_running_loop()
        # Ordered by last activity, oldest first.
        self._places: dict[Place, None] = {}
        # By listener name: connections that may be closed for others, and those of brokers.
        self._clients: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._refusals = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self.budget = ReceiveBudget(receive_bytes_max, self.now)

    @classmethod
    def within(cls, descriptor_limit: int, wanted: int = limits.KAFKA_CONNECTIONS_MAX) -> Self:
        """Create with a maximum that leaves enough descriptors for everything else.

        Args:
            descriptor_limit: The process's limit of open files.
            wanted: The desired maximum for all listeners; if it must be lower, a warning is logged.

        Raises:
            UnavailableError: the descriptors are too few even without a connection.
        """
        if descriptor_limit < limits.DESCRIPTORS_MIN:
            raise UnavailableError(
                f"this process may open {descriptor_limit} files, at least "
                f"{limits.DESCRIPTORS_MIN} are needed; raise the limit (ulimit -n)"
            )
        places = descriptor_limit - min(limits.DESCRIPTOR_RESERVE, descriptor_limit // 2)
        if places < wanted:
            log.warning(
                "this process may open %d files: it accepts at most %d connections; raise the "
                "limit (ulimit -n)",
                descriptor_limit,
                places,
            )
        return cls(places)

    @classmethod
    def of_process(cls) -> Self:
        """Like `within`, for the process's current limit of open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls.within(_UNLIMITED if soft == resource.RLIM_INFINITY else soft)

    def counts(self) -> dict[str, int]:
        """Return how many connections each listener has."""
        return dict(self._clients + self._kept)

    def now(self) -> float:
        """Return the time of the event loop in seconds."""
        return self._loop.time()

    def enter(self, quota: Quota, close: Close) -> Place:
        """Give a new connection a place, if necessary by closing an idle connection.

        Args:
            close: Called with the reason if the connection must be closed.

        Raises:
            UnavailableError: all places are taken by connections with requests in flight.
        """
        if not self._has_place_for_client(quota):
            self._close_longest_idle(quota)
        is_reserved = not self._has_place_for_client(quota)
        if is_reserved and not (quota.reserve and self._has_place(quota)):
            raise UnavailableError(
                f"all {min(quota.places_max, self.places_max)} connections are in use; "
                "try again later"
            )
        place = Place(self, quota, close, is_reserved=is_reserved)
        self.add(place)
        self._sweep_later()
        return place

    @property
    def may_keep_more(self) -> bool:
        """True if fewer than half of the places are kept for brokers' connections."""
        return 2 * self._kept.total() < self.places_max

    def may_refuse(self) -> bool:
        """True if one more refused connection may stay open to receive the error.

        If True, the connection is counted; call `refused` when it is closed.
        """
        if self._refusals >= limits.REFUSALS_MAX:
            return False
        self._refusals += 1
        return True

    def refused(self) -> None:
        """Record that a refused connection was closed."""
        self._refusals -= 1

    def add(self, place: Place) -> None:
        """Add a place, as the most recently active one."""
        self._places[place] = None
        self._count(place)[place.quota.name] += 1

    def leave(self, place: Place) -> None:
        """Remove a place; may be called again."""
        if place in self._places:
            del self._places[place]
            self._count(place)[place.quota.name] -= 1

    def touch(self, place: Place) -> None:
        """Mark a connection as the most recently active one."""
        if place in self._places:
            del self._places[place]
            self._places[place] = None

    def _count(self, place: Place) -> Counter[str]:
        return self._kept if place.is_kept else self._clients

    def _has_place(self, quota: Quota) -> bool:
        of_listener = self._clients[quota.name] + self._kept[quota.name]
        return of_listener < quota.places_max and len(self._places) < self.places_max

    def _has_place_for_client(self, quota: Quota) -> bool:
        return (
            self._clients[quota.name] < quota.places_max - quota.reserve
            and self._clients.total() < self.places_max - self._broker_reserve
            and self._has_place(quota)
        )

    def _close_longest_idle(self, quota: Quota) -> None:
        """Close the connection that was idle longest, so that a new connection gets in.

        Never closes brokers' connections, nor a connection whose place the new connection could not
        use.

        Args:
            quota: The quota of the new connection's listener.
        """
        for place in self._places:
            if place.is_idle and not place.is_kept and self._frees_place_for(quota, place):
                log.warning(
                    "all connections are in use: for each new one the one is closed that was idle "
                    "for longest"
                )
                place.close("all connections were in use, and it was idle for longest")
                return

    def _frees_place_for(self, quota: Quota, place: Place) -> bool:
        """True if closing `place` lets a connection with this quota in."""
        if place.quota.name == quota.name:
            return True
        clients = self._clients[quota.name]
        return (
            clients < quota.places_max - quota.reserve
            and clients + self._kept[quota.name] < quota.places_max
        )

    def _sweep_later(self) -> None:
        if self._sweeper is None and self._places:
            self._sweeper = self._loop.call_later(limits.SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        now = self.now()
        for place in list(self._places):
            reason = place.overdue(now)
            if reason is not None:
                log.info("a connection of the %s listener is closed: %s", place.quota.name, reason)
                place.close(reason)
        self.budget.close_stalled()
        self._sweep_later()
