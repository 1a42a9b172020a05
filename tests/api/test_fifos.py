"""A FIFO in the place of a log's file, or beside them, lets no command wait for its other end."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from replay.snapshot.ports import SNAPSHOTS_NAME
from tests.api.conftest import Metalog
from tests.forked_commands import METALOG

_WAIT_S = 20
_COMMANDS = (
    ("info", "LOG"),
    ("verify", "LOG"),
    ("dump", "LOG"),
    ("topics", "list", "--log", "LOG"),
    ("history", "LOG", "topic:none"),
    ("snapshot", "list", "LOG"),
    ("snapshot", "create", "LOG"),
    ("sql", "sync", "LOG"),
    ("backup", "LOG", "COPY"),
    ("notes", "add", "0", "text", "--log", "LOG"),
)


@pytest.fixture
def log(tmp_path: Path, metalog: Metalog) -> Path:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    assert metalog("notes", "add", "0", "text", "--log", log).code == 0
    return log


def run(tmp_path: Path, words: tuple[str, ...], log: Path) -> "subprocess.CompletedProcess[str]":
    places = {"LOG": str(log), "COPY": str(tmp_path / "copy")}
    return subprocess.run(
        [*METALOG, *(places.get(word, word) for word in words)],
        capture_output=True,
        text=True,
        timeout=_WAIT_S,
        check=False,
    )


@pytest.mark.parametrize("words", _COMMANDS, ids=" ".join)
def test_no_command_waits_for_a_fifo(tmp_path: Path, log: Path, words: tuple[str, ...]) -> None:
    names = [path.name for path in log.iterdir()]
    for name in [*names, SNAPSHOTS_NAME, "history.db", "anything"]:
        copy = tmp_path / f"with-{name}"
        shutil.copytree(log, copy)
        (copy / name).unlink(missing_ok=True)
        os.mkfifo(copy / name)
        done = run(tmp_path, words, copy)
        assert "INTERNAL" not in done.stderr, (name, done.stderr)
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)


def test_stray_fifo_changes_no_answer(tmp_path: Path, log: Path) -> None:
    before = run(tmp_path, ("info", "LOG"), log)
    os.mkfifo(log / "anything")
    assert run(tmp_path, ("info", "LOG"), log).stdout == before.stdout


def test_fifo_in_the_place_of_a_segment_is_damage(tmp_path: Path, log: Path) -> None:
    (segment,) = log.glob("*.avro")
    segment.unlink()
    os.mkfifo(segment)
    done = run(tmp_path, ("info", "LOG"), log)
    assert done.returncode == 5
    assert f"{segment} byte 0: not a file" in done.stderr
