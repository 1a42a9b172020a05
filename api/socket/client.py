"""The socket's client: runs commands and appends over one connection, shared by all callers."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self, cast

from api.requests.wire_requests import CommandClient, WireAnswer, WireRequest
from api.security.client import PLAIN_TEXT, ConnectionSecurity
from api.security.tls import unconnected
from api.socket import limits
from api.socket.appends import Append, encode_append
from api.socket.handshake import Welcome
from api.socket.link import Link
from api.socket.refusals import CONNECTION
from api.socket.runs import Run, encode_run
from api.socket.schemas import first_schema, layouts
from api.transport.unix_sockets import UNIX
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch
from records.errors import RequestError


class SocketClient(CommandClient):
    """A connection to a `SocketServer`.

    Attributes:
        cluster_id: Id of the log's cluster.
        version: The negotiated version of the protocol.
    """

    def __init__(self, link: Link, welcome: Welcome) -> None:
        self._link = link
        self._turn = asyncio.Lock()
        # Waiting callers, first come, first served.
        self._queued = 0
        self._last_correlation_id = CONNECTION
        self._layout = layouts()[welcome.schema or first_schema()]
        self.cluster_id = welcome.cluster_id
        self.version = welcome.version

    @property
    def is_open(self) -> bool:
        """True if requests can still be sent."""
        return self._link.is_open

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        cluster_id: str | None = None,
        client_id: str | None = None,
        security: ConnectionSecurity = PLAIN_TEXT,
    ) -> Self:
        """Connect to a server, and authenticate.

        Args:
            cluster_id: Id of the expected cluster; None means any.
            client_id: The client id to be stored in the log.
            security: TLS and user, as the server requires.

        Raises:
            UnavailableError: the address does not answer in time, or one side refuses the other's
                certificate.
            RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM; or
                INCONSISTENT_CLUSTER_ID, the server is of another cluster; or UNSUPPORTED_VERSION,
                the two releases have no version of the protocol or no schema of records in common.
        """
        loop = asyncio.get_running_loop()

        async def opened(link: Link) -> None:
            await loop.create_connection(lambda: link, host, port, ssl=security.tls)

        return await cls._greeted(opened, f"{host}:{port}", cluster_id, client_id, security)

    @classmethod
    async def connect_at(
        cls, path: Path | str, *, cluster_id: str | None = None, client_id: str | None = None
    ) -> Self:
        """Connect to a unix socket, as the user of this process; otherwise like `connect`."""
        loop = asyncio.get_running_loop()

        async def opened(link: Link) -> None:
            await loop.create_unix_connection(lambda: link, str(path))

        return await cls._greeted(opened, f"{UNIX}{path}", cluster_id, client_id, PLAIN_TEXT)

    @classmethod
    async def _greeted(
        cls,
        opened: Callable[[Link], Awaitable[None]],
        address: str,
        cluster_id: str | None,
        client_id: str | None,
        security: ConnectionSecurity,
    ) -> Self:
        link = Link(address, security)
        try:
            async with asyncio.timeout(limits.HANDSHAKE_TIMEOUT_S):
                await opened(link)
                welcome = await link.greet(cluster_id, client_id)
        except OSError as error:  # includes TimeoutError
            raise unconnected(address, error) from error
        return cls(link, welcome)

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Commit a batch, atomically; batches are committed in the order of the calls.

        After cancellation the outcome is unknown. An error has an `outcome`, which says if the
        batch may be in the log; if the connection was lost, the outcome is unknown.

        Args:
            expected_versions: Objects, and the versions they must have.

        Raises:
            RequestError: the batch is refused.
            VersionMismatchError: an object has another version, which is in the error.
            UnavailableError: try again.
            FencedError: the server can no longer write its log.
            CorruptLogError: the server's log is damaged.
        """
        if expected_versions:
            self._require_version_2("compares no versions of objects")

        def frame(correlation_id: int) -> bytes:
            request = Append(
                correlation_id=correlation_id,
                batch=batch,
                expected_end_offset=expected_end_offset,
                expected_versions=expected_versions,
            )
            return encode_append(request, self._layout)

        return cast(AppendResult, await self._ask(frame))

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Run an encoded command; raises as `run`."""
        self._require_version_2("runs no commands")
        answer = await self._ask(
            lambda number: encode_run(Run(correlation_id=number, request=request))
        )
        return cast(WireAnswer, answer)

    def _require_version_2(self, lack: str) -> None:
        if self.version < 2:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the server speaks version 1 of the socket protocol, which {lack}; use its "
                "kafka://HOST:PORT, or upgrade the server",
            )

    async def _ask(self, frame: Callable[[int], bytes]) -> Any:
        """Send a request, in the order of the calls, and wait for its answer.

        Args:
            frame: Returns the request's frame, given its correlation id.
        """
        link = self._link
        if self._queued or not link.writable.is_set():
            await self._wait_for_turn()
        self._last_correlation_id = correlation_id = self._last_correlation_id + 1
        answer = link.request(correlation_id, frame(correlation_id))
        try:
            return await answer
        finally:
            link.forget(correlation_id)

    async def _wait_for_turn(self) -> None:
        """Wait until a request may be sent; callers are served in the order of their calls."""
        self._queued += 1
        try:
            async with self._turn:
                await self._link.writable.wait()
        finally:
            self._queued -= 1

    async def close(self) -> None:
        """Wait for outstanding answers, and disconnect."""
        self._link.finish()
        await asyncio.wait([self._link.lost], timeout=limits.CLOSE_TIMEOUT_S)
        self._link.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
