"""`metalog` in this process, with its event loop watched: `python -m benchmarks.watched_service
FILE serve LOG ...`.

On SIGUSR1 it writes the longest step since the last signal to FILE, as JSON, and starts anew.
"""

import asyncio
import gc
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from api.cli import entry
from api.cli.terminal.event_loop import ASYNCIO, EVENT_LOOP


class LongestStep(msgspec.Struct):
    """The step of the event loop that took most processor time, and the wall time of the slowest.

    A step is one callback, or a task's code between two suspensions; `what` names its function. The
    wall time includes the time in which other processes had the processor. `collection_ms` is the
    processor time of the longest garbage collection, which is part of some step.
    """

    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    what: str = ""
    collection_ms: float = 0.0


def main() -> None:
    """Watch the steps of asyncio's event loop, and run the command line.

    The steps of uvloop's cannot be watched from Python.
    """
    os.environ[EVENT_LOOP] = ASYNCIO
    report = Path(sys.argv.pop(1))
    longest = LongestStep()
    run = asyncio.events.Handle._run

    def watched(handle: asyncio.Handle) -> None:
        cpu, wall = time.thread_time(), time.perf_counter()
        run(handle)
        cpu_ms = (time.thread_time() - cpu) * 1_000
        longest.wall_ms = max(longest.wall_ms, (time.perf_counter() - wall) * 1_000)
        if cpu_ms > longest.cpu_ms:
            longest.cpu_ms, longest.what = cpu_ms, _name(handle)

    started = [0.0]

    def collected(phase: str, _: object) -> None:
        if phase == "start":
            started[0] = time.thread_time()
        else:
            took_ms = (time.thread_time() - started[0]) * 1_000
            longest.collection_ms = max(longest.collection_ms, took_ms)

    def tell(*_: object) -> None:
        whole = report.with_suffix(".new")
        whole.write_bytes(msgspec.json.encode(longest))
        os.replace(whole, report)
        longest.cpu_ms, longest.wall_ms, longest.what, longest.collection_ms = 0.0, 0.0, "", 0.0

    setattr(asyncio.events.Handle, "_run", watched)  # noqa: B010
    gc.callbacks.append(collected)
    signal.signal(signal.SIGUSR1, tell)
    entry.main()


def _name(handle: Any) -> str:
    """Return the function that a step runs; for a task, its coroutine."""
    callback = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return str(getattr(task.get_coro(), "__qualname__", task))
    while isinstance(callback, partial):
        callback = callback.func
    return str(getattr(callback, "__qualname__", callback))


if __name__ == "__main__":
    main()
