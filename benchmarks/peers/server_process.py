"""Servers that a benchmark starts on loopback, with files on the same file system, and stops."""

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
        PeerMissing: the program or file does not exist.
    """
    found = shutil.which(program) or (program if Path(program).exists() else None)
    if found is None:
        raise PeerMissing(f"{program} is missing: run benchmarks/install_peers.sh")
    return found


def free_port() -> int:
    """Return a port that is currently unused."""
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
    """Run a server during the `with` block; yield its process id once `is_ready` returns True.

    Raises:
        RuntimeError: the server ended or was not ready in time; the message ends with the last line
            of its output.
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
    """Return the processor time that a process has used, in seconds."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def listens(port: int) -> bool:
    """True if a server accepts connections on this port of loopback."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
