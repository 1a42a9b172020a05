"""Raw appends to a service: the caller's right, the origin to log, and repeated requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import Caller
from controller.controller import Controller
from controller.decisions.versions import ExpectedVersion
from controller.follower import Follower
from controller.raw_appends.raw_append import Appended, AppendRecords, AppendRows
from controller.results.answer import Answer
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.request_window import Committed, is_repeatable
from records.envelope import Origin
from records.errors import RequestError

T = TypeVar("T")


class Appends:
    """Appends records to a service's log within the callers' rights."""

    def __init__(
        self,
        controller: Callable[[], Controller | Follower],
        access: Callable[[Caller], Access],
        committed_before: Callable[[Origin], Awaitable[Committed | None]],
        decided: Callable[
            [asyncio.Future[Answer[Appended]]], asyncio.Future[Answer[Appended]]
        ] = lambda future: future,
    ) -> None:
        """Append through a controller.

        Args:
            controller: Returns the current controller.
            access: Returns a caller's current rights.
            committed_before: Returns the position at which a repeated request was committed, None
                for a new request.
            decided: Returns the answer to a decision, once the answer may be sent.
        """
        self._controller = controller
        self._access = access
        self._committed_before = committed_before
        self._decided = decided

    async def append(
        self,
        batch: NewBatch,
        *,
        caller: Caller,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Append records unchanged, if the current state allows it.

        The service sets the records' versions and the append time. If the batch's origin has a
        principal, the caller acts as that identity, which requires a right. A batch with a
        request id is committed once: if it is repeated, the result is that of the first append.
        Without a `request_hash` in its origin, the records themselves are compared.

        Args:
            expected_versions: Objects, and the versions they must have.

        Raises:
            RequestError: as `append_records` of a raw append, and as `Service.submit`; or
                INVALID_REQUEST, the batch has a time; or CLUSTER_AUTHORIZATION_FAILED.
        """
        batch = batch.identified()
        origin = self._origin(batch, caller)
        committed = await self._committed_before(origin)
        if committed is not None:
            return committed.result
        answer = await shielded(self._submit(batch, origin, expected_end_offset, expected_versions))
        return self.result(answer)

    def begin(
        self,
        batch: NewBatch,
        *,
        caller: Caller,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> asyncio.Future[Answer[Appended]]:
        """Begin an append without a task; only for a batch without a request id.

        `result` converts the future's result. Cancelling the future leaves the outcome
        unknown.

        Raises (here, and from the future):
            RequestError, UnavailableError, FencedError: as `append`.
        """
        origin = self._origin(batch.identified(), caller)
        assert not is_repeatable(origin), "a repeated request is searched in the log first"
        return self._submit(batch, origin, expected_end_offset, expected_versions)

    def result(self, answer: Answer[Appended]) -> AppendResult:
        """Return the answer to an append in the form that `MetadataLog.append` returns."""
        return AppendResult(
            base_offset=answer.response.base_offset,
            end_offset=answer.response.end_offset,
            leader_epoch=self._controller().leader_epoch,
            timestamp=answer.response.timestamp,
        )

    def _origin(self, batch: NewBatch, caller: Caller) -> Origin:
        """Return the origin to log with a batch that the caller may append.

        Raises:
            RequestError: INVALID_REQUEST or CLUSTER_AUTHORIZATION_FAILED, as `append`.
        """
        access = self._access(caller)
        claimed = None if batch.origin is None else batch.origin.principal
        acting = access.acting_as(claimed)
        if acting is not caller:
            access = self._access(acting)
        access.require(Operation.CLUSTER_ACTION, CLUSTER)
        if batch.timestamp is not None:
            raise RequestError(
                "INVALID_REQUEST", "a service sets the time of batches; leave the time out"
            )
        return acting.completed(batch.origin, "append")

    def _submit(
        self,
        batch: NewBatch,
        origin: Origin,
        expected_end_offset: int | None,
        expected_versions: tuple[ExpectedVersion, ...],
    ) -> asyncio.Future[Answer[Appended]]:
        request = AppendRecords(
            records=batch.records,
            payloads=batch.payloads,
            expected_end_offset=expected_end_offset,
            expected_versions=expected_versions,
        )
        return self._decided(self._controller().append(request, origin=origin))

    async def append_rows(
        self, request: AppendRows, caller: Caller, origin: Origin
    ) -> Answer[Appended]:
        """Append records received over a connection.

        A repeated request gets the offsets at which its records were appended the first time.
        """
        if request.request_hash is not None:
            origin = replace(origin, request_hash=request.request_hash)
        rows = request.plain_rows()
        batch = NewBatch(records=rows.records, payloads=rows.payloads, origin=origin)
        result = await self.append(
            batch,
            caller=caller,
            expected_end_offset=request.expected_end_offset,
            expected_versions=request.expected_versions,
        )
        response = Appended(
            base_offset=result.base_offset,
            end_offset=result.end_offset,
            timestamp=result.timestamp,
        )
        # Told by the position of the records.
        return Answer(response, result.end_offset, versions=None)


async def shielded(future: asyncio.Future[T]) -> T:
    """Await a future that continues even if the caller is cancelled; its error is then dropped.

    `asyncio.shield` alone leaves such an error to asyncio, which logs it with a traceback.
    """
    future.add_done_callback(_retrieve)
    return await asyncio.shield(future)


def _retrieve(future: asyncio.Future[T]) -> None:
    if not future.cancelled():
        future.exception()
