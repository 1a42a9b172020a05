"""`metalog serve` in a process of its own, and the faults that tests can cause in it."""

import contextlib
import json
import os
import resource
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.forked_commands import METALOG


class Served:
    """A running service.

    Attributes:
        process: The process; `serving` ends it if it still runs.
        kafka, socket, http: URLs of the listeners; "" if HTTP is not served.
    """

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self.process, self.log = process, log
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "it ended before it was ready"
        ready = json.loads(line)
        self.kafka = ready["kafka"] if "://" in ready["kafka"] else f"kafka://{ready['kafka']}"
        self.socket = socket_url(ready["socket"])
        self.http = http_url(ready["http"]) if "http" in ready else ""
        self.leader_epoch: int = ready["leader_epoch"]

    @property
    def socket_address(self) -> tuple[str, int]:
        host, _, port = self.socket.removeprefix("socket://").rpartition(":")
        return host, int(port)

    def limit_files(self, size_bytes: int) -> None:
        """Limit the size of the files of the process, so that the disk seems full to it."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size_bytes, hard))

    def fill_disk(self) -> None:
        """Leave no room in the active segment."""
        self.limit_files(active_segment(self.log).stat().st_size)

    def ended(self) -> int:
        """Wait until the process ends; return its exit code."""
        return self.process.wait(timeout=60)


def http_url(address: str) -> str:
    """Return the URL of a listener from its address in the ready line."""
    return address if "://" in address else f"http://{address}"


def socket_url(ready: str) -> str:
    """Return the URL of a socket from its name in the ready line."""
    if ready.startswith("unix:"):
        return ready
    return f"socket+{ready}" if "://" in ready else f"socket://{ready}"


@contextlib.contextmanager
def serving(
    log: Path,
    *options: object,
    command: Sequence[str] = METALOG,
    kafka: str = "127.0.0.1:0",
    socket: str = "127.0.0.1:0",
) -> Iterator[Served]:
    """Serve a log on free ports of loopback while the body runs."""
    words = ["serve", str(log), *map(str, options), "--json", "--kafka", kafka, "--socket", socket]
    with subprocess.Popen(
        [*command, *words],
        # With `limit_files` Python would leave a truncated .pyc behind.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Served(process, log)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def active_segment(log: Path) -> Path:
    """Return the segment to which the writer appends."""
    return max(log.glob("0*.avro"))
