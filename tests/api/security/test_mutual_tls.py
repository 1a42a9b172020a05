"""Client certificates on every listener of a running service: who is refused, and renewal."""

import asyncio
import contextlib
import datetime as dt
import shutil
import signal
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from api.clients.client import MetadataClient
from api.kafka.connection import Connection
from api.security.client import ConnectionSecurity
from api.security.tls import TlsFiles, client_context
from api.socket.client import SocketClient
from controller.decisions.notes import AddNote
from metadata_log.writer.creation import create_log
from records.errors import MetadataLogError
from tests.api.services import Served, serving
from tests.certificates import Authority

LISTENERS = ("kafka", "socket", "http")
RULES = "RULE:^(?:.*,)?CN=(ann|bob)(?:,.*)?$/$1/"
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
IN_THE_PAST = NOW - 1.5 * DAY


class At:
    """A service with mutual TLS on all listeners, and the files that it reads."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca, self.other = Authority(directory), Authority(directory, "other")
        self.files = TlsFiles(
            certificate=directory / "now.pem",
            key=directory / "now.key",
            ca=directory / "now-ca.pem",
        )
        self.install(self.ca.issue("old-server"))
        self.trust(self.ca)
        self.served: Served
        self._lines: list[str] = []

    def install(self, files: TlsFiles) -> None:
        for given, used in (
            (files.certificate, self.files.certificate),
            (files.key, self.files.key),
        ):
            assert given is not None and used is not None
            shutil.copy(given, used)

    def trust(self, *authorities: Authority) -> None:
        assert self.files.ca is not None
        self.files.ca.write_text("".join(each.path.read_text() for each in authorities))

    def client(self, files: TlsFiles, *, now: dt.datetime | None = None) -> ssl.SSLContext:
        """Return the context of a client that trusts both authorities."""
        context = client_context(files, now=now)
        for authority in (self.ca, self.other):
            context.load_verify_locations(authority.path)
        return context

    def address(self, listener: str) -> tuple[str, int]:
        host, _, port = getattr(self.served, listener).rpartition("//")[2].rpartition(":")
        return host, int(port)

    def logged(self, text: str) -> None:
        """Wait for a line in the service's log."""
        deadline = time.monotonic() + 10
        while not any(text in line for line in self._lines):
            assert time.monotonic() < deadline, f"{text!r} is not in {self._lines}"
            time.sleep(0.02)
        self._lines.clear()

    def collect(self) -> None:
        """Read the service's log until it ends."""
        assert self.served.process.stderr is not None
        for line in self.served.process.stderr:
            self._lines.append(line)

    def read_again(self) -> None:
        self.served.process.send_signal(signal.SIGHUP)
        self.logged("were read again")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[At]:
    create_log(tmp_path / "log", "mutual")
    found = At(tmp_path)
    files = found.files
    with serving(
        tmp_path / "log",
        *("--client-auth", "required", "--ca-file", files.ca, "--principal-rules", RULES),
        *("--certificate-file", files.certificate, "--key-file", files.key),
        *("--http", "https://127.0.0.1:0"),
        kafka="ssl://127.0.0.1:0",
        socket="ssl://127.0.0.1:0",
    ) as found.served:
        reader = threading.Thread(target=found.collect)
        reader.start()
        yield found
        found.served.process.terminate()
        reader.join()


@contextlib.asynccontextmanager
async def _connected(
    at: At, listener: str, tls: ssl.SSLContext
) -> AsyncIterator[MetadataClient | SocketClient | httpx.AsyncClient]:
    host, port = at.address(listener)
    security = ConnectionSecurity(tls=tls)
    if listener == "http":
        async with httpx.AsyncClient(
            base_url=f"https://{host}:{port}", verify=tls, timeout=30
        ) as client:
            yield client
    elif listener == "socket":
        socket_client = await SocketClient.connect(host, port, security=security)
        try:
            yield socket_client
        finally:
            await socket_client.close()
    else:
        async with MetadataClient(await Connection.open(host, port, "test", security)) as kafka:
            yield kafka


async def _ask(client: MetadataClient | SocketClient | httpx.AsyncClient) -> None:
    if isinstance(client, httpx.AsyncClient):
        (await client.get("/v1/topics/list")).raise_for_status()
    else:
        await client.run("notes add", AddNote(at_offset=0, text="x"))


async def _answers(at: At, listener: str, tls: ssl.SSLContext) -> bool:
    """True if a new connection gets an answer, False if it is refused."""
    try:
        async with _connected(at, listener, tls) as client:
            await _ask(client)
    except (MetadataLogError, httpx.TransportError):
        return False
    return True


async def _answering(at: At, tls: ssl.SSLContext) -> list[str]:
    """Return the listeners that answer."""
    return [each for each in LISTENERS if await _answers(at, each, tls)]


async def test_every_listener_refuses_every_wrong_certificate(at: At) -> None:
    expired = at.ca.issue("ann", not_before=NOW - 2 * DAY, not_after=NOW - DAY)
    contexts = {
        "certificate has expired": at.client(expired, now=IN_THE_PAST),
        "self-signed certificate in certificate chain": at.client(at.other.issue("ann")),
        "unsuitable certificate purpose": at.client(
            at.ca.issue_for(ExtendedKeyUsageOID.SERVER_AUTH, "ann")
        ),
        "the client shows no certificate": at.client(TlsFiles(ca=at.ca.path)),
    }
    for cause, tls in contexts.items():
        assert await _answering(at, tls) == [], cause
        at.logged(cause)
        time.sleep(1.1)  # only one line a second is logged
    assert await _answering(at, at.client(at.ca.issue("ann"))) == list(LISTENERS)


async def test_a_certificate_without_a_principal_is_refused_with_its_name_in_the_log(
    at: At,
) -> None:
    tls = at.client(at.ca.issue("cat"))
    for listener in LISTENERS:
        assert not await _answers(at, listener, tls)
        at.logged("CN=cat")


def _is_kept(connection: ssl.SSLSocket) -> bool:
    """True if the server keeps the connection open; also receives the tickets of TLS 1.3."""
    connection.settimeout(1)
    try:
        while connection.recv(1_000):
            pass  # the socket's refusal
    except TimeoutError:
        return True
    except OSError:
        pass
    return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_not_resumed_with_a_certificate_that_has_expired(
    at: At, version: ssl.TLSVersion
) -> None:
    end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=8)
    tls = at.client(at.ca.issue("ann", not_before=NOW - DAY, not_after=end))
    tls.maximum_version = version

    def connect(listener: str, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
        connection = socket.create_connection(at.address(listener))
        return tls.wrap_socket(connection, server_hostname="localhost", session=session)

    sessions = {}
    for listener in LISTENERS:
        with connect(listener) as first:
            assert _is_kept(first)
            sessions[listener] = first.session
        with connect(listener, sessions[listener]) as second:
            assert second.session_reused
            assert _is_kept(second)
    time.sleep((end - dt.datetime.now(dt.UTC)).total_seconds() + 1.1)
    for listener, session in sessions.items():
        with connect(listener, session) as late:
            assert not _is_kept(late)


class _Load:
    """A client of each listener that connects anew for each question."""

    def __init__(self, at: At, tls: ssl.SSLContext) -> None:
        self._at = at
        self.tls = tls
        self.asked: Counter[str] = Counter()
        self._tasks = [asyncio.create_task(self._run(each)) for each in LISTENERS]

    async def _run(self, listener: str) -> None:
        while True:
            async with _connected(self._at, listener, self.tls) as client:
                await _ask(client)
            self.asked[listener] += 1

    async def goes_on(self) -> None:
        """Wait until each client was answered three times more; raise what one of them raised."""
        wanted = {each: self.asked[each] + 3 for each in LISTENERS}
        async with asyncio.timeout(60):
            while any(self.asked[each] < count for each, count in wanted.items()):
                for task in self._tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_certificates_and_authority_are_exchanged_under_load(at: At) -> None:
    ann, bob = at.client(at.ca.issue("ann")), at.client(at.other.issue("bob"))
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(_connected(at, each, ann)) for each in LISTENERS]
        load = _Load(at, ann)
        stack.push_async_callback(load.end)
        await load.goes_on()
        assert await _answering(at, bob) == []
        at.trust(at.ca, at.other)
        await asyncio.to_thread(at.read_again)
        await load.goes_on()
        load.tls = bob
        at.install(at.other.issue("new-server"))
        await asyncio.to_thread(at.read_again)
        await load.goes_on()
        at.trust(at.other)
        await asyncio.to_thread(at.read_again)
        await load.goes_on()
        assert await _answering(at, ann) == []
        for client in opened:
            if not isinstance(client, httpx.AsyncClient):
                await _ask(client)
