"""The service over a log that is only shown."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from api.http.first_look import first_look, known_state
from api.http.known_log import KnownLog
from api.questions.summary import SUMMARY
from api.questions.workers import Workers
from api.service.followed_log import FollowedLog
from api.service.follower_service import FollowerService
from api.viewer.first_answers import FirstAnswers
from api.viewer.first_reading import ASKED, FirstReading, first_reading
from controller.decisions.context.context import Settings
from controller.wire import to_wire
from metadata_log.files.fs import UrlPath
from metadata_log.reader.follow import follow
from metadata_log.reader.log_reader import LogReader


class ViewService(FollowerService):
    """Answers questions about any kind of log; it refuses all changes, and writes nothing."""

    # It may be a copy, such as a mirror or a backup: what lasts is counted to its last record.
    is_live = False

    @classmethod
    async def load(
        cls,
        place: Path | str,
        settings: Settings,
        progress: Callable[[int, int], None] = lambda offset, end_offset: None,
        first: FirstAnswers | None = None,
        look: Callable[[KnownLog], None] = lambda known: None,
    ) -> Self:
        """Load the state at the end of a log.

        Args:
            place: A directory, or the URL of an archive or a backup.
            settings: Settings of the service; the cluster id is taken from the log.
            progress: Called, in a thread, with the end offset of each loaded batch, and the end
                offset of the log.
            first: Answers that were begun; the service begins the rest, and closes their workers.
            look: Called, in a thread, with what is known before the records are read, and again
                once the newest snapshot is known.

        Raises:
            RequestError: there is no log.
            ContradictionError: a record contradicts the state before it.
            CorruptLogError: the log is damaged.
        """

        if first is not None:
            first.begin_summary()

        def read() -> tuple[LogReader, FirstReading]:
            with LogReader.open(place) as reader:
                known = first_look(reader, str(place))
                if known is None:
                    return reader, first_reading(reader, progress)
                look(known)
                return reader, first_reading(
                    reader, progress, lambda image: look(replace(known, state=known_state(image)))
                )

        try:
            reader, found = await asyncio.to_thread(read)
        except BaseException:
            if first is not None:
                await first.workers.close()
            raise
        settings = replace(settings, cluster_id=reader.cluster_id)
        service = cls(FollowedLog(reader.directory), found.image, settings)
        workers = Workers(reader.directory, is_live=cls.is_live) if first is None else first.workers
        service.workers = workers
        if first is not None and found.end_offset != first.end_offset:
            workers.forget()
        if found.summary is not None:
            workers.give(SUMMARY.name, to_wire(ASKED), "end", found.summary)
        service.on_commit.append(lambda batch: workers.forget())
        return service

    async def close(self) -> None:
        """Stop the service; questions in progress fail."""
        await super().close()
        if self.workers is not None:
            await self.workers.close()

    @property
    def is_ready(self) -> bool:
        """True: questions can be answered at once."""
        return True

    @property
    def why_inactive(self) -> str:
        """Why this process changes nothing, and what to do instead."""
        return "logs are only shown here; change this one where `metalog serve` runs for it"

    async def confirmed_end(self) -> int:
        """Return the log's committed end, read from its files after this call."""

        def read() -> int:
            with self._followed.reader() as reader:
                return reader.end_offset

        return await asyncio.to_thread(read)

    async def final_end(self, log_end: int) -> int:
        """Return the offset from which Kafka may replace records, or the log's end."""

        def read() -> int:
            with self._followed.reader() as reader:
                is_final = reader.confirmed_end >= reader.end_offset
                return log_end if is_final else reader.confirmed_end

        return min(log_end, await asyncio.to_thread(read))

    async def keep_up(self) -> None:
        """Follow the log, without end; an archive or a backup does not grow.

        Raises:
            RequestError: OFFSET_OUT_OF_RANGE, the log's end went back: load it again.
            UnavailableError: the log was removed.
            ContradictionError, CorruptLogError: as for `load`.
        """
        if isinstance(self._followed.directory, UrlPath):
            await asyncio.Event().wait()
        async for batch in follow(self._followed.directory, self.image.provenance.next_offset):
            await self.follow([batch])
