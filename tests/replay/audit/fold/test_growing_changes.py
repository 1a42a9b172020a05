"""Changes of a log that grows: in whatever pieces it is read, each piece has the same changes."""

import random
from functools import partial
from pathlib import Path

import pyarrow
import pyarrow.compute as pc
import pytest

from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import committed_files
from replay.audit.duck.records import Records
from replay.audit.fold import workers
from replay.audit.fold.changes import CHANGES
from replay.audit.fold.growing_changes import GrowingChanges
from replay.audit.fold.partition_changes import partition_changes
from replay.audit.record_types import BULK, RARE
from replay.audit.source.open_transaction import open_transaction
from tests.own_logs import write_history


def between(records: pyarrow.Table, first: int, end: int) -> list[pyarrow.RecordBatch]:
    positions = records["position"]
    inside = pc.and_(pc.greater_equal(positions, first), pc.less(positions, end))
    found: list[pyarrow.RecordBatch] = records.filter(inside).to_batches()
    return found


def in_order(batches: list[pyarrow.RecordBatch], first: int) -> list[str]:
    """Return the rows of changes from an offset on as texts, in order."""
    rows = pyarrow.Table.from_batches(batches, CHANGES)
    return sorted(map(str, rows.filter(pc.greater_equal(rows["offset"], first)).to_pylist()))


@pytest.mark.parametrize("seed", range(4))
async def test_each_piece_has_the_changes_that_a_whole_read_has(tmp_path: Path, seed: int) -> None:
    log = await write_history(tmp_path / "log", seed=seed, batches=60)
    rng = random.Random(seed)
    with LogReader.open(log) as reader:
        files = committed_files(reader)
        drawn = rng.sample(range(1, files.end_offset), 12)
        ends = {end for end in drawn if open_transaction(reader, 0, end) is None}
    records = pyarrow.Table.from_batches(
        Records(files, keep=True).of_types(files.end_offset - 1, BULK | RARE)
    )
    growing, first, pieces = GrowingChanges(0), 0, 0
    find = partial(partition_changes, kept_from=0)
    for end in sorted(ends):
        wanted = workers.changes(between(records, 0, end), find, workers.other_changes)
        expected = in_order(list(wanted), first)
        assert in_order(list(growing.of(between(records, first, end))), first) == expected
        first = end
        pieces += bool(expected)
    assert pieces > 3
