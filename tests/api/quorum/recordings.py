"""Recordings of several parts, made by a reader that fell behind a quorum's log."""

import shutil
from pathlib import Path
from typing import NamedTuple

from api.cli.main import run
from benchmarks.generate_kraft import generate
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.quorum.quorums import batch_end, read
from tests.stand_in_quorum import Quorum, SnapshotId

_OFFSETS = (100, 200, 300)
"""Where the snapshots are, at the ends of batches."""


class Recording(NamedTuple):
    """A recording with one gap: offsets [gap_start, gap_end) were not recorded."""

    log: Path
    gap_start: int
    gap_end: int
    end_offset: int

    @property
    def first_part(self) -> Path:
        return self.log.with_name(f"{self.log.name}.part-1")


def generated(folder: Path) -> Path:
    """Make, in a folder, the directory of a node with a log of 400 records (`node`), that log as an
    exact mirror (`whole`), and the node with three snapshots (`with-snapshots`); return the folder.
    """
    partition, whole = generate(folder / "node", 400, seed=3), folder / "whole"
    assert run(["import", "kraft", str(partition), str(whole), "--noop", "keep"]) == 0
    shutil.copytree(folder / "node", folder / "with-snapshots")
    for offset in _OFFSETS:
        at, state = batch_end(partition, offset) - 1, folder / f"state-{offset}"
        export = ["export", "kraft", str(whole), str(state), "--as", "checkpoint", "--at", str(at)]
        assert run(export) == 0
        (path,) = (state / PARTITION_DIRECTORY).glob("*.checkpoint")
        shutil.copy(path, folder / "with-snapshots" / partition.name)
    return folder


def record_until(partition: Path, log: Path, offset: int) -> int:
    """Record a quorum whose log ends at the batch of an offset; return that end."""
    end = batch_end(partition, offset)
    with Quorum(partition, release="3.3", end_offset=end) as quorum:
        quorum.leader.log.snapshots.clear()
        assert read(quorum, log, "--noop", "keep").code == 0
    return end


def cleaned(quorum: Quorum, index: int) -> SnapshotId:
    """Have all nodes drop their log below a snapshot, and return that."""
    chosen = sorted(quorum.leader.log.snapshots)[index]
    quorum.clean(chosen)
    return chosen


def recording(partition: Path, log: Path, *, first_end: int = 50, snapshot: int = 1) -> Recording:
    """Record a quorum, with a gap up to one of its snapshots."""
    start = record_until(partition, log, first_end)
    with Quorum(partition) as quorum:
        gap_end = cleaned(quorum, snapshot).end_offset
        assert read(quorum, log, "--noop", "keep").code == 0
        return Recording(log, start, gap_end, quorum.leader.high_watermark)
