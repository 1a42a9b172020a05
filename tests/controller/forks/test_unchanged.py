"""A fork without changes, decided with copying off, has the same records as the log."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from metadata_log.reader.log_reader import LogReader
from tests.controller.forks.fork_checks import differences, starts
from tests.real_logs import DataSet, each_data_set
from tests.redecide.scenario_logs import SCENARIOS, write_scenario, write_schedule
from tests.replay.incidents.real import imported


def assert_same(log: Path, seed: int, *, tries: int) -> Counter[str]:
    """Decide a log again from random offsets; return the number of decisions by kind."""
    counts: Counter[str] = Counter()
    found = starts(log)
    with LogReader.open(log) as reader:
        for start in Random(seed).sample(found, min(tries, len(found))):
            assert not list(differences(reader, start, counts)), f"seed {seed}, from {start}"
    return counts


def test_demo_from_random_offsets(demo_log: Path) -> None:
    counts = assert_same(demo_log, 1, tries=3)
    assert counts["asked"] > 100 and not counts["inferred"]


@pytest.mark.parametrize(
    "name", ["broker_shuts_down_in_order", "placements", "partitions_move_to_other_brokers"]
)
def test_scenarios_from_random_offsets(name: str, tmp_path: Path) -> None:
    write_scenario(SCENARIOS / f"{name}.txt", tmp_path / "log")
    assert assert_same(tmp_path / "log", 2, tries=3)["asked"]


@pytest.mark.parametrize("seed", [5, 6])
def test_random_histories_from_random_offsets(seed: int, tmp_path: Path) -> None:
    write_schedule(seed, 40, tmp_path / "log")
    assert assert_same(tmp_path / "log", seed, tries=4)["asked"]


@each_data_set
def test_real_logs_by_inferred_triggers(data_set: DataSet, tmp_path: Path) -> None:
    """No step with an inferred trigger differs; prints the share of such steps."""
    log = imported(data_set, tmp_path)
    counts = assert_same(log, 3, tries=1)
    with LogReader.open(log) as reader:
        assert not list(differences(reader, reader.history_start, counts))
    print(data_set, dict(counts))
