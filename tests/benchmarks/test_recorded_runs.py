"""What a run of the benchmarks does worse than the newest recorded run is named."""

from pathlib import Path

from benchmarks.harness import Result
from benchmarks.recorded_runs import Worse, newest, read, record, worse_than


def result(name: str, ratio: float | None, target: float | None, *, at_most: bool) -> Result:
    return Result(name=name, ours="1 s", ratio=ratio, target=target, at_most=at_most)


def test_rows_that_became_worse_are_named(tmp_path: Path) -> None:
    for day, ratio in (("2026-01-09", 9.0), ("2026-01-10", 1.0)):
        before = [
            result("rate", ratio, 1, at_most=False),
            result("cost", ratio, 1, at_most=True),
            result("shown", ratio, None, at_most=True),
            result("peer not installed", None, 1, at_most=True),
        ]
        record(tmp_path / f"{day}.json", before)
    path = newest(tmp_path)
    assert path == tmp_path / "2026-01-10.json"
    assert read(path) == before
    now = [
        result("rate", 0.8, 1, at_most=False),
        result("cost", 1.2, 1, at_most=True),
        result("shown", 5, None, at_most=True),
        result("peer not installed", 2, 1, at_most=True),
        result("new", 2, 1, at_most=True),
    ]
    assert list(worse_than(path, now)) == [Worse("rate", 1.0, 0.8), Worse("cost", 1.0, 1.2)]
    within_noise = [result("rate", 0.9, 1, at_most=False), result("cost", 0.2, 1, at_most=True)]
    assert not list(worse_than(path, within_noise))


def test_without_a_recorded_run_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
