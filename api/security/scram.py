"""SCRAM exchanges, both sides; no sockets, no randomness.

    client-first:  n,,n=USER,r=NONCE[,tokenauth=true]
    server-first:  r=NONCE...,s=SALT,i=ITERATIONS
    client-final:  c=biws,r=NONCE...,p=PROOF
    server-final:  v=SIGNATURE

There is no channel binding, as in Kafka; TLS protects the connection.

Source: RFC 5802, RFC 7677; ScramMessages of Kafka 4.0; KIP-48 (`tokenauth`).
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable

import msgspec

from api.security.errors import AuthenticationError
from controller.decisions.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    keys_of,
    salted_password,
)
from replay.image.scram import ScramCredential

TOKEN_EXTENSION = "tokenauth"

_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = "(?P<extensions>(?:,[A-Za-z]+=[^,\x00]+)*)"
_CLIENT_FIRST = re.compile(
    rf"(?P<header>[ny],(?:a=(?P<authzid>[^,\x00]+))?,)"
    rf"(?P<bare>n=(?P<user>[^,\x00]+),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
)
_SERVER_FIRST = re.compile(
    rf"r=(?P<nonce>{_PRINTABLE}),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>[0-9]{{1,9}})"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<without_proof>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FINAL = re.compile(r"v=(?P<signature>[A-Za-z0-9+/=]+)")


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A user's credential as stored, or a decoy for a user that does not exist.

    Attributes:
        principal: The principal that the credential proves; None for a decoy.
        expires_ms: When the credential expires; None: never.
    """

    credential: ScramCredential
    principal: str | None
    expires_ms: int | None = None


class ScramServer:
    """The server's side of one exchange: `first`, then `final`."""

    def __init__(
        self, mechanism: ScramMechanism, find: Callable[[str, bool], Stored], nonce: str
    ) -> None:
        """Begin an exchange.

        Args:
            find: Returns the stored credential of a user, or of a token id if the flag is True.
            nonce: The server's part of the nonce, printable and without a comma.
        """
        self._hash = mechanism.hash_name
        self._find = find
        self._own_nonce = nonce
        self._stored: Stored | None = None
        self._header = self._bare = self._nonce = self._first = ""
        self.user = ""

    def first(self, token: bytes) -> bytes:
        """Return the answer to the client's first message.

        Raises:
            AuthenticationError: the message is malformed.
        """
        found = _parsed(_CLIENT_FIRST, token)
        self.user = _decoded_name(found["user"])
        if found["authzid"] and _decoded_name(found["authzid"]) != self.user:
            raise AuthenticationError("the client wants to act as another user")
        extensions = found["extensions"].lower().split(",")
        is_token = f"{TOKEN_EXTENSION}=true" in extensions
        self._stored = self._find(self.user, is_token)
        credential = self._stored.credential
        self._header, self._bare = found["header"], found["bare"]
        self._nonce = found["nonce"] + self._own_nonce
        salt = base64.b64encode(credential.salt).decode()
        self._first = f"r={self._nonce},s={salt},i={credential.iterations}"
        return self._first.encode()

    def final(self, token: bytes) -> tuple[bytes, str]:
        """Return the answer to the client's proof, and the principal that is now authenticated.

        Raises:
            AuthenticationError: the proof is wrong or malformed, or there is no such user.
        """
        assert self._stored is not None, "first comes before"
        found = _parsed(_CLIENT_FINAL, token)
        if found["nonce"] != self._nonce and found["nonce"].endswith(self._nonce):
            raise AuthenticationError(
                "the client's last message repeats its nonce, as that of librdkafka before 2.6.1 "
                "does; Kafka 4 refuses it, too"
            )
        if found["nonce"] != self._nonce or _unpacked(found["binding"]) != self._header.encode():
            raise AuthenticationError("the client's last message is not of this exchange")
        credential = self._stored.credential
        message = ",".join((self._bare, self._first, found["without_proof"])).encode()
        signature = hmac.digest(credential.stored_key, message, self._hash)
        client_key = _xor(_unpacked(found["proof"]), signature)
        proved = hashlib.new(self._hash, client_key).digest()
        is_right = hmac.compare_digest(proved, credential.stored_key)
        if self._stored.principal is None:
            raise AuthenticationError("there is no such user, or not with this mechanism")
        if not is_right:
            raise AuthenticationError("the password is wrong")
        answer = hmac.digest(credential.server_key, message, self._hash)
        return b"v=" + base64.b64encode(answer), self._stored.principal


class ScramClient:
    """The client's side of one exchange: `first`, `final`, then `check`."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        nonce: str,
        *,
        is_token: bool = False,
    ) -> None:
        self._hash = mechanism.hash_name
        self._password = password
        self._nonce = nonce
        extension = f",{TOKEN_EXTENSION}=true" if is_token else ""
        self._bare = f"n={_encoded_name(user)},r={nonce}{extension}"
        self._expected = b""

    def first(self) -> bytes:
        """Return the first message."""
        return f"n,,{self._bare}".encode()

    def final(self, token: bytes) -> bytes:
        """Return the proof in answer to the server's first message.

        Raises:
            AuthenticationError: the message is malformed, or has too many or too few iterations.
        """
        found = _parsed(_SERVER_FIRST, token)
        if not found["nonce"].startswith(self._nonce) or found["nonce"] == self._nonce:
            raise AuthenticationError("the server's message is not of this exchange")
        iterations = int(found["iterations"])
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise AuthenticationError(
                f"the server asks for {iterations} iterations; {ITERATIONS_MIN} to "
                f"{ITERATIONS_MAX} are allowed"
            )
        salted = salted_password(self._hash, self._password, _unpacked(found["salt"]), iterations)
        without_proof = f"c=biws,r={found['nonce']}"
        message = b",".join((self._bare.encode(), token, without_proof.encode()))
        keys = keys_of(self._hash, salted)
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        proof = _xor(client_key, hmac.digest(keys.stored_key, message, self._hash))
        self._expected = hmac.digest(keys.server_key, message, self._hash)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, token: bytes) -> None:
        """Check the server's last message, which proves that the server knows the user's keys, too.

        Raises:
            AuthenticationError: the proof is wrong.
        """
        found = _parsed(_SERVER_FINAL, token)
        if not hmac.compare_digest(_unpacked(found["signature"]), self._expected):
            raise AuthenticationError("the server does not know the user's keys")


def _parsed(pattern: re.Pattern[str], token: bytes) -> re.Match[str]:
    try:
        found = pattern.fullmatch(token.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise AuthenticationError("a SCRAM message is malformed")
    return found


def _unpacked(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise AuthenticationError("a SCRAM message is malformed") from None


def _xor(left: bytes, right: bytes) -> bytes:
    if len(left) != len(right):
        raise AuthenticationError("the size of the proof does not fit the mechanism")
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _encoded_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _decoded_name(name: str) -> str:
    if re.search("=(?!2C|3D)", name):
        raise AuthenticationError("a SCRAM message is malformed")
    return name.replace("=2C", ",").replace("=3D", "=")
