"""Work that is restarted after errors, at intervals or on request."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from api.transport.shutdown import unless_set
from records.errors import FencedError, MetadataLogError, UnavailableError

log = logging.getLogger(__name__)

RETRY_S = 300.0
"""Pause after an error that a person has to fix."""

_SOON_S = 10.0
"""Pause after an error that may pass soon."""


class Kept:
    """One task of a mirror that runs without end.

    Attributes:
        error: Why the work does not run; None while it runs.
    """

    def __init__(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Prepare to do `work` without end; `what` is its name in log lines."""
        self._what, self._work = what, work
        self._again, self._restart = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None

    @property
    def code(self) -> str:
        """Code or class name of the error that stopped the work; empty while the work runs."""
        if self.error is None:
            return ""
        return str(getattr(self.error, "code", type(self.error).__name__))

    def retry(self) -> None:
        """Try again now if the work does not run."""
        self._again.set()

    def restart(self) -> None:
        """Stop the work and begin it again."""
        self._restart.set()
        self._again.set()

    async def run(self) -> None:
        """Do the work until cancelled; after an error, wait and do it again."""
        while True:
            self._again.clear()
            self._restart.clear()
            try:
                await unless_set(self._restart, self._work())
                continue
            except (MetadataLogError, OSError) as error:
                # Once for each reason: every five minutes would hide other lines.
                if str(error) != str(self.error):
                    log.error("%s stopped: %s", self._what, error)
                self.error = error
            except Exception as error:  # a mistake of ours, which the other mirrors do not pay for
                log.exception("%s stopped", self._what)
                self.error = error
            is_short = isinstance(self.error, UnavailableError | FencedError | OSError)
            try:
                async with asyncio.timeout(_SOON_S if is_short else RETRY_S):
                    await self._again.wait()
            except TimeoutError:
                pass

    def runs(self) -> None:
        """Clear `error`; called by the work once its start has succeeded."""
        if self.error is not None:
            log.warning("%s goes on", self._what)
            self.error = None
