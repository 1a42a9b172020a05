"""Who is at the other end of a connection: SASL if the listener asks for it, or the certificate."""

import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.stand_in_quorum.frames import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Header,
    writer,
)
from tests.stand_in_quorum.sasl import Mechanism, RefusedError, mechanism
from tests.stand_in_quorum.wire import MalformedError, Reader

UNSUPPORTED_SASL_MECHANISM = 33
ILLEGAL_SASL_STATE = 34
SASL_AUTHENTICATION_FAILED = 58

ANONYMOUS = "ANONYMOUS"


@dataclass(frozen=True)
class Sasl:
    """What a listener asks for: mechanisms, and passwords (for OAUTHBEARER tokens) by user.

    `lifetime_ms` is how long a login is good; the client has to log in again before. 0 is for ever.
    """

    passwords: Mapping[str, str] = field(default_factory=dict)
    mechanisms: tuple[str, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    lifetime_ms: int = 0


class Session:
    """The login of a connection; `principal` is empty while one is missing."""

    def __init__(self, connection: socket.socket, sasl: Sasl | None) -> None:
        self._sasl = sasl
        self._login: Mechanism | None = None
        self._expires = float("inf")
        self.principal = "" if sasl else _certificate_name(connection)

    def handle(self, header: Header, reader: Reader) -> tuple[bytes, bool] | None:
        """Answer a request of the login; None for another request, which is then allowed.

        The flag is true if the connection is closed after the answer.

        Raises:
            MalformedError: Kafka would close the connection: no login, or it has expired.
        """
        if self._sasl is None:
            return None
        if header.key == SASL_HANDSHAKE:
            return self._handshake(self._sasl, header, reader)
        if header.key == SASL_AUTHENTICATE:
            return self._authenticate(self._sasl, header, reader)
        if self._login is not None or (not self.principal and header.key != API_VERSIONS):
            raise MalformedError("a request before the login")
        if time.monotonic() > self._expires:
            raise MalformedError("the login has expired")
        return None

    def _handshake(self, sasl: Sasl, header: Header, reader: Reader) -> tuple[bytes, bool]:
        name = reader.text()
        reader.end()
        is_known = name in sasl.mechanisms
        if is_known:
            self._login = mechanism(name, sasl.passwords)
        out = writer(header).int16(0 if is_known else UNSUPPORTED_SASL_MECHANISM)
        out.count(len(sasl.mechanisms))
        for each in sasl.mechanisms:
            out.string(each)
        return out.done(), not is_known

    def _authenticate(self, sasl: Sasl, header: Header, reader: Reader) -> tuple[bytes, bool]:
        token = reader.bytes_()
        reader.tags()
        reader.end()
        error, message, answer = 0, None, b""
        if self._login is None:
            error, message = ILLEGAL_SASL_STATE, "SaslAuthenticate before SaslHandshake"
        else:
            try:
                answer = self._login.step(token)
            except (RefusedError, ValueError):
                # Whether the user or the password is wrong stays unsaid.
                error, message = SASL_AUTHENTICATION_FAILED, "Authentication failed"
        is_done = self._login is not None and bool(self._login.principal)
        if is_done:
            self._logged_in(sasl)
        out = writer(header).int16(error).string(message).bytes_(answer)
        if header.version >= 1:
            out.int64(sasl.lifetime_ms if is_done else 0)
        return out.tags().done(), error != 0

    def _logged_in(self, sasl: Sasl) -> None:
        assert self._login is not None
        if self.principal not in ("", self._login.principal):
            raise MalformedError("a second login as another user")
        self.principal, self._login = self._login.principal, None
        if sasl.lifetime_ms:
            self._expires = time.monotonic() + sasl.lifetime_ms / 1000


def _certificate_name(connection: socket.socket) -> str:
    """Return `CN=` and the common name of the client's certificate."""
    if not isinstance(connection, ssl.SSLSocket):
        return ANONYMOUS
    subject = (connection.getpeercert() or {}).get("subject", ())
    for name, value in (tuple(pair) for part in subject for pair in part):
        if name == "commonName":
            return f"CN={value}"
    return ANONYMOUS
