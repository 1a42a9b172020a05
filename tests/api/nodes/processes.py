"""Nodes as processes, over a real store."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.forked_commands import METALOG

LEASE_MS = 1_500
WAIT_S = 60.0


def metalog(*words: str) -> Any:
    """Run a command with --json; return what it prints."""
    done = subprocess.run(
        [*METALOG, *words, "--json"], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(*words: str) -> str:
    """Run a command that fails; return what it says."""
    done = subprocess.run(
        [*METALOG, *words], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode != 0
    return done.stderr


class Process:
    """A node's process and what it has printed."""

    def __init__(
        self,
        folder: Path,
        url: str,
        number: int,
        kafka: int = 0,
        more: tuple[str, ...] = (),
        release: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a node.

        Args:
            release: Where the packages are, if they are not those of this release.
            environment: Variables that it has instead of those of this process.
        """
        self._environment = environment or {}
        self.folder = folder
        self._release = release
        self._kafka = kafka
        self._more = more
        self._url = url
        self.number = number
        self._output = folder.with_suffix(".out")
        self.start()

    def start(self) -> None:
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                [
                    *(METALOG if self._release is None else (sys.executable, "-m", "api.cli")),
                    *("serve", str(self.folder), "--shared", self._url),
                    *("--node", str(self.number), "--lease-ms", str(LEASE_MS)),
                    *(
                        "--kafka",
                        f"127.0.0.1:{self._kafka}",
                        "--advertise",
                        f"kafka=node-{self.number}:9092",
                    ),
                    *self._more,
                    "--json",
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._release,
                env=os.environ | self._environment,
            )

    @property
    def lines(self) -> list[dict[str, Any]]:
        text = self._output.read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    @property
    def leads_at(self) -> str | None:
        """Where it serves, if its last line says so."""
        return None if self.stands_by else self.listens_at

    @property
    def listens_at(self) -> str | None:
        """Where its Kafka listener is."""
        lines = self.lines
        found: str | None = lines[-1].get("kafka") if lines else None
        return found

    @property
    def stands_by(self) -> bool:
        lines = self.lines
        return bool(lines) and lines[-1].get("role") == "standby"

    def signal(self, number: int) -> None:
        os.kill(self._process.pid, number)

    def end(self, number: int) -> None:
        if self._process.poll() is None:
            self.signal(number)
        self._process.wait(WAIT_S)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def said(self) -> str:
        return self._output.read_text()


def until(condition: Any) -> Any:
    """Wait until a condition holds; return its value."""
    end = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def equal(*nodes: Process) -> bool:
    """Return whether the folders have the same segments."""
    return same_segments([node.folder for node in nodes])


def segments_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of a log's segments, by name."""
    return {path.name: path.read_bytes() for path in folder.glob("*.avro")}


def same_segments(folders: Iterable[Path]) -> bool:
    """Return whether logs have the same segments."""
    first, *others = map(segments_of, folders)
    return all(each == first for each in others)


def leader(*nodes: Process) -> Process:
    found: Process = until(lambda: next((each for each in nodes if each.leads_at), None))
    return found


@contextlib.contextmanager
def two_nodes(scratch: Path, url: str, *more: tuple[str, ...]) -> Iterator[tuple[Process, Process]]:
    """Run two nodes of a new log, each with more options; yield the one that leads first."""
    folder = scratch / "node-1"
    metalog("init", str(folder))
    metalog("nodes", "create", url, "--from", str(folder))
    nodes = [
        Process(scratch / f"node-{number}", url, number, more=options)
        for number, options in enumerate(more or ((), ()), 1)
    ]
    try:
        first = leader(*nodes)
        (second,) = [node for node in nodes if node is not first]
        until(lambda: second.stands_by)
        yield first, second
    finally:
        for node in nodes:
            node.end(signal.SIGTERM)
