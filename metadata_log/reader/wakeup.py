"""File change notification (inotify), with polling as the fallback.

Polling is used outside Linux, and when the system has no inotify instance left.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from metadata_log.files.followed import FollowerNote
from metadata_log.limits import FOLLOW_POLL_INTERVAL_MS, FOLLOW_RECHECK_INTERVAL_MS

_LOG = logging.getLogger(__name__)


class Wakeup(Protocol):
    """Waits until a file may have changed; every wait ends after a bounded time."""

    async def wait(self) -> None:
        """Return once the file may have changed since the watch began or `wait` last returned.

        Spurious returns are possible; the caller checks the file.
        """
        ...


class Polling:
    """Waits by sleeping for a fixed time."""

    async def wait(self) -> None:
        await asyncio.sleep(FOLLOW_POLL_INTERVAL_MS / 1_000)


@contextmanager
def watch(path: Path) -> Iterator[Wakeup]:
    """Watch a log's file that is written in place and sometimes replaced.

    Yields an object whose `wait` returns when the file may have changed. The writer of a mirror
    notices that it is followed (files/followed.py).
    """
    with contextlib.ExitStack() as stack:
        wakeup: Wakeup = Polling()
        if sys.platform == "linux":
            try:
                wakeup = stack.enter_context(_inotify(path))
            except OSError as error:
                _LOG.warning(
                    "%s: the system reports no changes (%s), so it is read every %d ms; "
                    "perhaps fs.inotify.max_user_instances is too low",
                    path,
                    error,
                    FOLLOW_POLL_INTERVAL_MS,
                )
        yield _Noted(wakeup, path.parent)


class _Noted:
    """Tells the log's writer of each wait."""

    def __init__(self, wakeup: Wakeup, directory: Path) -> None:
        self._wakeup = wakeup
        self._note = FollowerNote(directory)
        self._note.renew()

    async def wait(self) -> None:
        self._note.renew()
        await self._wakeup.wait()


if sys.platform == "linux":
    from asyncinotify import Inotify, Mask

    class _Inotify:
        def __init__(self, inotify: Inotify, path: Path) -> None:
            self._inotify = inotify
            self._path = path
            self._watch()

        async def wait(self) -> None:
            try:
                async with asyncio.timeout(FOLLOW_RECHECK_INTERVAL_MS / 1_000):
                    event = await self._inotify.get()
                is_replaced = event.mask & Mask.MODIFY == 0
            except TimeoutError:
                is_replaced = True  # or may be, such as together with its directory
            if is_replaced:
                # inotify watches the file, not its name; watching the same file again changes
                # nothing.
                with contextlib.suppress(FileNotFoundError):
                    self._watch()

        def _watch(self) -> None:
            # A file that loses its name gets an attribute event, even while it is held open.
            self._inotify.add_watch(self._path, Mask.MODIFY | Mask.ATTRIB)

    @contextmanager
    def _inotify(path: Path) -> Iterator[Wakeup]:
        with Inotify() as inotify:
            yield _Inotify(inotify, path)
