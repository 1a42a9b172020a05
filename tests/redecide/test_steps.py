"""The steps of a decision are repeated one by one, each on the state before it."""

from pathlib import Path

import pytest

from controller import controller as controllers
from controller.asked.observed import STEP
from metadata_log.reader.log_reader import LogReader
from tests.redecide.scenario_logs import write_schedule
from tests.redecide.test_redecide import report_of


def test_steps_of_brokers_that_leave_come_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controllers, "STEP_RECORDS", 2)
    write_schedule(5, 150, tmp_path / "log")
    with LogReader.open(tmp_path / "log") as reader:
        report = report_of(reader)
        observed = [
            batch.rows[0].asked and batch.rows[0].asked.observed for batch in reader.batches()
        ]
    assert report.is_perfect, "\n".join(report.lines())
    assert sum(STEP.encode() in (each or b"") for each in observed) >= 5
