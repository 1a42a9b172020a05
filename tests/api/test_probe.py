"""How far a connection to a port gets: a name, a socket, TLS."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.transport.probe import Reach, reach
from tests.api.quorum.conftest import made, partition
from tests.certificates import Authority
from tests.stand_in_quorum import Quorum

__all__ = ["made", "partition"]

_S = 5.0


@asynccontextmanager
async def _serving(
    tls: ssl.SSLContext | None = None, *, says: bytes | None = None
) -> AsyncIterator[int]:
    """Yield the port of a server that sends bytes and disconnects when it was sent something."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(says or b"")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]


def _tls(authority: Authority, *, verify: ssl.VerifyMode, newest: ssl.TLSVersion) -> ssl.SSLContext:
    files = authority.issue("server")
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.path))
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = verify
    context.maximum_version = newest
    return context


async def test_port_with_tls_is_noticed_whether_or_not_it_asks_for_a_certificate(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    for verify in (ssl.CERT_NONE, ssl.CERT_REQUIRED):
        for newest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            async with _serving(_tls(authority, verify=verify, newest=newest)) as port:
                found = await reach("127.0.0.1", port, _S, offer_tls=True)
                assert found is Reach.TLS, (verify, newest)


async def test_port_without_tls_is_noticed_by_what_it_answers() -> None:
    for says in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4abcd"):
        async with _serving(says=says) as port:
            assert await reach("127.0.0.1", port, _S, offer_tls=True) is Reach.PLAIN, says


def test_controller_without_tls_is_noticed(partition: Path) -> None:
    with Quorum(partition, allows_anything=True) as quorum:
        host, port = quorum.address(1).split(":")
        found = asyncio.run(reach(host, int(port), _S, offer_tls=True))
        assert found is Reach.PLAIN
        # What a listener without TLS makes of the first bytes of a handshake.
        (breach,) = quorum.breaches
        assert re.fullmatch(r"a request of 3692956\d\d bytes", breach)


def test_nothing_is_sent_where_tls_is_not_offered(partition: Path) -> None:
    with Quorum(partition) as quorum:
        host, port = quorum.address(1).split(":")
        assert asyncio.run(reach(host, int(port), _S)) is Reach.OPEN


async def test_port_that_does_not_answer_and_one_that_refuses_are_told_apart() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert await reach("127.0.0.1", port, 0.2) is Reach.OPEN
        assert await reach("127.0.0.1", port, 0.2, offer_tls=True) is Reach.SILENT
    assert await reach("127.0.0.1", port, _S) is Reach.REFUSED


async def test_name_that_is_not_known_is_told() -> None:
    assert await reach("controller-1.brokers.kafka.svc.invalid", 9090, _S) is Reach.UNKNOWN_NAME
