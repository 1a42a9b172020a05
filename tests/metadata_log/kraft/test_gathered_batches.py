"""Gathering batches into blocks: the size of real logs as a recorder of a live node writes them."""

from pathlib import Path

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.gathered_batches import Gathering
from metadata_log.limits import RECORD_GATHER_MS
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder
from tests.metadata_log.mirrors import rows_of
from tests.real_logs import DataSet, each_data_set_where

_RECORDS_MIN = 10_000
_RECORD_BYTES_MAX = 20


def _is_large(data_set: DataSet) -> bool:
    return sum(segment.record_count for segment in data_set.segments) >= _RECORDS_MIN


@each_data_set_where(_is_large)
def test_record_of_a_live_node_takes_at_most_20_bytes(data_set: DataSet, tmp_path: Path) -> None:
    """Every batch is read at the time when it was written, taken from the log."""
    batches = list(open_directory(data_set.materialise(tmp_path / "node")).batches())
    now_ms = batches[0].timestamp
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as mirror:
        gathering = Gathering(mirror.append, collapse_noops=False, clock=lambda: now_ms / 1_000)
        for batch in batches:
            now_ms = batch.timestamp
            if gathering.age_s * 1_000 >= RECORD_GATHER_MS:
                gathering.flush()
            gathering.add(batch)
        gathering.flush()
        mirror.finish(0)
    with LogReader.open(tmp_path / "log") as reader:
        places = [place for place, _ in reader.placed_blocks(reader.start_offset)]
        rows = rows_of(reader)
    assert rows == [row for batch in batches for row in batch.rows]
    size_bytes = sum(place.end_position - place.position for place in places)
    assert size_bytes / len(rows) <= _RECORD_BYTES_MAX
