"""`metalog record` in a process, and its metrics."""

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.api.alerts.running import SOON_S, wait_until
from tests.docs_console import ROOT
from tests.forked_commands import METALOG
from tests.stand_in_quorum import Quorum

_SAMPLE = re.compile(r"^metalog_recorder_(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Recording:
    """`record` in a process of its own.

    Attributes:
        ready: The line that it printed when it was ready.
    """

    def __init__(self, process: "subprocess.Popen[str]", errors: Path) -> None:
        self.process, self._errors = process, errors
        self.ready = self.line()

    def line(self) -> Any:
        """Return the next line of output."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors
        return json.loads(line)

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def metrics(self) -> dict[str, float]:
        """Return the samples by name and labels, such as `up prod`."""
        url = f"http://{self.ready['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=SOON_S) as answer:
            text = answer.read().decode()
        found = {}
        for name, labels, value in _SAMPLE.findall(text):
            words = re.findall(r'="((?:[^"\\]|\\.)*)"', labels)
            found[" ".join([name, *words])] = float(value)
        return found

    def wait_for(self, **samples: float) -> dict[str, float]:
        """Wait until samples have these values; `up__prod=1` is that of `up prod`."""
        wanted = {name.replace("__", " "): value for name, value in samples.items()}

        def found() -> dict[str, float] | None:
            assert self.process.poll() is None, self.errors
            metrics = self.metrics()
            return metrics if wanted.items() <= metrics.items() else None

        try:
            last: dict[str, float] = wait_until(found)
        except AssertionError as error:
            raise AssertionError(f"{wanted}: {self.metrics()}\n{self.errors}") from error
        return last

    def hang_up(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def wait_for_error(self, text: str) -> None:
        wait_until(lambda: text in self.errors)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=SOON_S)
        return self.process.returncode


@contextmanager
def recording(file: Path) -> Iterator[Recording]:
    """Record what a file says in the body of a `with` statement."""
    errors = file.with_suffix(".errors")
    with errors.open("ab") as stream:
        process = subprocess.Popen(
            [*METALOG, "record", str(file), "--json"],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            cwd=ROOT,
        )
    try:
        yield Recording(process, errors)
    finally:
        process.kill()
        process.communicate()


def mirror(name: str, quorum: Quorum, *lines: str) -> str:
    """Return the table of a mirror."""
    return "\n".join(
        [
            f"[mirrors.{name}]",
            f'quorum = "kafka://{quorum.bootstrap}"',
            f'mirror = "{name}"',
            f'cluster-id = "{quorum.cluster_id}"',
            *lines,
            "",
        ]
    )
