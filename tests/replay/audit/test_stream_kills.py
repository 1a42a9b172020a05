"""A streaming query is killed for real, once; `make torture` kills 20 (campaigns/streams.py)."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from metadata_log.log_reader import LogReader
from tests.own_logs import write_history
from tests.torture.campaigns import streams

pytestmark = pytest.mark.spark


async def test_killed_query_has_copied_every_record_once() -> None:
    outcome = await streams.kill_some_times(3, 1)
    assert not outcome.failures, "\n".join(failure.message for failure in outcome.failures)


async def test_record_that_is_missing_or_there_twice_is_noticed(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=3)
    with LogReader.open(log) as reader:
        rows = [streams.expected_row(row) for batch in reader.batches() for row in batch.rows]
    columns = dict(
        zip(("offset", "type", "data"), zip(*rows[1:], rows[-1], strict=True), strict=True)
    )
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "found.parquet")
    assert streams.differences(log, tmp_path) == [
        f"missing: {rows[0]}",
        f"surplus: {rows[-1]}, 1 times",
    ]
