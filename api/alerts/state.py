"""State of checks that continue across restarts: the checked offset, alerts, notifications.

The state is a small JSON file. A notification is first written to the file and synced, as waiting
for each receiver; it is removed when the receiver has it. So a process that is killed at any moment
loses no notification. One that was sent but not yet removed is sent again, with the same id.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from api.alerts.notification import Notification
from metadata_log.files.fs import OsFs, full_as_unavailable
from metadata_log.files.json_file import read_json, write_json
from records.errors import RequestError, UnavailableError

_VERSION = 1


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that a receiver does not have yet; `since_ms` is in ms since 1970."""

    receiver: str
    since_ms: int
    notification: Notification


class AlertState(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a state file.

    Attributes:
        cluster_id: The log's cluster id; None: nothing was checked yet.
        next_offset: The first offset that was not checked.
        active: The ongoing alerts, as they were sent.
        waiting: Notifications that receivers do not have yet, oldest first.
    """

    version: int = _VERSION
    cluster_id: str | None = None
    next_offset: int = 0
    active: tuple[Notification, ...] = ()
    waiting: tuple[Waiting, ...] = ()


class StateFile:
    """A state file that one process has locked.

    Attributes:
        state: The content of the file.
    """

    def __init__(self, path: Path) -> None:
        """Lock and read the file, which need not exist.

        Raises:
            UnavailableError: another process uses the file.
            CorruptLogError: the file is damaged.
            RequestError: the file was written by a newer release.
        """
        self.path = path
        self._fs = OsFs()
        try:
            lock = path.with_name(f"{path.name}.lock")
            self._lock = self._fs.lock(lock, f"{os.getpid()}\n")
        except BlockingIOError as error:
            raise UnavailableError(
                f"process {str(error) or 'unknown'} already checks with {path}; to check twice, "
                "name another --state FILE"
            ) from error
        try:
            self.state = self._read()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Unlock the file."""
        self._lock.release()

    def save(self, **changes: Any) -> None:
        """Change fields of the state, and sync the file.

        Raises:
            UnavailableError: the disk is full; nothing is changed.
        """
        state = msgspec.structs.replace(self.state, **changes)
        with full_as_unavailable(self.path):
            write_json(self._fs, self.path, state)
        self.state = state

    def _read(self) -> AlertState:
        remedy = "remove it to begin anew: alerts that last are then told again"
        try:
            found = read_json(self._fs, self.path, AlertState, remedy)
        except FileNotFoundError:
            return AlertState()
        if found.version > _VERSION:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"{self.path} has version {found.version}, but this release reads only up to "
                f"{_VERSION}; use a newer release",
            )
        return found
