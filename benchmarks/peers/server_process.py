"""A server that a bench starts on loopback, on the bench's file system, and ends again."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

LOOPBACK = "127.0.0.1"
_START_TIMEOUT_S = 30
_STOP_TIMEOUT_S = 10


class PeerMissing(Exception):
    """A peer is not installed; the message says how to install it."""


def require(program: str) -> str:
    """Return the path of a program or file.

    Raises:
        PeerMissing: it is not there.
    """
    found = shutil.which(program) or (program if Path(program).exists() else None)
    if found is None:
        raise PeerMissing(f"{program} is missing: run benchmarks/install_peers.sh")
    return found


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    command: Sequence[str],
    log: Path,
    is_ready: Callable[[], bool],
    timeout_s: float = _START_TIMEOUT_S,
) -> Iterator[int]:
    """Run a server as long as the block, from when `is_ready` says so; yields its process id.

    Raises:
        RuntimeError: it ended, or was not ready in time; the message ends with its last line.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                last = log.read_text(errors="replace").splitlines()[-1:]
                raise RuntimeError(f"{command[0]} did not start: {''.join(last)}")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cpu_s(pid: int) -> float:
    """Return how many seconds of processor time a process has taken."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def listens(port: int) -> bool:
    """Whether somebody accepts connections on a port of loopback."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
