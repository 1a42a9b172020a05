"""A service as used by one caller."""

import asyncio

from api.large_work import beside
from api.questions.pages import Cursor
from api.requests.commands import find_command
from api.requests.transactions import Transact
from api.requests.wire_requests import CommandClient, WireAnswer, WireRequest
from api.service.service import Service
from controller.asked.repeated_requests import identified
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from controller.raw_appends.raw_append import Appended
from controller.results.answer import Answer
from controller.wire import from_wire, to_wire
from metadata_log.format.batch import AppendResult, NewBatch


class Session(CommandClient):
    """A client of a service in this process, for one caller; it has the methods of all clients.

    For example: `await Session(service, caller).run(CreateTopics(topics=(topic,)))`.
    """

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        self._appends = service.appends
        self._caller = caller

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Run a command or answer a question received over a connection.

        Raises:
            RequestError: INVALID_REQUEST, there is no such command, or the request cannot be read;
                or CLUSTER_AUTHORIZATION_FAILED, the caller may not act as that identity; or as
                `run`.
            UnavailableError, FencedError: as `run`.
        """
        if request.point is not None:
            return await self._answered(request, request.point)
        command = find_command(request.command)
        wanted = from_wire(request.request, command.request)
        caller = self._service.access(self._caller).acting_as(request.principal)
        origin = caller.origin(
            command.name, reason=request.reason, trace_parent=request.trace_parent
        )
        # The steps of a transaction may have been sent under other names.
        payload = to_wire(wanted) if isinstance(wanted, Transact) else request.request
        origin = await beside(
            len(payload), lambda: identified(origin, request.request_id, command.name, payload)
        )
        answer = await self._service.run(command.name, wanted, caller=caller, origin=origin)
        return WireAnswer.of(answer)

    async def _answered(self, request: WireRequest, point: str) -> WireAnswer:
        caller = self._service.access(self._caller).acting_as(request.principal)
        cursor = from_wire(request.cursor, Cursor) if request.cursor else None
        page = await self._service.answers.page(
            request.command,
            request.request,
            caller=caller,
            at=point,
            cursor=cursor,
            min_offset=request.min_offset,
            consistent=request.consistent,
        )
        return WireAnswer(
            response=page.payload,
            wrote=False,
            about=b"" if page.about is None else to_wire(page.about),
            cursor=b"" if page.cursor is None else to_wire(page.cursor),
        )

    def begin_append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> asyncio.Future[Answer[Appended]]:
        """Append a batch without a request id; see `Appends.begin`."""
        return self._appends.begin(
            batch,
            caller=self._caller,
            expected_end_offset=expected_end_offset,
            expected_versions=expected_versions,
        )

    def append_result(self, answer: Answer[Appended]) -> AppendResult:
        """Convert the result of `begin_append`'s future; see `Appends.result`."""
        return self._appends.result(answer)

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Append records unchanged; as `Appends.append`."""
        return await self._appends.append(
            batch,
            caller=self._caller,
            expected_end_offset=expected_end_offset,
            expected_versions=expected_versions,
        )
