"""Limits how often each place in the code logs, so that no problem fills the disk."""

import logging
import time
from collections.abc import Callable

import msgspec

_Place = tuple[str, int]
"""File and line of the call that logs."""


class Rate(msgspec.Struct, frozen=True):
    """Maximum number of log lines per line of code and time window, at or above a level."""

    lines_max: int
    window_s: float
    level: int


BY_CLIENTS = Rate(1, 1.0, logging.NOTSET)
"""Limit for log lines that clients can cause any number of times."""

OF_THE_PROCESS = Rate(20, 10.0, logging.WARNING)
"""Limit for all warnings and errors of a serving process."""


class _Window(msgspec.Struct):
    """The log lines of one place in the current time window."""

    begun_s: float
    printed: int = 0
    left_out: int = 0


class LineLimit(logging.Filter):
    """Limits the log lines of each place in the code to a rate.

    The first line of a new window gives the number of lines omitted before. Only the first line of
    a window has its traceback.
    """

    def __init__(self, rate: Rate, now_s: Callable[[], float] = time.monotonic) -> None:
        """Start without any lines counted.

        Args:
            now_s: Returns the time in seconds.
        """
        super().__init__()
        self._rate = rate
        self._now_s = now_s
        self._windows: dict[_Place, _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the line is to be printed; removes the traceback of a repeated line."""
        if record.levelno < self._rate.level:
            return True
        now_s, place = self._now_s(), (record.pathname, record.lineno)
        window = self._windows.get(place)
        left_out = 0
        if window is None or now_s - window.begun_s >= self._rate.window_s:
            left_out = 0 if window is None else window.left_out
            window = self._windows[place] = _Window(now_s)
        if window.printed >= self._rate.lines_max:
            window.left_out += 1
            return False
        if window.printed:
            _without_traceback(record)
        window.printed += 1
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more lines like this were left out)"
            record.args = None
        return True


def limited_logger(name: str) -> logging.Logger:
    """Return a module's logger with a rate limit, for events that clients cause."""
    logger = logging.getLogger(name)
    if not any(isinstance(known, LineLimit) for known in logger.filters):
        logger.addFilter(LineLimit(BY_CLIENTS))
    return logger


def limit_repeats() -> None:
    """Limit how often each place in the code may log to standard error."""
    limit = LineLimit(OF_THE_PROCESS)
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:
            handler.addFilter(limit)


def _without_traceback(record: logging.LogRecord) -> None:
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        record.msg = f"{record.getMessage()}: {type(error).__name__}: {error}"
        record.args = None
    record.exc_info = record.exc_text = record.stack_info = None
