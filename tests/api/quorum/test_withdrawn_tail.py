"""A tail that may have been withdrawn while the reader was away, behind a snapshot."""

from pathlib import Path

import pytest

from tests.api.quorum.quorums import ends, exported, read
from tests.stand_in_quorum import Quorum, SnapshotId
from tests.stand_in_quorum.batches import leader_change, no_ops, snapshot

COMMITTED = [leader_change(0, 1, 1), no_ops(1, 1, 4)]
TAIL = [no_ops(offset, 1) for offset in range(5, 10)]


@pytest.mark.parametrize("is_withdrawn", [True, False])
@pytest.mark.parametrize("is_cleaned", [True, False])
def test_tail_is_not_taken_for_what_a_snapshot_covers(
    tmp_path: Path, is_withdrawn: bool, is_cleaned: bool
) -> None:
    """The leader answers with a snapshot before it compares the tail's epoch with its log."""
    log, partition = tmp_path / "log", tmp_path / "__cluster_metadata-0"
    partition.mkdir()
    segment = b"".join(each.data for each in [*COMMITTED, *TAIL])
    (partition / f"{0:020d}.log").write_bytes(segment)
    with Quorum(partition, nodes=2, high_watermark=5) as quorum:
        assert read(quorum, log, "--noop", "keep").code == 0
        assert ends(log) == (10, 5)
        quorum.elect(2, end_offset=5 if is_withdrawn else None)
        epoch, end = quorum.leader.epoch, quorum.leader.log.end_offset
        later = [no_ops(offset, epoch) for offset in range(end + 1, 15)]
        quorum.append([leader_change(end, epoch, 2), *later])
        covered = SnapshotId(end + 2, epoch)
        quorum.add_snapshot(covered.end_offset, covered.epoch, snapshot(epoch))
        if is_cleaned:
            quorum.clean(covered)
        done = read(quorum, log, "--noop", "keep")
        expected = b"".join(each.data for each in quorum.leader.log.batches)
    if is_cleaned:
        assert f"offsets 5 to {covered.end_offset - 1} were not recorded" in done.err
        assert ends(log.with_name("log.part-1")) == (10, 5)
        assert ends(log) == (15, 15)
    else:
        assert (done.code, done.err) == (0, "")
        assert ends(log) == (15, 15)
        assert exported(log, tmp_path / "exported") == expected
