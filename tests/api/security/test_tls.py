"""TLS over real sockets: the loaded files, and the errors on both sides."""

import asyncio
import datetime as dt
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from msgspec.structs import replace

from api.security.principals import PrincipalMapping
from api.security.tls import (
    ClientAuth,
    TlsFiles,
    client_context,
    peer_principal,
    server_context,
)
from api.transport.handshakes import handshake_problem
from records.errors import RequestError
from tests.certificates import Authority

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def principal_at_server(
    server: ssl.SSLContext,
    client: ssl.SSLContext,
    host: str = "127.0.0.1",
    rules: str = "RULE:^CN=([^,]+),.*$/$1/",
) -> str | None:
    """Connect once; return the principal that the server sees."""
    mapping = PrincipalMapping.parse(rules)
    seen: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            seen.set_result(peer_principal(writer.transport, mapping))
        except RequestError as error:
            seen.set_exception(error)
        writer.write(b"x")
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=server)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client, server_hostname=host
        )
        try:
            await reader.readexactly(1)
        finally:
            writer.close()
    return await seen


async def test_a_client_is_known_by_its_certificate(ca: Authority) -> None:
    server = server_context(ca.issue("server"), ClientAuth.REQUIRED)
    assert await principal_at_server(server, client_context(ca.issue("ann"))) == "User:ann"


async def test_a_client_without_a_certificate_is_nobody_where_it_is_only_requested(
    ca: Authority,
) -> None:
    server = server_context(ca.issue("server"), ClientAuth.REQUESTED)
    assert await principal_at_server(server, client_context(TlsFiles(ca=ca.path))) is None


Case = Callable[[Authority, Path], tuple[TlsFiles, TlsFiles, str]]
"""Returns the client's files, the server's, and the host that the client asks for."""


def _expired(ca: Authority, _: Path) -> tuple[TlsFiles, TlsFiles, str]:
    gone = ca.issue("gone", not_before=NOW - 2 * DAY, not_after=NOW - DAY)
    return TlsFiles(ca=ca.path), gone, "127.0.0.1"


def _other_host(ca: Authority, _: Path) -> tuple[TlsFiles, TlsFiles, str]:
    return TlsFiles(ca=ca.path), ca.issue("server", "other.example"), "localhost"


def _other_authority(ca: Authority, directory: Path) -> tuple[TlsFiles, TlsFiles, str]:
    other = Authority(directory, "other")
    return TlsFiles(ca=other.path), ca.issue("server"), "localhost"


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (_expired, "certificate has expired"),
        (_other_host, "Hostname mismatch"),
        (_other_authority, "self-signed certificate"),
    ],
)
async def test_a_client_says_why_it_refuses_a_server(
    ca: Authority, tmp_path: Path, case: Case, problem: str
) -> None:
    client, server, host = case(ca, tmp_path)
    then = NOW - 1.5 * DAY if case is _expired else NOW
    with pytest.raises(ssl.SSLError) as caught:
        await principal_at_server(server_context(server, now=then), client_context(client), host)
    assert problem in handshake_problem(caught.value)


@pytest.mark.parametrize("rules", ["RULE:^CN=bob,.*$/bob/", "RULE:.*//"])
async def test_a_certificate_that_names_nobody_is_refused(ca: Authority, rules: str) -> None:
    server = server_context(ca.issue("server"), ClientAuth.REQUIRED)
    with pytest.raises(RequestError, match="no rule gives certificate 'CN=ann,"):
        await principal_at_server(server, client_context(ca.issue("ann")), rules=rules)


def _missing(files: TlsFiles, _: Path) -> TlsFiles:
    return replace(files, key=Path("/no/such.key"))


def _swapped(files: TlsFiles, _: Path) -> TlsFiles:
    return replace(files, certificate=files.key, key=files.certificate)


def _garbage(files: TlsFiles, directory: Path) -> TlsFiles:
    path = directory / "garbage.pem"
    path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    return replace(files, certificate=path)


def _encrypted(files: TlsFiles, directory: Path) -> TlsFiles:
    assert files.key is not None
    key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    path = directory / "encrypted.key"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    return replace(files, key=path)


def _no_authority(files: TlsFiles, _: Path) -> TlsFiles:
    return replace(files, ca=None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_missing, "/no/such.key cannot be read: No such file"),
        (_swapped, "has no certificate in PEM"),
        (_garbage, "garbage.pem has no certificate in PEM"),
        (_encrypted, "encrypted.key is encrypted"),
        (_no_authority, "there are no CA certificates"),
    ],
)
def test_wrong_files_stop_the_start(
    ca: Authority, tmp_path: Path, change: Callable[[TlsFiles, Path], TlsFiles], problem: str
) -> None:
    with pytest.raises(RequestError, match=problem):
        server_context(change(ca.issue("server"), tmp_path), ClientAuth.REQUIRED)


def test_another_certificates_key_is_refused(ca: Authority) -> None:
    files = replace(ca.issue("server"), key=ca.issue("other").key)
    with pytest.raises(
        RequestError, match=r"other.key does not belong to certificate .*server.pem"
    ):
        server_context(files)


@pytest.mark.parametrize(
    ("now", "problem"), [(NOW + 10_000 * DAY, "expired at"), (NOW - 10_000 * DAY, "not valid bef")]
)
def test_a_certificate_out_of_its_time_is_refused(
    ca: Authority, now: dt.datetime, problem: str
) -> None:
    files = ca.issue("server", not_before=NOW - DAY, not_after=NOW + DAY)
    with pytest.raises(RequestError, match=problem):
        server_context(files, now=now)
