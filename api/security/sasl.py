"""SASL on both sides: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512, without sockets.

A PLAIN password is checked against the user's SCRAM credential, because the log stores no
passwords.

Source: RFC 4616 (PLAIN), RFC 5802 (SCRAM).
"""

import asyncio
import hmac
import secrets
import time
from typing import Protocol

import msgspec

from api.security.errors import AuthenticationError
from api.security.failed_logins import FailedLogins
from api.security.scram import ScramClient, ScramServer, Stored
from api.security.users import Users
from controller.decisions.security.scram import ScramMechanism, keys_of, salted_password

PLAIN = "PLAIN"
SCRAM = {mechanism.title: mechanism for mechanism in ScramMechanism}
MECHANISMS = (PLAIN, *SCRAM)

FAILURE = "Authentication failed: Invalid username or password"
"""Error message sent to clients for every failed login; Kafka's text."""

FAILED_DELAY_S = 0.1
"""Delay before the answer that refuses a login: Kafka's
`connection.failed.authentication.delay.ms`. The delay also hides how long the check took."""

_CHECKS_MAX = 2
"""Maximum plain passwords checked concurrently; each takes some milliseconds of CPU."""

_NAME_SIZE_MAX = 256
_NONCE_SIZE_BYTES = 24


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """A successful login, with its principal.

    Attributes:
        by_token: True if a delegation token of the principal was used.
        expires_ms: When the token expires; None: never.
    """

    principal: str
    by_token: bool = False
    expires_ms: int | None = None


class Authenticator:
    """Authenticates the clients of one listener.

    Attributes:
        mechanisms: The mechanisms offered.
        listener: Name of the listener.
        failed_logins: The recent failures, by user and address.
        succeeded, failed: Numbers of logins so far; a login that took too long counts as failed.
    """

    def __init__(
        self,
        users: Users,
        mechanisms: tuple[str, ...] = MECHANISMS,
        listener: str = "",
        session_ms_max: int = 0,
    ) -> None:
        self._users = users
        self._session_ms_max = session_ms_max
        self._checks = asyncio.Semaphore(_CHECKS_MAX)
        self.failed_logins = FailedLogins(time.monotonic)
        self.mechanisms = mechanisms
        self.listener = listener
        self.succeeded = 0
        self.failed = 0

    def begin(self, mechanism: str, address: str) -> "Attempt":
        """Begin a login with the mechanism that the client chose.

        Args:
            address: The client's address, without the port.

        Raises:
            AuthenticationError: the mechanism is not offered.
        """
        if mechanism not in self.mechanisms:
            raise AuthenticationError(
                f"mechanism {mechanism[:64]!r} is not offered; use one of: "
                f"{', '.join(self.mechanisms)}"
            )
        if mechanism == PLAIN:
            exchange: ServerExchange = _PlainExchange(self._users, self._checks)
        else:
            exchange = _ScramExchange(self._users, SCRAM[mechanism])
        return Attempt(mechanism, exchange, self.failed_logins, address)

    def session_ms(self, login: Login) -> int:
        """Return the time in ms after which the client must log in again; 0: never.

        Source: KIP-368; ReauthInfo of Kafka 4.0.
        """
        ends = [self._session_ms_max] if self._session_ms_max > 0 else []
        if login.expires_ms is not None:
            ends.append(max(login.expires_ms - self._users.now_ms(), 1))
        return min(ends, default=0)


class Attempt:
    """One login on the server; independent of the protocol that carries the messages.

    Attributes:
        mechanism: The mechanism that the client chose.
    """

    def __init__(
        self, mechanism: str, exchange: "ServerExchange", failed: FailedLogins, address: str
    ) -> None:
        self.mechanism = mechanism
        self._exchange = exchange
        self._failed, self._address = failed, address

    async def answer(self, token: bytes) -> tuple[bytes, Login | None]:
        """Return the answer to a client's message, and the login if that was the last message.

        Raises:
            AuthenticationError: the login has failed; raised after a fixed delay, which hides how
                long the check took, and later after several failures.
        """
        loop, exchange = asyncio.get_running_loop(), self._exchange
        answered_at = loop.time() + FAILED_DELAY_S
        try:
            answer, login = await exchange.answer(token)
        except AuthenticationError as error:
            delay_s = self._failed.delay_s(exchange.user, self._address)
            # Before the wait: a client that disconnects has tried a password, too.
            self._failed.failed(exchange.user, self._address)
            await asyncio.sleep(answered_at - loop.time() + delay_s)
            who = f"as {exchange.user[:64]!r} " if exchange.user else ""
            raise AuthenticationError(f"{who}by {self.mechanism}: {error}") from error
        if login is not None:
            delay_s = self._failed.delay_s(exchange.user, self._address)
            if delay_s:
                await asyncio.sleep(delay_s)
            self._failed.succeeded(exchange.user, self._address)
        return answer, login


class ServerExchange(Protocol):
    """The server's side of one SASL exchange.

    Attributes:
        user: The user name that the client claims; empty before the client sent it.
    """

    user: str

    async def answer(self, token: bytes) -> tuple[bytes, Login | None]:
        """Return the answer to a client's message, and the login if that was the last message.

        Raises:
            AuthenticationError: the exchange has failed.
        """


class _ScramExchange:
    def __init__(self, users: Users, mechanism: ScramMechanism) -> None:
        self._users = users
        self._mechanism = mechanism
        self._by_token = self._has_begun = False
        self._expires_ms: int | None = None
        nonce = secrets.token_urlsafe(_NONCE_SIZE_BYTES)
        self._scram = ScramServer(mechanism, self._find, nonce)
        self.user = ""

    async def answer(self, token: bytes) -> tuple[bytes, Login | None]:
        if not self._has_begun:
            self._has_begun = True
            first = self._scram.first(token)
            self.user = self._scram.user
            return first, None
        last, principal = self._scram.final(token)
        return last, Login(
            principal=principal, by_token=self._by_token, expires_ms=self._expires_ms
        )

    def _find(self, name: str, is_token: bool) -> Stored:
        _check_name(name)
        self._by_token = is_token
        find = self._users.token if is_token else self._users.user
        found = find(name, self._mechanism)
        self._expires_ms = found.expires_ms
        return found


class _PlainExchange:
    def __init__(self, users: Users, checks: asyncio.Semaphore) -> None:
        self._users = users
        self._checks = checks
        self.user = ""

    async def answer(self, token: bytes) -> tuple[bytes, Login | None]:
        try:
            authzid, self.user, password = token.decode().split("\0")
        except ValueError:
            raise AuthenticationError("a PLAIN message is malformed") from None
        _check_name(self.user)
        mechanism, stored = self._users.user_of_any_mechanism(self.user)
        async with self._checks:
            is_right = await asyncio.to_thread(_is_password, password, mechanism, stored)
        if stored.principal is None:
            raise AuthenticationError("there is no such user")
        if not is_right:
            raise AuthenticationError("the password is wrong")
        if authzid not in ("", self.user):
            raise AuthenticationError("the client wants to act as another user")
        return b"", Login(principal=stored.principal)


def _is_password(password: str, mechanism: ScramMechanism, stored: Stored) -> bool:
    credential, name = stored.credential, mechanism.hash_name
    salted = salted_password(name, password, credential.salt, credential.iterations)
    return hmac.compare_digest(keys_of(name, salted).stored_key, credential.stored_key)


def _check_name(name: str) -> None:
    if not name or len(name) > _NAME_SIZE_MAX:
        raise AuthenticationError("the name of the user is empty or too long")


class ClientLogin(msgspec.Struct, frozen=True, kw_only=True):
    """A client's credentials. `is_token`: they are the id and HMAC of a delegation token."""

    mechanism: str
    user: str
    password: str
    is_token: bool = False

    def __repr__(self) -> str:
        """Return a text without the password."""
        return f"ClientLogin({self.mechanism}, {self.user!r})"


class ClientExchange:
    """The client's side of one SASL exchange.

    Call `begin`, then `go_on` with each answer until `go_on` returns None.
    """

    def __init__(self, login: ClientLogin) -> None:
        self._login = login
        self._step = 0
        self._scram: ScramClient | None = None
        if login.mechanism != PLAIN:
            nonce = secrets.token_urlsafe(_NONCE_SIZE_BYTES)
            self._scram = ScramClient(
                SCRAM[login.mechanism],
                login.user,
                login.password,
                nonce,
                is_token=login.is_token,
            )

    def begin(self) -> bytes:
        """Return the first message."""
        if self._scram is None:
            return f"\0{self._login.user}\0{self._login.password}".encode()
        return self._scram.first()

    def go_on(self, answer: bytes) -> bytes | None:
        """Return the next message, None after the last one.

        Raises:
            AuthenticationError: the server did not prove that it knows the user's keys, or its
                answer is malformed.
        """
        if self._scram is None:
            return None
        self._step += 1
        if self._step == 1:
            return self._scram.final(answer)
        self._scram.check(answer)
        return None
