"""Sends admin requests and prints their results."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.cli.source.opened_log import image_at
from api.cli.source.source import Source
from api.cli.terminal import event_loop
from api.cli.terminal.errors import REFUSED, print_error
from api.cli.terminal.output import fields_of, print_json, print_line
from records.errors import MetadataLogError, Outcome, RequestError

if TYPE_CHECKING:
    import msgspec

    from api.admin.local import LocalAdmin
    from api.documents.logs import Known
    from controller.decisions.outcome import Refusal
    from controller.results.changed_versions import ObjectVersion
    from metadata_log.reader.log_reader import LogReader
    from replay.about import About
    from replay.image.metadata import MetadataImage


@dataclass(frozen=True, kw_only=True)
class Item:
    """Result of one item of a request, as a struct for JSON and as lines of text.

    `lines` are printed if the item succeeded, `lines_if_refused` before the error if it failed.
    """

    answer: "msgspec.Struct"
    lines: tuple[str, ...] = ()
    lines_if_refused: tuple[str, ...] = ()
    refusal: "Refusal | None" = None


@dataclass(frozen=True, kw_only=True)
class One:
    """An item of a command that sends a separate request for each of its items.

    Attributes:
        request: The item's request.
        what: The item's name, for text output.
        line: Formats the response to the request as a line of text.
    """

    request: Any
    answer: "msgspec.Struct"
    what: str
    line: Callable[[Any], str]


@dataclass(frozen=True, kw_only=True)
class AdminResult:
    """A command's response, and the state of the log that the response belongs to.

    Attributes:
        end_offset: End of the log that the response takes into account, exclusive.
        wrote: True if the command changed anything.
        about: Further information about the log; None from a service, which must be asked
            separately.
        versions: Versions of the changed objects; None if not known.
    """

    response: Any
    end_offset: int
    wrote: bool = True
    about: "About | None" = None
    versions: "tuple[ObjectVersion, ...] | None" = ()

    def after(self, before: "AdminResult") -> "AdminResult":
        """Return this result merged with that of an earlier request.

        If both contain a version of the same object, the later version is kept.
        """
        versions = None
        if before.versions is not None and self.versions is not None:
            latest = {each.object: each for each in (*before.versions, *self.versions)}
            versions = tuple(latest.values())
        return replace(self, wrote=self.wrote or before.wrote, versions=versions)


class AdminClient:
    """Runs requests over a log directory or a service, and prints their results.

    With a service, `principal` is an identity to act as, which requires a right; None means the
    connection's own principal.

    Attributes:
        server: URL of the service; None: decide in this process.
        log: The log directory to decide over; None with a service.
        json: True to print one JSON document, False to print text.
        request_id: Id of the request, for retries; None: no id.
        static_configs: Static configs for decisions over a log; a service has its own.
    """

    static_configs: Mapping[str, str] = {}

    def __init__(
        self,
        *,
        log: Path | None,
        server: str | None,
        principal: str | None,
        reason: str | None,
        request_id: str | None,
        trace_parent: str | None,
        json: bool,
    ) -> None:
        self.log, self.server, self.json = log, server, json
        self._principal, self._reason = principal, reason
        self._trace_parent = trace_parent
        # An answer can get lost on the way from a service; a retry then needs an id.
        if request_id is None and server is not None:
            request_id = _new_request_id()
        self.request_id = request_id
        # Kept, so that a second request does not load the log again.
        self._local: LocalAdmin | None = None

    def run(self, command: str, request: Any, *, part: str = "") -> AdminResult:
        """Send a request and wait until it is committed.

        Args:
            part: Suffix of the request id, when one command sends several requests.

        Raises:
            RequestError: the whole request is refused.
            UnavailableError: another process writes the log, or no service answers.
            FencedError: another process took over the log.
        """
        request_id = None if self.request_id is None else self.request_id + part
        try:
            return event_loop.run(self._run(command, request, request_id))
        except MetadataLogError as error:
            if error.outcome in (Outcome.NOTHING, Outcome.DONE):
                raise
            message = f"{error}; {self._again()}"
            raise error.with_outcome(error.outcome, message, done_to=error.done_to) from error
        except KeyboardInterrupt as interrupt:
            if self.server is None:
                raise
            message = f"stopped before an answer came; the outcome is unknown; {self._again()}"
            raise KeyboardInterrupt(message) from interrupt

    def question(self, command: str, request: Any) -> Any:
        """Send a read-only request, without the request id, and return the response.

        Raises:
            UnavailableError: no service answers.
        """
        return event_loop.run(self._run(command, request, None)).response

    async def _run(self, command: str, request: Any, request_id: str | None) -> AdminResult:
        from replay.about import About

        if self.server is not None:
            return await self._run_there(self.server, command, request, request_id)
        admin = self._local = self._local or self._in_process()
        answer = await admin.run(
            command,
            request,
            reason=self._reason,
            request_id=request_id,
            trace_parent=self._trace_parent,
        )
        return AdminResult(
            response=answer.response,
            end_offset=answer.end_offset,
            wrote=answer.wrote,
            versions=answer.versions,
            about=About(
                as_of=answer.end_offset - 1,
                history_start=admin.history_start,
                log_end=answer.end_offset,
                not_understood=admin.not_understood,
            ),
        )

    async def _run_there(
        self, server: str, command: str, request: Any, request_id: str | None
    ) -> AdminResult:
        from api.clients.reconnecting_client import leader_at

        async with leader_at(server) as client:
            answer = await client.run(
                command,
                request,
                reason=self._reason,
                request_id=request_id,
                trace_parent=self._trace_parent,
                principal=self._principal,
            )
        return AdminResult(
            response=answer.response,
            end_offset=answer.end_offset,
            wrote=answer.wrote,
            versions=answer.versions,
        )

    def _again(self) -> str:
        """Return the end of an error message: how to retry without applying the change twice."""
        if self.request_id is None:
            return "look at the log before asking again; with a --request-id it is done once"
        return f"ask again with --request-id {self.request_id}: it is done once"

    def each(self, command: str, wanted: Sequence[One]) -> int:
        """Send one request per item; if an item is refused, still send the rest.

        Raises:
            MetadataLogError: no further request can be sent; earlier results are printed.
        """
        from controller.decisions.outcome import Refusal

        items: list[Item] = []
        result: AdminResult | None = None
        for number, one in enumerate(wanted):
            before = result
            try:
                result = self.run(command, one.request, part=f"/{number}" if number else "")
                result = result if before is None else result.after(before)
            except MetadataLogError as error:
                if not isinstance(error, RequestError) or error.outcome is not Outcome.NOTHING:
                    if items:
                        self.report(result, items)
                    raise
                items.append(Item(answer=one.answer, refusal=Refusal.of(error)))
            else:
                line = f"{one.what}: {one.line(result.response)}"
                items.append(Item(answer=one.answer, lines=(line,)))
        return self.report(result, items)

    def _known(self, result: AdminResult | None) -> "Known":
        """Return the position of a result in its log.

        Fields that a service does not report are None.
        """
        from api.documents.logs import Known

        if result is None:
            return Known(as_of=None, log_end=None)
        found = result.about or self._about_service()
        if found is None:
            return Known.of_gone_service(result.end_offset - 1)
        return Known(
            as_of=result.end_offset - 1,
            log_end=result.end_offset,
            history_start=found.history_start,
            not_understood=found.not_understood,
            not_counted=found.not_counted,
        )

    def _about_service(self) -> "About | None":
        try:
            return Source(server=self.server).end()
        except MetadataLogError:
            return None  # the change was answered; this is not worth an error

    def _in_process(self) -> "LocalAdmin":
        from api.admin.local import LocalAdmin

        assert self.log is not None, "a log or a server is named"
        assert self._principal is not None, "over a log it has a default"
        from controller.decisions.context.context import Settings

        settings = Settings(static_configs=self.static_configs) if self.static_configs else None
        return LocalAdmin(self.log, principal=self._principal, load=_load, settings=settings)

    def report(
        self,
        result: AdminResult | None,
        items: list[Item],
        *,
        validate_only: bool = False,
        more: "msgspec.Struct | None" = None,
    ) -> int:
        """Print the result of each item, and return the exit code.

        Args:
            result: The command's result; None if nothing was decided, since every item was
                refused.
            more: Further fields of the JSON document, which apply to all items.
        """
        done = [item for item in items if item.refusal is None]
        refused = [item for item in items if item.refusal is not None]
        end = None if result is None else result.end_offset
        is_written = result is not None and result.wrote and done and not validate_only
        committed = end - 1 if end is not None and is_written else None
        if self.json:
            from api.documents.changes import Change, Results

            change = Change(
                committed_at=committed,
                validated_only=validate_only,
                versions=() if result is None else result.versions,
            )
            results = Results(results=tuple(map(_fields, items)))
            print_json(self._known(result), change, *filter(None, [more]), results)
        else:
            for line in (line for item in done for line in item.lines):
                print_line(line)
            if validate_only and done:
                print_line("only validated: nothing was written")
            elif committed is not None:
                print_line(f"committed at offset {committed}")
            elif done:
                print_line("nothing had to be written")
            for line in (line for item in refused for line in item.lines_if_refused):
                print_line(line)
        sys.stdout.flush()
        for item in refused:
            assert item.refusal is not None
            print_error(item.refusal.code, item.refusal.message)
        return REFUSED if refused else 0


def _new_request_id() -> str:
    import secrets

    return secrets.token_hex(8)


def _fields(item: Item) -> dict[str, Any]:
    from api.documents.changes import ItemError
    from api.documents.errors import Error

    refusal = item.refusal
    error = None if refusal is None else Error.of_refusal(refusal)
    return fields_of(item.answer, ItemError(error=error))


def _load(reader: "LogReader") -> "MetadataImage":
    return image_at(reader, reader.end_offset - 1)
