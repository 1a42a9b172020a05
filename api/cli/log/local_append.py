"""Destination of `metalog append --log`: a service in this process, the log's only writer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from api.cli.log.append_target import AppendTarget
from api.security.callers import process_caller
from api.service.service import Service
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.cut_off_log import settle


class _LocalTarget:
    """Appends through a service in this process, which is the log's only writer."""

    def __init__(self, service: Service, caller: Caller, end_before: int) -> None:
        self._service, self._caller = service, caller
        # Taking over has moved the end; a caller that expects the old end means the new one.
        self._ends = {end_before: service.image.provenance.next_offset}

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        if expected_end_offset is not None:
            expected_end_offset = self._ends.get(expected_end_offset, expected_end_offset)
        return await self._service.append(
            batch,
            caller=self._caller,
            expected_end_offset=expected_end_offset,
            expected_versions=expected_versions,
        )


@asynccontextmanager
async def local_target(directory: Path, principal: str) -> AsyncIterator[AppendTarget]:
    """Yield a target that appends to a log directory; this process becomes the log's only writer.

    Args:
        principal: The principal on whose behalf records are appended.

    Raises:
        RequestError: there is no log, or it is a mirror.
        UnavailableError: another process writes the log.
        CorruptLogError: the log is damaged.
    """
    await settle(directory)
    with LogReader.open(directory) as reader:
        end_before = reader.end_offset
    service = await Service.open(directory, with_timers=False)
    try:
        yield _LocalTarget(service, process_caller(principal), end_before)
    finally:
        await service.close()
