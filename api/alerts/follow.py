"""Follows a log, runs the configured checks on it, and delivers their notifications."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from api.alerts.checks import Checks
from api.alerts.log_watch import LogWatch
from api.alerts.notification import Notification
from api.alerts.outbox import Outbox
from api.alerts.receivers import receivers_of
from api.alerts.state import StateFile
from api.questions.points import Absolute, in_utc
from api.transport.shutdown import unless_set
from metadata_log.files.names import COMMIT_MARK, MANIFEST
from metadata_log.limits import FOLLOW_POLL_INTERVAL_MS
from metadata_log.reader.wakeup import watch
from records.errors import RequestError, UnavailableError

log_ = logging.getLogger(__name__)

_SAVE_INTERVAL_S = 60.0
"""Seconds between saves of the checked offset while nothing is found; a restart continues there."""

_AWAY_S = 1.0
"""Pause while the log is missing, such as between the two renames that begin a new part."""


def state_beside(log: Path) -> Path:
    """Return the default path of the state file: beside the log, where it survives new parts."""
    log = log.resolve()
    return log.with_name(f"{log.name}.alerts.json")


class FollowedChecks:
    """The checks of a followed log.

    Attributes:
        watch: Checks the log, and has the alerts found so far.
        outbox: Notifications that receivers do not have yet.
        file: The state file.
    """

    def __init__(
        self,
        log: Path,
        name: str,
        checks: Checks,
        file: StateFile,
        write: Callable[[str], None],
        *,
        first: str = "start",
        absolute: Absolute = in_utc,
    ) -> None:
        """Continue at the offset in the state file; the other arguments are those of `LogWatch`.

        Args:
            write: Writes a line of output.
        """
        self._log = log
        self.file = file
        self._new_watch = partial(LogWatch, log, name, checks, first=first, absolute=absolute)
        self.watch = self._new_watch(file.state)
        receivers = receivers_of(checks.receivers, write)
        self.outbox = Outbox(file, receivers, checks.receivers.timeout_s)
        self._place: dict[str, Any] = {}
        self._saved_at = time.monotonic()

    async def run(self) -> None:
        """Follow the log and deliver, without end; when cancelled, save the checked offset.

        Raises:
            MetadataLogError: an error of `LogWatch.read` that a retry cannot fix.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.outbox.run())
                tasks.create_task(self._follow())
        except* Exception as errors:
            # The first one ended the others.
            raise _first(errors) from None
        finally:
            if self.file.state.cluster_id is not None:
                with contextlib.suppress(UnavailableError):
                    self.outbox.save(**self._place)

    async def until_fired(self) -> None:
        """Run until a firing alert was delivered, and no notification waits."""
        await unless_set(self.outbox.has_fired, self.run())

    async def _follow(self) -> None:
        while True:
            try:
                # Watched before the first look, so that no change is missed between the two.
                with watch(self._log / COMMIT_MARK) as wakeup:
                    while True:
                        await self._catch_up()
                        await wakeup.wait()
                        # However busy the log is, it is opened only so often.
                        await asyncio.sleep(FOLLOW_POLL_INTERVAL_MS / 1_000)
            except (FileNotFoundError, UnavailableError) as error:
                log_.info("%s; it is read again", error)
            except RequestError:
                if self.file.state.cluster_id is None or (self._log / MANIFEST).exists():
                    raise
            # What was read and not saved is read again.
            self.watch = self._new_watch(self.file.state)
            await asyncio.sleep(_AWAY_S)

    async def _catch_up(self) -> None:
        """Check all records that the log has now."""
        while True:
            await self.outbox.room()
            found = await asyncio.to_thread(self.watch.read)
            await self._read(found)
            if not self.watch.is_behind:
                return

    async def _read(self, found: Sequence[Notification]) -> None:
        """Save the notifications found; without any, save the checked offset at intervals."""
        watch_ = self.watch
        if watch_.cluster_id is None:
            return
        place = {
            "cluster_id": watch_.cluster_id,
            "next_offset": watch_.next_offset,
            "active": tuple(watch_.active.values()),
        }
        is_due = time.monotonic() - self._saved_at >= _SAVE_INTERVAL_S
        if found or is_due or self.file.state.cluster_id is None:
            self._saved_at = time.monotonic()
            await self.outbox.add(found, **place)
        # Only now: a place beyond what was found, and not saved with it, would lose that.
        self._place = place


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, Exception)
    return found
