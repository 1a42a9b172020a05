"""The supported requests, with their keys and versions."""

from collections.abc import Iterable

import msgspec

from api.kafka.fields import Request, Response
from api.kafka.messages import (
    acls,
    api_versions,
    assignments,
    brokers,
    cluster,
    configs,
    envelope,
    features,
    group_admin,
    group_offsets,
    groups,
    log_dirs,
    metadata,
    partitions,
    producers,
    quorum,
    quotas,
    record_deletions,
    records_io,
    replicas,
    sasl,
    snapshots,
    tokens,
    topic_partitions,
    topics,
    users,
)


class Api(msgspec.Struct, frozen=True):
    """A request and its response. `flexible_from` is the first version with tagged fields.

    `advertised_from`, unless None, replaces `min_version` in ApiVersions responses: librdkafka
    disables compression if old versions of Produce are not advertised.
    """

    key: int
    request: type[Request]
    response: type[Response]
    min_version: int
    max_version: int
    flexible_from: int
    advertised_from: int | None = None

    @property
    def name(self) -> str:
        """Kafka's name for the request."""
        return self.request.__name__.removesuffix("Request")

    def is_flexible(self, version: int) -> bool:
        """True if this version has tagged fields."""
        return version >= self.flexible_from


DELETE_PARTITIONS_KEY = 10_001
FOLLOW_LOG_KEY = 10_002
RUN_COMMAND_KEY = 10_003
"""Request key of RunCommand. Our own keys are far above Kafka's, and clients ignore them."""

_T, _B, _R, _D, _U, _Q = topics, brokers, replicas, records_io, users, quotas
_K, _C, _I, _P = tokens, configs, producers, partitions
_G, _O, _A, _L = groups, group_offsets, group_admin, cluster

PRODUCE = Api(0, _D.ProduceRequest, _D.ProduceResponse, 3, 13, 9, advertised_from=0)
FETCH = Api(1, _D.FetchRequest, _D.FetchResponse, 4, 18, 12)
LIST_OFFSETS = Api(2, _D.ListOffsetsRequest, _D.ListOffsetsResponse, 1, 11, 6)
METADATA = Api(3, metadata.MetadataRequest, metadata.MetadataResponse, 0, 13, 9)
LEADER_AND_ISR = Api(4, _R.LeaderAndIsrRequest, _R.LeaderAndIsrResponse, 5, 5, 4)
STOP_REPLICA = Api(5, _R.StopReplicaRequest, _R.StopReplicaResponse, 2, 2, 2)
UPDATE_METADATA = Api(6, _R.UpdateMetadataRequest, _R.UpdateMetadataResponse, 7, 7, 6)
OFFSET_COMMIT = Api(8, _O.OffsetCommitRequest, _O.OffsetCommitResponse, 2, 10, 8)
OFFSET_FETCH = Api(9, _O.OffsetFetchRequest, _O.OffsetFetchResponse, 1, 10, 6)
FIND_COORDINATOR = Api(10, _G.FindCoordinatorRequest, _G.FindCoordinatorResponse, 0, 6, 3)
JOIN_GROUP = Api(11, _G.JoinGroupRequest, _G.JoinGroupResponse, 0, 9, 6)
HEARTBEAT = Api(12, _G.HeartbeatRequest, _G.HeartbeatResponse, 0, 4, 4)
LEAVE_GROUP = Api(13, _G.LeaveGroupRequest, _G.LeaveGroupResponse, 0, 5, 4)
SYNC_GROUP = Api(14, _G.SyncGroupRequest, _G.SyncGroupResponse, 0, 5, 4)
DESCRIBE_GROUPS = Api(15, _A.DescribeGroupsRequest, _A.DescribeGroupsResponse, 0, 6, 5)
LIST_GROUPS = Api(16, _A.ListGroupsRequest, _A.ListGroupsResponse, 0, 5, 3)
SASL_HANDSHAKE = Api(17, sasl.SaslHandshakeRequest, sasl.SaslHandshakeResponse, 0, 1, 2)
API_VERSIONS = Api(18, api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse, 0, 4, 3)
CREATE_TOPICS = Api(19, _T.CreateTopicsRequest, _T.CreateTopicsResponse, 2, 7, 5)
DELETE_TOPICS = Api(20, _T.DeleteTopicsRequest, _T.DeleteTopicsResponse, 1, 6, 4)
DELETE_RECORDS = Api(
    21, record_deletions.DeleteRecordsRequest, record_deletions.DeleteRecordsResponse, 0, 2, 2
)
INIT_PRODUCER_ID = Api(22, _I.InitProducerIdRequest, _I.InitProducerIdResponse, 0, 5, 2)
OFFSET_FOR_LEADER_EPOCH = Api(
    23, _D.OffsetForLeaderEpochRequest, _D.OffsetForLeaderEpochResponse, 2, 4, 4
)
DESCRIBE_ACLS = Api(29, acls.DescribeAclsRequest, acls.DescribeAclsResponse, 1, 3, 2)
CREATE_ACLS = Api(30, acls.CreateAclsRequest, acls.CreateAclsResponse, 1, 3, 2)
DELETE_ACLS = Api(31, acls.DeleteAclsRequest, acls.DeleteAclsResponse, 1, 3, 2)
DESCRIBE_CONFIGS = Api(32, _C.DescribeConfigsRequest, _C.DescribeConfigsResponse, 1, 4, 4)
ALTER_CONFIGS = Api(33, _C.AlterConfigsRequest, _C.AlterConfigsResponse, 0, 2, 2)
ALTER_REPLICA_LOG_DIRS = Api(
    34, log_dirs.AlterReplicaLogDirsRequest, log_dirs.AlterReplicaLogDirsResponse, 1, 2, 2
)
DESCRIBE_LOG_DIRS = Api(
    35, log_dirs.DescribeLogDirsRequest, log_dirs.DescribeLogDirsResponse, 1, 4, 2
)
SASL_AUTHENTICATE = Api(36, sasl.SaslAuthenticateRequest, sasl.SaslAuthenticateResponse, 0, 2, 2)
CREATE_PARTITIONS = Api(37, _P.CreatePartitionsRequest, _P.CreatePartitionsResponse, 0, 3, 2)
CREATE_DELEGATION_TOKEN = Api(
    38, _K.CreateDelegationTokenRequest, _K.CreateDelegationTokenResponse, 1, 3, 2
)
RENEW_DELEGATION_TOKEN = Api(
    39, _K.RenewDelegationTokenRequest, _K.RenewDelegationTokenResponse, 1, 2, 2
)
EXPIRE_DELEGATION_TOKEN = Api(
    40, _K.ExpireDelegationTokenRequest, _K.ExpireDelegationTokenResponse, 1, 2, 2
)
DESCRIBE_DELEGATION_TOKEN = Api(
    41, _K.DescribeDelegationTokenRequest, _K.DescribeDelegationTokenResponse, 1, 3, 2
)
DELETE_GROUPS = Api(42, _A.DeleteGroupsRequest, _A.DeleteGroupsResponse, 0, 2, 2)
ELECT_LEADERS = Api(43, _P.ElectLeadersRequest, _P.ElectLeadersResponse, 0, 2, 2)
INCREMENTAL_ALTER_CONFIGS = Api(
    44, _C.IncrementalAlterConfigsRequest, _C.IncrementalAlterConfigsResponse, 0, 1, 1
)
ALTER_PARTITION_REASSIGNMENTS = Api(
    45, _P.AlterPartitionReassignmentsRequest, _P.AlterPartitionReassignmentsResponse, 0, 1, 0
)
LIST_PARTITION_REASSIGNMENTS = Api(
    46, _P.ListPartitionReassignmentsRequest, _P.ListPartitionReassignmentsResponse, 0, 0, 0
)
OFFSET_DELETE = Api(47, _O.OffsetDeleteRequest, _O.OffsetDeleteResponse, 0, 0, 1)
DESCRIBE_CLIENT_QUOTAS = Api(
    48, _Q.DescribeClientQuotasRequest, _Q.DescribeClientQuotasResponse, 0, 1, 1
)
ALTER_CLIENT_QUOTAS = Api(49, _Q.AlterClientQuotasRequest, _Q.AlterClientQuotasResponse, 0, 1, 1)
DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    50, _U.DescribeUserScramCredentialsRequest, _U.DescribeUserScramCredentialsResponse, 0, 0, 0
)
ALTER_USER_SCRAM_CREDENTIALS = Api(
    51, _U.AlterUserScramCredentialsRequest, _U.AlterUserScramCredentialsResponse, 0, 0, 0
)
DESCRIBE_QUORUM = Api(55, quorum.DescribeQuorumRequest, quorum.DescribeQuorumResponse, 0, 2, 0)
ALTER_PARTITION = Api(56, _B.AlterPartitionRequest, _B.AlterPartitionResponse, 2, 3, 0)
UPDATE_FEATURES = Api(57, features.UpdateFeaturesRequest, features.UpdateFeaturesResponse, 0, 2, 0)
ENVELOPE = Api(58, envelope.EnvelopeRequest, envelope.EnvelopeResponse, 0, 0, 0)
FETCH_SNAPSHOT = Api(59, snapshots.FetchSnapshotRequest, snapshots.FetchSnapshotResponse, 0, 1, 0)
DESCRIBE_CLUSTER = Api(60, _L.DescribeClusterRequest, _L.DescribeClusterResponse, 0, 2, 0)
BROKER_REGISTRATION = Api(62, _B.BrokerRegistrationRequest, _B.BrokerRegistrationResponse, 0, 4, 0)
BROKER_HEARTBEAT = Api(63, _B.BrokerHeartbeatRequest, _B.BrokerHeartbeatResponse, 0, 2, 0)
UNREGISTER_BROKER = Api(64, _L.UnregisterBrokerRequest, _L.UnregisterBrokerResponse, 0, 0, 0)
ALLOCATE_PRODUCER_IDS = Api(
    67, _I.AllocateProducerIdsRequest, _I.AllocateProducerIdsResponse, 0, 0, 0
)
CONSUMER_GROUP_HEARTBEAT = Api(
    68, _G.ConsumerGroupHeartbeatRequest, _G.ConsumerGroupHeartbeatResponse, 0, 1, 0
)
CONSUMER_GROUP_DESCRIBE = Api(
    69, _A.ConsumerGroupDescribeRequest, _A.ConsumerGroupDescribeResponse, 0, 1, 0
)
ASSIGN_REPLICAS_TO_DIRS = Api(
    73, assignments.AssignReplicasToDirsRequest, assignments.AssignReplicasToDirsResponse, 0, 0, 0
)
LIST_CONFIG_RESOURCES = Api(
    74, _L.ListConfigResourcesRequest, _L.ListConfigResourcesResponse, 0, 1, 0
)
DESCRIBE_TOPIC_PARTITIONS = Api(
    75,
    topic_partitions.DescribeTopicPartitionsRequest,
    topic_partitions.DescribeTopicPartitionsResponse,
    0,
    0,
    0,
)
DELETE_PARTITIONS = Api(
    DELETE_PARTITIONS_KEY, _T.DeletePartitionsRequest, _T.DeletePartitionsResponse, 0, 0, 0
)
# Version 1 is version 0 of a controller that looks at the ids of requests in envelopes.
FOLLOW_LOG = Api(FOLLOW_LOG_KEY, _B.FollowLogRequest, _B.FollowLogResponse, 0, 1, 0)
RUN_COMMAND = Api(RUN_COMMAND_KEY, _T.RunCommandRequest, _T.RunCommandResponse, 0, 0, 0)

ALL = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    LEADER_AND_ISR,
    STOP_REPLICA,
    UPDATE_METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    SYNC_GROUP,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    SASL_HANDSHAKE,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DELETE_RECORDS,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    DESCRIBE_ACLS,
    CREATE_ACLS,
    DELETE_ACLS,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    ALTER_REPLICA_LOG_DIRS,
    DESCRIBE_LOG_DIRS,
    SASL_AUTHENTICATE,
    CREATE_PARTITIONS,
    CREATE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    DELETE_GROUPS,
    ELECT_LEADERS,
    INCREMENTAL_ALTER_CONFIGS,
    ALTER_PARTITION_REASSIGNMENTS,
    LIST_PARTITION_REASSIGNMENTS,
    OFFSET_DELETE,
    DESCRIBE_CLIENT_QUOTAS,
    ALTER_CLIENT_QUOTAS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    ALTER_USER_SCRAM_CREDENTIALS,
    DESCRIBE_QUORUM,
    ALTER_PARTITION,
    UPDATE_FEATURES,
    ENVELOPE,
    FETCH_SNAPSHOT,
    DESCRIBE_CLUSTER,
    BROKER_REGISTRATION,
    BROKER_HEARTBEAT,
    UNREGISTER_BROKER,
    ALLOCATE_PRODUCER_IDS,
    CONSUMER_GROUP_HEARTBEAT,
    CONSUMER_GROUP_DESCRIBE,
    ASSIGN_REPLICAS_TO_DIRS,
    LIST_CONFIG_RESOURCES,
    DESCRIBE_TOPIC_PARTITIONS,
    DELETE_PARTITIONS,
    FOLLOW_LOG,
    RUN_COMMAND,
)

BY_REQUEST = {api.request: api for api in ALL}


def by_key(apis: Iterable[Api]) -> dict[int, Api]:
    """Return a dict of the requests by key."""
    return {api.key: api for api in apis}
