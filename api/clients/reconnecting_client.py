"""A client that reconnects when its connection is lost, and retries requests if that is safe.

A question changes nothing, and a request with an id is carried out only once, however often it is
sent. Any other request is retried only if the failed attempt certainly wrote nothing to the log.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Self, TypeVar

from msgspec.structs import replace

from api.clients.client import MetadataClient
from api.clients.service_url import check_url, connect, has_nodes, next_first, node_count
from api.requests.wire_requests import CommandClient, WireAnswer, WireRequest
from api.socket.client import SocketClient
from controller.decisions.versions import ExpectedVersion
from controller.wire import from_wire
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.request_window import is_repeatable
from records.errors import FencedError, Outcome, RequestError, UnavailableError
from replay.about import About

T = TypeVar("T")
Client = MetadataClient | SocketClient

PATIENCE_S = 60.0
"""How long a request is retried: a service that is restarted loads its log meanwhile."""

_PAUSE_S_MIN, _PAUSE_S_MAX = 0.05, 2.0
"""Pause between two attempts: doubled each time, and cut at random so that clients spread.

Of several nodes, all are tried between two pauses."""

_NODES_PAUSE_S_MAX = 0.3
"""Longest pause if there are several nodes, because another node leads soon."""

_ASK_ANOTHER = ("NOT_CONTROLLER", "OFFSET_NOT_AVAILABLE")
"""Refusals of a node after which another one is asked: it stands by, or lags behind."""

NODES_PATIENCE_S = 15.0
"""How long a command looks for the node that leads: several lease durations."""


@asynccontextmanager
async def leader_at(url: str) -> "AsyncIterator[Client | ReconnectingClient]":
    """Connect to a service as `connect`; with several nodes, to the one that leads.

    A request is sent again to the next leader if it has an id, or if it had no effect.

    Raises:
        MetadataLogError: as `connect`; with several nodes, from the requests.
        UnavailableError: also NOT_CONTROLLER, from any listener: another process leads, or will.
    """
    if has_nodes(url):
        client: Client | ReconnectingClient = ReconnectingClient(url, patience_s=NODES_PATIENCE_S)
    else:
        client = await connect(url)
    async with client:
        try:
            yield client
        except RequestError as error:
            if error.code != "NOT_CONTROLLER":
                raise
            raise UnavailableError(
                str(error), outcome=error.outcome, done_to=error.done_to
            ) from error


class ReconnectingClient(CommandClient):
    """A client that connects at its first request, and again whenever the connection was lost.

    It takes the URLs of `connect`. The errors it raises are those of the last attempt. `subscribe`
    continues after the last batch that it yielded.
    """

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        """Store the arguments; the first request connects.

        Args:
            patience_s: How long each request is retried, in s.

        Raises:
            RequestError: INVALID_REQUEST, the URL is malformed.
        """
        check_url(url)
        self._url = url
        # Of several nodes one leads, and the others answer questions only.
        self._has_nodes = has_nodes(url)
        self._pause_s_max = _NODES_PAUSE_S_MAX if self._has_nodes else _PAUSE_S_MAX
        self._patience_s = patience_s
        self._client: Client | None = None
        self._cluster_id: str | None = None
        # The last offset that an answer told of.
        self._seen: int | None = None
        self._connecting = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Run a command or ask a question; raises as `run`.

        With several nodes, no answer is from an older state of the log than an earlier answer.
        """
        may_repeat = request.is_question or request.request_id is not None
        if self._has_nodes and request.is_question and request.min_offset is None:
            request = replace(request, min_offset=self._seen)
        answer = await self._tried(lambda client: client.run_wire(request), may_repeat=may_repeat)
        self._saw(answer)
        return answer

    def _saw(self, answer: WireAnswer) -> None:
        end = answer.end_offset
        if answer.about:
            end = from_wire(answer.about, About, lenient=True).log_end
        if end > 0:
            self._seen = max(end - 1, self._seen or 0)

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Commit a batch, as `SocketClient.append`.

        Batches in flight together may be committed in another order if the connection is lost.

        Args:
            batch: If the batch's origin has a request id, the append is retried even if its
                outcome is unknown.

        Raises:
            RequestError: as `SocketClient.append`; or the URL is not that of a socket.
            UnavailableError, FencedError, CorruptLogError: as `SocketClient.append`.
        """

        batch = batch.identified()

        async def append(client: Client) -> AppendResult:
            if not isinstance(client, SocketClient):
                raise RequestError(
                    "INVALID_REQUEST",
                    f"{self._url} takes no batches; write the URL of the service's socket, "
                    "socket://HOST:PORT",
                )
            return await client.append(
                batch,
                expected_end_offset=expected_end_offset,
                expected_versions=expected_versions,
            )

        return await self._tried(append, may_repeat=is_repeatable(batch.origin))

    async def close(self) -> None:
        """Wait for outstanding answers, and disconnect."""
        if self._client is not None:
            await self._client.close()
        await asyncio.gather(*self._closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _tried(self, call: Callable[[Client], Awaitable[T]], *, may_repeat: bool) -> T:
        """Return the result of the first attempt that succeeds.

        Retries until `patience_s` is over, but only if a repetition is safe.

        Args:
            may_repeat: True: retry whatever the outcome of an attempt; False: retry only if an
                attempt certainly changed nothing.
        """
        loop = asyncio.get_running_loop()
        deadline, pause_s = loop.time() + self._patience_s, _PAUSE_S_MIN
        attempts = 0
        while True:
            client = None
            try:
                client = await self._connected()
                return await call(client)
            except (UnavailableError, FencedError, RequestError) as error:
                if isinstance(error, RequestError) and not (
                    self._has_nodes and error.code in _ASK_ANOTHER
                ):
                    raise
                is_safe = may_repeat or error.outcome is Outcome.NOTHING
                if not is_safe or loop.time() + pause_s > deadline:
                    raise
            attempts += 1
            if self._has_nodes:
                if client is self._client:  # or another call has gone on to the next node
                    self._disconnect()
                    self._url = next_first(self._url)
                # An attempt to connect has tried all nodes.
                if client is not None and attempts % node_count(self._url):
                    continue
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(2 * pause_s, self._pause_s_max)

    async def _connected(self) -> Client:
        """Return an open connection.

        Raises:
            UnavailableError: no answer.
            RequestError: INCONSISTENT_CLUSTER_ID, another cluster answers; or as `connect`.
        """
        if self._client is not None and self._client.is_open:
            return self._client
        async with self._connecting:
            if self._client is None or not self._client.is_open:
                await self._connect()
            assert self._client is not None
            return self._client

    def _disconnect(self) -> None:
        if self._client is not None:
            # Not waited for: answers may still come on it.
            closing = asyncio.create_task(self._client.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
            self._client = None

    async def _connect(self) -> None:
        self._disconnect()
        client = await connect(self._url)
        if isinstance(client, SocketClient):
            await self._check_cluster(client)
        self._client = client

    async def _check_cluster(self, client: SocketClient) -> None:
        expected = self._cluster_id = self._cluster_id or client.cluster_id
        if client.cluster_id != expected:
            await client.close()
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{self._url} now serves cluster {client.cluster_id}, no longer {expected}; if "
                "that is intended, connect with a new client",
            )
