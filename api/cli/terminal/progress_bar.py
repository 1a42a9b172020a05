"""Progress bars on standard error: for work of more than a second, on a terminal only.

A bar is a line without a newline that is drawn over itself on standard error. Standard output may
be the same terminal: code that prints there erases the bar first (`erase`), and the next step of
the work draws it again.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DELAY_S = 1.0
"""Seconds after which a bar is shown."""

_INTERVAL_S = 0.1
_WIDTH = 40
ERASED = "\r\x1b[K"

_is_drawn = False


@contextmanager
def progress(what: str, start: int, end: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar while the body runs.

    Yields:
        A function to be called with the offset reached.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda offset: None
        return
    started = time.monotonic()
    due = started + DELAY_S

    def advance(offset: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + _INTERVAL_S
            _draw(_bar_text(what, offset - start, max(end - start, 1), now - started))

    try:
        yield advance
    finally:
        erase()


def erase() -> None:
    """Erase the bar, if there is one, so that a line can be printed in its place."""
    global _is_drawn
    if _is_drawn:
        _is_drawn = False
        sys.stderr.write(ERASED)
        sys.stderr.flush()


def _draw(text: str) -> None:
    global _is_drawn
    # Printed before, so it comes first where both streams are one terminal.
    sys.stdout.flush()
    _is_drawn = True
    # In the last column, some terminals go to the next line.
    sys.stderr.write(ERASED + text[: shutil.get_terminal_size().columns - 1])
    sys.stderr.flush()


def _bar_text(what: str, done: int, total: int, elapsed_s: float) -> str:
    part = min(max(done / total, 0.0), 1.0)
    filled = int(part * _WIDTH)
    bar = "━" * filled + "─" * (_WIDTH - filled)
    left = f"  {_clock_text(elapsed_s * (1 - part) / part)} left" if part else ""
    return f"{what} {bar} {done:,}/{total:,}{left}"


def _clock_text(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"
