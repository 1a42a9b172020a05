"""A broker authorizes each request topic by topic, with the ACLs that the controller sent."""

from pathlib import Path

import pytest
import pytest_asyncio

from api.broker.authorization import Authorization
from api.kafka.messages.records_io import LATEST
from controller.authorization.authorizer import CLUSTER, Operation, topic_resource
from tests.api.broker.leader import Broker
from tests.api.guarded import TOPIC_REFUSED, Right, Rights

WRITE, READ, DESCRIBE = Operation.WRITE, Operation.READ, Operation.DESCRIBE
ON_TOPIC = topic_resource("a")
REPLICATE = (Operation.CLUSTER_ACTION, CLUSTER)
FOLLOWER = 2


@pytest.fixture
def rights() -> Rights:
    rights = Rights()
    rights.only = set()
    return rights


@pytest_asyncio.fixture
async def broker(tmp_path: Path, rights: Rights) -> Broker:
    broker = Broker(tmp_path, Authorization(rights))
    await broker.lead()
    return broker


async def test_without_rights_no_topic_is_disclosed(broker: Broker) -> None:
    assert await broker.errors() == [TOPIC_REFUSED] * 4
    # In the same words, whether it exists or not.
    assert await broker.errors(name="missing") == [TOPIC_REFUSED] * 4
    assert broker.replicas.get("a", 0) is not None
    assert (await broker.fetch(replica_id=FOLLOWER))[0] == TOPIC_REFUSED


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ((WRITE, ON_TOPIC), ["NONE", TOPIC_REFUSED, TOPIC_REFUSED, TOPIC_REFUSED]),
        ((READ, ON_TOPIC), [TOPIC_REFUSED, "NONE", TOPIC_REFUSED, TOPIC_REFUSED]),
        ((DESCRIBE, ON_TOPIC), [TOPIC_REFUSED, TOPIC_REFUSED, "NONE", "NONE"]),
        (REPLICATE, [TOPIC_REFUSED, TOPIC_REFUSED, TOPIC_REFUSED, "NONE"]),
    ],
)
async def test_one_right_allows_its_requests_only(
    broker: Broker, rights: Rights, right: Right, expected: list[str]
) -> None:
    rights.only = {right}
    assert await broker.errors() == expected


async def test_refused_write_appends_nothing(broker: Broker, rights: Rights) -> None:
    assert await broker.produce(b"one") == TOPIC_REFUSED
    rights.only = {(DESCRIBE, ON_TOPIC)}
    assert await broker.list_offset(LATEST) == ("NONE", 0)


async def test_follower_needs_the_right_of_brokers(broker: Broker, rights: Rights) -> None:
    rights.only = {(READ, ON_TOPIC)}
    assert (await broker.fetch(replica_id=FOLLOWER))[0] == TOPIC_REFUSED
    rights.only = {REPLICATE}
    assert (await broker.fetch(replica_id=FOLLOWER))[0] == "NONE"
