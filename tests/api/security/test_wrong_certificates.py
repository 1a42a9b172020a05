"""Ten kinds of wrong certificates: the side that can detect the mistake prints one clear line."""

import datetime as dt
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec.structs import replace

from api.kafka import listener
from api.kafka.connection import Connection
from api.kafka.dispatch import DispatchTable
from api.security.client import ConnectionSecurity
from api.security.listeners import ListenerSecurity
from api.security.tls import ClientAuth, TlsFiles, client_context, server_context
from api.transport import acceptor
from records.errors import MetadataLogError, RequestError
from tests.api.kafka.listeners import start_listener
from tests.api.kafka.test_sasl import until
from tests.certificates import Authority

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
THEN = NOW - 1.5 * DAY
SOON = NOW + 1.5 * DAY
EXPIRED = {"not_before": NOW - 2 * DAY, "not_after": NOW - DAY}
FUTURE = {"not_before": NOW + DAY, "not_after": NOW + 2 * DAY}


class Peers(msgspec.Struct, kw_only=True):
    """The settings of both sides of a connection, correct until a test case changes one.

    Attributes:
        now: Time at which the server and the client load their files.
    """

    ca: Authority
    other: Authority
    server: TlsFiles
    client: TlsFiles
    host: str = "localhost"
    now: dt.datetime = NOW
    version: ssl.TLSVersion | None = None


@pytest.fixture
def peers(tmp_path: Path) -> Peers:
    ca = Authority(tmp_path)
    return Peers(
        ca=ca,
        other=Authority(tmp_path, "other"),
        server=ca.issue("server"),
        client=ca.issue("client"),
    )


# While the files are loaded


def _expired(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue("gone", **EXPIRED)


def _not_yet_valid(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue("soon", **FUTURE)


def _other_key(peers: Peers, _: Path) -> None:
    peers.server = replace(peers.server, key=peers.client.key)


def _cut_certificate(peers: Peers, directory: Path) -> None:
    peers.server = replace(peers.server, certificate=_cut(peers.server.certificate, directory))


def _cut_key(peers: Peers, directory: Path) -> None:
    peers.server = replace(peers.server, key=_cut(peers.server.key, directory))


def _cut(path: Path | None, directory: Path) -> Path:
    assert path is not None
    cut = directory / f"cut-{path.name}"
    cut.write_bytes(path.read_bytes()[:200])
    return cut


def _cut_authorities(peers: Peers, directory: Path) -> None:
    peers.server = replace(peers.server, ca=_cut(peers.ca.path, directory))


def _encrypted_key(peers: Peers, directory: Path) -> None:
    assert peers.server.key is not None
    key = serialization.load_pem_private_key(peers.server.key.read_bytes(), None)
    path = directory / "encrypted.key"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    peers.server = replace(peers.server, key=path)


def _unreadable(peers: Peers, directory: Path) -> None:
    # The superuser, who may run the tests, can read every file.
    (directory / "folder.pem").mkdir()
    peers.server = replace(peers.server, certificate=directory / "folder.pem")


def _missing(peers: Peers, directory: Path) -> None:
    peers.server = replace(peers.server, certificate=directory / "absent.pem")


def _short_key(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue_for(ExtendedKeyUsageOID.SERVER_AUTH, "short", key_bits=1_024)


def _for_clients(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue_for(ExtendedKeyUsageOID.CLIENT_AUTH, "purpose")


Spoil = Callable[[Peers, Path], None]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_expired, r"certificate \S+/gone.pem expired at "),
        (_not_yet_valid, r"certificate \S+/soon.pem is not valid before "),
        (
            _other_key,
            r"the private key \S+/client.key does not belong to certificate \S+/server.pem",
        ),
        (_cut_certificate, r"\S+/cut-server.pem has no certificate in PEM"),
        (_cut_key, r"\S+/cut-server.key has no private key in PEM that can be used"),
        (_cut_authorities, r"\S+/cut-ca.pem has no certificate in PEM"),
        (_encrypted_key, r"the private key \S+/encrypted.key is encrypted; store it without a"),
        (_unreadable, r"\S+/folder.pem cannot be read: Is a directory"),
        (_missing, r"\S+/absent.pem cannot be read: No such file"),
        (_short_key, r"the key of certificate \S+/short.pem is too short"),
    ],
)
def test_a_wrong_file_stops_the_start_with_its_name(
    peers: Peers, tmp_path: Path, spoil: Spoil, problem: str
) -> None:
    spoil(peers, tmp_path)
    with pytest.raises(RequestError, match=f"^{problem}") as caught:
        server_context(peers.server, ClientAuth.REQUIRED)
    assert "\n" not in str(caught.value)


# While two sides connect


def _expired_later(peers: Peers, directory: Path) -> None:
    _expired(peers, directory)
    peers.now = THEN


def _valid_later(peers: Peers, directory: Path) -> None:
    _not_yet_valid(peers, directory)
    peers.now = SOON


def _other_host(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue("server", "other.example")


def _of_other_authority(peers: Peers, _: Path) -> None:
    peers.server = replace(peers.other.issue("stranger"), ca=peers.ca.path)


def _self_signed(peers: Peers, _: Path) -> None:
    peers.server = peers.ca.issue_for(ExtendedKeyUsageOID.SERVER_AUTH, "self", is_self_signed=True)


def _old_version(peers: Peers, _: Path) -> None:
    peers.version = ssl.TLSVersion.TLSv1_1


def _no_client_certificate(peers: Peers, _: Path) -> None:
    peers.client = TlsFiles(ca=peers.ca.path)


def _expired_client(peers: Peers, _: Path) -> None:
    peers.client = peers.ca.issue("gone", **EXPIRED)
    peers.now = THEN


def _client_of_other_authority(peers: Peers, _: Path) -> None:
    peers.client = replace(peers.other.issue("stranger"), ca=peers.ca.path)


def _client_for_servers(peers: Peers, _: Path) -> None:
    peers.client = peers.ca.issue_for(ExtendedKeyUsageOID.SERVER_AUTH, "purpose")


REFUSED = "the certificate is refused"
# asyncio's client sends no alert, so the server cannot know.
GONE = "the other side disconnected during the TLS handshake"
NOT_ACCEPTED = "it requires a client certificate, or refuses the one that was shown"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1")
@pytest.mark.parametrize(
    ("spoil", "client_says", "server_says"),
    [
        (_expired_later, f"{REFUSED}: certificate has expired", GONE),
        (_valid_later, f"{REFUSED}: certificate is not yet valid", GONE),
        (_other_host, f"{REFUSED}: Hostname mismatch", GONE),
        (
            _of_other_authority,
            f"{REFUSED}: unable to get local issuer certificate; if you trust",
            GONE,
        ),
        (_self_signed, f"{REFUSED}: self-signed certificate", GONE),
        (_for_clients, f"{REFUSED}: unsuitable certificate purpose", GONE),
        (_old_version, GONE, "the other side has no version of TLS from 1.2 on"),
        (_no_client_certificate, NOT_ACCEPTED, "the client shows no certificate"),
        (_expired_client, NOT_ACCEPTED, f"{REFUSED}: certificate has expired"),
        (_client_of_other_authority, NOT_ACCEPTED, f"{REFUSED}: "),
        (_client_for_servers, NOT_ACCEPTED, f"{REFUSED}: unsuitable certificate purpose"),
    ],
)
async def test_each_side_says_what_it_knows_of_a_wrong_certificate(
    peers: Peers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    spoil: Spoil,
    client_says: str,
    server_says: str,
) -> None:
    for module in (acceptor, listener):
        monkeypatch.setattr(module, "log", logging.getLogger("unlimited"))
    spoil(peers, tmp_path)
    tls = server_context(peers.server, ClientAuth.REQUIRED, now=peers.now)
    security = ListenerSecurity(tls=tls)
    at = await start_listener(DispatchTable(handlers={}), security=security)
    context = client_context(peers.client, now=peers.now)
    if peers.version is not None:
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = peers.version
        context.set_ciphers("DEFAULT@SECLEVEL=0")
    try:
        error = await _refused(peers.host, at.port, ConnectionSecurity(tls=context))
        await until(lambda: bool(caplog.records))
        assert client_says in str(error)
        assert "\n" not in str(error)
        (line,) = [record.getMessage() for record in caplog.records]
        assert server_says in line
    finally:
        await at.close()


async def _refused(host: str, port: int, security: ConnectionSecurity) -> MetadataLogError:
    with pytest.raises(MetadataLogError) as caught:
        await _ask(host, port, security)
    return caught.value


async def _ask(host: str, port: int, security: ConnectionSecurity) -> None:
    connection = await Connection.open(host, port, security=security)
    await connection.newest_versions()
