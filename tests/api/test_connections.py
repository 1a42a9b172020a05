"""Which connections get a place, which are closed in favour of others, and which after a
timeout.
"""

import asyncio

import pytest

from api.transport import limits
from api.transport.connections import Connections, Place, Quota
from records.errors import UnavailableError

CLIENTS = Quota(name="clients", places_max=8)
BROKERS_TOO = Quota(name="brokers too", places_max=8, reserve=2)


class Peer:
    """One connection: its place, and the reason why it was closed."""

    def __init__(self, connections: Connections, quota: Quota = CLIENTS) -> None:
        self.closed: str | None = None
        self.place: Place = connections.enter(quota, self._close)

    def _close(self, reason: str) -> None:
        assert self.closed is None, "it is closed once"
        self.closed = reason

    def ask(self) -> None:
        """Send a whole request, which stays unanswered for now."""
        self.place.frame_begun()
        self.place.frame_ended()
        self.place.request_begun()


async def test_longest_idle_connection_is_closed_for_a_new_one() -> None:
    connections = Connections(3)
    first, second, third = [Peer(connections) for _ in range(3)]
    first.ask()
    first.place.request_ended()
    fourth = Peer(connections)
    assert [p.closed is None for p in (first, second, third, fourth)] == [True, False, True, True]


async def test_connection_with_a_request_in_flight_is_never_closed_for_another() -> None:
    connections = Connections(2)
    peers = [Peer(connections) for _ in range(2)]
    for peer in peers:
        peer.ask()
    with pytest.raises(UnavailableError, match="all 2 connections are in use"):
        Peer(connections)
    peers[1].place.request_ended()
    Peer(connections)
    assert [peer.closed is None for peer in peers] == [True, False]


async def test_half_frame_does_not_protect_a_connection() -> None:
    connections = Connections(1)
    half = Peer(connections)
    half.place.frame_begun()
    Peer(connections)
    assert half.closed


async def test_listener_that_is_full_closes_one_of_its_own() -> None:
    connections = Connections(100)
    other = Peer(connections, BROKERS_TOO)
    peers = [Peer(connections) for _ in range(CLIENTS.places_max)]
    Peer(connections)
    assert (other.closed, bool(peers[0].closed), peers[1].closed) == (None, True, None)


async def test_process_that_is_full_closes_one_of_any_listener() -> None:
    connections = Connections(4, broker_reserve=0)
    other = Peer(connections, BROKERS_TOO)
    peers = [Peer(connections) for _ in range(4)]
    assert (bool(other.closed), peers[0].closed) == (True, None)


async def test_places_of_the_reserve_are_for_brokers() -> None:
    connections = Connections(100)
    busy = [Peer(connections, BROKERS_TOO) for _ in range(6)]
    for peer in busy:
        peer.ask()
    assert not busy[-1].place.is_reserved
    broker = Peer(connections, BROKERS_TOO)
    assert broker.place.is_reserved
    broker.place.keep()
    silent = Peer(connections, BROKERS_TOO)
    assert silent.place.is_reserved
    # A silent one makes way, the broker does not; clients still get no place of the reserve.
    next_one = Peer(connections, BROKERS_TOO)
    assert (broker.closed, bool(silent.closed), next_one.place.is_reserved) == (None, True, True)
    next_one.ask()
    with pytest.raises(UnavailableError):
        Peer(connections, BROKERS_TOO)


async def test_brokers_connection_is_not_closed_for_another() -> None:
    connections = Connections(3, broker_reserve=0)
    kept, idle = Peer(connections), Peer(connections)
    kept.place.keep()
    kept.place.keep()
    for _ in range(5):
        Peer(connections)
    assert (kept.closed, bool(idle.closed)) == (None, True)


async def test_half_of_the_connections_remain_for_clients() -> None:
    connections = Connections(4, broker_reserve=0)
    peers = [Peer(connections) for _ in range(4)]
    for peer in peers:
        peer.place.keep()
    for _ in range(10):
        Peer(connections)
    assert [peer.closed is None for peer in peers] == [True, True, False, False]


async def test_place_is_given_back_once() -> None:
    connections = Connections(1)
    first = Peer(connections)
    first.place.leave()
    first.place.leave()
    second = Peer(connections)
    assert (first.closed, second.closed) == (None, None)
    second.ask()
    with pytest.raises(UnavailableError):
        Peer(connections)


async def swept(peer: Peer) -> str | None:
    """Wait until a connection is closed, and return the reason."""
    async with asyncio.timeout(60):
        while peer.closed is None:
            await asyncio.sleep(0.01)
    return peer.closed


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set limits of tenths of a second."""
    monkeypatch.setattr(limits, "SWEEP_S", 0.01)
    monkeypatch.setattr(limits, "STALL_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("quick")
async def test_connection_without_a_first_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "FIRST_REQUEST_TIMEOUT_S", 0.1)
    connections = Connections()
    silent, spoke, busy = [Peer(connections) for _ in range(3)]
    spoke.ask()
    spoke.place.request_ended()
    busy.ask()
    assert "no request came within 0.1 s" in str(await swept(silent))
    assert (spoke.closed, busy.closed) == (None, None)


@pytest.mark.usefixtures("quick")
async def test_frame_that_is_not_finished_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "FRAME_TIMEOUT_S", 0.1)
    connections = Connections()
    half, paused, whole = [Peer(connections) for _ in range(3)]
    for peer in (half, paused, whole):
        peer.ask()
        peer.place.frame_begun()
    paused.place.frame_paused()
    whole.place.frame_ended()
    assert "a frame was not whole within 0.1 s" in str(await swept(half))
    assert (paused.closed, whole.closed) == (None, None)


@pytest.mark.usefixtures("quick")
async def test_idle_connection_is_closed_and_a_busy_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "IDLE_TIMEOUT_S", 0.1)
    connections = Connections()
    idle, busy = Peer(connections), Peer(connections)
    idle.ask()
    busy.ask()
    idle.place.request_ended()
    assert "it was idle for 0.1 s" in str(await swept(idle))
    assert busy.closed is None


async def test_few_descriptors_are_reported_and_too_few_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Connections.within(1_024)
    assert "may open 1024 files: it accepts at most 896 connections" in caplog.text
    caplog.clear()
    Connections.within(20_000)
    assert caplog.text == ""
    with pytest.raises(UnavailableError, match="at least 64 are needed"):
        Connections.within(63)
