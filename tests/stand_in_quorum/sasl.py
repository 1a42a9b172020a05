"""SASL mechanisms as a server runs them: PLAIN (RFC 4616), SCRAM (RFC 5802, 7677), OAUTHBEARER."""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Protocol

ITERATIONS = 4096


class RefusedError(Exception):
    """The credentials are wrong, or the messages are not those of the mechanism."""


class Mechanism(Protocol):
    """One login; `principal` is empty until it succeeded."""

    principal: str

    def step(self, token: bytes) -> bytes: ...


class Plain:
    """Authorisation id, user and password between zero bytes."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.principal = ""

    def step(self, token: bytes) -> bytes:
        parts = token.decode().split("\0")
        if len(parts) != 3 or self._passwords.get(parts[1]) != parts[2] or not parts[1]:
            raise RefusedError
        if parts[0] not in ("", parts[1]):
            raise RefusedError
        self.principal = parts[1]
        return b""


class OAuthBearer:
    """A token is good if it is somebody's password here; its user is the principal."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._users = {password: user for user, password in passwords.items()}
        self.principal = ""

    def step(self, token: bytes) -> bytes:
        header, *fields = token.decode().split("\x01")
        found = [each for each in fields if each.startswith("auth=Bearer ")]
        if not header.startswith("n,") or fields[-2:] != ["", ""] or len(found) != 1:
            raise RefusedError
        given = found[0].removeprefix("auth=Bearer ")
        if given not in self._users:
            raise RefusedError
        self.principal = self._users[given]
        return b""


class Scram:
    """Two messages each way; neither side shows the password."""

    def __init__(self, passwords: Mapping[str, str], algorithm: str) -> None:
        self._passwords = passwords
        self._algorithm = algorithm
        self._first = ""
        self._user = ""
        self._salt = os.urandom(16)
        self.principal = ""

    def step(self, token: bytes) -> bytes:
        return (
            self._second_step(token.decode()) if self._first else self._first_step(token.decode())
        )

    def _first_step(self, message: str) -> bytes:
        binding, _, bare = message.partition(",,")
        fields = _fields(bare)
        if binding != "n" or not fields.get("r") or "n" not in fields:
            raise RefusedError
        self._user = fields["n"].replace("=2C", ",").replace("=3D", "=")
        nonce = fields["r"] + base64.b64encode(os.urandom(18)).decode()
        salt = base64.b64encode(self._salt).decode()
        self._nonce = nonce
        first = f"r={nonce},s={salt},i={ITERATIONS}"
        self._first = f"{bare},{first}"
        return first.encode()

    def _second_step(self, message: str) -> bytes:
        without_proof, _, proof = message.rpartition(",p=")
        fields = _fields(without_proof)
        if fields.get("r") != self._nonce or fields.get("c") != "biws":
            raise RefusedError
        signed = f"{self._first},{without_proof}".encode()
        password = self._passwords.get(self._user, "").encode()
        salted = hashlib.pbkdf2_hmac(self._algorithm, password, self._salt, ITERATIONS)
        client_key = self._mac(salted, b"Client Key")
        stored_key = hashlib.new(self._algorithm, client_key).digest()
        signature = self._mac(stored_key, signed)
        expected = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        if not hmac.compare_digest(base64.b64decode(proof), expected):
            raise RefusedError
        if self._user not in self._passwords:
            raise RefusedError
        self.principal = self._user
        server = self._mac(self._mac(salted, b"Server Key"), signed)
        return b"v=" + base64.b64encode(server)

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._algorithm).digest()


def _fields(message: str) -> dict[str, str]:
    """Return `a=b,c=d` by letter."""
    parts = [part.partition("=") for part in message.split(",")]
    return {name: value for name, _, value in parts}


def mechanism(name: str, passwords: Mapping[str, str]) -> Mechanism:
    """Begin a login."""
    match name:
        case "PLAIN":
            return Plain(passwords)
        case "OAUTHBEARER":
            return OAuthBearer(passwords)
        case _:
            return Scram(passwords, name.removeprefix("SCRAM-").replace("-", "").lower())
