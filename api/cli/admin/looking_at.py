"""Reading a cluster: out of a log directory, at any point and without a lock, or of a service."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from api.cli.admin.options import LogOption, ReadLogOption, ServerOption
from api.cli.admin.shared import verb_with
from api.cli.arguments import At, Json

if TYPE_CHECKING:
    from controller.descriptions.view import View

_ABSENT = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "BROKER_ID_NOT_REGISTERED"})
"""Codes of refusals for what does not exist at the point."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """Which log is read, at which point, or which service; and how the answer is printed."""

    log: Path | None
    at: str
    json: bool
    server: str | None = None

    def answer(self, question: str, request: Any) -> tuple[Any, dict[str, Any]]:
        """Return the answer to a question of `api.commands`, wherever it is known, and as `ask`.

        Raises:
            RequestError: it names what does not exist; no log, or no such point.
            UnavailableError: no service answers.
            CorruptLogError: the log is damaged.
        """
        if self.server is not None:
            return self.ask(question, request)
        from api.commands import find_command
        from controller.descriptions.queries import context_of

        view, about = self.view()
        return find_command(question).decide(context_of(view), request).response, about

    def ask(
        self, question: str, request: Any, *, within_s: float | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Ask the service, and return its answer and what the answer says of where it stands.

        Args:
            within_s: How long the answer may take; None: as long as any.

        Raises:
            UnavailableError: no service answers.
        """
        import asyncio

        return asyncio.run(self._ask(question, request, within_s))

    async def _ask(
        self, question: str, request: Any, within_s: float | None
    ) -> tuple[Any, dict[str, Any]]:
        import asyncio

        from api.client import MetadataClient
        from records.errors import UnavailableError

        assert self.server is not None, "a service is asked"
        try:
            async with (
                asyncio.timeout(within_s),
                await MetadataClient.connect(self.server) as client,
            ):
                answer = await client.run(question, request)
        except TimeoutError as error:
            raise UnavailableError(f"{self.server}: no answer in time; try again") from error
        end = answer.end_offset
        return answer.response, {"as_of": end - 1, "history_start": None, "log_end": end}

    def view(self) -> "tuple[View, dict[str, Any]]":
        """Return the cluster at the point, and what the answer says of where it stands.

        Raises:
            RequestError: no log, or no such point.
            CorruptLogError: the log is damaged.
        """
        from api.cli.reading import image_at, offset_of, open_reader, provenance
        from controller.decisions.context import Settings
        from controller.descriptions.view import View

        assert self.log is not None, "a log is read"
        with open_reader(self.log) as reader:
            offset = offset_of(reader, self.at)
            image = image_at(reader, offset)
            settings = Settings(cluster_id=reader.cluster_id)
            return View.of(image, settings), provenance(reader, image, offset)

    def about(self) -> dict[str, Any]:
        """Return what an answer about the point says of the log."""
        from api.cli.reading import bounds, offset_of, open_reader

        assert self.log is not None, "a log is read"
        with open_reader(self.log) as reader:
            return {"as_of": offset_of(reader, self.at), **bounds(reader)}

    @contextmanager
    def explaining(self, object_: str) -> Iterator[None]:
        """Add to a refusal why an object is absent: it never existed, it is gone, or unknown."""
        from records.errors import RequestError

        try:
            yield
        except RequestError as error:
            message = self.explained(error.code, str(error), object_)
            raise RequestError(error.code, message) from error

    def explained(self, code: str, message: str, object_: str) -> str:
        """Return the message of a refusal with why an object is absent; a service cannot tell."""
        if self.log is None or code not in _ABSENT:
            return message
        from api.cli.reading import offset_of, open_reader
        from records.errors import RequestError
        from replay.time_travel.history import absence
        from replay.time_travel.objects import parse_object

        try:
            name = parse_object(object_)
            with open_reader(self.log) as reader:
                reason = absence(reader, name, offset_of(reader, self.at))
        except RequestError:  # nothing can have that name
            return message
        return f"{message}: {reason}"


def _look(*, log: ReadLogOption, at: At = "end", json: Json = False) -> Look:
    return Look(log=log, at=at, json=json)


def _look_anywhere(
    *, log: LogOption = None, server: ServerOption = None, at: At = "end", json: Json = False
) -> Look:
    if (log is None) == (server is None):
        raise typer.BadParameter("name one of --log LOG and --server URL")
    if server is not None and at != "end":
        raise typer.BadParameter("a service tells its latest state; for --at name --log LOG")
    return Look(log=log, server=server, at=at, json=json)


reading = verb_with(_look)
"""Registers a verb that reads a log; its first parameter is a `Look`."""

reading_anywhere = verb_with(_look_anywhere)
"""Registers a verb that reads a log or asks a service; its first parameter is a `Look`."""
