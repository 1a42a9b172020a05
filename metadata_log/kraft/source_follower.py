"""Following a live node by polling: runs one step of a recorder after the other.

Files of a live log change while they are read. A damaged place may be half written, and a folder
may be missing while its disk is mounted again; so both are checked again before an error is raised.
"""

import logging
from collections.abc import Callable, Iterator

from metadata_log.kraft.recorder import Recorder
from metadata_log.limits import RECORD_INTERVAL_MS, RECORD_RETRY_INTERVAL_MS_MAX
from records.errors import CorruptLogError, MetadataLogError, RequestError, UnavailableError

_LOG = logging.getLogger(__name__)
_DAMAGE_LOOKS = 5
"""How often damage must be seen in a row to be believed."""


def follow_source(recorder: Recorder, wait: Callable[[float], bool]) -> Iterator[None]:
    """Bring a mirror up to date with its source repeatedly; yield after each step.

    Args:
        wait: Waits for the given number of seconds; returns True if following must end.

    Raises:
        RequestError: the source is not the log that was imported, or no longer has the next
            records.
        CorruptLogError: the source or the mirror is damaged.
        FencedError: another process took the mirror over.
    """
    has_begun, failures = False, 0
    while True:
        delay_ms = RECORD_INTERVAL_MS
        try:
            recorder.step()
            has_begun, failures = True, 0
            yield
        except (CorruptLogError, RequestError, UnavailableError) as error:
            failures += 1
            if not _may_pass(error, failures, has_begun=has_begun):
                raise
            if failures == 1:
                _LOG.info("%s; trying again", error)
            delay_ms = min(RECORD_INTERVAL_MS << failures, RECORD_RETRY_INTERVAL_MS_MAX)
        if wait(delay_ms / 1_000):
            return


def _may_pass(error: MetadataLogError, failures: int, *, has_begun: bool) -> bool:
    match error:
        case UnavailableError():
            return True
        case CorruptLogError():
            return failures < _DAMAGE_LOOKS
        case RequestError():
            return has_begun and error.code == "LOG_NOT_FOUND"
    return False
