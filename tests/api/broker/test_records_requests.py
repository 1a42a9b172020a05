"""Reads and writes that a broker accepts or refuses, by mode, topic id, leader and offset."""

import asyncio
from pathlib import Path

import pytest_asyncio

from api.broker.fencing import NoReplicas
from api.broker.records_requests import RecordsRequests
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.messages.records_io import EARLIEST, LATEST, FetchRequest, FetchResponse
from tests.api.broker.leader import ID, ME, OTHER, STRANGE, Broker, update


@pytest_asyncio.fixture
async def broker(tmp_path: Path) -> Broker:
    broker = Broker(tmp_path)
    await broker.lead()
    return broker


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
    assert await broker.epoch_end(4) == ("NONE", 4, 0)
    assert await broker.epoch_end(6) == ("NONE", -1, -1)


async def test_topic_may_be_named_by_its_id_alone(broker: Broker) -> None:
    assert await broker.produce(b"one", name="", topic_id=ID) == "NONE"
    assert await broker.fetch(name="", topic_id=ID) == ("NONE", [b"one"])
    assert await broker.produce(b"one", name="", topic_id=STRANGE) == "UNKNOWN_TOPIC_ID"
    assert await broker.fetch(name="", topic_id=STRANGE) == ("UNKNOWN_TOPIC_ID", [])


async def test_read_only_partition_is_read_and_not_written(broker: Broker) -> None:
    expected = ["POLICY_VIOLATION", "NONE", "NONE", "NONE"]
    assert await broker.errors(partition=1) == expected


async def test_partition_of_mode_none_is_neither_read_nor_written(broker: Broker) -> None:
    assert await broker.errors(partition=2) == ["LEADER_NOT_AVAILABLE"] * 4


async def test_unknown_mode_is_not_leader_or_follower(broker: Broker) -> None:
    broker.cluster.update(update("b", STRANGE))
    assert await broker.errors() == ["NOT_LEADER_OR_FOLLOWER"] * 4


async def test_another_id_under_the_name_is_inconsistent(broker: Broker) -> None:
    assert await broker.errors(topic_id=STRANGE) == ["INCONSISTENT_TOPIC_ID"] * 4


async def test_known_id_under_another_name_is_inconsistent(broker: Broker) -> None:
    assert await broker.errors(name="b", topic_id=ID) == ["INCONSISTENT_TOPIC_ID"] * 4


async def test_unknown_topic_id_is_refused(broker: Broker) -> None:
    assert await broker.errors(name="b", topic_id=STRANGE) == ["UNKNOWN_TOPIC_ID"] * 4


async def test_request_without_an_id_behaves_as_before(broker: Broker) -> None:
    assert await broker.errors() == ["NONE"] * 4
    assert await broker.errors(name="b") == ["UNKNOWN_TOPIC_OR_PARTITION"] * 4
    assert await broker.errors(partition=9) == ["UNKNOWN_TOPIC_OR_PARTITION"] * 4


async def test_follower_sends_clients_away(broker: Broker) -> None:
    assert await broker.errors(partition=3) == ["NOT_LEADER_OR_FOLLOWER"] * 4


async def test_node_without_replicas_sends_everybody_away(broker: Broker) -> None:
    broker.requests = RecordsRequests(NoReplicas(), broker.authorization.access)
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


async def test_waiting_read_is_answered_by_a_change_right_after_it_looked(broker: Broker) -> None:
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    replica.pending_isr = (ME, OTHER)
    await broker.produce(b"one")
    async with asyncio.timeout(30):
        # The follower's turn is the client's next, before anything that the client begins.
        answer, _ = await asyncio.gather(
            broker.fetch(max_wait_ms=60_000, min_bytes=1), broker.fetch(1, replica_id=OTHER)
        )
    assert answer == ("NONE", [b"one"])


async def test_bad_writes_are_refused(broker: Broker) -> None:
    assert await broker.produce() == "INVALID_RECORD"
    assert await broker.produce(b"x", acks=7) == "INVALID_REQUIRED_ACKS"
    assert await broker.fetch() == ("NONE", [])


async def test_fetch_session_of_another_process_begins_anew(broker: Broker) -> None:
    request = FetchRequest(max_wait_ms=0, min_bytes=0, session_id=7, session_epoch=3, topics=())
    response = await broker.ask(apis.FETCH, request)
    assert isinstance(response, FetchResponse)
    assert name_of(response.error_code) == "FETCH_SESSION_ID_NOT_FOUND"
