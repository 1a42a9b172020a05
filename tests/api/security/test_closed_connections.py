"""TLS connections that a service closes leave no open socket, even if the client never answers.

pytest fails a test if a socket that was not closed is garbage-collected after it.
"""

import asyncio
import gc
import socket
import ssl
from pathlib import Path

import pytest

from api.http.options import HttpOptions
from api.kafka.streams import close_writer
from api.security.listeners import parse_listener
from api.security.options import SecurityOptions
from api.security.tls import client_context, server_context
from api.server import Serving
from api.socket import limits as socket_limits
from api.transport import limits
from api.transport.acceptor import Acceptor, bind
from tests.api.kafka.test_sasl import secured
from tests.certificates import Authority

HOST = "127.0.0.1"


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def _connect(ca: Authority, port: int) -> ssl.SSLSocket:
    connection = socket.create_connection((HOST, port))
    return client_context(ca.issue("client")).wrap_socket(connection, server_hostname=HOST)


def _let_it_close(ca: Authority, port: int) -> ssl.SSLSocket:
    """Send data of no known protocol; return when the service has closed its side."""
    client = _connect(ca, port)
    client.sendall(b"\xff" * 8)
    while client.recv(1_024):
        pass
    return client


def _port(running: Serving, listener: str) -> int:
    assert running.socket is not None and running.http is not None
    http = int(running.http.address.rpartition(":")[2])
    return {"kafka": running.kafka.port, "socket": running.socket.port, "http": http}[listener]


@pytest.mark.parametrize("listener", ["kafka", "socket", "http"])
def test_service_ends_while_a_client_does_not_answer_its_goodbye(
    tmp_path: Path, ca: Authority, listener: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_limits, "CLOSE_TIMEOUT_S", 0.1)
    security = SecurityOptions(tls=ca.issue("server"))

    async def serve() -> ssl.SSLSocket:
        async with secured(
            tmp_path,
            f"SSL://{HOST}:0",
            security=security,
            socket=parse_listener(f"SSL://{HOST}:0"),
            http=HttpOptions.parse(f"https://{HOST}:0", None, security),
        ) as running:
            return await asyncio.to_thread(_let_it_close, ca, _port(running, listener))

    client = asyncio.run(serve())
    gc.collect()
    client.close()


def test_stream_that_was_closed_before_is_aborted(
    ca: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLOSE_TIMEOUT_S", 0.01)

    async def serve() -> ssl.SSLSocket:
        closed = asyncio.Event()

        async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            await close_writer(writer)
            closed.set()

        tls = server_context(ca.issue("server"))
        async with await asyncio.start_server(close, HOST, 0, ssl=tls) as server:
            port = server.sockets[0].getsockname()[1]
            client = await asyncio.to_thread(_connect, ca, port)
            await closed.wait()
            return client

    client = asyncio.run(serve())
    gc.collect()
    client.close()


@pytest.mark.parametrize("turns", range(6))
def test_connection_accepted_while_the_acceptor_closes_is_closed(ca: Authority, turns: int) -> None:
    """For one of the numbers of event loop turns, the acceptor closes after it accepted the
    connection and before the TLS handshake.
    """

    async def serve() -> None:
        tls = server_context(ca.issue("server"))
        acceptor = Acceptor.listen(asyncio.Protocol, await bind(HOST, 0), tls)
        with socket.create_connection((HOST, acceptor.port)):
            for _ in range(turns):
                await asyncio.sleep(0)
            await acceptor.close()

    asyncio.run(serve())
    gc.collect()
