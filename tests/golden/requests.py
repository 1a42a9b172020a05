"""Writes the golden requests of a release: `python -m tests.golden.requests RELEASE`.

Like the golden logs they are written once, by the code of the release: requests and responses of
all commands, in the form of connections and of the log, and frames of the append socket.
"""

import enum
import json
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from api.questions.table import STEPS
from api.requests.commands import COMMANDS, find_command
from api.socket.appends import Append, encode_append
from api.socket.handshake import encode_hello, hello_of_client
from controller.asked.asked import version_of
from controller.wire import plain_of, to_wire
from metadata_log.format.batch import NewBatch
from records.base import Uuid
from records.control import NoteRecord
from records.envelope import Origin
from records.topics import TopicRecord

DIRECTORY = Path(__file__).parent / "requests"

BATCH = NewBatch(
    records=(
        NoteRecord(at_offset=7, author="zoë", text="why"),
        TopicRecord(name="orders", topic_id=Uuid(bytes(range(16)))),
    ),
    record_versions=(0, 0),
    origin=Origin(principal="User:zoë", request_id="r1", request_hash=bytes(32), client="metalog"),
)
"""What the golden frames append."""


def filled(as_type: Any, depth: int = 0) -> Any:
    """Return a value of a type in which every field differs from its default."""
    if as_type is Uuid:
        return Uuid(bytes(range(1, 17)))
    as_type = getattr(as_type, "__supertype__", as_type)
    origin, arguments = typing.get_origin(as_type), typing.get_args(as_type)
    if origin in (typing.Union, types.UnionType):
        return filled(next(item for item in reversed(arguments) if item is not type(None)), depth)
    if origin is tuple:
        count = 1 if len(arguments) == 2 and arguments[1] is ... else len(arguments)
        return tuple(filled(item, depth + 1) for item in arguments[:count])
    if as_type in (None, type(None)):
        return None
    if issubclass(as_type, msgspec.Struct):
        hints = typing.get_type_hints(as_type)
        names = as_type.__struct_fields__
        return as_type(**{n: filled(hints[n], depth + i + 1) for i, n in enumerate(names)})
    if issubclass(as_type, enum.Enum):
        return list(as_type)[-1]
    simple = {str: f"text {depth}", int: 100 + depth, bool: True, bytes: bytes([depth, 255])}
    simple[float] = 100.5 + depth
    return simple[as_type]


def commands() -> Iterator[dict[str, Any]]:
    """Yield a line for each command."""
    for command in map(find_command, (*COMMANDS, *STEPS)):
        line: dict[str, Any] = {"command": command.name, "version": version_of(command.name)}
        for what, as_type in (("request", command.request), ("response", command.response)):
            value = filled(as_type)
            line[what] = to_wire(value).hex()
            line[f"{what}_in_log"] = msgspec.msgpack.encode(plain_of(value, what)).hex()
        yield line


def frames() -> dict[str, str]:
    """Return the frames of a client: its hello, and appends with and without expectations."""
    dated = msgspec.structs.replace(BATCH, origin=None, timestamp=1_767_225_600_000)
    appends = {
        "append": Append(correlation_id=1, batch=BATCH, expected_end_offset=None),
        "expecting": Append(correlation_id=2, batch=dated, expected_end_offset=1 << 40),
    }
    return {
        "hello": encode_hello(hello_of_client()).hex(),
        **{name: encode_append(append).hex() for name, append in appends.items()},
    }


def main(release: str) -> None:
    """Write the requests of a release."""
    directory = DIRECTORY / release
    directory.mkdir(parents=True)  # fails when it is there
    lines = [json.dumps(line) for line in commands()]
    (directory / "commands.jsonl").write_text("\n".join(lines) + "\n")
    (directory / "frames.json").write_text(json.dumps(frames(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
