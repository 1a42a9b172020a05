"""The socket's client: `append` and `run` as in process, over a connection shared by many
callers.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Self, cast

from api.addresses import disconnected, unanswered, unreachable
from api.socket import limits
from api.socket.appends import Append, decode_appended, encode_append
from api.socket.frames import FrameError, FrameReader, Kind
from api.socket.handshake import (
    Welcome,
    check_welcome,
    decode_welcome,
    encode_hello,
    hello_of_client,
)
from api.socket.refusals import CONNECTION, decode_refused
from api.socket.runs import Run, decode_ran, encode_run
from api.socket.schemas import first_schema, layouts
from api.wire_requests import CommandClient, WireAnswer, WireRequest
from controller.decisions.versions import ExpectedVersion
from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError


class SocketClient(CommandClient):
    """A connection to a `SocketServer`.

    Attributes:
        cluster_id: Id of the log's cluster.
        version: The negotiated version of the protocol.
    """

    def __init__(self, link: "_Link", welcome: Welcome) -> None:
        self._link = link
        self._turn = asyncio.Lock()
        # Waiting callers, first come, first served.
        self._queued = 0
        self._last_correlation_id = CONNECTION
        self._layout = layouts()[welcome.schema or first_schema()]
        self.cluster_id = welcome.cluster_id
        self.version = welcome.version

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        cluster_id: str | None = None,
        client_id: str | None = None,
    ) -> Self:
        """Connect to a server.

        Args:
            cluster_id: The cluster expected; None means any.
            client_id: The client id that the log stores.

        Raises:
            UnavailableError: the address does not answer in time.
            RequestError: another cluster; or UNSUPPORTED_VERSION, the two releases have no version
                of the protocol or no schema of records in common.
        """
        address = f"{host}:{port}"
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.HANDSHAKE_TIMEOUT_S):
                _, link = await loop.create_connection(lambda: _Link(address), host, port)
                welcome = await link.greet(cluster_id, client_id)
        except OSError as error:  # includes TimeoutError
            raise unreachable(address, error) from error
        return cls(link, welcome)

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Commit a batch, all of it or nothing, in the order of the calls.

        After cancellation the outcome is unknown. An error's outcome says whether the batch may be
        in the log; it is unknown if the connection was lost.

        Args:
            expected_versions: Objects, and the versions they must have.

        Raises:
            RequestError: refused.
            VersionMismatchError: an object has another version, which the error names.
            UnavailableError: try again.
            FencedError: the server's log is no longer the writer.
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
                "kafka://HOST:PORT, or upgrade it",
            )

    async def _ask(self, frame: Callable[[int], bytes]) -> Any:
        """Send a request, in the order of the calls, and wait for its answer.

        Args:
            frame: Encodes the request with its correlation id.
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
        """Wait while the connection is full, after callers that came earlier."""
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


class _Link(asyncio.Protocol):
    """The connection itself: sends frames and dispatches answers."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(limits.ANSWER_SIZE_BYTES_MAX)
        self._transport: asyncio.Transport | None = None
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        # The reason why nothing more can be sent; None while it can.
        self._end: MetadataLogError | None = None
        self._welcome: asyncio.Future[Welcome] = self._loop.create_future()
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: not every event loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (content := self._reader.next_frame()) is not None:
                self._handle(content)
        except FrameError as error:
            self._fail(UnavailableError(f"{self._address} is not a server of this kind: {error}"))
            self.abort()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        if self._welcome.done():
            self._fail(disconnected(self._address))
        else:
            self._fail(unanswered(self._address, "kafka", "ssl", "sasl_ssl"))
        self.lost.set_result(None)

    async def greet(self, cluster_id: str | None, client_id: str | None) -> Welcome:
        """Send HELLO and return the answer; disconnect if it is not a WELCOME."""
        self.send(encode_hello(hello_of_client(cluster_id, client_id)))
        try:
            return await self._welcome
        except BaseException:
            self.abort()
            raise

    def request(self, correlation_id: int, content: bytes) -> asyncio.Future[Any]:
        """Send a request and return a future of its answer."""
        if self._end is not None:
            # A new exception for each call: a shared one would collect all their tracebacks. This
            # request was never sent.
            raise self._end.with_outcome(Outcome.NOTHING)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._answers[correlation_id] = answer
        self.send(content)
        return answer

    def forget(self, correlation_id: int) -> None:
        """Drop a request whose caller was cancelled."""
        self._answers.pop(correlation_id, None)

    def send(self, content: bytes) -> None:
        """Send a frame, together with those of other callers at the moment."""
        self._unsent.append(content)
        self._unsent_bytes += len(content)
        if (
            self._unsent_bytes >= limits.UNSENT_BYTES_MAX
            or len(self._unsent) >= limits.UNSENT_REQUESTS_MAX
        ):
            self._flush()
        elif len(self._unsent) == 1:
            self._loop.call_soon(self._flush)

    def finish(self) -> None:
        """Send nothing more; the server answers what it has and disconnects."""
        if self._end is None:
            self._end = UnavailableError(f"the connection to {self._address} is closed")
            self._flush()
            assert self._transport is not None
            try:
                self._transport.write_eof()
            except OSError:  # the server disconnected
                self.abort()

    def abort(self) -> None:
        """Disconnect at once."""
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        assert self._transport is not None
        if self._unsent and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0

    def _handle(self, content: bytes) -> None:
        if content[0] == Kind.REFUSED:
            refused = decode_refused(content)
            if refused.correlation_id == CONNECTION:
                self._take_goodbye(refused.error)
            elif answer := self._waiting(refused.correlation_id):
                answer.set_exception(refused.error)
        elif not self._welcome.done():
            self._take_welcome(decode_welcome(content))
        elif content[0] == Kind.RAN:
            ran = decode_ran(content)
            if answer := self._waiting(ran.correlation_id):
                answer.set_result(ran.answer)
        else:
            appended = decode_appended(content)
            if answer := self._waiting(appended.correlation_id):
                answer.set_result(appended.result)

    def _waiting(self, correlation_id: int) -> asyncio.Future[Any] | None:
        answer = self._answers.get(correlation_id)
        return None if answer is None or answer.done() else answer

    def _take_welcome(self, welcome: Welcome) -> None:
        try:
            check_welcome(welcome)
        except RequestError as error:
            self._welcome.set_exception(error)
        else:
            self._welcome.set_result(welcome)

    def _take_goodbye(self, error: MetadataLogError) -> None:
        """Handle a goodbye: the server accepts nothing more, but answers what it accepted
        before.
        """
        self._end = self._end or error
        self.writable.set()
        if not self._welcome.done():
            self._welcome.set_exception(error)

    def _fail(self, error: MetadataLogError) -> None:
        """Fail all unanswered requests with an unknown outcome: the connection is lost."""
        self._end = end = self._end or error
        self.writable.set()
        if not self._welcome.done():
            self._welcome.set_exception(end)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(
                    UnavailableError(
                        f"{end}; the outcome is unknown: what was not answered may have been "
                        "committed",
                        outcome=Outcome.UNKNOWN,
                    )
                )
