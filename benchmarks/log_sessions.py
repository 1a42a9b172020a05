"""Sessions on a log without a controller: they append whatever comes, unchecked.

For measurements and tests of the socket alone. A service checks what is appended.
"""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from api.requests.wire_requests import WireAnswer, WireRequest
from api.socket.requests import SessionOf
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch
from records.errors import RequestError


class Appendable(Protocol):
    """Interface of a log that commits batches."""

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> Awaitable[AppendResult]: ...


class LogSession:
    """A session on a log without a controller: it can only append."""

    def __init__(self, log: Appendable) -> None:
        self._log = log

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Commit a batch, like `MetadataLog.append`."""
        return await self.begin_append(
            batch, expected_end_offset=expected_end_offset, expected_versions=expected_versions
        )

    def begin_append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> asyncio.Future[AppendResult]:
        """Queue a batch, and return the future of its commit, like `MetadataLog.append`."""
        if expected_versions:
            raise RequestError("INVALID_REQUEST", "a log without a service knows no objects")
        return asyncio.ensure_future(
            self._log.append(batch, expected_end_offset=expected_end_offset)
        )

    def append_result(self, answer: AppendResult) -> AppendResult:
        """Return `answer` unchanged: it already has the required form."""
        return answer

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Refuse any command, because there is no controller."""
        raise RequestError("INVALID_REQUEST", "a log without a service runs no commands")


def sessions_on(log: Appendable) -> SessionOf:
    """Return the sessions of all callers."""
    return lambda _: LogSession(log)
