"""Renewal of a client's SASL session before its end, on the same connection (KIP-368)."""

import asyncio
import random

from api.kafka.login import Ask, log_in
from api.security.sasl import ClientLogin

_EARLIEST, _LATEST = 0.85, 0.95
"""When a session is renewed, as part of its lifetime; at random, so that not all clients come at
once. Source: SaslClientAuthenticator of Kafka 4.0."""


class SessionRenewal:
    """Renews the SASL session of a connection, when a request is sent late in the session.

    The session of an idle connection is not renewed: the server closes a connection with an ended
    session only when a request arrives.
    """

    def __init__(self, login: ClientLogin, address: str, session_ms: int) -> None:
        """Start with a session that lasts `session_ms`; 0 means that the session never ends."""
        self._login, self._address = login, address
        self._turn = asyncio.Lock()
        self._renew_at: float | None = None
        self._begin(session_ms)

    async def renew_in_time(self, ask: Ask) -> None:
        """Renew the session if renewal is due; concurrent requests wait for it.

        Raises:
            UnavailableError, RequestError: as `log_in`.
        """
        if not self._is_due and not self._turn.locked():
            return
        async with self._turn:
            if self._is_due:
                self._begin(await log_in(ask, self._login, self._address))

    @property
    def _is_due(self) -> bool:
        return self._renew_at is not None and asyncio.get_running_loop().time() >= self._renew_at

    def _begin(self, session_ms: int) -> None:
        now = asyncio.get_running_loop().time()
        part = random.uniform(_EARLIEST, _LATEST)
        self._renew_at = now + part * session_ms / 1_000 if session_ms else None
