"""Appends and prints records as lines: append, tail."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from api.cli.admin.options import LogOption, TraceParent
from api.cli.options.identity import checked_trace_parent, process_user
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import Json, LogOrServer, Server, ShowAsked, ShowSecrets
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source, print_end, server_url
from api.cli.terminal import event_loop
from api.cli.terminal.errors import DONE, reads_only
from api.cli.terminal.output import count_text, note, print_json, print_json_line, print_line
from api.cli.terminal.progress_bar import progress
from metadata_log.limits import BATCH_RECORDS_MAX
from records.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from api.cli.log.append import Appended
    from api.documents.logs import Known, Place
    from api.questions.rows import Row
    from controller.decisions.versions import ExpectedVersion

_AS_DUMPED = "dump"

_INTERRUPTED = (
    "stopped; of what was under way the outcome is unknown; run the same command again: what is "
    "committed is not appended twice"
)

_File = Annotated[
    typer.FileBinaryRead,
    Argument(metavar="FILE", help="File of JSON lines; `-` is standard input.", show_default=False),
]
_Server = Annotated[
    str | None,
    Option(
        "--server",
        metavar="URL",
        help="A running service, as kafka://HOST:PORT or socket://HOST:PORT.",
        parser=server_url,
    ),
]
_Batch = Annotated[
    str,
    Option(
        metavar="N|dump",
        help="Records per batch; `dump` keeps the batches of the log that was dumped.",
    ),
]
_Principal = Annotated[
    str | None, Option(help="Principal of the records; default with --log: User:$USER.")
]
_Skip = Annotated[
    list[str] | None, Option("--skip", help="Leave out this record type; repeatable.")
]
_ExpectedEndOffset = Annotated[
    int | None,
    Option(min=0, help="Append only if the log ends at this offset (exclusive)."),
]
_Expect = Annotated[
    list[str] | None,
    Option(
        "--expect",
        metavar="OBJECT=VERSION",
        help="Append only if this topic, partition, namespace or config has this version, as "
        "`image --json` shows it, or is `absent`; repeatable.",
    ),
]
_RequestId = Annotated[
    str | None,
    Option(
        "--request-id",
        metavar="ID",
        help="Id of this append: repeated with the same id, the command appends only what is "
        "missing. Default: made from the file's content.",
    ),
]


@command()
def append(
    file: _File,
    log: LogOption = None,
    server: _Server = None,
    batch: _Batch = "1000",
    principal: _Principal = None,
    reason: Annotated[
        str | None, Option(help="Reason for the change, stored with the records.")
    ] = None,
    skip: _Skip = None,
    expected_end_offset: _ExpectedEndOffset = None,
    expect: _Expect = None,
    request_id: _RequestId = None,
    trace_parent: TraceParent = None,
    json: Json = False,
) -> None:
    """Append records given as JSON lines, as `dump --json` prints them.

    Each batch is written as a whole or not at all, and only if a service would accept it: it must
    be consistent with the state before it and keep every invariant. The log assigns offsets, epoch,
    time and layout versions.

    If the command was stopped, repeat it with the same file and options: batches that are in the
    log already are not appended again.
    """
    from api.cli.log.append import append_batches
    from api.cli.log.file_request import file_request, rewindable
    from api.cli.source.rows import check_types
    from api.requests.record_lines import line_batches
    from api.security.callers import CLIENT
    from controller.asked.repeated_requests import check_request_id
    from records.envelope import Origin

    if (log is None) == (server is None):
        raise bad_parameter("name one of --log LOG and --server URL")
    check_types(skip or [])
    check_request_id(request_id)
    size = None if batch == _AS_DUMPED else _batch_size(batch)
    expected_versions = tuple(map(_expected_version, expect or []))
    if log is not None:
        principal = principal or process_user()
    origin = Origin(
        principal=principal,
        reason=reason,
        command="append",
        trace_parent=checked_trace_parent(trace_parent),
        client=CLIENT,
    )
    if log is not None:
        from api.cli.log.local_append import local_target

        open_target = partial(local_target, log, principal or "")
    else:
        from api.cli.log.remote_append import server_target

        open_target = partial(server_target, server or "")
    with rewindable(file) as lines, progress("appending", 0, _size(file)) as advance:
        request = file_request(lines, request_id, batch, sorted(skip or []), size=size)
        batches = line_batches(lines, size=size, skip=frozenset(skip or []), progress=advance)
        try:
            appended = event_loop.run_long(
                append_batches(
                    open_target,
                    batches,
                    request,
                    origin,
                    expected_end_offset=expected_end_offset,
                    expected_versions=expected_versions,
                )
            )
        except KeyboardInterrupt as interrupt:
            raise KeyboardInterrupt(_INTERRUPTED) from interrupt
    _print_appended(Source(log=log, server=server), appended, as_json=json)


def _expected_version(text: str) -> "ExpectedVersion":
    from controller.decisions.versions import ExpectedVersion, parse_version, versioned_object

    name, _, version = text.rpartition("=")
    try:
        expected = ExpectedVersion(name, parse_version(version))
        versioned_object(name)
    except RequestError as error:
        raise bad_parameter(str(error), param_hint="--expect") from None
    except ValueError:
        raise bad_parameter(
            f"{text!r} is not OBJECT=VERSION, such as topic:orders=17", param_hint="--expect"
        ) from None
    return expected


def _batch_size(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= BATCH_RECORDS_MAX:
        raise bad_parameter(
            f"{text!r} is neither `dump` nor a number from 1 to {BATCH_RECORDS_MAX}",
            param_hint="--batch",
        )
    return int(text)


def _size(file: IO[bytes]) -> int:
    """Return the number of bytes to read, 0 if not known."""
    name = getattr(file, "name", None)  # some streams have none, some have a number
    if not isinstance(name, str) or not Path(name).is_file():
        return 0
    return Path(name).stat().st_size


def _print_appended(source: Source, appended: "Appended", *, as_json: bool) -> None:
    if as_json:
        print_json(appended, _about(source, appended))
        return
    if appended.already_batches:
        print_line(
            f"{count_text(appended.already_records, 'record')} in "
            f"{count_text(appended.already_batches, 'batch')} were appended before, up to offset "
            f"{appended.already_to}"
        )
    if not appended.records:
        print_line("nothing to append")
    else:
        print_line(
            f"appended {count_text(appended.records, 'record')} in "
            f"{count_text(appended.batches, 'batch')}, offsets {appended.first_offset} to "
            f"{appended.last_offset}"
        )


def _about(source: Source, appended: "Appended") -> "Place | Known":
    """Return the log's end; if the service is gone after an append, the last offset known."""
    from api.documents.logs import Known

    try:
        return place_of(source.end())
    except UnavailableError:
        if appended.done_to is None:
            raise
        return Known.of_gone_service(appended.done_to)


@command()
@reads_only
def tail(
    log: LogOrServer,
    from_: Annotated[
        str,
        Option(
            "--from", metavar="POINT", help="First point, inclusive; default: only new records."
        ),
    ] = "",
    types: Annotated[
        list[str] | None, Option("--type", help="Only this record type; repeatable.")
    ] = None,
    count: Annotated[int | None, Option(min=1, help="Stop after this many records.")] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    asked: ShowAsked = False,
    verbose: Annotated[
        bool,
        Option(
            "--verbose",
            help="With --count: also print the position in the log at the end, such as `as of "
            "offset 4107`.",
        ),
    ] = False,
    server: Server = None,
) -> int:
    """Print records as they commit, one a line, until stopped (Ctrl-C)."""
    from api.cli.log.followed import followed
    from api.cli.source.rows import check_types, row_text
    from api.questions.rows import TAIL, FollowRows

    check_types(types or [])
    request = FollowRows(
        first=from_ and log.point(from_),
        types=tuple(types or ()),
        asked=asked,
        show_secrets=show_secrets,
    )
    try:
        rows = followed(log, request)
        event_loop.run_long(_print_rows(rows, count, None if json else row_text))
    except KeyboardInterrupt:
        note("")  # the terminal shows ^C in the middle of a line
    else:
        if verbose:
            print_end(log.ask(TAIL, FollowRows()).about(), json=json)
    return DONE


async def _print_rows(
    groups: "AsyncGenerator[list[Row], None]",
    count: int | None,
    text: "Callable[[Row], str] | None",
) -> None:
    """Print each row: with `text`, or as JSON; stop after `count` rows."""
    printed = 0
    async with aclosing(groups):
        async for rows in groups:
            for row in rows:
                if text is None:
                    print_json_line(row)
                else:
                    print_line(text(row))
                printed += 1
                if printed == count:
                    return
            # The reader waits for it.
            sys.stdout.flush()
