"""Log lines as JSON: one object a line, whatever is logged."""

import io
import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.json_logging import JsonFormatter
from metadata_log.writer.creation import create_log
from tests.api.kafka.servers import CLUSTER_ID
from tests.api.services import serving
from tests.forked_commands import METALOG


class _Log:
    """A logger that writes JSON, and its output."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.setFormatter(JsonFormatter())
        self.logger = logging.Logger("a.b")
        self.logger.addHandler(handler)

    @property
    def lines(self) -> list[dict[str, Any]]:
        text = self._stream.getvalue()
        assert text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]


def test_a_line_has_time_level_logger_message_and_fields() -> None:
    log = _Log()
    log.logger.warning("no snapshot of %s", "x\ny", extra={"end_offset": 7, "at": Path("/a")})
    (line,) = log.lines
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "a.b",
        "message": "no snapshot of x\ny",
        "end_offset": 7,
        "at": repr(Path("/a")),
    }


def test_a_traceback_is_in_the_line_of_its_message() -> None:
    log = _Log()
    try:
        raise OSError("number 5")
    except OSError:
        log.logger.exception("it failed")
    (line,) = log.lines
    assert line["message"] == "it failed"
    assert line["traceback"].startswith("Traceback (most recent call last):\n")
    assert line["traceback"].endswith("OSError: number 5")


def test_names_that_are_not_unicode_can_be_logged() -> None:
    log = _Log()
    log.logger.warning("file %s", "a\udcff")
    assert log.lines[0]["message"] == "file a\\udcff"


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "{log}"],
        ["broker", "--server", "kafka://h:1", "--id", "1", "--log-dir", "d", "--listen", "nowhere"],
    ],
)
def test_the_error_that_ends_a_process_is_a_line_of_its_log(
    tmp_path: Path, command: list[str]
) -> None:
    words = [word.format(log=tmp_path / "nothing") for word in command]
    ended = subprocess.run(
        [*METALOG, "--debug", *words, "--log-format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    *_, traceback, last = [json.loads(line) for line in ended.stderr.splitlines()]
    assert "RequestError" in traceback["traceback"]
    assert (last["level"], last["outcome"], last["code"]) == ("ERROR", "nothing", last["code"])
    assert last["message"]


def test_a_service_logs_json(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    (tmp_path / "log" / "snapshots.db").write_text("no database " * 1_000)
    with serving(tmp_path / "log", "--log-format", "json", "--snapshot-every", "1") as served:
        assert served.process.stderr is not None
        line = json.loads(served.process.stderr.readline())
    assert line["level"] == "WARNING"
    assert "snapshot" in line["message"]
