"""`metalog import kraft --follow` copies the log of a live node, and is stopped and killed."""

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

from api.cli.log.recorder import stopped_by_signal
from metadata_log.reader.log_reader import LogReader
from tests.docs_console import ROOT
from tests.forked_commands import METALOG
from tests.metadata_log.kraft.logs import topic
from tests.metadata_log.kraft.node import Node, without_runs
from tests.metadata_log.mirrors import rows_of


class Recording:
    """A recorder in a process of its own."""

    def __init__(self, source: Path, log: Path, *options: str) -> None:
        command = [*METALOG, "import", "kraft", str(source), str(log)]
        self._process = subprocess.Popen(
            [*command, "--follow", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.lines: list[dict[str, Any]] = []

    def wait_for_line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        assert text, self._process.stderr and self._process.stderr.read()
        self.lines.append(json.loads(text))
        return self.lines[-1]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self._process.send_signal(number)
        out, err = self._process.communicate(timeout=60)
        self.lines += [json.loads(line) for line in out.splitlines()]
        return self._process.returncode, err


@contextmanager
def recording(source: Path, log: Path, *options: str) -> Iterator[Recording]:
    process = Recording(source, log, *options)
    try:
        yield process
    finally:
        process._process.kill()
        process._process.communicate()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path / "node")
    node.append(topic())
    return node


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_recorder_records_until_it_is_stopped(
    node: Node, tmp_path: Path, number: signal.Signals
) -> None:
    log = tmp_path / "log"
    with recording(node.directory, log, "--noop", "keep") as process:
        assert process.wait_for_line()["log_end"] == 2
        node.append(topic("later"))
        node.truncate_to(2)
        node.elect()
        code, err = process.end(number)
    assert (code, err) == (0, "")
    assert not list(tmp_path.glob("node/.lock"))


def test_replaced_tail_is_told_at_once(node: Node, tmp_path: Path) -> None:
    with recording(node.directory, tmp_path / "log") as process:
        process.wait_for_line()
        node.truncate_to(1)
        node.elect()
        assert process.wait_for_line()["replaced"] == [
            {"first_offset": 1, "last_offset": 1, "leader_epoch": 1}
        ]
        node.append(topic("later"))
        assert process.end(signal.SIGTERM) == (0, "")


def test_contradiction_is_told_when_the_recorder_ends(node: Node, tmp_path: Path) -> None:
    node.append(topic())
    with recording(node.directory, tmp_path / "log") as process:
        assert process.wait_for_line()["log_end"] == 3
        code, err = process.end(signal.SIGTERM)
    assert code == 1
    assert "offset 2" in err


def test_recorder_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    """Three starts of the command take seconds; each process is killed while it works."""
    random = Random(5)
    node, log = Node(tmp_path / "node"), tmp_path / "log"
    for _ in range(3):
        with recording(node.directory, log) as process:
            process.wait_for_line()
            for _ in range(60):
                node.live(random, may_clean=False)
            process.end(signal.SIGKILL)
    with recording(node.directory, log) as process:
        while process.wait_for_line()["source_end"] is not None:
            node.append(topic("later"))
        process.end(signal.SIGTERM)
    with LogReader.open(log) as reader:
        assert without_runs(rows_of(reader)) == without_runs(node.rows)
        assert reader.confirmed_end == node.committed_end


def test_source_of_another_cluster_ends_the_recorder(node: Node, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with recording(node.directory, log) as process:
        process.wait_for_line()
        process.end(signal.SIGTERM)
    other = Node(tmp_path / "other", cluster_id="another")
    with recording(other.directory, log) as process:
        process._process.wait(60)
        code, err = process.end(signal.SIGTERM)
    assert code == 3
    assert "INCONSISTENT_CLUSTER_ID" in err


def test_signal_at_any_line_of_the_wait_ends_it() -> None:
    """A signal's handler runs between two lines, also where those lines hold a lock."""
    with stopped_by_signal() as wait, _ended_after(10):
        assert not wait(0)
        lines = itertools.takewhile(
            lambda n: _is_sent_at_line(n, lambda: wait(0)), itertools.count()
        )
        assert list(lines)
        assert wait(60)


def _is_sent_at_line(number: int, call: Callable[[], object]) -> bool:
    """Call with a SIGTERM sent at its line `number`; return whether it has so many lines."""
    lines = iter(range(number, -1, -1))

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and next(lines, None) == 0:
            signal.raise_signal(signal.SIGTERM)
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return next(lines, None) is None


@contextmanager
def _ended_after(seconds: int) -> Iterator[None]:
    """End the body with an exception if it takes longer: a deadlock would last for ever."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
