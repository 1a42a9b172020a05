"""A log that is shown: loaded, followed, and loaded again if its end goes back."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from api.http.known_log import KnownLog
from api.http.metrics import Sources
from api.http.shared_state import SharedState
from api.viewer.first_answers import FirstAnswers
from api.viewer.view_service import ViewService
from controller.authorization.authorizer import ALLOW_ALL
from controller.decisions.context.context import Settings
from records.errors import MetadataLogError

_LOG = logging.getLogger(__name__)

_RETRY_S = 1.0
"""Pause before a log that could not be read is tried again."""


class ShownLog:
    """Keeps a server's state of one log up to date.

    Attributes:
        name: The log's name among those that are shown.
        place: A directory, or the URL of an archive or a backup.
        shared: The server's state of the log.
        service: Answers questions about the log; None while the log cannot be read.
    """

    def __init__(
        self, name: str, place: str, shared: SharedState, sources: Sources, settings: Settings
    ) -> None:
        self.name, self.place = name, place
        self.service: ViewService | None = None
        self.shared, self._sources, self._settings = shared, sources, settings
        # Only if all may see everything: what is known says nothing of rights.
        self._tells = settings.authorizer is ALLOW_ALL
        shared.authorizer = settings.authorizer
        shared.loading("the log is being read")

    async def open(
        self,
        advance: Callable[[int], None] = lambda offset: None,
        first: FirstAnswers | None = None,
    ) -> ViewService:
        """Load the log, then answer requests; meanwhile, answers tell the progress of loading.

        Args:
            advance: Called, in a thread, with the offset up to which the log was read.
            first: Answers that were begun; as for `ViewService.load`.

        Raises:
            MetadataLogError: as `ViewService.load`.
        """

        def told(offset: int, end_offset: int) -> None:
            self.shared.loading(f"the log is being read: {offset:,} of {end_offset:,} records")
            advance(offset)

        service = await ViewService.load(self.place, self._settings, told, first, self._look)
        self.shared.serve(service, "", self._sources)
        self.service = service
        return service

    def _look(self, known: KnownLog) -> None:
        if self._tells:
            self.shared.known = known

    async def keep_up(self) -> None:
        """Follow the log, without end; a log that cannot be read is tried again and again."""
        while True:
            try:
                service = self.service or await self.open()
                await service.keep_up()
            except (MetadataLogError, OSError) as error:
                if self.service is not None:
                    _LOG.warning("%s: %s; it is read again", self.place, error_text(error))
                await self._end_service()
                self.failed(error)
                await asyncio.sleep(_RETRY_S)

    def failed(self, error: Exception) -> None:
        """Answer all requests with the reason why the log cannot be read."""
        reason = error_text(error).removeprefix(f"{self.place} ")
        self.shared.stop_serving(f"{self.place} cannot be read: {reason}")

    async def close(self) -> None:
        """Stop answering."""
        await self._end_service()

    async def _end_service(self) -> None:
        service, self.service = self.service, None
        if service is not None:
            self.shared.close()
            with contextlib.suppress(MetadataLogError):
                await service.close()


def error_text(error: Exception) -> str:
    """Return the text of an error, with the file and what to do if reading it is not permitted."""
    if isinstance(error, PermissionError):
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    return str(error)
