"""What a mirror keeps when its source has parted from it."""

from pathlib import Path

import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import ImportResult, import_directory
from metadata_log.kraft.recorder import Recorder
from metadata_log.kraft_format.names import segment_name
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror_writer import MirrorWriter
from records.base import Uuid
from records.control import KRaftVersionFeature, QuorumVoter, VotersRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from tests.metadata_log.kraft.logs import leader_change, partition_change
from tests.metadata_log.kraft.node import Node
from tests.metadata_log.mirrors import rows_of


def grown(directory: Path, *, voters: int = 3, epoch: int = 1, size: int = 10) -> Node:
    """A node that wrote some batches in one epoch."""
    node = Node(directory, voters=voters)
    if epoch > 1:
        node.truncate_to(0)
        node.elect(epoch - 1)
    for n in range(size):
        node.append(partition_change(n))
    return node


def voter(voter_id: int) -> QuorumVoter:
    return QuorumVoter(
        voter_id=voter_id,
        voter_directory_id=Uuid(bytes(16)),
        endpoints=(),
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )


def imported(node: Node, log: Path) -> ImportResult:
    return import_directory(open_directory(node.directory), log)


def step(node: Node, log: Path, *, may_replace_all: bool = False) -> Recorder:
    with Recorder(node.directory, log, may_replace_all=may_replace_all) as recorder:
        recorder.step()
    return recorder


def read(log: Path) -> list[Envelope]:
    assert inspect_log(OsFs(), log).damage == []
    with LogReader.open(log) as reader:
        return rows_of(reader)


def test_source_that_has_nothing_in_common_needs_permission(tmp_path: Path) -> None:
    log = tmp_path / "log"
    imported(grown(tmp_path / "a"), log)
    before, other = read(log), grown(tmp_path / "b", epoch=7)
    with pytest.raises(RequestError, match=r"no batch in common.*--replace-all.*offsets 0 to 10"):
        step(other, log)
    assert read(log) == before
    (replaced,) = step(other, log, may_replace_all=True).replaced
    assert (replaced.first_offset, replaced.last_offset) == (0, 10)
    assert read(log) == other.rows


@pytest.mark.parametrize("parted_at", [0, 5])
def test_damaged_source_that_parted_leaves_the_mirror_as_it_was(
    tmp_path: Path, parted_at: int
) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a", size=10)
    imported(node, log)
    before = read(log)
    node.truncate_to(parted_at)
    node.elect()
    for n in range(20):
        node.append(partition_change(n))
    segment = node.partition / segment_name(0)
    data = bytearray(segment.read_bytes())
    data[-200] ^= 1
    node.append(partition_change(99))
    segment.write_bytes(bytes(data) + segment.read_bytes()[len(data) :])
    with pytest.raises(CorruptLogError, match=segment.name):
        step(node, log, may_replace_all=True)
    assert read(log) == before


def test_log_of_a_single_voter_is_confirmed_to_its_end(tmp_path: Path) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a", voters=1)
    assert imported(node, log).committed_end_offset == node.end_offset
    with LogReader.open(log) as reader:
        assert reader.confirmed_end == reader.end_offset == 11
    node.append(partition_change(1))
    assert step(node, log).confirmed_end == node.end_offset == 12


def test_log_of_a_quorum_is_not(tmp_path: Path) -> None:
    node = grown(tmp_path / "a")
    assert imported(node, tmp_path / "log").committed_end_offset == 0
    assert step(node, tmp_path / "log").confirmed_end == 0


def test_what_a_single_voter_wrote_is_never_replaced(tmp_path: Path) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a", voters=1)
    imported(node, log)
    before = read(log)
    node.truncate_to(5)
    node.elect()
    for n in range(20):
        node.append(partition_change(n))
    with pytest.raises(RequestError, match="offsets below 11 are committed"):
        step(node, log, may_replace_all=True)
    assert read(log) == before


def test_mirror_that_an_early_release_did_not_confirm_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a", voters=1)
    monkeypatch.setattr("metadata_log.kraft.sole_voter.SoleVoter.see", lambda *_: None)
    assert imported(node, log).committed_end_offset == 0
    monkeypatch.undo()
    before = read(log)
    node.truncate_to(0)
    node.elect()
    with pytest.raises(RequestError, match=r"is not the log|committed"):
        step(node, log, may_replace_all=True)
    assert read(log) == before
    with MirrorWriter(log) as mirror:
        assert mirror.confirmed_end == 11


def test_records_after_a_further_voter_joined_need_a_checkpoint(tmp_path: Path) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a", voters=1)
    node.append(VotersRecord(version=0, voters=(voter(0), voter(1))))
    node.append(partition_change(1))
    assert imported(node, log).committed_end_offset == 11
    node.append(partition_change(2))
    assert step(node, log).confirmed_end == 11


def test_recorder_that_starts_anew_finds_the_only_voter_in_the_mirror(tmp_path: Path) -> None:
    log, node = tmp_path / "log", grown(tmp_path / "a")
    imported(node, log)
    # In a block of its own: others of a mirror are not decoded for this.
    node.append(leader_change(0, 1))
    assert step(node, log).confirmed_end == node.end_offset
    for n in range(3):
        node.append(partition_change(n))
        assert step(node, log).confirmed_end == node.end_offset
