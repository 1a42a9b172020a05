"""A generated log, quorums that serve it, and `metalog import kafka://...` in a process."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError, UnavailableError
from tests.docs_console import ROOT
from tests.forked_commands import METALOG
from tests.stand_in_quorum import Quorum


class Outcome:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def error(self) -> Any:
        return json.loads(self.err.splitlines()[-1])


def read(quorum: Quorum, log: Path, *options: str, url: str | None = None) -> Outcome:
    """Import a quorum's log once."""
    command = [*METALOG, "import", url or f"kafka://{quorum.bootstrap}", str(log), *options]
    if not log.exists() and "--cluster-id" not in options and "--brokers" not in options:
        command += ["--cluster-id", quorum.cluster_id]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    return Outcome(done.returncode, done.stdout, done.stderr)


class Following:
    """`import --follow` in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self.process = process
        self._log = log

    def wait_until(self, end_offset: int, confirmed_end: int | None = None) -> None:
        """Wait until the mirror ends at an offset, and is confirmed up to another."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.communicate()
            if self._is_at(end_offset, confirmed_end):
                return
            time.sleep(0.02)
        raise AssertionError(f"the mirror is not at {end_offset}: {ends(self._log)}")

    def _is_at(self, end_offset: int, confirmed_end: int | None) -> bool:
        try:
            end, confirmed = ends(self._log)
        except (RequestError, UnavailableError):
            # Before the first batch, and for an instant between two parts, there is no mirror.
            return False
        return end == end_offset and confirmed_end in (None, confirmed)

    def end(self, number: signal.Signals = signal.SIGTERM) -> Outcome:
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> Outcome:
        out, err = self.process.communicate(timeout=60)
        return Outcome(self.process.returncode, out, err)


@contextmanager
def following(
    quorum: Quorum, log: Path, *options: str, url: str | None = None
) -> Iterator[Following]:
    """Follow a quorum in the body of a `with` statement."""
    source = url or f"kafka://{quorum.bootstrap}"
    command = [*METALOG, "import", source, str(log), "--follow", "--json"]
    process = subprocess.Popen(
        [*command, "--cluster-id", quorum.cluster_id, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield Following(process, log)
    finally:
        process.kill()
        process.communicate()


def ends(log: Path) -> tuple[int, int]:
    """Return the end and the confirmed end of a mirror."""
    with LogReader.open(log) as reader:
        return reader.end_offset, reader.confirmed_end


def exported(log: Path, target: Path) -> bytes:
    """Return the batches of an exact mirror, as `export kraft --as segments` writes them."""
    command = [*METALOG, "export", "kraft", str(log), str(target), "--as", "segments"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return batches_in(target / PARTITION_DIRECTORY)


def batch_end(partition: Path, offset: int) -> int:
    """Return the end of the batch that contains an offset."""
    headers = open_directory(partition).headers(0)
    return next(each.header.end_offset for each in headers if each.header.end_offset > offset)


def batches_in(partition: Path) -> bytes:
    """Return all batches in a node's directory."""
    return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))
