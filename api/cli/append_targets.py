"""Destinations of `metalog append`: a service in this process or a running one.

Both call `Appends.append`, so the same records are refused everywhere.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from api.callers import process_caller
from api.client import MetadataClient
from api.connecting import connect
from api.service import Service
from api.socket.appends import rows_request
from api.socket.client import SocketClient
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from metadata_log.log_reader import LogReader


class AppendTarget(Protocol):
    """Interface for appending batches to a log; `append` is as `Appends.append`."""

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult: ...


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


class _KafkaTarget:
    """Appends through the Kafka listener of a running service."""

    def __init__(self, client: MetadataClient) -> None:
        self._client = client

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        origin = batch.origin
        request = rows_request(
            batch.records,
            expected_end_offset=expected_end_offset,
            request_hash=None if origin is None else origin.request_hash,
            expected_versions=expected_versions,
        )
        answer = await self._client.run(
            "records append",
            request,
            reason=None if origin is None else origin.reason,
            request_id=None if origin is None else origin.request_id,
            trace_parent=None if origin is None else origin.trace_parent,
            principal=None if origin is None else origin.principal,
        )
        result = answer.response
        return AppendResult(
            base_offset=result.base_offset,
            end_offset=result.end_offset,
            leader_epoch=-1,  # not reported
            timestamp=result.timestamp,
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
    with LogReader.open(directory) as reader:
        end_before = reader.end_offset
    service = await Service.open(directory, with_timers=False)
    try:
        yield _LocalTarget(service, process_caller(principal), end_before)
    finally:
        await service.close()


@asynccontextmanager
async def server_target(url: str) -> AsyncIterator[AppendTarget]:
    """Yield a target to a running service: `socket://HOST:PORT`, or `kafka://HOST:PORT`.

    Raises:
        RequestError: INVALID_REQUEST, the URL is malformed.
        UnavailableError: the address does not answer.
    """
    async with await connect(url) as client:
        yield client if isinstance(client, SocketClient) else _KafkaTarget(client)
