"""ApiVersions, Metadata and DescribeQuorum of the stand-in, asked by kafka-python's messages."""

from pathlib import Path

import pytest

from tests.stand_in_quorum import DESCRIBE_QUORUM, FETCH, FETCH_SNAPSHOT, RELEASES, Quorum, rules
from tests.stand_in_quorum.peer import (
    ApiVersionsRequest,
    DescribeQuorumRequest,
    MetadataRequest,
    ask,
    exchange,
)


@pytest.mark.parametrize("release", RELEASES)
def test_api_versions_says_what_is_answered(directory: Path, release: str) -> None:
    with Quorum(directory, release=release) as quorum:
        low, high = quorum.release.api_versions
        for version in range(low, high + 1):
            asked = ApiVersionsRequest[version](
                client_software_name="peer", client_software_version="1"
            )
            answer = ask(quorum.bootstrap, asked)
            found = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
            assert found[FETCH] == RELEASES[release].fetch
            assert found[FETCH_SNAPSHOT] == RELEASES[release].fetch_snapshot
            assert found[DESCRIBE_QUORUM] == RELEASES[release].describe_quorum


def test_unknown_version_of_api_versions_is_answered_as_version_0(directory: Path) -> None:
    request = bytes.fromhex("0000000e 0012 007b 00000005 ffff 00 01 01 00")
    with Quorum(directory, release="3.8") as quorum:
        frame = exchange(quorum.bootstrap, request)
    assert frame == bytes.fromhex("00000010 00000005 0023 00000001 0012 0000 0003")


@pytest.mark.parametrize("version", range(14))
def test_broker_tells_the_cluster_id(directory: Path, version: int) -> None:
    with Quorum(directory, release="4.0") as quorum:
        asked = MetadataRequest[version](topics=[], allow_auto_topic_creation=False)
        answer = ask(quorum.broker, asked)
        (broker,) = answer.brokers
        assert f"{broker.host}:{broker.port}" == quorum.broker
        if version >= 2:
            assert answer.cluster_id == quorum.cluster_id


@pytest.mark.parametrize("version", range(3))
def test_describe_quorum_names_leader_and_voters(directory: Path, version: int) -> None:
    topics = DescribeQuorumRequest.TopicData
    partitions = [topics.PartitionData(partition_index=0)]
    asked = DescribeQuorumRequest[version](
        topics=[topics(topic_name="__cluster_metadata", partitions=partitions)]
    )
    with Quorum(directory, release="4.0", nodes=3, high_watermark=7) as quorum:
        for address in (quorum.address(1), quorum.broker):
            answer = ask(address, asked)
            (partition,) = answer.topics[0].partitions
            assert (partition.leader_id, partition.leader_epoch) == (1, 3)
            assert partition.high_watermark == 7
            ends = [(each.replica_id, each.log_end_offset) for each in partition.current_voters]
            assert ends == [(1, 12), (2, 12), (3, 12)]
            if version == 2:
                assert [each.node_id for each in answer.nodes] == [1, 2, 3]
        (partition,) = ask(quorum.address(2), asked).topics[0].partitions
        assert partition.error_code == rules.NOT_LEADER_OR_FOLLOWER
        assert partition.leader_id != 1


def test_controller_does_not_answer_metadata(directory: Path) -> None:
    with Quorum(directory, release="4.0", allows_anything=True) as quorum:
        with pytest.raises(EOFError):
            ask(quorum.bootstrap, MetadataRequest[9](topics=[]))
        assert quorum.breaches == ["malformed request 00030009: Metadata is not answered here"]
