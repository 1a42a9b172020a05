"""Every request of Kafka's protocol is refused if the caller is not authorized.

The requests are compared with those that the listener advertises, so each new one must be added
here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.errors import name_of
from api.kafka.fields import Request
from api.kafka.messages import cluster, quorum, quotas, tokens, topic_partitions, users
from api.kafka.messages.acls import (
    AclFilterFields,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    NewAcl,
)
from api.kafka.messages.assignments import (
    AssignedDirectory,
    AssignedPartition,
    AssignedTopic,
    AssignReplicasToDirsRequest,
)
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    FollowLogRequest,
)
from api.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    ReplacedConfig,
    ReplacedResource,
)
from api.kafka.messages.envelope import EnvelopeRequest
from api.kafka.messages.features import FeatureUpdateKey, UpdateFeaturesRequest
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from api.kafka.messages.partitions import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectedTopic,
    ElectLeadersRequest,
    GrownTopic,
    ListPartitionReassignmentsRequest,
    MovedPartition,
    MovedTopic,
)
from api.kafka.messages.producers import AllocateProducerIdsRequest, InitProducerIdRequest
from api.kafka.messages.record_deletions import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from api.kafka.messages.records_io import (
    EpochPartition,
    EpochTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    SnapshotId,
)
from api.kafka.messages.snapshots import FetchSnapshotRequest, SnapshotPartition, SnapshotTopic
from api.kafka.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    DeletePartitionsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    RunCommandRequest,
    RunCommandResponse,
    ShrinkingTopic,
)
from api.kafka.quorum import METADATA_TOPIC
from controller.authorization.authorizer import (
    CLUSTER,
    Operation,
    topic_resource,
)
from controller.decisions.topics.topics import DeleteTopics
from controller.wire import to_wire
from records.base import Uuid
from tests.api.guarded import REFUSED, TOPIC_REFUSED, guarded, nothing_written
from tests.api.kafka.group_requests import GROUP_REQUESTS
from tests.api.kafka.servers import CLUSTER_ID, Server
from tests.controller.cluster import directory

A = topic_resource("a")


def _topic_id(at: Server, name: str) -> Uuid:
    topic = at.service.image.topic_by_full_name(name)
    assert topic is not None
    return topic.topic_id


REQUESTS: dict[Api, Callable[[Server], Request]] = {
    apis.PRODUCE: lambda at: ProduceRequest(
        acks=1,
        timeout_ms=0,
        topic_data=tuple(
            [
                ProducedTopic(
                    topic_id=_topic_id(at, n),
                    partition_data=(ProducedPartition(index=0, records=b""),),
                )
                for n in "ab"
            ]
        ),
    ),
    apis.FETCH: lambda at: FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=tuple(
            [
                FetchTopic(
                    topic_id=_topic_id(at, n),
                    partitions=(
                        FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1),
                    ),
                )
                for n in "ab"
            ]
        ),
    ),
    apis.FETCH_SNAPSHOT: lambda _: FetchSnapshotRequest(
        max_bytes=1,
        topics=(
            SnapshotTopic(
                name=METADATA_TOPIC,
                partitions=(
                    SnapshotPartition(
                        partition=0,
                        current_leader_epoch=0,
                        snapshot_id=SnapshotId(end_offset=1, epoch=1),
                        position=0,
                    ),
                ),
            ),
        ),
    ),
    apis.LIST_OFFSETS: lambda _: ListOffsetsRequest(
        topics=tuple(
            [
                ListOffsetsTopic(
                    name=n, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),)
                )
                for n in "ab"
            ]
        )
    ),
    apis.DELETE_RECORDS: lambda _: DeleteRecordsRequest(
        timeout_ms=0,
        topics=tuple(
            [
                DeleteRecordsTopic(
                    name=n, partitions=(DeleteRecordsPartition(partition_index=0, offset=0),)
                )
                for n in "ab"
            ]
        ),
    ),
    apis.OFFSET_FOR_LEADER_EPOCH: lambda _: OffsetForLeaderEpochRequest(
        topics=tuple(
            [
                EpochTopic(topic=n, partitions=(EpochPartition(partition=0, leader_epoch=0),))
                for n in "ab"
            ]
        )
    ),
    apis.METADATA: lambda _: MetadataRequest(
        topics=tuple([MetadataRequestTopic(name=n) for n in "ab"])
    ),
    apis.CREATE_TOPICS: lambda _: CreateTopicsRequest(
        topics=tuple([CreatableTopic(name=n, num_partitions=1, replication_factor=1) for n in "cd"])
    ),
    apis.DELETE_TOPICS: lambda _: DeleteTopicsRequest(
        topics=tuple([DeleteTopicState(name=n) for n in "ab"])
    ),
    apis.DELETE_PARTITIONS: lambda _: DeletePartitionsRequest(
        topics=tuple([ShrinkingTopic(name=n, partitions=1) for n in "ab"])
    ),
    apis.BROKER_REGISTRATION: lambda _: BrokerRegistrationRequest(
        broker_id=3,
        cluster_id=CLUSTER_ID,
        incarnation_id=Uuid(b"3" * 16),
        listeners=(),
        features=(),
        log_dirs=(directory(3),),
    ),
    apis.BROKER_HEARTBEAT: lambda at: BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=_epoch(at), current_metadata_offset=0
    ),
    apis.ALTER_PARTITION: lambda at: AlterPartitionRequest(
        broker_id=1,
        broker_epoch=_epoch(at),
        topics=(
            AlteredTopic(
                topic_id=_topic_id(at, "a"),
                partitions=(
                    AlteredPartition(partition_index=0, leader_epoch=0, partition_epoch=0),
                ),
            ),
        ),
    ),
    apis.ASSIGN_REPLICAS_TO_DIRS: lambda at: AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=_epoch(at),
        directories=(
            AssignedDirectory(
                id=directory(1),
                topics=(
                    AssignedTopic(
                        topic_id=_topic_id(at, "a"),
                        partitions=(AssignedPartition(partition_index=0),),
                    ),
                ),
            ),
        ),
    ),
    apis.CREATE_DELEGATION_TOKEN: lambda _: tokens.CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name="ann"
    ),
    apis.DESCRIBE_CLIENT_QUOTAS: lambda _: quotas.DescribeClientQuotasRequest(),
    apis.ALTER_CLIENT_QUOTAS: lambda _: quotas.AlterClientQuotasRequest(
        entries=tuple(
            [
                quotas.EntryAlteration(
                    entity=(quotas.EntityData(entity_type="user", entity_name=name),),
                    ops=(quotas.OpData(key="request_percentage", value=1.0),),
                )
                for name in ("ann", "bob")
            ]
        )
    ),
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS: (
        lambda _: users.DescribeUserScramCredentialsRequest(users=(users.UserName(name="ann"),))
    ),
    apis.ALTER_USER_SCRAM_CREDENTIALS: lambda _: users.AlterUserScramCredentialsRequest(
        deletions=(users.ScramCredentialDeletion(name="ann", mechanism=1),)
    ),
    apis.DESCRIBE_CONFIGS: lambda _: DescribeConfigsRequest(
        resources=tuple(
            [DescribeConfigsResource(resource_type=2, resource_name=name) for name in "ab"]
        )
    ),
    apis.ALTER_CONFIGS: lambda _: AlterConfigsRequest(
        resources=tuple(
            [
                ReplacedResource(
                    resource_type=2,
                    resource_name=name,
                    configs=(ReplacedConfig(name="retention.ms", value="1"),),
                )
                for name in "ab"
            ]
        )
    ),
    apis.INCREMENTAL_ALTER_CONFIGS: lambda _: IncrementalAlterConfigsRequest(
        resources=tuple(
            [
                AlterableResource(
                    resource_type=2,
                    resource_name=name,
                    configs=(AlterableConfig(name="retention.ms", config_operation=0, value="1"),),
                )
                for name in "ab"
            ]
        )
    ),
    apis.UPDATE_FEATURES: lambda _: UpdateFeaturesRequest(
        feature_updates=(FeatureUpdateKey(feature="namespace.version", max_version_level=1),)
    ),
    apis.ENVELOPE: lambda _: EnvelopeRequest(request_data=b"", request_principal=b""),
    apis.FOLLOW_LOG: lambda at: FollowLogRequest(broker_id=1, broker_epoch=_epoch(at)),
    apis.DESCRIBE_ACLS: lambda _: DescribeAclsRequest(),
    apis.CREATE_ACLS: lambda _: CreateAclsRequest(
        creations=(
            NewAcl(
                resource_type=2,
                resource_name="a",
                principal="User:x",
                host="*",
                operation=3,
                permission_type=3,
            ),
        )
    ),
    apis.DELETE_ACLS: lambda _: DeleteAclsRequest(filters=(AclFilterFields(),)),
    apis.CREATE_PARTITIONS: lambda _: CreatePartitionsRequest(
        topics=tuple([GrownTopic(name=name, count=3, assignments=None) for name in "ab"]),
        timeout_ms=0,
        validate_only=False,
    ),
    apis.ELECT_LEADERS: lambda _: ElectLeadersRequest(
        topic_partitions=tuple([ElectedTopic(topic=name, partitions=(0,)) for name in "ab"])
    ),
    apis.ALTER_PARTITION_REASSIGNMENTS: lambda _: AlterPartitionReassignmentsRequest(
        topics=tuple(
            [
                MovedTopic(
                    name=name, partitions=(MovedPartition(partition_index=0, replicas=(2,)),)
                )
                for name in "ab"
            ]
        )
    ),
    apis.LIST_PARTITION_REASSIGNMENTS: lambda _: ListPartitionReassignmentsRequest(),
    apis.INIT_PRODUCER_ID: lambda _: InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=0
    ),
    apis.ALLOCATE_PRODUCER_IDS: lambda at: AllocateProducerIdsRequest(
        broker_id=1, broker_epoch=_epoch(at)
    ),
    apis.UNREGISTER_BROKER: lambda _: cluster.UnregisterBrokerRequest(broker_id=2),
    apis.LIST_CONFIG_RESOURCES: lambda _: cluster.ListConfigResourcesRequest(),
    apis.DESCRIBE_QUORUM: lambda _: quorum.DescribeQuorumRequest(
        topics=(
            quorum.QuorumTopic(
                topic_name=METADATA_TOPIC, partitions=(quorum.QuorumPartition(partition_index=0),)
            ),
        )
    ),
    apis.DESCRIBE_TOPIC_PARTITIONS: lambda _: topic_partitions.DescribeTopicPartitionsRequest(
        topics=tuple([topic_partitions.AskedTopic(name=name) for name in "ab"])
    ),
    **{api: (lambda request: lambda _: request)(each) for api, each in GROUP_REQUESTS.items()},
    apis.RUN_COMMAND: lambda _: RunCommandRequest(
        command="topics delete", payload=to_wire(DeleteTopics(topics=("a", "b")))
    ),
}

OPEN = {
    apis.RENEW_DELEGATION_TOKEN,
    apis.EXPIRE_DELEGATION_TOKEN,
    apis.DESCRIBE_DELEGATION_TOKEN,
    apis.DESCRIBE_CLUSTER,
    apis.LIST_GROUPS,
}
"""Requests that everybody may make: about tokens of their own, brokers, the groups they may see."""

TOPIC_RIGHTS = {
    apis.PRODUCE: (Operation.WRITE, A, "NOT_LEADER_OR_FOLLOWER"),
    apis.FETCH: (Operation.READ, A, "NOT_LEADER_OR_FOLLOWER"),
    apis.LIST_OFFSETS: (Operation.DESCRIBE, A, "NOT_LEADER_OR_FOLLOWER"),
    apis.DELETE_RECORDS: (Operation.DELETE, A, "NOT_LEADER_OR_FOLLOWER"),
    apis.OFFSET_FOR_LEADER_EPOCH: (Operation.DESCRIBE, A, "NOT_LEADER_OR_FOLLOWER"),
    apis.METADATA: (Operation.DESCRIBE, A, "NONE"),
    apis.DESCRIBE_TOPIC_PARTITIONS: (Operation.DESCRIBE, A, "NONE"),
    apis.CREATE_TOPICS: (Operation.CREATE, topic_resource("c"), "NONE"),
    apis.DELETE_TOPICS: (Operation.DELETE, A, "NONE"),
    apis.DELETE_PARTITIONS: (Operation.ALTER, A, "NONE"),
    apis.CREATE_PARTITIONS: (Operation.ALTER, A, "NONE"),
    apis.DESCRIBE_CONFIGS: (Operation.DESCRIBE_CONFIGS, A, "NONE"),
    apis.ALTER_CONFIGS: (Operation.ALTER_CONFIGS, A, "NONE"),
    apis.INCREMENTAL_ALTER_CONFIGS: (Operation.ALTER_CONFIGS, A, "NONE"),
}
"""Requests with an item for each topic: a right on the first, and its answer then."""


def _epoch(at: Server) -> int:
    broker = at.service.image.broker(1)
    assert broker is not None
    return broker.broker_epoch


def error_names(value: Any) -> list[str]:
    """Return the names of all errors in a response; for each item only its innermost error."""
    if isinstance(value, tuple):
        return [name for item in value for name in error_names(item)]
    if not isinstance(value, msgspec.Struct):
        return []
    inner = [
        name
        for field in value.__struct_fields__
        if field not in ("brokers", "configs")
        for name in error_names(getattr(value, field))
    ]
    code = getattr(value, "error_code", None)
    if code is None or (code == 0 and inner):
        return inner
    return [name_of(code)]


BY_ID, UNKNOWN_ID = {apis.PRODUCE, apis.FETCH}, "UNKNOWN_TOPIC_ID"
"""Requests that have a topic's id alone; without rights it is unknown, whether it exists or not."""


async def test_every_kafka_request_that_is_advertised_is_tried(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, _):
        listener = ControllerListener(at.service, ListenerSettings())
    advertised = set(listener.dispatch_table().apis().values())
    # As in Kafka: what is spoken here is told to everybody.
    assert set(REQUESTS) | OPEN == advertised - {apis.API_VERSIONS}


@pytest.mark.parametrize("api", REQUESTS, ids=lambda api: api.name)
async def test_without_rights_every_kafka_request_is_refused(tmp_path: Path, api: Api) -> None:
    async with guarded(tmp_path) as (at, rights):
        request = REQUESTS[api](at)
        rights.only = set()
        with nothing_written(at):
            response = await at.client.connection.request(request, api.response)
        if isinstance(response, RunCommandResponse):
            assert msgspec.msgpack.decode(response.payload)[0]["refusal"]["code"] == TOPIC_REFUSED
        else:
            found = error_names(response)
            assert found and set(found) <= ({UNKNOWN_ID} if api in BY_ID else REFUSED)


@pytest.mark.parametrize("api", TOPIC_RIGHTS, ids=lambda api: api.name)
async def test_with_one_right_kafka_requests_do_only_its_item(tmp_path: Path, api: Api) -> None:
    operation, resource, outcome = TOPIC_RIGHTS[api]
    async with guarded(tmp_path) as (at, rights):
        request = REQUESTS[api](at)
        rights.only = {(operation, resource)}
        response = await at.client.connection.request(request, api.response)
        assert error_names(response)[:: _stride(response)] == [
            outcome,
            UNKNOWN_ID if api in BY_ID else TOPIC_REFUSED,
        ]
        assert at.service.image.topic_by_full_name("b") is not None
        assert at.service.image.topic_by_full_name("d") is None


def _stride(response: Any) -> int:
    """Return the step between the errors to test: the partitions of a topic share its right, so one
    error is enough.
    """
    return max(len(error_names(response)) - 1, 1)


async def test_a_broker_needs_no_right_but_that_of_brokers(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.CLUSTER_ACTION, CLUSTER)}
        for api in (
            apis.BROKER_HEARTBEAT,
            apis.ALTER_PARTITION,
            apis.ASSIGN_REPLICAS_TO_DIRS,
            apis.ALLOCATE_PRODUCER_IDS,
            apis.FOLLOW_LOG,
        ):
            response = await at.client.connection.request(REQUESTS[api](at), api.response)
            assert not REFUSED & set(error_names(response)), api.name
