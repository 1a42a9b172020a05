"""Handlers of the requests that brokers send to the controller."""

from typing import Any

from api.controller_server.broker_feed import broker_origin
from api.kafka import apis, assignments, brokers
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import code_for, with_codes
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.assignments import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from api.kafka.messages.brokers import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from api.kafka.messages.producers import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from api.requests.command import ISR_CHANGES_MAX
from api.service.service import Service
from api.transport.log_limit import limited_logger
from controller.authorization.caller import Caller
from controller.decisions.brokers.isr_proposals import PartitionResult
from controller.decisions.brokers.producer_ids import AllocateProducerIds
from records.errors import MetadataLogError, RequestError

log = limited_logger(__name__)


class BrokerRequests:
    """Handlers of brokers' requests for one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def handlers(self) -> dict[Api, Handler]:
        """Return the handler of each request type, for a listener."""
        return {
            apis.BROKER_REGISTRATION: self._register,
            apis.BROKER_HEARTBEAT: self._heartbeat,
            apis.ALTER_PARTITION: self._alter_partition,
            apis.ASSIGN_REPLICAS_TO_DIRS: self._assign_replicas,
            apis.ALLOCATE_PRODUCER_IDS: self._allocate_producer_ids,
        }

    async def _register(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, BrokerRegistrationRequest)
        try:
            reply = await self._run("register", brokers.registration(request), caller)
        except RequestError as error:
            # The answer has only a code, of which a broker of Kafka shows the name.
            log.warning("registration refused: %s", error)
            return BrokerRegistrationResponse(error_code=code_for(error))
        return BrokerRegistrationResponse(broker_epoch=reply.broker_epoch)

    async def _heartbeat(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, BrokerHeartbeatRequest)
        origin = broker_origin(request.broker_id, caller, "heartbeat")
        try:
            answer = await self._service.heartbeat(
                brokers.beat(request), caller=caller, origin=origin
            )
        except MetadataLogError as error:
            return BrokerHeartbeatResponse(error_code=code_for(error))
        return brokers.beat_response(answer.response)

    async def _alter_partition(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, AlterPartitionRequest)
        results: list[PartitionResult] = []
        try:
            # All partitions that a broker leads may change at once: one decision about them all
            # would delay everything else.
            for part in brokers.alterations(request, ISR_CHANGES_MAX):
                results += await self._run("alter partition", part, caller)
        except RequestError as error:
            if not results:
                return AlterPartitionResponse(error_code=code_for(error))
            # A broker asks again for the partitions that have no result.
        return brokers.alteration_response(results)

    async def _assign_replicas(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, AssignReplicasToDirsRequest)
        wanted = assignments.assignment(request)
        try:
            results = await self._run("assign directories", wanted, caller)
        except RequestError as error:
            return AssignReplicasToDirsResponse(error_code=code_for(error))
        return assignments.assignment_response(results)

    async def _allocate_producer_ids(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, AllocateProducerIdsRequest)
        wanted = AllocateProducerIds(broker_id=request.broker_id, broker_epoch=request.broker_epoch)
        try:
            block = await self._run("producer ids allocate", wanted, caller)
        except RequestError as error:
            return AllocateProducerIdsResponse(error_code=code_for(error))
        return AllocateProducerIdsResponse(
            producer_id_start=block.first, producer_id_len=block.size
        )

    async def _run(self, command: str, request: Any, caller: Caller) -> Any:
        """Run a broker's command, with the broker as the origin; return the response."""
        origin = broker_origin(request.broker_id, caller, command)
        answer = await with_codes(self._service.run(command, request, caller=caller, origin=origin))
        return answer.response
