"""Allocates producer ids to producers, from blocks of ids that the controller gives to the broker.

Transactions are not supported: a request with a transactional id is refused.

Source: KIP-98, KIP-730.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.producers import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from controller.authorization.acls import PermissionType
from controller.authorization.authorizer import (
    CLUSTER,
    Access,
    Operation,
    Resource,
    ResourceType,
    topic_resource,
)
from controller.authorization.caller import Caller
from records.errors import RequestError, UnavailableError
from replay.image.metadata import NAMESPACE_SEPARATOR

Allocate = Callable[[], Awaitable[range]]
"""Asks the controller for a block; raises RequestError or UnavailableError."""

_FIRST_EPOCH = 0
_ANY_NAME = "hardcode"
"""Kafka checks rights on this name to find out what is allowed on every resource."""
_WRITES = frozenset({Operation.WRITE.value, Operation.ALL.value})


class ProducerIds:
    """Handles InitProducerId requests on one broker."""

    def __init__(self, allocate: Allocate, access: Callable[[Caller], Access]) -> None:
        """Create the handler, without a block of ids.

        Args:
            allocate: Requests a block from the controller.
            access: Returns the current rights of a caller.
        """
        self._allocate = allocate
        self._access = access
        self._block = iter(range(0))
        self._order = asyncio.Lock()

    def handlers(self) -> dict[Api, Handler]:
        """Return the handler of InitProducerId requests, for a listener."""
        return {apis.INIT_PRODUCER_ID: self.init}

    async def init(self, frame: RequestFrame, caller: Caller) -> Response:
        """Give a producer a new producer id, with epoch 0."""
        request = frame.body
        assert isinstance(request, InitProducerIdRequest)
        try:
            _check(request)
            _require(self._access(caller))
            producer_id = await self._next()
        except RequestError as error:
            return InitProducerIdResponse(error_code=code_for(error))
        except UnavailableError as error:
            again = RequestError("COORDINATOR_LOAD_IN_PROGRESS", str(error))
            return InitProducerIdResponse(error_code=code_for(again))
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=_FIRST_EPOCH)

    async def _next(self) -> int:
        async with self._order:
            found = next(self._block, None)
            if found is None:
                self._block = iter(await self._allocate())
                found = next(self._block)
            return found


def _check(request: InitProducerIdRequest) -> None:
    if request.transactional_id is not None:
        raise RequestError(
            "INVALID_REQUEST", "transactions are not supported; leave the transactional id out"
        )
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        raise RequestError("INVALID_REQUEST", "give both a producer id and its epoch, or neither")


def _require(access: Access) -> None:
    """Check that the caller may be an idempotent producer.

    The caller needs IDEMPOTENT_WRITE on the cluster, or WRITE on any topic.

    Raises:
        RequestError: CLUSTER_AUTHORIZATION_FAILED.
    """
    if not any(access.allows(Operation.WRITE, each) for each in _topics_to_try(access)):
        access.require(Operation.IDEMPOTENT_WRITE, CLUSTER)


def _topics_to_try(access: Access) -> Iterator[Resource]:
    """Yield topics to check for WRITE: an arbitrary name, and the names in ACLs that allow writes.

    If the caller may write none of these topics, it may write no topic at all. Kafka's
    `authorizeByResourceType` makes the same check.
    """
    yield topic_resource(_ANY_NAME)
    for acl in access.image.acls():
        if acl.permission_type != PermissionType.ALLOW.value or acl.operation not in _WRITES:
            continue
        if acl.resource_type == ResourceType.TOPIC.value:
            yield topic_resource(acl.resource_name)
        if acl.resource_type == ResourceType.NAMESPACE.value:
            yield topic_resource(f"{acl.resource_name}{NAMESPACE_SEPARATOR}{_ANY_NAME}")
