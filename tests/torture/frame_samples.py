"""Valid requests of every key and version, to be mutated."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from api.kafka import frames
from api.kafka.apis import BY_REQUEST, Api
from api.kafka.fields import Request
from api.kafka.messages.api_versions import ApiVersionsRequest
from api.kafka.messages.brokers import BrokerRegistrationRequest
from api.kafka.messages.cluster import DescribeClusterRequest
from api.kafka.messages.group_admin import ListGroupsRequest
from api.kafka.messages.group_offsets import (
    CommittedPartition,
    CommittedTopic,
    FetchedOffsetsGroup,
    FetchedOffsetsTopic,
    GroupOffsetsTopic,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from api.kafka.messages.groups import FindCoordinatorRequest
from api.kafka.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    MovedLogDirTopic,
)
from api.kafka.messages.records_io import (
    EpochPartition,
    EpochTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    OffsetForLeaderEpochRequest,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
)
from api.kafka.messages.replicas import StoppedTopic, StopReplicaRequest
from api.kafka.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from api.kafka.messages.tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenPrincipal,
)
from api.kafka.messages.topics import DeleteTopicsRequest
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.api.broker.leader import ID, ME, OTHER, update
from tests.api.broker.records import batch
from tests.api.broker.states import leader_and_isr, state, topic_states
from tests.api.kafka.servers import CLUSTER_ID, Server
from tests.api.kafka.test_authorization import REQUESTS

LOGIN_REQUESTS: tuple[Request, ...] = (
    SaslHandshakeRequest(mechanism="SCRAM-SHA-256"),
    SaslAuthenticateRequest(auth_bytes=b"n,,n=ann,r=nonce"),
)


def samples(requests: Iterable[Request]) -> tuple[bytes, ...]:
    """Return a frame of each key and version: the first request that the version can encode."""
    found: dict[tuple[Api, int], bytes] = {}
    for request in requests:
        api = BY_REQUEST[type(request)]
        for version in range(api.min_version, api.max_version + 1):
            if (api, version) not in found:
                with contextlib.suppress(RequestError):
                    found[api, version] = frames.encode_request(
                        api, version, version + 1, request, "mutant"
                    )
    return tuple(found.values())


def service_requests(at: Server) -> tuple[Request, ...]:
    """Return requests that a service answers; those that need the newest versions come first."""
    committed = CommittedPartition(partition_index=0, committed_offset=1, committed_metadata=None)
    asked = GroupOffsetsTopic(name="a", partition_indexes=(0, 1))
    return (
        *[request(at) for request in REQUESTS.values()],
        ApiVersionsRequest(client_software_name="x"),
        ApiVersionsRequest(),
        DescribeClusterRequest(include_cluster_authorized_operations=True),
        ListGroupsRequest(),
        RenewDelegationTokenRequest(hmac=b"hmac", renew_period_ms=1),
        ExpireDelegationTokenRequest(hmac=b"hmac", expiry_time_period_ms=1),
        DescribeDelegationTokenRequest(
            owners=(TokenPrincipal(principal_type="User", principal_name="ann"),)
        ),
        CreateDelegationTokenRequest(),
        DeleteTopicsRequest(topic_names=("a", "b")),
        BrokerRegistrationRequest(
            broker_id=3,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(b"3" * 16),
            listeners=(),
            features=(),
        ),
        FindCoordinatorRequest(key="g"),
        OffsetCommitRequest(
            group_id="g",
            member_id="m",
            topics=(CommittedTopic(name="a", partitions=(committed,)),),
        ),
        OffsetFetchRequest(groups=(FetchedOffsetsGroup(group_id="g", topics=(asked,)),)),
        OffsetFetchRequest(
            group_id="g", topics=(FetchedOffsetsTopic(name="a", partition_indexes=(0, 1)),)
        ),
        *_records_requests(),
    )


def broker_requests(directory: Path) -> tuple[Request, ...]:
    """Return requests of a broker about its partitions.

    Args:
        directory: The log directory to which replicas are moved.
    """
    moved = MovedLogDirTopic(name="a", partitions=(0, 1))
    epoch = EpochPartition(partition=0, leader_epoch=5)
    return (
        *_records_requests(),
        OffsetForLeaderEpochRequest(topics=(EpochTopic(topic="a", partitions=(epoch,)),)),
        AlterReplicaLogDirsRequest(
            dirs=(AlterReplicaLogDir(path=str(directory), topics=(moved,)),)
        ),
        DescribeLogDirsRequest(),
    )


def _records_requests() -> list[Request]:
    """Return Produce and Fetch requests that name their topic by id (in both ways) or by name."""
    requests: list[Request] = []
    for name, topic_id in (("", ID), ("a", ID), ("a", ZERO_UUID)):
        produced = ProducedPartition(index=0, records=batch(b"one", b"two"))
        into = ProducedTopic(name=name, topic_id=topic_id, partition_data=(produced,))
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        of = FetchTopic(topic=name, topic_id=topic_id, partitions=(wanted,))
        requests += [
            ProduceRequest(acks=1, timeout_ms=0, topic_data=(into,)),
            FetchRequest(max_wait_ms=0, min_bytes=0, topics=(of,)),
        ]
    return requests


def stream_requests() -> tuple[Request, ...]:
    """Return requests that a controller sends to a broker."""
    states = [state(n, OTHER if n == 3 else ME, replicas=(ME, OTHER)) for n in range(4)]
    return (
        ApiVersionsRequest(client_software_name="x"),
        ApiVersionsRequest(),
        leader_and_isr(topic_states("a", ID, *states)),
        StopReplicaRequest(
            controller_id=3000,
            controller_epoch=1,
            broker_epoch=1,
            delete_partitions=True,
            partitions=(StoppedTopic(topic="a", topic_id=ID, partition_ids=(1, 2)),),
        ),
        update("a", ID, READ_WRITE, READ_ONLY, NONE),
    )
