"""The small files in the directory of a node's metadata log."""

import os
from pathlib import Path

import pytest

from metadata_log.kraft.meta_properties import MetaProperties, read_meta_properties
from metadata_log.kraft.node_directory import read_node_directory
from metadata_log.kraft.quorum_state import QuorumState, read_quorum_state
from records.errors import CorruptLogError, RequestError
from tests.metadata_log.kraft.logs import LogFiles, two_segments

_V0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":14,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
)
_V1 = (
    '{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"QpBuiHDxzfpnI4B6atD5pg",'
    '"data_version":1}'
)


def test_folder_says_which_node_it_is_and_whom_it_voted_for(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=False)
    (files.partition / "quorum-state").write_text(_V1)
    (files.directory / "meta.properties").write_text(
        "#\n#Sun Aug 02\nnode.id=3\nversion=1\ncluster.id=4L6g3nShT-eMCtK\ndirectory.id=dir\n"
    )
    for path in (files.directory, files.partition):
        node = read_node_directory(path)
        assert node.meta == MetaProperties(
            version=1, cluster_id="4L6g3nShT-eMCtK", node_id=3, directory_id="dir"
        )
        assert node.quorum_state == QuorumState(
            data_version=1,
            leader_id=None,
            leader_epoch=2,
            voted_id=1,
            voted_directory_id="QpBuiHDxzfpnI4B6atD5pg",
        )
        assert node.bad_state is None
        assert node.log is not None
        assert node.partition == files.partition


def test_partition_named_from_inside_knows_its_node(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=False)
    (files.directory / "meta.properties").write_text("node.id=3\n")
    before = Path.cwd()
    try:
        os.chdir(files.partition)
        assert read_node_directory(Path()).meta.node_id == 3
    finally:
        os.chdir(before)


def test_formatted_folder_has_no_log(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\n")
    node = read_node_directory(tmp_path)
    assert node.log is None
    assert node.meta == MetaProperties(version=0, node_id=7)
    assert node.quorum_state is None


def test_folder_that_is_not_kafkas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="holds no Kafka metadata log"):
        read_node_directory(tmp_path)


def test_voters_of_version_0_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(_V0)
    assert read_quorum_state(path) == QuorumState(
        data_version=0, leader_id=1, leader_epoch=14, voted_id=None, voter_ids=(1, 2)
    )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"leaderId":1}', '{"leaderEpoch":"x"}'])
def test_unreadable_quorum_state_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(content)
    with pytest.raises(CorruptLogError, match=f"{path} byte 0"):
        read_quorum_state(path)


def test_properties_that_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "meta.properties"
    assert read_meta_properties(path) == MetaProperties()
    path.write_text("node.id=one\n#cluster.id=no\n")
    assert read_meta_properties(path) == MetaProperties()
