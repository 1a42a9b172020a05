"""Applies the requests that the controller sends to a broker."""

from collections.abc import Callable, Iterable

from api.broker.cluster import Cluster
from api.broker.replicas import Replicas
from api.kafka import apis
from api.kafka.dispatch import DispatchTable
from api.kafka.errors import code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.replicas import (
    BrokerConfig,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from controller.authorization.caller import Caller
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError


class ControllerRequests:
    """Applies the controller's requests, one at a time."""

    def __init__(
        self,
        replicas: Replicas,
        cluster: Cluster,
        *,
        broker_epoch: Callable[[], int],
        changed: Callable[[], None],
        configured: Callable[[tuple[BrokerConfig, ...]], None],
        update_rights: Callable[[UpdateMetadataRequest], None],
    ) -> None:
        """Store the objects that the requests change.

        Args:
            broker_epoch: Returns the broker epoch that requests must have.
            changed: Called after each request.
            configured: Called with the broker configs in a request, before the request is applied.
            update_rights: Called with each UpdateMetadata request, before the request is applied.
        """
        self._replicas = replicas
        self._cluster = cluster
        self._broker_epoch = broker_epoch
        self._changed = changed
        self._configured = configured
        self._update_rights = update_rights

    def dispatch_table(self) -> DispatchTable:
        """Return the handlers of the controller's requests on the stream."""
        return DispatchTable(
            handlers={
                apis.LEADER_AND_ISR: self._leader_and_isr,
                apis.STOP_REPLICA: self._stop_replica,
                apis.UPDATE_METADATA: self._update_metadata,
            }
        )

    async def _leader_and_isr(self, frame: RequestFrame, _: Caller) -> Response:
        request = frame.body
        assert isinstance(request, LeaderAndIsrRequest)
        try:
            self._check(request.controller_epoch, request.broker_epoch)
            _check_once(
                (topic.topic, topic.topic_id, state.partition)
                for topic in request.topic_states
                for state in topic.partition_states
            )
        except RequestError as error:
            return LeaderAndIsrResponse(error_code=code_for(error))
        self._configured(request.broker_configs)
        results = await self._replicas.take_over(request)
        self._changed()
        return LeaderAndIsrResponse(partitions=results)

    async def _stop_replica(self, frame: RequestFrame, _: Caller) -> Response:
        request = frame.body
        assert isinstance(request, StopReplicaRequest)
        try:
            self._check(request.controller_epoch, request.broker_epoch)
            _check_once(
                (topic.topic, topic.topic_id, partition)
                for topic in request.partitions
                for partition in topic.partition_ids
            )
        except RequestError as error:
            return StopReplicaResponse(error_code=code_for(error))
        results = await self._replicas.leave(request)
        self._changed()
        return StopReplicaResponse(partitions=results)

    async def _update_metadata(self, frame: RequestFrame, _: Caller) -> Response:
        request = frame.body
        assert isinstance(request, UpdateMetadataRequest)
        try:
            self._check(request.controller_epoch, request.broker_epoch)
        except RequestError as error:
            return UpdateMetadataResponse(error_code=code_for(error))
        self._configured(request.broker_configs)
        self._update_rights(request)
        self._cluster.update(request)
        self._changed()
        return UpdateMetadataResponse()

    def _check(self, controller_epoch: int, broker_epoch: int) -> None:
        if broker_epoch != self._broker_epoch():
            raise RequestError(
                "STALE_BROKER_EPOCH",
                f"the request is for broker epoch {broker_epoch}, this process has "
                f"{self._broker_epoch()}",
            )
        self._cluster.check_controller(controller_epoch)


def _check_once(partitions: Iterable[tuple[str, Uuid, int]]) -> None:
    """Check that a request contains each partition only once, both by name and by topic id.

    The partitions of a request are processed concurrently, so two entries for one replica would
    interfere.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    seen: set[tuple[str | Uuid, int]] = set()
    for name, topic_id, partition in partitions:
        for key in ((name, partition), (topic_id, partition)):
            if key in seen:
                raise RequestError(
                    "INVALID_REQUEST", f"partition {name}-{partition} is named more than once"
                )
            if key[0] != ZERO_UUID:
                seen.add(key)
