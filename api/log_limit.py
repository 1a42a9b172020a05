"""A bound for log lines that clients can cause."""

import logging
import time
from collections.abc import Callable

_INTERVAL_S = 1.0


class OneLineASecond(logging.Filter):
    """Lets one line a second through from each place in the code.

    The next line that is let through says how many were left out before it.

        log = logging.getLogger(__name__)
        log.addFilter(OneLineASecond())
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        # By file and line of the call: the time of its last line, and the lines left out since.
        self._last: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written."""
        place = record.pathname, record.lineno
        now = self._clock()
        last, left_out = self._last.get(place, (now - _INTERVAL_S, 0))
        if now - last < _INTERVAL_S:
            self._last[place] = last, left_out + 1
            return False
        self._last[place] = now, 0
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more lines like this were left out)"
            record.args = None
        return True


def limited_logger(name: str) -> logging.Logger:
    """Return the logger of a module that logs what clients do."""
    logger = logging.getLogger(name)
    if not any(isinstance(known, OneLineASecond) for known in logger.filters):
        logger.addFilter(OneLineASecond())
    return logger
