"""`metalog info` shows how far the snapshots and the SQL history lag behind the log."""

import shutil
from pathlib import Path

import pytest

from tests.api.conftest import Metalog


def test_info_shows_how_far_snapshots_and_history_are_behind(
    demo_log: Path, metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    found = metalog("info", log, "--json").json
    assert (found["snapshots"], found["sql_history"]) == (None, None)
    assert "SQL history" not in metalog("info", log).out
    metalog("snapshot", "create", log, "--at", "300")
    metalog("sql", "sync", log)
    found = metalog("info", log, "--json").json
    (held,) = metalog("dump", log, "--from", "300", "--to", "300", "--json").lines
    end, latest = found["log_end"], found["latest_timestamp"]
    behind = {"end_offset": 301, "records": end - 301, "ms": latest - held["timestamp"]}
    assert found["snapshots"] == behind
    assert found["sql_history"] == {"end_offset": end, "records": 0, "ms": 0}
    shown = metalog("info", log).out
    assert f"snapshots       up to offset 300, {end - 301:,} records and " in shown
    assert f"SQL history     up to offset {end - 1}, the log's last\n" in shown


def test_a_damaged_history_is_passed_over_with_a_note(
    demo_log: Path, metalog: Metalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    (log / "history.db").write_bytes(b"no database")
    answer = metalog("info", log)
    assert answer.code == 0
    assert "SQL history" not in answer.out
    assert "history.db passed over: " in caplog.text
