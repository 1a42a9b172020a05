"""Spark tasks that read a log: the range and the decoder of each."""

import random
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

from records.errors import CorruptLogError
from replay.audit.decoding import compiled, log_scan, plain
from replay.audit.decoding.log_scan import LogScan, Task, tasks
from replay.audit.record_types import BULK, RARE, wanted_records
from replay.audit.settings import TASK_BYTES
from tests.histories import random_history
from tests.replay.audit.log_on_disk import write_log

_WANTED = wanted_records(BULK | RARE, with_origin=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LogScan:
    """A reading of all records of a history in several segments."""
    folder = tmp_path_factory.mktemp("log")
    history = random_history(random.Random(8), 60)
    files = write_log(folder, history, batches_a_segment=20)
    places = [files.place(path) for path in files.segments]
    return LogScan(tasks(places), _WANTED, 0, files.end_offset)


def _rows(of: LogScan) -> pyarrow.Table:
    batches = [batch for number in range(len(of.tasks)) for batch in of.batches(number)]
    return pyarrow.Table.from_batches(batches)


def test_small_files_are_read_by_one_task_and_large_ones_by_several() -> None:
    small, large = ("a", TASK_BYTES // 2), ("b", TASK_BYTES * 5 // 2)
    found = tasks([small, small, large, small])
    read = [[(part.file[0], part.first, part.last) for part in task.ranges] for task in found]
    assert [len(task) for task in read] == [2, 1, 1, 1, 1]
    assert [part for task in read for part in task] == [
        ("a", 0, small[1]),
        ("a", 0, small[1]),
        ("b", 0, large[1] // 3),
        ("b", large[1] // 3, large[1] * 2 // 3),
        ("b", large[1] * 2 // 3, large[1]),
        ("a", 0, small[1]),
    ]


def test_only_offsets_in_the_range_are_read(whole: LogScan) -> None:
    every = _rows(whole)["position"].to_pylist()
    assert every == sorted(every)
    part = replace(whole, start=every[3], end=every[-5])
    assert _rows(part)["position"].to_pylist() == every[3:-5]


def test_records_of_a_base_have_one_position(whole: LogScan) -> None:
    placed = replace(whole, tasks=tuple(Task(each.ranges, 77) for each in whole.tasks))
    found = _rows(placed)
    assert set(found["position"].to_pylist()) == {77}
    assert found.drop_columns("position").equals(_rows(whole).drop_columns("position"))


def test_large_tasks_are_compiled_where_numba_is_installed(
    whole: LogScan, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task,) = whole.tasks
    monkeypatch.setattr(log_scan, "_COMPILED_BYTES", 1)
    assert log_scan._decoders(task) is compiled
    with_numba = _rows(whole)
    monkeypatch.setattr(log_scan, "modules", {})
    monkeypatch.setattr(log_scan, "find_spec", lambda name: None)
    assert log_scan._decoders(task) is plain
    assert _rows(whole).equals(with_numba)


def test_small_task_does_not_import_numba(whole: LogScan, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = whole.tasks
    monkeypatch.setattr(log_scan, "modules", {})
    assert log_scan._decoders(task) is plain


def test_header_that_is_no_schema_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.avro"
    path.write_bytes(b"Obj\x01\x02\x16avro.schema\x02{\x00" + bytes(16))
    broken = LogScan(tasks([(str(path), path.stat().st_size)]), _WANTED, 0, 1)
    with pytest.raises(CorruptLogError, match=rf"{path} byte 0: "):
        _rows(broken)
