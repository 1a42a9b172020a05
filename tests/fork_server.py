"""Processes forked from one that has imported all modules: importing is most of a start's time.

Inside `forking`, a process starts commands with `subprocess` or asyncio as usual. If a command
begins with a marker, a server forks it; without a server the same words start Python. Either way
the new process is a child of the caller, with its own pid, streams, environment, working directory
and exit code, and with a session of its own if the caller asks for one.
"""

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from _posixsubprocess import fork_exec as start
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

_ROOT = Path(__file__).parents[1]
_REQUEST_BYTES_MAX = 1 << 17
_PR_SET_CHILD_SUBREAPER = 36
# process_group, gid, gids, uid, umask and preexec_fn, when none is asked for.
_PLAIN = (-1, None, None, None, -1, None)


@contextlib.contextmanager
def forking(markers: tuple[tuple[str, ...], ...], module: str, *arguments: str) -> Iterator[None]:
    """Fork commands that begin with one of the markers while the body runs.

    The first such command starts the server: a module that is run with the number of a socket and
    these arguments, and that calls `serve`.
    """
    with contextlib.ExitStack() as stack:
        server = _Server(stack, (module, arguments))

        # The one function by which `subprocess`, and with it asyncio, starts a program.
        def fork_exec(words: list[str], *rest: Any) -> int:
            (_, _, kept, cwd, environment, stdin, _, _, stdout, _, stderr, *more) = rest
            start_new_session, *others = more[3:10]
            marker = next((each for each in markers if tuple(words[: len(each)]) == each), None)
            if marker is None or len(kept) != 1 or tuple(others) != _PLAIN:
                return start(words, *rest)
            streams = [
                own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))
            ]
            if environment is None:
                environment = [b"%s=%s" % pair for pair in os.environb.items()]
            request = {
                "arguments": list(map(str, words[len(marker) - 1 :])),
                "cwd": os.fspath(cwd or os.getcwd()),
                "environment": list(map(os.fsdecode, environment)),
                "start_new_session": bool(start_new_session),
            }
            return server.fork(request, streams)

        stack.enter_context(mock.patch("subprocess._fork_exec", fork_exec))
        yield


class _Server:
    """The process that forks; started when it is first needed."""

    def __init__(self, stack: contextlib.ExitStack, program: tuple[str, Iterable[str]]) -> None:
        self._stack = stack
        self._program = program
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None

    def fork(self, request: dict[str, Any], streams: list[int]) -> int:
        """Return the process id of a command, which is a child of this process."""
        with self._lock:
            requests = self._requests = self._requests or self._start()
            with _adopting():
                socket.send_fds(requests, [json.dumps(request).encode()], streams)
                return int(requests.recv(20))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        module, arguments = self._program
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
            )
        self._stack.callback(process.wait)
        self._stack.callback(ours.close)
        # Also ends the server when a fork of this process still has the socket.
        self._stack.callback(ours.shutdown, socket.SHUT_RDWR)
        return ours


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of orphaned descendants while the body runs."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def serve(number: int) -> list[str] | None:
    """Answer each request on a socket with a process id, until the other side closes it.

    Returns:
        In each forked process: its marker's last word and the arguments of its command. In the
        server: None at the end.
    """
    gc.collect()
    gc.freeze()
    # Ctrl-C is for the caller; a command sets its own handler first of all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=number) as requests:
        while True:
            message, streams, _, _ = socket.recv_fds(requests, _REQUEST_BYTES_MAX, 3)
            if not message:
                return None
            request = json.loads(message)
            pid = _fork_orphan(start_new_session=request["start_new_session"])
            if pid == 0:
                _become(request, streams)
                arguments: list[str] = request["arguments"]
                return arguments
            for stream in streams:
                os.close(stream)
            requests.send(b"%d" % pid)


def _fork_orphan(*, start_new_session: bool) -> int:
    """Fork a process whose parent exits at once; return 0 in it, and its process id here."""
    reader, writer = os.pipe()
    between = os.fork()
    if between:
        os.close(writer)
        os.waitpid(between, 0)
        with os.fdopen(reader) as told:
            return int(told.readline())
    between = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.000_1)
    if start_new_session:
        os.setsid()
    # The caller may end its session as soon as it knows the process id.
    os.write(writer, b"%d\n" % os.getpid())
    os.close(reader)
    os.close(writer)
    return 0


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take over the working directory, environment and streams of a request."""
    os.environ.clear()
    os.environ.update(pair.split("=", 1) for pair in request["environment"])
    os.chdir(request["cwd"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    # A line at a time only where Python does so itself.
    sys.stdout = os.fdopen(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
