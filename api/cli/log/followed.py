"""Yields records as they commit, from a log directory or a service."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from msgspec.structs import replace

from api.cli.source.opened_log import absolute_in
from api.cli.source.source import Source, log_path
from api.clients.service_url import connect
from api.questions.past import Past
from api.questions.rows import FollowRows, Row, first_followed, row_json
from metadata_log.reader.follow import follow
from metadata_log.reader.log_reader import LogReader
from records.errors import UnavailableError

_WAIT_MS = 10_000
"""How long a service waits for records before it answers that there are none."""


def followed(source: Source, request: FollowRows) -> AsyncGenerator[list[Row], None]:
    """Yield records in groups as they commit, without end.

    Raises:
        RequestError: there is no log, or no such point.
        UnavailableError: no service answers.
    """
    if source.server is not None:
        return _of_service(source.server, request)
    return _of_log(log_path(str(source.place("tail"))), request)


async def _of_service(server: str, request: FollowRows) -> AsyncGenerator[list[Row], None]:
    try:
        async with await connect(server) as client:
            while True:
                found = (await client.page("tail", request)).response
                yield list(found.rows)
                request = replace(request, first=str(found.next_offset), wait_ms=_WAIT_MS)
    except UnavailableError as error:
        if not request.first:
            raise
        raise error.with_outcome(
            error.outcome, f"{error}; {_resume_hint(server, request)}"
        ) from error


def _resume_hint(server: str, request: FollowRows) -> str:
    types = "".join([f" --type {name}" for name in request.types])
    command = f"metalog tail --server {server} --from {request.first}{types}"
    return f"go on with `{command}`"


async def _of_log(log: Path, request: FollowRows) -> AsyncGenerator[list[Row], None]:
    with LogReader.open(log) as reader:
        first = first_followed(Past(reader, absolute=absolute_in), request.first)
    async with aclosing(follow(log, first)) as batches:
        async for batch in batches:
            yield [
                row_json(row, show_secrets=request.show_secrets, show_asked=request.asked)
                for row in batch.rows
                if row.offset >= first
                and (not request.types or type(row.payload).__name__ in request.types)
            ]
