"""Parses the changes for `what-if`: JSON on the command line, or lines of a file."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from api.cli.options.parameters import bad_parameter
from api.requests.commands import any_command
from api.requests.json_requests import request_from_json
from api.socket.appends import rows_request
from controller.forks.changes import Added, Edited, Replaced
from controller.wire import to_wire
from records.base import Record
from records.errors import RequestError
from records.json import from_json

Line = dict[str, Any]


def edits_of(texts: Sequence[str]) -> tuple[tuple[Replaced, ...], tuple[Edited, ...]]:
    """Return the decisions to replace, and the records to edit.

    Raises:
        RequestError: INVALID_REQUEST, a text is not an edit; the message quotes it.
    """
    replaced, edited = [], []
    for line in _lines(texts):
        match line:
            case {"offset": int(offset), "command": str(name), "request": request, **rest} if (
                not rest
            ):
                raw = _request(name, request)
                replaced.append(Replaced(offset=offset, command=name, request=raw))
            case {"offset": int(offset), "data": dict(fields), **rest} if not rest:
                edited.append(Edited.of(offset, fields))
            case _:
                raise _malformed(
                    line, "an edit must have offset and data, or offset, command and request"
                )
    return tuple(replaced), tuple(edited)


def added_of(texts: Sequence[str]) -> tuple[Added, ...]:
    """Return the commands and records to add.

    Consecutive records after the same offset are one batch.

    Raises:
        RequestError: INVALID_REQUEST, a text is neither a command nor a record; the message quotes
            it.
    """
    found: list[Added] = []
    for (is_record, after), lines in itertools.groupby(_lines(texts), key=_place):
        if is_record:
            found.append(_records([_record(line) for line in lines], after))
        else:
            found += [_command(line, after) for line in lines]
    return tuple(found)


def _place(line: Line) -> tuple[bool, int | None]:
    after = line.get("after")
    if not (after is None or type(after) is int):
        raise _malformed(line, "`after` must be an offset")
    return "type" in line, after


def _command(line: Line, after: int | None) -> Added:
    if line.keys() - {"after"} != {"command", "request"}:
        raise _malformed(line, "an addition must have command and request, or type and data")
    name = line["command"]
    return Added(after=after, command=name, request=_request(name, line["request"]))


def _record(line: Line) -> Record:
    if line.keys() - {"after"} != {"type", "data"}:
        raise _malformed(line, "an added record must have type and data")
    try:
        return from_json(line["type"], line["data"])
    except ValueError as error:
        raise RequestError("INVALID_RECORD", str(error)) from error


def _records(records: list[Record], after: int | None) -> Added:
    request = rows_request(tuple(records))
    return Added(after=after, command="records append", request=to_wire(request))


def _request(name: str, request: Any) -> bytes:
    try:
        command = any_command(name)
    except (KeyError, TypeError):
        raise RequestError("INVALID_REQUEST", f"there is no command {name!r}") from None
    return to_wire(request_from_json(request, command.request))


def _lines(texts: Iterable[str]) -> Iterator[Line]:
    """Yield the JSON objects in the texts.

    A text that does not begin with `{` is the path of a file of JSON lines.
    """
    for text in texts:
        for line in [text] if text.lstrip().startswith("{") else _file(text):
            try:
                plain = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _malformed(line, f"not JSON: {error}") from error
            if not isinstance(plain, dict):
                raise _malformed(line, "not a JSON object")
            yield plain


def _file(name: str) -> list[str]:
    try:
        return [line for line in Path(name).read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError("INVALID_REQUEST", f"{name} cannot be read: {error}") from error


def _malformed(line: object, why: str) -> Exception:
    return bad_parameter(f"{line}: {why}")
