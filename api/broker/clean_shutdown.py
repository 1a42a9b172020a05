"""Clean shutdown marker: a file with the last broker epoch, written after the final sync."""

import logging
from pathlib import Path

from api.broker.key_values import read_key_values, write_key_values
from records.errors import CorruptLogError

log = logging.getLogger(__name__)

_NAME = "clean_shutdown"
_EPOCH = "broker_epoch"

NO_EPOCH = -1
"""Broker epoch of a broker that is not registered, or did not shut down cleanly."""


class CleanShutdown:
    """The marker in a broker's first log directory; it exists only while the broker is down."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME

    def write(self, broker_epoch: int) -> None:
        """Record a clean shutdown for the next start."""
        try:
            write_key_values(self._path, {_EPOCH: broker_epoch})
        except OSError as error:
            log.warning("%s cannot be written: %s; the end counts as unclean", self._path, error)

    def remove(self) -> None:
        """Remove the marker, because the broker is running again."""
        self._path.unlink(missing_ok=True)

    def broker_epoch(self) -> int:
        """Return the broker epoch that ended cleanly; NO_EPOCH if the last shutdown was unclean."""
        try:
            return int(read_key_values(self._path)[_EPOCH])
        except FileNotFoundError:
            return NO_EPOCH
        except (CorruptLogError, KeyError, ValueError) as error:
            log.warning("%s cannot be read: %r; the last end counts as unclean", self._path, error)
            return NO_EPOCH
