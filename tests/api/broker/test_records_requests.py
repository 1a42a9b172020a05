"""Reads and writes that a broker grants or refuses, by mode, topic id, leader and offset."""

from pathlib import Path
from typing import Any

import pytest

from api.broker.cluster import Cluster
from api.broker.fencing import Fencing, NoReplicas
from api.broker.log_directory import LogDirectory
from api.broker.records_requests import RecordsRequests
from api.broker.replicas import Replicas
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.errors import name_of
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.listener import Asker
from api.kafka.messages.records_io import (
    EARLIEST,
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
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrTopic,
    UpdatedPartition,
    UpdatedTopic,
    UpdateMetadataRequest,
)
from records.base import ZERO_UUID, Uuid
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.api.broker.records import batch, values

ME, OTHER = 1, 2
ID, STRANGE = Uuid(b"1" * 16), Uuid(b"9" * 16)
ASKER = Asker("test", None)


class Broker:
    """Topic `a`, led here: partition 0 READ_WRITE, 1 READ_ONLY, 2 NONE; 3 is led elsewhere."""

    def __init__(self, path: Path) -> None:
        directory = LogDirectory.open(path, cluster_id="c", broker_id=ME)
        self.replicas = Replicas(ME, [directory])
        self.cluster = Cluster()
        self.requests = RecordsRequests(Fencing(self.replicas, self.cluster))
        self.lead()
        self.cluster.update(_update("a", ID, READ_WRITE, READ_ONLY, NONE, READ_WRITE))

    def lead(self, leader_epoch: int = 5) -> None:
        states = [
            LeaderAndIsrPartition(
                partition=n,
                controller_epoch=1,
                leader=OTHER if n == 3 else ME,
                leader_epoch=leader_epoch,
                isr=(ME,),
                zk_version=0,
                replicas=(ME, OTHER),
            )
            for n in range(4)
        ]
        topic = LeaderAndIsrTopic(topic="a", topic_id=ID, partition_states=tuple(states))
        results = self.replicas.take_over(
            LeaderAndIsrRequest(
                controller_id=0,
                controller_epoch=1,
                broker_epoch=1,
                type=FULL,
                topic_states=(topic,),
            )
        )
        assert {result.error_code for result in results} == {0}

    async def produce(self, *some: bytes, **fields: Any) -> str:
        name, topic_id, partition = _place(fields)
        data = ProducedPartition(index=partition, records=batch(*some) if some else None)
        request = ProduceRequest(
            acks=fields.get("acks", 1),
            timeout_ms=50,
            topic_data=(ProducedTopic(name=name, topic_id=topic_id, partition_data=(data,)),),
        )
        response = await self.requests.produce(_frame(apis.PRODUCE, request), ASKER)
        assert isinstance(response, ProduceResponse)
        (topic,) = response.responses
        assert topic.topic_id == topic_id
        return name_of(topic.partition_responses[0].error_code)

    async def fetch(self, offset: int = 0, **fields: Any) -> tuple[str, list[bytes]]:
        name, topic_id, partition = _place(fields)
        wanted = FetchPartition(
            partition=partition,
            fetch_offset=offset,
            current_leader_epoch=fields.get("leader_epoch", -1),
            partition_max_bytes=1 << 20,
        )
        request = FetchRequest(
            replica_id=fields.get("replica_id", -1),
            max_wait_ms=0,
            min_bytes=0,
            topics=(FetchTopic(topic=name, topic_id=topic_id, partitions=(wanted,)),),
        )
        response = await self.requests.fetch(_frame(apis.FETCH, request), ASKER)
        assert isinstance(response, FetchResponse)
        (topic,) = response.responses
        assert topic.topic_id == topic_id
        (fetched,) = topic.partitions
        return name_of(fetched.error_code), values(fetched.records or b"")

    async def list_offset(self, timestamp: int, **fields: Any) -> tuple[str, int]:
        name, topic_id, partition = _place(fields)
        asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        topic = ListOffsetsTopic(name=name, topic_id=topic_id, partitions=(asked,))
        frame = _frame(apis.LIST_OFFSETS, ListOffsetsRequest(topics=(topic,)))
        response = await self.requests.list_offsets(frame, ASKER)
        assert isinstance(response, ListOffsetsResponse)
        (listed,) = response.topics[0].partitions
        return name_of(listed.error_code), listed.offset

    async def epoch_end(self, epoch: int, **fields: Any) -> tuple[str, int, int]:
        name, topic_id, partition = _place(fields)
        asked = EpochPartition(partition=partition, leader_epoch=epoch)
        topic = EpochTopic(topic=name, topic_id=topic_id, partitions=(asked,))
        frame = _frame(apis.OFFSET_FOR_LEADER_EPOCH, OffsetForLeaderEpochRequest(topics=(topic,)))
        response = await self.requests.offsets_for_leader_epoch(frame, ASKER)
        assert isinstance(response, OffsetForLeaderEpochResponse)
        (end,) = response.topics[0].partitions
        return name_of(end.error_code), end.leader_epoch, end.end_offset

    async def errors(self, **fields: Any) -> list[str]:
        """Return the errors of a write, a read, and both ways to ask for offsets."""
        return [
            await self.produce(b"x", **fields),
            (await self.fetch(**fields))[0],
            (await self.list_offset(LATEST, **fields))[0],
            (await self.epoch_end(5, **fields))[0],
        ]


def _place(fields: dict[str, Any]) -> tuple[str, Uuid, int]:
    return fields.get("name", "a"), fields.get("topic_id", ZERO_UUID), fields.get("partition", 0)


def _frame(api: Api, request: Request) -> RequestFrame:
    return RequestFrame(
        api=api, version=api.max_version, correlation_id=1, client_id=None, body=request
    )


def _update(name: str, topic_id: Uuid, *modes: int) -> UpdateMetadataRequest:
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


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


async def test_records_are_written_and_read(broker: Broker) -> None:
    assert await broker.produce(b"one", b"two") == "NONE"
    assert await broker.produce(b"three", topic_id=ID, acks=-1) == "NONE"
    assert await broker.fetch() == ("NONE", [b"one", b"two", b"three"])
    assert await broker.fetch(2, topic_id=ID) == ("NONE", [b"three"])
    assert await broker.list_offset(LATEST) == ("NONE", 3)
    assert await broker.list_offset(EARLIEST) == ("NONE", 0)
    assert await broker.list_offset(0) == ("NONE", 0)
    assert await broker.list_offset(1 << 60) == ("NONE", -1)
    assert await broker.epoch_end(5) == ("NONE", 5, 3)
    assert await broker.epoch_end(4) == ("NONE", -1, -1)


async def test_read_only_partition_is_read_and_not_written(broker: Broker) -> None:
    expected = ["POLICY_VIOLATION", "NONE", "NONE", "NONE"]
    assert await broker.errors(partition=1) == expected


async def test_partition_of_mode_none_is_neither_read_nor_written(broker: Broker) -> None:
    assert await broker.errors(partition=2) == ["LEADER_NOT_AVAILABLE"] * 4


async def test_mode_that_was_not_told_yet_is_waited_for(broker: Broker) -> None:
    broker.cluster.update(_update("b", STRANGE))
    assert await broker.errors() == ["NOT_LEADER_OR_FOLLOWER"] * 4


async def test_another_id_under_the_name_is_inconsistent(broker: Broker) -> None:
    assert await broker.errors(topic_id=STRANGE) == ["INCONSISTENT_TOPIC_ID"] * 4


async def test_known_id_under_another_name_is_inconsistent(broker: Broker) -> None:
    assert await broker.errors(name="b", topic_id=ID) == ["INCONSISTENT_TOPIC_ID"] * 4


async def test_id_that_nobody_knows_is_unknown(broker: Broker) -> None:
    assert await broker.errors(name="b", topic_id=STRANGE) == ["UNKNOWN_TOPIC_ID"] * 4


async def test_request_without_an_id_behaves_as_before(broker: Broker) -> None:
    assert await broker.errors() == ["NONE"] * 4
    assert await broker.errors(name="b") == ["UNKNOWN_TOPIC_OR_PARTITION"] * 4
    assert await broker.errors(partition=9) == ["UNKNOWN_TOPIC_OR_PARTITION"] * 4


async def test_follower_sends_clients_away(broker: Broker) -> None:
    assert await broker.errors(partition=3) == ["NOT_LEADER_OR_FOLLOWER"] * 4


async def test_node_without_replicas_sends_everybody_away(broker: Broker) -> None:
    broker.requests = RecordsRequests(NoReplicas())
    assert await broker.errors() == ["NOT_LEADER_OR_FOLLOWER"] * 4


async def test_leader_epochs_are_checked(broker: Broker) -> None:
    assert (await broker.fetch(leader_epoch=5))[0] == "NONE"
    assert (await broker.fetch(leader_epoch=4))[0] == "FENCED_LEADER_EPOCH"
    assert (await broker.fetch(leader_epoch=6))[0] == "UNKNOWN_LEADER_EPOCH"


async def test_offset_beyond_the_end_is_out_of_range(broker: Broker) -> None:
    await broker.produce(b"one")
    assert await broker.fetch(1) == ("NONE", [])
    assert await broker.fetch(2) == ("OFFSET_OUT_OF_RANGE", [])
    assert await broker.fetch(-1) == ("OFFSET_OUT_OF_RANGE", [])


async def test_clients_read_up_to_the_high_watermark_and_followers_to_the_end(
    broker: Broker,
) -> None:
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    assert replica.state is not None
    replica.pending_isr = (ME, OTHER)
    assert await broker.produce(b"one") == "NONE"
    assert await broker.produce(b"two", acks=-1) == "REQUEST_TIMED_OUT"
    assert await broker.fetch() == ("NONE", [])
    # An offset below the end is a good one, though there is nothing to give yet.
    assert await broker.fetch(1) == ("NONE", [])
    assert await broker.fetch(replica_id=OTHER) == ("NONE", [b"one", b"two"])
    assert await broker.fetch(2, replica_id=OTHER) == ("NONE", [])
    assert await broker.fetch() == ("NONE", [b"one", b"two"])


async def test_bad_writes_are_refused(broker: Broker) -> None:
    assert await broker.produce() == "INVALID_RECORD"
    assert await broker.produce(b"x", acks=7) == "INVALID_REQUIRED_ACKS"
    assert await broker.fetch() == ("NONE", [])
