"""A broker that leads some partitions, and receives requests as from a client."""

from pathlib import Path
from typing import Any

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.disk import Disk
from api.broker.fencing import Fencing
from api.broker.log_directory import LogDirectory
from api.broker.records_requests import RecordsRequests
from api.broker.replicas import Replicas
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.errors import name_of
from api.kafka.fields import Request, Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.records_io import (
    LATEST,
    EpochPartition,
    EpochTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)
from api.kafka.messages.replicas import (
    FULL,
    UpdatedPartition,
    UpdatedTopic,
    UpdateMetadataRequest,
)
from controller.authorization.authorizer import ALLOW_ALL
from controller.authorization.caller import Caller
from records.base import ZERO_UUID, Uuid
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.api.broker.records import batch, values
from tests.api.broker.states import leader_and_isr, state, topic_states

ME, OTHER = 1, 2
ID, STRANGE = Uuid(b"1" * 16), Uuid(b"9" * 16)
ASKER = Caller(host="test")


class Broker:
    """A broker with partitions of topic `a`.

    It leads partition 0 (READ_WRITE), 1 (READ_ONLY) and 2 (NONE); another broker leads 3.
    """

    def __init__(self, path: Path, authorization: Authorization | None = None, *more: Path) -> None:
        self.directories = [
            LogDirectory.open(each, cluster_id="c", broker_id=ME) for each in (path, *more)
        ]
        self.directory = self.directories[0]
        self.replicas = Replicas(ME, self.directories, Disk(256))
        self.cluster = Cluster()
        self.authorization = authorization or Authorization(ALLOW_ALL)
        self.live = {ME}
        self.requests = RecordsRequests(
            Fencing(self.replicas, self.cluster),
            self.authorization.access,
            lambda broker_id: broker_id in self.live,
        )
        self.cluster.update(update("a", ID, READ_WRITE, READ_ONLY, NONE, READ_WRITE))

    async def lead(self, leader_epoch: int = 5) -> None:
        fields = {"leader_epoch": leader_epoch, "isr": (ME,), "replicas": (ME, OTHER)}
        states = [state(n, OTHER if n == 3 else ME, **fields) for n in range(4)]
        results = await self.replicas.take_over(leader_and_isr(topic_states("a", ID, *states)))
        assert {result.error_code for result in results} == {0}

    async def ask(self, api: Api, request: Request, version: int | None = None) -> Response | None:
        """Return the response to a request.

        Args:
            version: Version of the request; None for the newest.
        """
        frame = RequestFrame(
            api=api,
            version=api.max_version if version is None else version,
            correlation_id=1,
            client_id=None,
            body=request,
        )
        answer = await self.requests.handlers()[api](frame, ASKER)
        assert not isinstance(answer, bytes), "only forwarded requests are answered in bytes"
        return answer

    async def produce(self, *some: bytes, **fields: Any) -> str:
        name, topic_id, partition = place(fields)
        data = ProducedPartition(index=partition, records=batch(*some) if some else None)
        request = ProduceRequest(
            acks=fields.get("acks", 1),
            timeout_ms=50,
            topic_data=(ProducedTopic(name=name, topic_id=topic_id, partition_data=(data,)),),
        )
        response = await self.ask(apis.PRODUCE, request)
        assert isinstance(response, ProduceResponse)
        (topic,) = response.responses
        assert topic.topic_id == topic_id
        return name_of(topic.partition_responses[0].error_code)

    async def fetch(self, offset: int = 0, **fields: Any) -> tuple[str, list[bytes]]:
        name, topic_id, partition = place(fields)
        wanted = FetchPartition(
            partition=partition,
            fetch_offset=offset,
            current_leader_epoch=fields.get("leader_epoch", -1),
            log_start_offset=fields.get("log_start_offset", -1),
            partition_max_bytes=1 << 20,
        )
        request = FetchRequest(
            replica_id=fields.get("replica_id", -1),
            max_wait_ms=fields.get("max_wait_ms", 0),
            min_bytes=fields.get("min_bytes", 0),
            topics=(FetchTopic(topic=name, topic_id=topic_id, partitions=(wanted,)),),
        )
        response = await self.ask(apis.FETCH, request)
        assert isinstance(response, FetchResponse)
        (topic,) = response.responses
        assert topic.topic_id == topic_id
        (fetched,) = topic.partitions
        return name_of(fetched.error_code), values(fetched.records or b"")

    async def list_offset(self, timestamp: int, **fields: Any) -> tuple[str, int]:
        name, topic_id, partition = place(fields)
        asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        topic = ListOffsetsTopic(name=name, topic_id=topic_id, partitions=(asked,))
        response = await self.ask(apis.LIST_OFFSETS, ListOffsetsRequest(topics=(topic,)))
        assert isinstance(response, ListOffsetsResponse)
        (listed,) = response.topics[0].partitions
        return name_of(listed.error_code), listed.offset

    async def epoch_end(self, epoch: int, **fields: Any) -> tuple[str, int, int]:
        name, topic_id, partition = place(fields)
        asked = EpochPartition(partition=partition, leader_epoch=epoch)
        topic = EpochTopic(topic=name, topic_id=topic_id, partitions=(asked,))
        request = OffsetForLeaderEpochRequest(topics=(topic,))
        response = await self.ask(apis.OFFSET_FOR_LEADER_EPOCH, request)
        assert isinstance(response, OffsetForLeaderEpochResponse)
        (end,) = response.topics[0].partitions
        return name_of(end.error_code), end.leader_epoch, end.end_offset

    async def errors(self, **fields: Any) -> list[str]:
        """Return the errors of a Produce, a Fetch, a ListOffsets and an OffsetForLeaderEpoch
        request.
        """
        return [
            await self.produce(b"x", **fields),
            (await self.fetch(**fields))[0],
            (await self.list_offset(LATEST, **fields))[0],
            (await self.epoch_end(5, **fields))[0],
        ]


def place(fields: dict[str, Any]) -> tuple[str, Uuid, int]:
    return fields.get("name", "a"), fields.get("topic_id", ZERO_UUID), fields.get("partition", 0)


def update(name: str, topic_id: Uuid, *modes: int) -> UpdateMetadataRequest:
    states = [
        UpdatedPartition(
            partition_index=n, controller_epoch=1, leader=ME, leader_epoch=5, mode=mode
        )
        for n, mode in enumerate(modes)
    ]
    topic = UpdatedTopic(topic_name=name, topic_id=topic_id, partition_states=tuple(states))
    return UpdateMetadataRequest(
        controller_id=0, controller_epoch=1, broker_epoch=1, type=FULL, topic_states=(topic,)
    )
