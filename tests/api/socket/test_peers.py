"""Clients that are broken, slow or half closed, and peers that do not speak the protocol."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from api.socket import limits
from api.socket.appends import Append, decode_appended, encode_append
from api.socket.client import SocketClient
from api.socket.frames import Kind
from api.socket.handshake import (
    VERSION,
    Hello,
    Welcome,
    decode_welcome,
    encode_hello,
    encode_welcome,
)
from api.socket.refusals import CONNECTION, decode_refused
from api.socket.schemas import layouts
from api.socket.server import LOOPBACK, SocketServer, serve_socket
from benchmarks.log_sessions import sessions_on
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.log import MetadataLog
from records.errors import RequestError, UnavailableError
from tests.api.socket.conftest import CLUSTER_ID, OpenRaw, SlowLog, rows, size_prefixed
from tests.metadata_log.conftest import topics

NEWEST_SCHEMA = next(iter(layouts()))


def request(number: int) -> bytes:
    return encode_append(
        Append(correlation_id=number, batch=topics(number, 1), expected_end_offset=None)
    )


def damaged(number: int) -> bytes:
    """Return a request with a wrong number of rows."""
    content = request(number)[4:]
    return size_prefixed(content + b"\0")


async def test_half_closed_connection_gets_all_its_answers(
    server: SocketServer, raw: OpenRaw, directory: Path
) -> None:
    peer = await raw(server)
    await peer.send(b"".join(request(n) for n in range(1, 101)))
    peer.finish_sending()
    welcome, *answers = await peer.rest()
    assert decode_welcome(welcome).cluster_id == CLUSTER_ID
    assert [decode_appended(answer).correlation_id for answer in answers] == list(range(1, 101))
    assert len(rows(directory)) == 100


async def test_unfinished_frame_of_a_half_closed_connection_writes_nothing(
    server: SocketServer, raw: OpenRaw, directory: Path
) -> None:
    peer = await raw(server)
    await peer.send(request(1) + request(2)[:-1])
    peer.finish_sending()
    _, answer = await peer.rest()
    assert decode_appended(answer).correlation_id == 1
    assert len(rows(directory)) == 1


async def test_what_was_sent_before_the_connection_broke_is_committed_whole_or_not(
    server: SocketServer, raw: OpenRaw, directory: Path
) -> None:
    peer = await raw(server)
    await peer.send(b"".join(request(n) for n in range(1, 51)))
    await peer.frame()
    peer.socket.close()
    await server.close()
    assert [row.offset for row in rows(directory)] == list(range(1, len(rows(directory)) + 1))


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "the frame has 1195725856 bytes"),
        (bytes(4), "the frame has 0 bytes"),
        (size_prefixed(b"\x01MLGX\x01\x80"), "not a hello"),
        (size_prefixed(b"\x01MLGS"), "not a hello"),
        (size_prefixed(b"\x01MLGS\x01\xc1"), "cannot be read"),
        (size_prefixed(b"\x01MLGS\x01\x80"), "names no schema"),
        (encode_hello(Hello(version=0, schema=NEWEST_SCHEMA)), "version 0"),
        (request(1), "not a hello"),
    ],
)
async def test_client_without_hello_is_refused_and_disconnected(
    server: SocketServer, raw: OpenRaw, sent: bytes, why: str, directory: Path
) -> None:
    peer = await raw(server, hello=sent)
    (refusal,) = await peer.rest()
    refused = decode_refused(refusal)
    assert refused.correlation_id == CONNECTION
    assert why in str(refused.error)
    assert rows(directory) == []


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (size_prefixed(b"\x09what"), "kind 9"),
        (size_prefixed(b"\x03short"), "kind 3 and 6 bytes"),
        (size_prefixed(b"\x06short"), "kind 6 and 6 bytes"),
        (request(CONNECTION), "correlation id 0"),
        ((1 << 31).to_bytes(4, "big"), "2147483648 bytes"),
    ],
)
async def test_frame_that_is_no_request_ends_the_connection_after_what_came_before(
    server: SocketServer, raw: OpenRaw, sent: bytes, why: str, directory: Path
) -> None:
    peer = await raw(server)
    await peer.send(request(1) + sent + request(2))
    _, *answers = await peer.rest()
    by_kind = {answer[0]: answer for answer in answers}
    assert decode_appended(by_kind[Kind.APPENDED]).correlation_id == 1
    assert why in str(decode_refused(by_kind[Kind.REFUSED]).error)
    assert len(rows(directory)) == 1


async def test_damaged_rows_are_refused_and_the_connection_goes_on(
    server: SocketServer, raw: OpenRaw, directory: Path
) -> None:
    peer = await raw(server)
    await peer.send(damaged(1) + request(2))
    peer.finish_sending()
    _, *answers = await peer.rest()
    refused = decode_refused(answers[0])
    assert refused.correlation_id == 1
    assert isinstance(refused.error, RequestError)
    assert refused.error.code == "INVALID_REQUEST"
    assert decode_appended(answers[1]).correlation_id == 2
    assert len(rows(directory)) == 1


async def test_other_schema_is_refused(server: SocketServer, raw: OpenRaw) -> None:
    peer = await raw(server, hello=encode_hello(Hello(schema="0123456789abcdef")))
    (refusal,) = await peer.rest()
    error = decode_refused(refusal).error
    assert isinstance(error, RequestError)
    assert error.code == "UNSUPPORTED_VERSION"
    assert "0123456789abcdef" in str(error)


@pytest.mark.parametrize(("newest", "spoken"), [(1, 1), (2, 2), (9, VERSION)])
async def test_client_is_answered_in_the_newest_version_that_both_speak(
    server: SocketServer, raw: OpenRaw, newest: int, spoken: int
) -> None:
    hello = Hello(version=newest, schema="0" * 16, schemas=("f" * 16, NEWEST_SCHEMA))
    peer = await raw(server, hello=encode_hello(hello))
    welcome = await peer.frame()
    assert welcome is not None
    assert decode_welcome(welcome) == Welcome(
        version=spoken, cluster_id=CLUSTER_ID, schema=NEWEST_SCHEMA, schemas=tuple(layouts())
    )


async def test_unsupported_version_is_refused_with_the_supported_ones(
    server: SocketServer, raw: OpenRaw
) -> None:
    hello = Hello(version=9, oldest_version=7, schema=NEWEST_SCHEMA)
    peer = await raw(server, hello=encode_hello(hello))
    (refusal,) = await peer.rest()
    error = decode_refused(refusal).error
    assert isinstance(error, RequestError)
    assert error.code == "UNSUPPORTED_VERSION"
    assert f"speaks versions 7 to 9 of the protocol, the server 1 to {VERSION}" in str(error)


async def test_silent_peer_is_disconnected(
    log: MetadataLog, raw: OpenRaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HANDSHAKE_TIMEOUT_S", 0.1)
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID)
    peer = await raw(server, hello=b"")
    assert await peer.frame() is None
    await server.close()


async def test_refused_peer_that_does_not_leave_is_disconnected(
    server: SocketServer, raw: OpenRaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GOODBYE_TIMEOUT_S", 0.1)
    peer = await raw(server, hello=bytes(4))
    await peer.rest()
    await asyncio.sleep(0.3)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        await peer.send(b"still here")
    await asyncio.sleep(0.05)
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        await peer.send(b"and here")


async def test_reading_stops_while_too_much_is_in_flight(
    log: MetadataLog, raw: OpenRaw, directory: Path
) -> None:
    slow = SlowLog(log)
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID)
    peer = await raw(server)
    count = 3 * limits.CONNECTION_REQUESTS_MAX
    sending = asyncio.create_task(peer.send(b"".join(request(n) for n in range(1, count + 1))))
    await asyncio.sleep(0.5)
    assert slow.waiting == limits.CONNECTION_REQUESTS_MAX
    slow.may_commit.set()
    await sending
    peer.finish_sending()
    _, *answers = await peer.rest()
    assert [decode_appended(answer).correlation_id for answer in answers] == list(
        range(1, count + 1)
    )
    assert slow.waiting_max == limits.CONNECTION_REQUESTS_MAX
    assert len(rows(directory)) == count
    await server.close()


async def test_all_connections_together_leave_the_log_room(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    monkeypatch.setattr(limits, "SERVER_REQUESTS_MAX", 10)
    slow = SlowLog(log)
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID)
    clients = [await SocketClient.connect(LOOPBACK, server.port) for _ in range(5)]
    calls = [client.append(topics(n, 1)) for n in range(20) for client in clients]
    waiting = asyncio.gather(*calls)
    await asyncio.sleep(0.2)
    assert slow.waiting <= 10 + len(clients)
    slow.may_commit.set()
    assert len(await waiting) == 100
    assert len(rows(directory)) == 100
    for client in clients:
        await client.close()
    await server.close()


class RefusingLog:
    """A log that refuses every append with a long message, and counts the refusals."""

    count = 0

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        self.count += 1
        raise RequestError("POLICY_VIOLATION", "not this one either " * 100)


async def test_client_that_fetches_no_answers_is_not_read_from(raw: OpenRaw) -> None:
    log = RefusingLog()
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID)
    peer = await raw(server, receive_buffer_bytes=65_536)
    count = 20_000
    sending = asyncio.create_task(
        peer.send(b"".join(request(number) for number in range(1, count + 1)))
    )
    before = -1
    while before < log.count:
        before = log.count
        await asyncio.sleep(0.3)
    # What the system's buffers take is answered, and what was read when they were full.
    assert 0 < log.count < count / 2
    welcome = await peer.frame()
    assert welcome is not None
    for number in range(1, count + 1):
        answer = await peer.frame()
        assert answer is not None
        assert decode_refused(answer).correlation_id == number
    await sending
    await server.close()


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def other_server(answer: Answer) -> AsyncIterator[int]:
    """A server of another protocol that takes one connection; yields its port."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(serve, LOOPBACK, 0) as listener:
        yield listener.sockets[0].getsockname()[1]
        await ended.wait()


async def test_peer_that_is_not_a_server_is_recognised() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")

    async with other_server(answer) as port:
        with pytest.raises(UnavailableError, match="does not speak the socket protocol"):
            await SocketClient.connect(LOOPBACK, port)


async def test_server_of_a_version_that_the_client_lacks_is_refused() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_welcome(Welcome(version=VERSION + 1, cluster_id="c")))
        with contextlib.suppress(ConnectionError):
            await reader.read()

    async with other_server(answer) as port:
        with pytest.raises(RequestError, match="speaks version 3 of the protocol") as caught:
            await SocketClient.connect(LOOPBACK, port)
        assert caught.value.code == "UNSUPPORTED_VERSION"


async def test_server_that_chooses_a_schema_that_was_not_offered_is_refused() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_welcome(Welcome(cluster_id="c", schema="f" * 16)))
        with contextlib.suppress(ConnectionError):
            await reader.read()

    async with other_server(answer) as port:
        with pytest.raises(RequestError, match="schema ffffffffffffffff") as caught:
            await SocketClient.connect(LOOPBACK, port)
        assert caught.value.code == "UNSUPPORTED_VERSION"


async def test_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HANDSHAKE_TIMEOUT_S", 0.1)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()

    async with other_server(answer) as port:
        with pytest.raises(UnavailableError, match="no answer in time"):
            await SocketClient.connect(LOOPBACK, port)


async def test_server_that_vanishes_leaves_the_outcome_unknown() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_welcome(Welcome(cluster_id="c")))
        await reader.readuntil(b"topic-1")
        writer.transport.abort()

    async with other_server(answer) as port:
        client = await SocketClient.connect(LOOPBACK, port)
        with pytest.raises(UnavailableError, match="may have been committed"):
            await client.append(topics(1, 1))
        await client.close()


async def test_client_closes_quietly_when_its_server_has_just_gone() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server((LOOPBACK, 0)) as listening:
        listening.setblocking(False)
        connecting = asyncio.ensure_future(
            SocketClient.connect(LOOPBACK, listening.getsockname()[1])
        )
        peer, _ = await loop.sock_accept(listening)
        await loop.sock_sendall(peer, encode_welcome(Welcome(cluster_id="c")))
        client = await connecting
    # A socket that does not linger is reset; the client has no time to hear of it before.
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    await client.close()
