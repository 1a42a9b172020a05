"""The authenticated identity of a connection's client, and how long the identity is valid."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from api.kafka.apis import SASL_HANDSHAKE, Api
from api.kafka.authentication import Client, Session, log_in
from api.kafka.streams import Received
from api.security.listeners import ListenerSecurity, logged_in
from api.transport.connections import Place
from controller.authorization.caller import Caller
from records.errors import UnavailableError

Send = Callable[[bytes], Awaitable[None]]


class Identity:
    """The identity of one connection's client.

    Attributes:
        caller: The client; not authenticated before `prove`.
        session: The client's SASL session; None before the login, and if the listener does not use
            SASL.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        place: Place,
        security: ListenerSecurity,
        listed: Collection[Api],
    ) -> None:
        """Start unauthenticated; `listed` are the requests that the listener supports."""
        self._reader = reader
        self._place = place
        self._security = security
        self._listed = listed
        self.caller = Caller()
        self.session: Session | None = None

    async def prove(self, transport: asyncio.BaseTransport, send: Send) -> bool:
        """Authenticate the client; return False if the client disconnects first.

        Raises:
            AuthenticationError: authentication failed.
            RequestError: no rule maps the client's certificate to a principal.
        """
        self.caller = self._security.connected(transport)
        if self._security.authenticator is None:
            return True
        if not await self._log_in(send):
            return False
        assert self.session is not None
        self.caller = logged_in(self.caller, self.session.login)
        return True

    def is_renewed_by(self, api: Api) -> bool:
        """True if the request starts another login, and the current session has an end.

        Raises:
            AuthenticationError: the session has ended, and the request does not start a login.
        """
        session = self.session
        if session is None or session.ends_at is None:
            return False
        if api == SASL_HANDSHAKE:
            return True
        if session.has_ended:
            raise session.end()
        return False

    async def renew(self, first: Received, send: Send) -> bool:
        """Authenticate the client again; return False if the client disconnects first.

        The principal must be the same as before.

        Raises:
            AuthenticationError: authentication failed.

        Source: KIP-368.
        """
        return await self._log_in(send, before=self.session, first=first)

    async def hold(self, work: Awaitable[None]) -> None:
        """Await `work`, at most until the client's session ends.

        Raises:
            UnavailableError: the session has ended; the client may connect again.
        """
        session = self.session
        try:
            async with asyncio.timeout_at(None if session is None else session.ends_at) as ending:
                await work
        except TimeoutError:
            if session is None or not ending.expired():
                raise
            raise UnavailableError(f"the session of {self.caller.principal} has ended") from None

    async def _log_in(
        self, send: Send, *, before: Session | None = None, first: Received | None = None
    ) -> bool:
        authenticator = self._security.authenticator
        assert authenticator is not None
        client = Client(
            reader=self._reader,
            place=self._place,
            send=send,
            address=self.caller.address or "",
            host=self.caller.host or "",
        )
        self.session = await log_in(client, authenticator, self._listed, before=before, first=first)
        return self.session is not None
