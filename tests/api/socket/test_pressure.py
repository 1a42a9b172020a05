"""Appends while other clients send incomplete frames, are idle, or use up the memory for large
frames.
"""

import asyncio
import socket
from pathlib import Path

import pytest

from api.socket.client import SocketClient
from api.socket.frames import FrameReader
from api.socket.refusals import CONNECTION, decode_refused
from api.socket.server import LOOPBACK, SocketServer, serve_socket
from api.transport import limits
from api.transport.connections import Connections
from benchmarks.log_sessions import sessions_on
from metadata_log.format.batch import NewBatch
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.errors import UnavailableError
from tests.api.socket.conftest import CLUSTER_ID, OpenRaw, SlowLog, rows, size_prefixed

LARGE = 250_000


def note(number: int, size: int = LARGE) -> NewBatch:
    text = f"{number:0>{size}}"
    return NewBatch(records=(NoteRecord(at_offset=0, author="test", text=text),))


async def serve(log: MetadataLog | SlowLog, **options: int) -> SocketServer:
    connections = Connections(**options)
    return await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID, connections=connections)


async def connect(server: SocketServer) -> SocketClient:
    return await SocketClient.connect(LOOPBACK, server.port)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_S", 0.02)
    monkeypatch.setattr(limits, "STALL_TIMEOUT_S", 0.3)


@pytest.mark.usefixtures("impatient")
async def test_large_appends_get_through_beside_a_frame_that_is_held_back(
    log: MetadataLog, raw: OpenRaw, directory: Path
) -> None:
    server = await serve(log, receive_bytes_max=300_000)
    peer = await raw(server)
    assert await peer.frame() is not None
    await peer.send(size_prefixed(bytes(LARGE))[:-1])
    clients = [await connect(server) for _ in range(3)]
    appends = [client.append(note(n)) for n, client in enumerate(clients)]
    small = await connect(server)
    await small.append(note(9, size=10))
    async with asyncio.timeout(20):
        await asyncio.gather(*appends)
        refused = await peer.frame()
    assert refused is not None
    answer = decode_refused(refused)
    assert answer.correlation_id == CONNECTION
    assert "came too slowly while others waited" in str(answer.error)
    assert len(rows(directory)) == 4
    for client in (*clients, small):
        await client.close()
    await server.close()


@pytest.mark.usefixtures("impatient")
async def test_large_append_is_read_to_its_end_though_too_much_is_in_flight(
    log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from api.socket import limits as socket_limits

    monkeypatch.setattr(socket_limits, "CONNECTION_REQUESTS_MAX", 2)
    slow = SlowLog(log)
    server = await serve(slow, receive_bytes_max=300_000)
    client, other = await connect(server), await connect(server)
    appends = [asyncio.ensure_future(client.append(note(n))) for n in range(5)]
    appends.append(asyncio.ensure_future(other.append(note(5))))
    await asyncio.sleep(1.0)  # longer than a frame may stall
    slow.may_commit.set()
    await asyncio.gather(*appends)
    assert len(rows(directory)) == 6
    await client.close()
    await other.close()
    await server.close()


@pytest.mark.usefixtures("impatient")
async def test_idle_client_is_notified_and_appends_after_reconnecting(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_TIMEOUT_S", 0.3)
    server = await serve(log)
    idle = await connect(server)
    await idle.append(note(1, size=10))
    await asyncio.sleep(1.0)
    with pytest.raises(UnavailableError, match=r"it was idle for 0\.3 s; connect again"):
        await idle.append(note(2, size=10))
    again = await connect(server)
    await again.append(note(2, size=10))
    await idle.close()
    await again.close()
    await server.close()


@pytest.mark.usefixtures("impatient")
async def test_frame_that_is_not_finished_ends_the_connection_after_its_answers(
    log: MetadataLog, raw: OpenRaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_TIMEOUT_S", 0.2)
    server = await serve(log)
    peer = await raw(server)
    await peer.send(b"\0\0")
    _, refused = await peer.rest()
    assert "a frame was not whole within 0.2 s" in str(decode_refused(refused).error)
    await server.close()


def test_reader_keeps_nothing_of_frames_that_it_returned() -> None:
    reader = FrameReader(1 << 20)
    reader.feed(size_prefixed(bytes(100_000)) + size_prefixed(bytes(50_000))[:10])
    assert len(reader.next_frame() or b"") == 100_000
    assert reader.next_frame() is None
    assert (reader.has_begun, reader.size_wanted, reader.missing) == (True, 50_000, 50_000 - 6)
    reader.feed(bytes(50_000 - 6))
    assert len(reader.next_frame() or b"") == 50_000
    assert reader.next_frame() is None
    assert not reader.has_begun
    assert reader._buffer == b""


async def test_peer_that_is_gone_before_it_makes_way_causes_no_traceback(
    log: MetadataLog, caplog: pytest.LogCaptureFixture
) -> None:
    server = await serve(log, places_max=1)
    # Blocking calls: the server gets its turn when both have closed already.
    for _ in range(2):
        with socket.create_connection((LOOPBACK, server.port)):
            pass
    client = await connect(server)
    await client.append(note(1, size=10))
    await client.close()
    await server.close()
    assert "Traceback" not in caplog.text
