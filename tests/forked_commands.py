"""`metalog` in processes forked from one that has imported it: importing takes most of a start.

A test starts `[*METALOG, "serve", ...]` with `subprocess` or asyncio like any other command. Inside
`forking()` a server forks it; elsewhere the same words start Python. Either way the process is a
child of the caller, with its own pid, streams, environment, working directory and end. At its end
it waits for threads, calls what is registered with `atexit` and flushes its streams, but runs no
destructors. Tests about the start itself run `python -m api.cli`, and so does the story of a
secured cluster.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from _posixsubprocess import fork_exec as start
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from api.cli import entry
from api.cli.main import run

# Python knows no such option and ignores it: it marks what may be forked.
METALOG = (sys.executable, "-X", "forked", "-m", "api.cli")

_ROOT = Path(__file__).parents[1]
_REQUEST_BYTES_MAX = 1 << 17
_PR_SET_CHILD_SUBREAPER = 36
# start_new_session, process_group, gid, gids, uid, umask and preexec_fn, when none is asked for.
_PLAIN = (False, -1, None, None, None, -1, None)


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Fork commands that begin with METALOG while the body runs; the first starts the server."""
    with contextlib.ExitStack() as stack:
        server = _Server(stack)

        # The one function by which `subprocess`, and with it asyncio, starts a program.
        def fork_exec(words: list[str], *rest: Any) -> int:
            (_, _, kept, cwd, environment, stdin, _, _, stdout, _, stderr, *more) = rest
            is_plain = len(kept) == 1 and tuple(more[3:10]) == _PLAIN
            if tuple(words[: len(METALOG)]) != METALOG or not is_plain:
                return start(words, *rest)
            streams = [
                own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))
            ]
            return server.fork(words[len(METALOG) :], cwd, environment, streams)

        stack.enter_context(mock.patch("subprocess._fork_exec", fork_exec))
        yield


class _Server:
    """The process that forks, started when it is first needed."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None

    def fork(
        self,
        arguments: list[str],
        cwd: str | None,
        environment: list[bytes] | None,
        streams: list[int],
    ) -> int:
        """Return the process id of a command, which is a child of this process."""
        if environment is None:
            environment = [b"%s=%s" % pair for pair in os.environb.items()]
        message = json.dumps(
            {
                "arguments": list(map(str, arguments)),
                "cwd": os.fspath(cwd or os.getcwd()),
                "environment": list(map(os.fsdecode, environment)),
            }
        )
        with self._lock:
            requests = self._requests = self._requests or self._start()
            with _adopting():
                socket.send_fds(requests, [message.encode()], streams)
                return int(requests.recv(20))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked_commands", str(theirs.fileno())],
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
    """Become the parent of orphans among the descendants while the body runs."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _serve(requests: socket.socket) -> bool:
    """Answer each request with a process id, until the other side ends.

    Returns:
        True in each forked process, which has become what was asked for.
    """
    while True:
        message, streams, _, _ = socket.recv_fds(requests, _REQUEST_BYTES_MAX, 3)
        if not message:
            return False
        pid = _fork_orphan()
        if pid == 0:
            requests.close()
            _become(json.loads(message), streams)
            return True
        for stream in streams:
            os.close(stream)
        requests.send(b"%d" % pid)


def _fork_orphan() -> int:
    """Fork a process whose parent has ended; return 0 in it, and its id here."""
    reader, writer = os.pipe()
    between = os.fork()
    if between:
        os.close(writer)
        os.waitpid(between, 0)
        with os.fdopen(reader) as told:
            return int(told.readline())
    between = os.getpid()
    pid = os.fork()
    if pid:
        os.write(writer, b"%d\n" % pid)
        os._exit(0)
    os.close(reader)
    os.close(writer)
    while os.getppid() == between:
        time.sleep(0.000_1)
    return 0


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take over what a new process is given."""
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
    sys.argv = ["metalog", *request["arguments"]]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))


def main() -> None:
    """Serve requests; in a forked process, run the command as if Python had just started."""
    codes: list[int] = []
    # Registered before all that is imported now, so called after all of it.
    atexit.register(_leave, codes)
    importlib.import_module("tests.loaded_commands")
    # Also makes the parser of the command line.
    run(["serve", "--help"])
    # It set up logging, too, which each command does for itself.
    logging.getLogger().handlers.clear()
    gc.collect()
    gc.freeze()
    # Ctrl-C is for the caller; a command sets its own handler first of all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        is_command = _serve(requests)
    if is_command:
        try:
            entry.main()
        except SystemExit as ended:
            codes.append(int(ended.code or 0))
            raise


def _leave(codes: list[int]) -> None:
    """End a command at the last step of a normal end, before Python takes its modules apart.

    That writes to each page that is shared with the server, so it copies them: two thirds of the
    CPU time of a short command.
    """
    if not codes:
        return
    logging.shutdown()
    # What cannot be written is reported by Python itself, which gives another exit code.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])


if __name__ == "__main__":
    main()
