"""The service over a log that is only shown."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from api.questions.workers import Workers
from api.service.followed_log import FollowedLog
from api.service.follower_service import FollowerService
from controller.decisions.context.context import Settings
from metadata_log.files.fs import UrlPath
from metadata_log.reader.follow import follow
from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline


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
        asked_first: Iterable[tuple[str, bytes, str]] = (),
    ) -> Self:
        """Load the state at the end of a log.

        Args:
            place: A directory, or the URL of an archive or a backup.
            settings: Settings of the service; the cluster id is taken from the log.
            progress: Called, in a thread, with the end offset of each loaded batch, and the end
                offset of the log.
            asked_first: Questions, requests and points whose answers are computed while loading.

        Raises:
            RequestError: there is no log.
            ContradictionError: a record contradicts the state before it.
            CorruptLogError: the log is damaged.
        """

        def opened() -> LogReader:
            with LogReader.open(place) as reader:
                return reader

        def read() -> tuple[MetadataImage, int]:
            with LogReader.open(place) as reader:
                end = reader.end_offset
                return Timeline.of(reader).image(progress=lambda at: progress(at, end)), end

        found = await asyncio.to_thread(opened)
        workers = Workers(found.directory, is_live=cls.is_live)
        for each in asked_first:
            workers.begin(*each)
        try:
            image, end = await asyncio.to_thread(read)
        except BaseException:
            await workers.close()
            raise
        settings = replace(settings, cluster_id=found.cluster_id)
        service = cls(FollowedLog(found.directory), image, settings)
        service.workers = workers
        if end != found.end_offset:
            workers.forget()
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
