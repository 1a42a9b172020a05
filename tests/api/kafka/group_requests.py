"""A request of each key that concerns groups, in its newest version."""

from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.fields import Request
from api.kafka.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
)
from api.kafka.messages.group_offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedOffsetsGroup,
    GroupOffsetsTopic,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from api.kafka.messages.groups import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from records.base import Uuid

_ID = Uuid(b"1" * 16)

GROUP_REQUESTS: dict[Api, Request] = {
    apis.FIND_COORDINATOR: FindCoordinatorRequest(coordinator_keys=("g", "h")),
    apis.JOIN_GROUP: JoinGroupRequest(
        group_id="g", session_timeout_ms=1, member_id="", protocol_type="consumer", protocols=()
    ),
    apis.SYNC_GROUP: SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=()),
    apis.HEARTBEAT: HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
    apis.LEAVE_GROUP: LeaveGroupRequest(group_id="g"),
    apis.CONSUMER_GROUP_HEARTBEAT: ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0
    ),
    apis.OFFSET_COMMIT: OffsetCommitRequest(
        group_id="g",
        member_id="m",
        topics=(
            CommittedTopic(
                topic_id=_ID,
                partitions=(
                    CommittedPartition(
                        partition_index=0, committed_offset=1, committed_metadata=None
                    ),
                ),
            ),
        ),
    ),
    apis.OFFSET_FETCH: OffsetFetchRequest(
        groups=(
            FetchedOffsetsGroup(
                group_id="g",
                topics=(GroupOffsetsTopic(topic_id=_ID, partition_indexes=(0, 1)),),
            ),
        )
    ),
    apis.OFFSET_DELETE: OffsetDeleteRequest(group_id="g", topics=()),
    apis.DESCRIBE_GROUPS: DescribeGroupsRequest(groups=("g", "h")),
    apis.CONSUMER_GROUP_DESCRIBE: ConsumerGroupDescribeRequest(
        group_ids=("g",), include_authorized_operations=False
    ),
    apis.DELETE_GROUPS: DeleteGroupsRequest(groups_names=("g",)),
}
