"""A broker's connections to the controller: registration, heartbeats, and the stream of updates.

One connection carries the broker's requests. On the other, the stream, the controller sends
requests and the broker answers. When either connection ends, both are reopened; the broker does not
register again unless the controller has dropped its registration.
"""

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from api.broker.clean_shutdown import NO_EPOCH, CleanShutdown
from api.broker.cluster import Cluster
from api.broker.log_directory import LogDirectory
from api.broker.registration import Identity
from api.broker.repeated_requests import repeated
from api.broker.updates import answer_updates
from api.clients.client import ANSWER_TIMEOUT_S, ServerAddress
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.connection import REQUEST_TIMEOUT_S, Connection
from api.kafka.dispatch import DispatchTable
from api.kafka.envelopes import is_question
from api.kafka.errors import check, name_of
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.messages.assignments import (
    AssignedDirectory,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from api.kafka.messages.brokers import (
    AlteredTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    FollowLogRequest,
    ReplicaLag,
)
from api.kafka.messages.producers import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from api.security.client import ConnectionSecurity
from api.transport.shutdown import cancel_all
from controller.authorization.caller import Caller
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

A = TypeVar("A", AlterPartitionResponse, AssignReplicasToDirsResponse, AllocateProducerIdsResponse)

_RECONNECT_S = 0.2
_REGISTER_AGAIN_S = 0.5
_REQUEST_ID_BYTES = 16
_SILENCE_S = 5.0
"""A node of several that is silent for so long may have been suspended; another one leads then."""

_NO_CONTROLLER = -1  # the controller epoch before the first update
_APPLY_WAIT_S = 5.0
"""Longest time for which the response to a change waits until this broker has applied it."""

_AGAIN = frozenset({"DUPLICATE_BROKER_REGISTRATION", "NOT_CONTROLLER", "REQUEST_TIMED_OUT"})
"""Temporary registration errors: an old session has to end, or a controller to take over."""

_UNAUTHORIZED = "CLUSTER_AUTHORIZATION_FAILED"
"""Registration error after which a broker tries again: an operator may change the ACLs."""


class ControllerLink:
    """Keeps a broker registered, sends its heartbeats and receives the controller's updates.

    Attributes:
        broker_epoch: Epoch of the broker's registration, -1 before the first one.
        is_fenced: True if the broker is fenced, according to the controller's last heartbeat
            response.
    """

    def __init__(
        self,
        addresses: Sequence[ServerAddress],
        security: ConnectionSecurity,
        identity: Identity,
        directories: list[LogDirectory],
        cluster: Cluster,
        dispatch: DispatchTable,
        *,
        heartbeat_ms: int,
        lags: Callable[[], Iterable[ReplicaLag]],
        can_serve: Callable[[], bool],
        unfenced: Callable[[], None],
    ) -> None:
        """Create the link without connecting; `run` connects.

        Args:
            addresses: Addresses of the nodes; if one does not answer or lead, the next is tried.
            dispatch: Handles the controller's requests on the stream.
            can_serve: Called before each heartbeat; if it returns False, the broker asks to be
                fenced.
            unfenced: Called each time the broker is unfenced.
        """
        self._addresses = deque(addresses)
        self._silence_s = _SILENCE_S if len(addresses) > 1 else REQUEST_TIMEOUT_S
        self._security = security
        self._identity = identity
        self._client_id = f"broker-{identity.broker_id}"
        self._clean_shutdown = CleanShutdown(directories[0].path)
        self._cluster = cluster
        self._dispatch = dispatch
        self._heartbeat_s = heartbeat_ms / 1_000
        self._lags = lags
        self._can_serve = can_serve
        self._unfenced = unfenced
        self._connection: Connection | None = None
        # The newest version of each request that the controller supports, by key.
        self._versions: Mapping[int, int] = {}
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._anew = asyncio.Event()
        # Why the service is away or refuses, as it was logged; empty while it is there.
        self._away: set[str] = set()
        self._has_registered = False
        self.broker_epoch = NO_EPOCH
        self.is_fenced = True

    async def run(self) -> None:
        """Stay connected until `stop` was called and the controller has allowed the shutdown.

        If the controller cannot be reached, or refuses this broker, after `stop`, return without
        waiting for that permission. Once the broker has registered, a refusal never ends it: ACLs,
        passwords and certificates change while it runs, and change back, and until then it serves
        the partitions that it has.

        Raises:
            RequestError: the controller rejects this broker before it has registered.
        """
        while not self._stopped.is_set():
            try:
                await self._session()
            except UnavailableError as error:
                if self._stopping.is_set():
                    return  # no controller to hand leaderships over to
                self._warn_once("the service is away: %s", error)
                self._addresses.rotate(-1)
            except RequestError as error:
                if error.code == "NOT_CONTROLLER":
                    self._addresses.rotate(-1)
                if error.code == "STALE_BROKER_EPOCH":
                    log.info("%s; registering again", error)
                    self.broker_epoch = NO_EPOCH
                elif error.code not in _AGAIN:
                    if not self._has_registered and error.code != _UNAUTHORIZED:
                        raise
                    if self._stopping.is_set():
                        return
                    self._warn_once("the service refuses this broker, which tries again: %s", error)
            await asyncio.sleep(_RECONNECT_S)

    def _warn_once(self, message: str, error: Exception) -> None:
        """Log why the controller is lost, unless an attempt since failed for the same reason."""
        if str(error) not in self._away:
            self._away.add(str(error))
            log.warning(message, error)

    def stop(self) -> None:
        """Start a controlled shutdown: the controller first moves leaderships to other brokers."""
        self._stopping.set()

    def follow_anew(self) -> None:
        """Request a full update from the controller, so that failed disk operations are retried."""
        self._anew.set()

    def mark_clean_end(self) -> None:
        """Record a clean shutdown for the next start, if the controller allowed the shutdown.

        Call this after all records are on stable storage.
        """
        if self._stopped.is_set():
            self._clean_shutdown.write(self.broker_epoch)

    async def alter_partitions(self, topics: tuple[AlteredTopic, ...]) -> AlterPartitionResponse:
        """Send an AlterPartition request, which proposes ISRs, and return the response.

        Raises:
            UnavailableError: no response arrived; the outcome is unknown.
            RequestError: such as STALE_BROKER_EPOCH.
        """
        request = AlterPartitionRequest(
            broker_id=self._identity.broker_id, broker_epoch=self.broker_epoch, topics=topics
        )
        return await self._ask(request, AlterPartitionResponse)

    async def assign_directories(
        self, directories: tuple[AssignedDirectory, ...]
    ) -> AssignReplicasToDirsResponse:
        """Send the log directories of some replicas, and return the response.

        Raises:
            UnavailableError: no response arrived; the outcome is unknown.
            RequestError: such as STALE_BROKER_EPOCH; or UNSUPPORTED_VERSION, if the controller is
                of an earlier release.
        """
        if self._connection and apis.ASSIGN_REPLICAS_TO_DIRS.key not in self._versions:
            raise RequestError("UNSUPPORTED_VERSION", "the controller records no log directories")
        request = AssignReplicasToDirsRequest(
            broker_id=self._identity.broker_id,
            broker_epoch=self.broker_epoch,
            directories=directories,
        )
        return await self._ask(request, AssignReplicasToDirsResponse)

    async def allocate_producer_ids(self) -> range:
        """Request and return a block of producer ids from the controller.

        Raises:
            UnavailableError: no response arrived.
            RequestError: such as STALE_BROKER_EPOCH.
        """
        request = AllocateProducerIdsRequest(
            broker_id=self._identity.broker_id, broker_epoch=self.broker_epoch
        )
        response = await self._ask(request, AllocateProducerIdsResponse)
        first = response.producer_id_start
        return range(first, first + response.producer_id_len)

    async def _ask(self, request: Request, response: type[A]) -> A:
        """Send one of the broker's own requests, and return its response if it has no error."""
        if self._connection is None:
            raise UnavailableError("there is no controller to ask")
        found = await self._connection.request(request, response)
        check(found.error_code, None)
        return found

    async def forward(self, frame: RequestFrame, caller: Caller) -> bytes:
        """Forward a client's request unchanged, and return the body of the controller's response.

        The response to a change is returned once this broker has applied the change, so that the
        client finds it here; or after a few seconds, if the controller's updates do not arrive.
        Repeated as in `repeated` if the controller cannot be reached; a change has an id, so that
        it is carried out once. Each read-only query uses a separate connection. So a query delays
        no heartbeat, and the controller abandons the query if this call is cancelled.

        Raises:
            RequestError: NOT_CONTROLLER, nothing was changed; or the controller does not accept
                requests forwarded by this broker.
            UnavailableError: no response arrived; the outcome is unknown.
        """
        request_id = None if is_question(frame) else secrets.token_hex(_REQUEST_ID_BYTES)
        ask = partial(self._asked, frame, caller, request_id)
        return await repeated(ask, may_repeat=partial(self._may_repeat, request_id))

    def _may_repeat(self, request_id: str | None) -> bool:
        """True for a question, and if the controller looks at the ids of requests in envelopes."""
        return request_id is None or self._versions.get(apis.FOLLOW_LOG.key, 0) >= 1

    async def _asked(self, frame: RequestFrame, caller: Caller, request_id: str | None) -> bytes:
        if self._connection is None or not self._connection.is_open:
            raise RequestError("NOT_CONTROLLER", "the controller cannot be reached")
        if request_id is not None:
            return await self._sent(self._connection, frame, caller, request_id, REQUEST_TIMEOUT_S)
        connection = await self._connect()
        try:
            return await self._sent(connection, frame, caller, None, ANSWER_TIMEOUT_S)
        finally:
            await connection.close()

    async def _sent(
        self,
        connection: Connection,
        frame: RequestFrame,
        caller: Caller,
        request_id: str | None,
        timeout_s: float,
    ) -> bytes:
        if apis.ENVELOPE.key in self._versions:
            forwarded = await connection.forward(
                frame, caller, request_id=request_id, timeout_s=timeout_s
            )
            await self._cluster.applied(forwarded.committed_offset, _APPLY_WAIT_S)
            return forwarded.body
        return await connection.forward_plainly(frame, timeout_s=timeout_s)

    async def _connect(self) -> Connection:
        at = self._addresses[0]
        return await Connection.open(at.host, at.port, self._client_id, self._security)

    async def _session(self) -> None:
        connection = await self._connect()
        try:
            self._versions = await connection.newest_versions(timeout_s=self._silence_s)
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        try:
            if self.broker_epoch < 0:
                await self._register(self._connection)
            tasks = [
                asyncio.create_task(self._beat(self._connection), name="heartbeats"),
                asyncio.create_task(self._keep_following(), name="view of the log"),
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    if task.done():
                        await task
            finally:
                await cancel_all(*tasks)
        finally:
            connection, self._connection = self._connection, None
            await connection.close_after_answers()

    def _newest(self, api: Api) -> int:
        """Return the newest version of a request that both sides support."""
        return min(api.max_version, self._versions.get(api.key, api.max_version))

    async def _register(self, connection: Connection) -> None:
        identity = self._identity
        request = identity.request(self._clean_shutdown.broker_epoch())
        version = self._newest(apis.BROKER_REGISTRATION)
        while True:
            response = await connection.request(
                request, BrokerRegistrationResponse, version=version
            )
            error = name_of(response.error_code)
            is_elsewhere = error == "NOT_CONTROLLER" and len(self._addresses) > 1
            if error not in _AGAIN or is_elsewhere:
                break
            if self._stopping.is_set():
                raise UnavailableError("the broker was stopped before it was registered")
            await asyncio.sleep(_REGISTER_AGAIN_S)
        check(response.error_code, f"broker {identity.broker_id} is not taken into the cluster")
        self._clean_shutdown.remove()
        self.broker_epoch = response.broker_epoch
        self._has_registered = True

    async def _beat(self, connection: Connection) -> None:
        while True:
            request = BrokerHeartbeatRequest(
                broker_id=self._identity.broker_id,
                broker_epoch=self.broker_epoch,
                current_metadata_offset=self._cluster.metadata_offset,
                want_fence=not self._can_serve(),
                want_shut_down=self._stopping.is_set(),
                lags=tuple(self._lags()),
            )
            response = await connection.request(
                request, BrokerHeartbeatResponse, timeout_s=self._silence_s
            )
            check(response.error_code, "this broker's heartbeat is refused")
            if self._away:
                self._away.clear()
                log.warning("the service is back")
            if response.should_shut_down:
                self._stopped.set()
                return
            if self.is_fenced and not response.is_fenced:
                self._unfenced()
            self.is_fenced = response.is_fenced
            await self._until_next_beat()

    async def _until_next_beat(self) -> None:
        """Wait until the next heartbeat is due: sooner than usual while fenced or stopping."""
        if self.is_fenced or self._stopping.is_set():
            await asyncio.sleep(min(self._heartbeat_s, _RECONNECT_S))
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), self._heartbeat_s)

    async def _keep_following(self) -> None:
        """Follow the stream until it ends; reopen it when a full update is requested."""
        is_whole = False
        while True:
            self._anew.clear()
            stream = asyncio.create_task(self._follow(is_whole=is_whole), name="stream")
            anew = asyncio.create_task(self._anew.wait(), name="view from the start")
            try:
                await asyncio.wait([stream, anew], return_when=asyncio.FIRST_COMPLETED)
                if stream.done():
                    await stream
            finally:
                await cancel_all(stream, anew)
            is_whole = True

    async def _follow(self, *, is_whole: bool) -> None:
        """Open the stream and answer the controller's requests until it ends.

        Args:
            is_whole: True to start with a full update, False to get only changes.
        """
        request = FollowLogRequest(
            broker_id=self._identity.broker_id,
            broker_epoch=self.broker_epoch,
            controller_epoch=_NO_CONTROLLER if is_whole else self._cluster.controller_epoch,
            metadata_offset=self._cluster.metadata_offset,
            wants_users=self._identity.has_sasl,
        )
        at = self._addresses[0]
        await answer_updates(at, self._client_id, self._security, request, self._dispatch)
