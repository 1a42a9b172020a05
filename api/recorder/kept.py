"""Work that goes on after errors: it stops alone, and is tried again later or when asked."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from api.transport.shutdown import unless_set
from records.errors import FencedError, MetadataLogError, UnavailableError

log = logging.getLogger(__name__)

RETRY_S = 300.0
"""After an error that asking again does not mend: somebody has to."""

_SOON_S = 10.0
"""After one that may be over soon."""


class Kept:
    """Work without end, of one mirror.

    Attributes:
        error: Why it does not run; None while it runs.
    """

    def __init__(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Keep doing `work`; `what` names it in the log."""
        self._what, self._work = what, work
        self._again, self._restart = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None

    @property
    def code(self) -> str:
        """The name of the error; empty while it runs."""
        if self.error is None:
            return ""
        return str(getattr(self.error, "code", type(self.error).__name__))

    def retry(self) -> None:
        """Try again now, if it does not run."""
        self._again.set()

    def restart(self) -> None:
        """Stop the work and begin it again."""
        self._restart.set()
        self._again.set()

    async def run(self) -> None:
        """Do the work until cancelled."""
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
        """Note that the work runs, after what can fail at its start."""
        if self.error is not None:
            log.warning("%s goes on", self._what)
            self.error = None
