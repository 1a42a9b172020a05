"""A broker describes its log directories: replicas, sizes, and the required authorization."""

from pathlib import Path

import pytest

from api.broker.authorization import Authorization
from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.log_dirs import LogDirsRequests
from api.kafka import apis
from api.kafka.frames import RequestFrame
from api.kafka.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from controller.authorization.authorizer import CLUSTER, Operation
from tests.api.broker.leader import ASKER, Broker
from tests.api.guarded import Rights

Sizes = dict[tuple[str, int], int]


@pytest.fixture
def rights() -> Rights:
    return Rights()


@pytest.fixture
def broker(tmp_path: Path, rights: Rights) -> Broker:
    return Broker(tmp_path, Authorization(rights))


async def described(
    broker: Broker, directories: list[LogDirectory], *topics: DescribableLogDirTopic
) -> DescribeLogDirsResponse:
    api = apis.DESCRIBE_LOG_DIRS
    requests = LogDirsRequests(directories, broker.replicas, Disk(16), broker.authorization.access)
    frame = RequestFrame(
        api=api,
        version=api.max_version,
        correlation_id=1,
        client_id=None,
        body=DescribeLogDirsRequest(topics=topics or None),
    )
    response = await requests.handlers()[api](frame, ASKER)
    assert isinstance(response, DescribeLogDirsResponse)
    return response


def sizes(response: DescribeLogDirsResponse) -> Sizes:
    (directory,) = response.results
    return {
        (topic.name, each.partition_index): each.partition_size
        for topic in directory.topics
        for each in topic.partitions
    }


def bytes_on_disk(broker: Broker) -> Sizes:
    return {
        (replica.metadata.name, replica.metadata.partition): sum(
            path.stat().st_size for path in replica.path.glob("*.log")
        )
        for replica in broker.replicas
    }


async def test_sizes_are_those_of_the_segments(broker: Broker) -> None:
    await broker.lead()
    for text in (b"one", b"two"):
        assert await broker.produce(text) == "NONE"
    response = await described(broker, [broker.directory])
    assert sizes(response) == bytes_on_disk(broker)
    assert sizes(response)["a", 0] > sizes(response)["a", 3] == 0
    (result,) = response.results
    assert result.log_dir == str(broker.directory.path)
    assert result.total_bytes >= result.usable_bytes > 0


async def test_sizes_shrink_when_a_log_is_truncated(broker: Broker) -> None:
    await broker.lead()
    for text in (b"one", b"two"):
        await broker.produce(text)
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    replica.log.truncate_to(1)
    response = await described(broker, [broker.directory])
    assert 0 < sizes(response)["a", 0] == bytes_on_disk(broker)["a", 0]


async def test_only_the_partitions_asked_about_are_listed(broker: Broker) -> None:
    await broker.lead()
    asked = DescribableLogDirTopic(topic="a", partitions=(1, 3, 7))
    response = await described(broker, [broker.directory], asked)
    assert sizes(response).keys() == {("a", 1), ("a", 3)}


async def test_a_directory_that_is_gone_is_an_error_of_its_own(
    broker: Broker, tmp_path: Path
) -> None:
    gone = LogDirectory.open(tmp_path / "gone", cluster_id="c", broker_id=1)
    (gone.path / "meta.properties").unlink()
    gone.path.rmdir()
    response = await described(broker, [broker.directory, gone])
    assert [result.error_code for result in response.results] == [0, 56]


async def test_who_may_not_describe_the_cluster_sees_no_directory(
    broker: Broker, rights: Rights
) -> None:
    rights.only = set()
    refused = await described(broker, [broker.directory])
    assert (refused.error_code, refused.results) == (31, ())
    rights.only = {(Operation.DESCRIBE, CLUSTER)}
    assert (await described(broker, [broker.directory])).error_code == 0
