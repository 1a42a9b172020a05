"""`metalog check --follow` in a process, and receivers of what it tells."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from tests.docs_console import ROOT
from tests.forked_commands import METALOG

SOON_S = 30.0


class Checking:
    """`check --follow` in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def line(self) -> Any:
        """Return the next alert that it prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        return json.loads(line)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it; return its exit code and what is left of its output."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=SOON_S)
        return self.process.returncode, out

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and its errors."""
        _, err = self.process.communicate(timeout=SOON_S)
        return self.process.returncode, err


@contextmanager
def checking(log: Path, *options: object) -> Iterator[Checking]:
    """Follow a log with checks in the body of a `with` statement."""
    process = subprocess.Popen(
        [*METALOG, "check", str(log), "--follow", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield Checking(process)
    finally:
        process.kill()
        process.communicate()


class Hook:
    """A webhook: keeps what is posted, and answers as it is told.

    Attributes:
        posted: The documents, with their headers under `headers`.
        answers: Statuses of the next answers; then 204.
        on_post: Called before an answer; when it returns False there is none.
    """

    def __init__(self, port: int = 0) -> None:
        self.posted: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.on_post: Callable[[], bool] = lambda: True
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.posted.append({**json.loads(body), "headers": dict(self.headers)})
                if not hook.on_post():
                    self.close_connection = True
                    return
                self.send_response(hook.answers.pop(0) if hook.answers else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/secret-path?token=secret"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> "Hook":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many documents were posted; return them."""
        wait_until(lambda: len(self.posted) >= count)
        return self.posted


def kill_once(process: Callable[[], "subprocess.Popen[str]"]) -> Callable[[], bool]:
    """Return a function for `Hook.on_post` that kills a process the first time."""
    killed: list[int] = []

    def on_post() -> bool:
        if killed:
            return True
        killed.append(process().pid)
        os.kill(process().pid, signal.SIGKILL)
        return False

    return on_post


def wait_until(found: Callable[[], Any]) -> Any:
    """Return what a function returns, once that is true."""
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def waiting(state: Path) -> list[Any]:
    """Return what receivers do not have yet, by a state file."""
    found: list[Any] = json.loads(state.read_text())["waiting"]
    return found
