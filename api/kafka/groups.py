"""Responses to consumer group requests, as of a Kafka cluster that admits no member to any group.

FindCoordinator names a broker, because some consumers that assign themselves partitions look for
the coordinator of their group id first. That broker, like every node, refuses members and their
commits with GROUP_AUTHORIZATION_FAILED, which ends consumers that subscribe at once; and it has no
committed offsets, so that consumers that assign themselves partitions start where they want. There
are no groups to list, describe or delete. A lookup of a transaction coordinator gets
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which ends transactional producers immediately.

Source: KafkaApis and GroupCoordinatorService of Kafka 4.0; trials in docs/clients.md.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zlib import crc32

from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import NONE, code_of
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.large_requests import answered_beside
from api.kafka.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsResponse,
)
from api.kafka.messages.group_offsets import (
    CommittedPartitionResult,
    CommittedTopicResult,
    FetchedOffsetsGroup,
    ForgottenOffsetsTopicResult,
    GroupOffsetsResult,
    GroupOffsetsTopicResult,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetResult,
    OffsetsTopicResult,
)
from api.kafka.messages.groups import (
    ConsumerGroupHeartbeatResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FoundCoordinator,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from api.kafka.messages.metadata import MetadataBroker
from controller.authorization.authorizer import (
    Access,
    Operation,
    Resource,
    ResourceType,
    group_resource,
)
from controller.authorization.caller import Caller
from records.errors import RequestError
from replay.image.fields import copied

Answer = Callable[[Any, int, Access], Response]
"""Returns the response to a request, given the request's version and the caller's rights."""

_NO_NODE = -1
_NO_OFFSET = -1
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_DEAD = "Dead"
# Of every member, whatever its rights: it is the one code with which all clients end at once.
_REFUSED = code_of("GROUP_AUTHORIZATION_FAILED")
_NO_MEMBERS = "this cluster keeps no groups; assign partitions instead of subscribing"

# First versions of FindCoordinator with several keys and with share groups, of JoinGroup with a
# null protocol, of DescribeGroups with an error for a group that does not exist.
_BATCHED_SINCE, _SHARE_SINCE = 4, 6
_NULLABLE_PROTOCOL_SINCE = 7
_NOT_FOUND_SINCE = 6


def handlers(
    access: Callable[[Caller], Access], nodes: Callable[[], Sequence[MetadataBroker]]
) -> dict[Api, Handler]:
    """Return the handlers of group requests for a node's listener.

    Args:
        access: Returns the current rights of a caller.
        nodes: Returns the live brokers, ordered by id, with their addresses for the listener's
            clients.
    """

    def handler(answer: Answer) -> Handler:
        async def handle(frame: RequestFrame, caller: Caller) -> Response | bytes:
            return await answered_beside(
                frame, partial(answer, frame.body, frame.version, access(caller))
            )

        return handle

    async def find_coordinator(frame: RequestFrame, caller: Caller) -> Response | bytes:
        assert isinstance(frame.body, FindCoordinatorRequest)
        return await answered_beside(
            frame, partial(_found, frame.body, frame.version, access(caller), nodes())
        )

    return {
        apis.FIND_COORDINATOR: find_coordinator,
        **{api: handler(answer) for api, answer in _ANSWERS.items()},
    }


def _found(
    request: FindCoordinatorRequest, version: int, access: Access, nodes: Sequence[MetadataBroker]
) -> FindCoordinatorResponse:
    if version >= _BATCHED_SINCE:
        found = [
            _coordinator(request.key_type, k, version, access, nodes)
            for k in request.coordinator_keys
        ]
        return FindCoordinatorResponse(coordinators=tuple(found))
    only = _coordinator(request.key_type, request.key, version, access, nodes)
    return copied(only, FindCoordinatorResponse)


def _coordinator(
    key_type: int, key: str, version: int, access: Access, nodes: Sequence[MetadataBroker]
) -> FoundCoordinator:
    error = _no_coordinator(key_type, key, version, access)
    if error is None and nodes:
        # The same node for every client of the group, whichever broker is asked, as in Kafka.
        node = nodes[crc32(key.encode()) % len(nodes)]
        return FoundCoordinator(key=key, node_id=node.node_id, host=node.host, port=node.port)
    error = error or RequestError("COORDINATOR_NOT_AVAILABLE", "no broker is live")
    return FoundCoordinator(
        key=key,
        node_id=_NO_NODE,
        host="",
        port=_NO_NODE,
        error_code=code_of(error.code),
        error_message=str(error),
    )


def _no_coordinator(key_type: int, key: str, version: int, access: Access) -> RequestError | None:
    """Return the error for a coordinator lookup; None if any broker will do."""
    is_share = key_type == _SHARE and version >= _SHARE_SINCE
    if key_type not in (_GROUP, _TRANSACTION) and not is_share:
        return RequestError("INVALID_REQUEST", f"there is no coordinator of type {key_type}")
    if key_type == _TRANSACTION:
        return _refusal(
            access, Operation.DESCRIBE, Resource(ResourceType.TRANSACTIONAL_ID, key)
        ) or RequestError(
            # Not COORDINATOR_NOT_AVAILABLE, which librdkafka retries for ever.
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
            "this cluster has no transactions; use a producer without a transactional id",
        )
    return _refusal(access, Operation.DESCRIBE, group_resource(key))


def _refusal(access: Access, operation: Operation, resource: Resource) -> RequestError | None:
    try:
        access.require(operation, resource)
    except RequestError as error:
        return error
    return None


def _code(access: Access, operation: Operation, group: str, otherwise: str) -> int:
    """Return the error code for a request on a group.

    Args:
        otherwise: Name of the code to return if the caller has the right to the operation. Without
            the right, the code of the authorization error is returned.
    """
    refusal = _refusal(access, operation, group_resource(group))
    return code_of(otherwise if refusal is None else refusal.code)


def _join(request: JoinGroupRequest, version: int, _: Access) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=_REFUSED,
        protocol_name=None if version >= _NULLABLE_PROTOCOL_SINCE else "",
        member_id=request.member_id,
    )


def _sync(*_: Any) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=_REFUSED)


def _heartbeat(*_: Any) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=_REFUSED)


def _leave(*_: Any) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=_REFUSED)


def _consumer_heartbeat(*_: Any) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=_REFUSED, error_message=_NO_MEMBERS)


def _commit(request: OffsetCommitRequest, *_: Any) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            [
                CommittedTopicResult(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=tuple(
                        [
                            CommittedPartitionResult(
                                partition_index=partition.partition_index, error_code=_REFUSED
                            )
                            for partition in topic.partitions
                        ]
                    ),
                )
                for topic in request.topics
            ]
        )
    )


def _fetch_offsets(request: OffsetFetchRequest, _: int, access: Access) -> OffsetFetchResponse:
    """Return an OffsetFetch response without a committed offset, as for a group that is not there.

    Up to version 7 a request is about one group; from version 8 on it has a list of groups.
    """
    code = _offsets_code(access, request.group_id)
    return OffsetFetchResponse(
        error_code=code,
        topics=tuple(
            [
                OffsetsTopicResult(
                    name=topic.name, partitions=_no_offsets(topic.partition_indexes, code)
                )
                for topic in request.topics or ()
            ]
        ),
        groups=tuple([_group_offsets(group, access) for group in request.groups]),
    )


def _offsets_code(access: Access, group: str) -> int:
    return _code(access, Operation.DESCRIBE, group, "NONE")


def _group_offsets(group: FetchedOffsetsGroup, access: Access) -> GroupOffsetsResult:
    code = _offsets_code(access, group.group_id)
    return GroupOffsetsResult(
        group_id=group.group_id,
        error_code=code,
        topics=tuple(
            [
                GroupOffsetsTopicResult(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=_no_offsets(topic.partition_indexes, code),
                )
                for topic in group.topics or ()
            ]
        ),
    )


def _no_offsets(partitions: tuple[int, ...], code: int) -> tuple[OffsetResult, ...]:
    return tuple(
        [
            OffsetResult(
                partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=code
            )
            for index in partitions
        ]
    )


def _delete_offsets(request: OffsetDeleteRequest, _: int, access: Access) -> OffsetDeleteResponse:
    topics = tuple(
        [ForgottenOffsetsTopicResult(name=topic.name, partitions=()) for topic in request.topics]
    )
    code = _code(access, Operation.DELETE, request.group_id, "GROUP_ID_NOT_FOUND")
    return OffsetDeleteResponse(error_code=code, topics=topics)


def _list(*_: Any) -> ListGroupsResponse:
    return ListGroupsResponse()


def _describe(request: DescribeGroupsRequest, version: int, access: Access) -> Response:
    none = "GROUP_ID_NOT_FOUND" if version >= _NOT_FOUND_SINCE else "NONE"
    codes = [(g, _code(access, Operation.DESCRIBE, g, none)) for g in request.groups]
    return DescribeGroupsResponse(
        groups=tuple(
            [
                DescribedGroup(
                    error_code=code,
                    group_id=group,
                    group_state=_DEAD if code in (NONE, code_of("GROUP_ID_NOT_FOUND")) else "",
                    protocol_type="",
                    protocol_data="",
                    members=(),
                )
                for group, code in codes
            ]
        )
    )


def _describe_consumer_groups(
    request: ConsumerGroupDescribeRequest, _: int, access: Access
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=tuple(
            [
                DescribedConsumerGroup(
                    error_code=_code(access, Operation.DESCRIBE, group, "GROUP_ID_NOT_FOUND"),
                    group_id=group,
                    members=(),
                )
                for group in request.group_ids
            ]
        )
    )


def _delete(request: DeleteGroupsRequest, _: int, access: Access) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            [
                DeletableGroupResult(
                    group_id=group,
                    error_code=_code(access, Operation.DELETE, group, "GROUP_ID_NOT_FOUND"),
                )
                for group in request.groups_names
            ]
        )
    )


_ANSWERS: dict[Api, Answer] = {
    apis.JOIN_GROUP: _join,
    apis.SYNC_GROUP: _sync,
    apis.HEARTBEAT: _heartbeat,
    apis.LEAVE_GROUP: _leave,
    apis.CONSUMER_GROUP_HEARTBEAT: _consumer_heartbeat,
    apis.OFFSET_COMMIT: _commit,
    apis.OFFSET_FETCH: _fetch_offsets,
    apis.OFFSET_DELETE: _delete_offsets,
    apis.LIST_GROUPS: _list,
    apis.DESCRIBE_GROUPS: _describe,
    apis.CONSUMER_GROUP_DESCRIBE: _describe_consumer_groups,
    apis.DELETE_GROUPS: _delete,
}
