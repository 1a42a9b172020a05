"""Destination of `metalog append --server`: a running service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.cli.log.append_target import AppendTarget
from api.clients.client import MetadataClient
from api.clients.reconnecting_client import leader_at
from api.clients.service_url import is_kafka
from api.requests.wire_requests import CommandClient
from api.socket.appends import rows_request
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch


class _KafkaTarget:
    """Appends through the Kafka listener of a running service."""

    def __init__(self, client: CommandClient) -> None:
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
async def server_target(url: str) -> AsyncIterator[AppendTarget]:
    """Yield a target to a running service: `socket://HOST:PORT`, or `kafka://HOST:PORT`.

    Raises:
        RequestError: INVALID_REQUEST, the URL is malformed.
        UnavailableError: the address does not answer.
    """
    async with leader_at(url) as client:
        if isinstance(client, MetadataClient) or is_kafka(url):
            yield _KafkaTarget(client)
        else:
            yield client
