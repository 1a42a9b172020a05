"""Logins of the stand-in, written out byte by byte as the RFCs say."""

import base64
import hashlib
import hmac
import socket
import ssl
import struct
import time
from pathlib import Path

import pytest

from tests.stand_in_quorum import FETCH, Quorum, Sasl
from tests.stand_in_quorum.peer import fetch

SASL = Sasl({"reader": "se,c=ret"})
FETCH_REQUEST = fetch(17, epoch=3)
FETCH_REQUEST.with_header(7, "peer")
FETCH_FRAME = bytes(FETCH_REQUEST.encode(header=True, framed=True))


class Client:
    """Sends SaslHandshake 1 and SaslAuthenticate 1, byte by byte."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)

    def close(self) -> None:
        self.socket.close()

    def frame(self, frame: bytes) -> bytes:
        """Return the answer without length and correlation id; empty if the connection closed."""
        self.socket.sendall(frame)
        size = self._receive(4)
        return self._receive(*struct.unpack(">i", size))[4:] if size else b""

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self.socket.recv(size - len(data))):
            data += more
        return data

    def _ask(self, key: int, body: bytes) -> bytes:
        header = struct.pack(">hhi", key, 1, 5) + struct.pack(">h", -1)
        return self.frame(struct.pack(">i", len(header) + len(body)) + header + body)

    def handshake(self, mechanism: str) -> int:
        answer = self._ask(17, struct.pack(">h", len(mechanism)) + mechanism.encode())
        (error,) = struct.unpack_from(">h", answer)
        assert isinstance(error, int)
        return error

    def authenticate(self, token: bytes) -> tuple[int, bytes, int]:
        """Return the error, what the server says, and the lifetime of the login."""
        answer = self._ask(36, struct.pack(">i", len(token)) + token)
        error, size = struct.unpack_from(">hh", answer)
        at = 4 + max(0, size)
        (length,) = struct.unpack_from(">i", answer, at)
        (lifetime,) = struct.unpack_from(">q", answer, at + 4 + length)
        return error, answer[at + 4 : at + 4 + length], lifetime


def scram(client: Client, name: str, user: str, password: str) -> int:
    """Log in as RFC 5802 says; return the error of the last answer."""
    algorithm = "sha256" if name.endswith("256") else "sha512"
    escaped = user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={escaped},r=abc"
    error, answer, _ = client.authenticate(f"n,,{first}".encode())
    assert error == 0
    nonce, salt, iterations = (part[2:] for part in answer.decode().split(","))
    without = f"c=biws,r={nonce}"
    signed = f"{first},{answer.decode()},{without}".encode()
    salted = hashlib.pbkdf2_hmac(
        algorithm, password.encode(), base64.b64decode(salt), int(iterations)
    )
    key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, key).digest(), signed, algorithm)
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
    error, answer, _ = client.authenticate(without.encode() + b",p=" + proof)
    if not error:
        server = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), signed, algorithm)
        assert answer == b"v=" + base64.b64encode(server)
    return error


def login(client: Client, mechanism: str, password: str) -> int:
    assert client.handshake(mechanism) == 0
    match mechanism:
        case "PLAIN":
            return client.authenticate(b"\0reader\0" + password.encode())[0]
        case "OAUTHBEARER":
            token = b"n,,\x01auth=Bearer " + password.encode() + b"\x01\x01"
            return client.authenticate(token)[0]
        case _:
            return scram(client, mechanism, "reader", password)


@pytest.mark.parametrize("mechanism", SASL.mechanisms)
def test_login_is_needed_and_has_to_be_right(directory: Path, mechanism: str) -> None:
    with Quorum(directory, sasl=SASL) as quorum:
        client = Client(quorum.bootstrap)
        assert login(client, mechanism, "se,c=ret") == 0
        assert client.frame(FETCH_FRAME)
        client.close()
        assert [seen.principal for seen in quorum.asked(FETCH)] == ["reader"]
        wrong = Client(quorum.bootstrap)
        assert login(wrong, mechanism, "wrong") == 58
        assert wrong.frame(FETCH_FRAME) == b""
        wrong.close()
        assert len(quorum.asked(FETCH)) == 1


def test_request_before_the_login_closes_the_connection(directory: Path) -> None:
    with Quorum(directory, sasl=SASL, allows_anything=True) as quorum:
        client = Client(quorum.bootstrap)
        assert client.frame(FETCH_FRAME) == b""
        client.close()
        assert quorum.breaches == ["malformed request 00010011: a request before the login"]


def test_unknown_mechanism_is_answered_with_the_known_ones(directory: Path) -> None:
    with Quorum(directory, sasl=Sasl(mechanisms=("PLAIN",))) as quorum:
        client = Client(quorum.bootstrap)
        assert client.handshake("SCRAM-SHA-256") == 33
        client.close()


def test_login_expires(directory: Path) -> None:
    sasl = Sasl({"reader": "secret"}, lifetime_ms=200)
    with Quorum(directory, sasl=sasl, allows_anything=True) as quorum:
        client = Client(quorum.bootstrap)
        client.handshake("PLAIN")
        assert client.authenticate(b"\0reader\0secret") == (0, b"", 200)
        assert client.frame(FETCH_FRAME)
        client.handshake("PLAIN")
        assert client.authenticate(b"\0reader\0secret")[0] == 0
        assert client.frame(FETCH_FRAME)
        time.sleep(0.25)
        assert client.frame(FETCH_FRAME) == b""
        client.close()


def test_principal_without_the_right_is_refused(directory: Path) -> None:
    with Quorum(directory, sasl=SASL, allowed=frozenset({"broker"})) as quorum:
        client = Client(quorum.bootstrap)
        assert login(client, "PLAIN", "se,c=ret") == 0
        # Tags of the header, throttle time, error, no session, no topics, no tags.
        assert client.frame(FETCH_FRAME) == bytes.fromhex("00 00000000 001f 00000000 01 00")
        client.close()


def test_certificate_names_the_principal(directory: Path, tmp_path: Path) -> None:
    import trustme

    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(server)
    server.verify_mode = ssl.CERT_REQUIRED
    with Quorum(directory, tls=server) as quorum:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(trusting)
        authority.issue_cert("reader", common_name="reader").configure_cert(trusting)
        client = Client(quorum.bootstrap)
        client.socket = trusting.wrap_socket(client.socket, server_hostname="127.0.0.1")
        assert client.frame(FETCH_FRAME)
        client.close()
        assert [seen.principal for seen in quorum.asked(FETCH)] == ["CN=reader"]
