"""Requests of past releases keep their meaning, over connections and in the log."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from api.requests.commands import find_command
from api.socket.appends import decode_append, decode_appended
from api.socket.frames import FrameReader, Kind
from api.socket.handshake import decode_welcome
from api.socket.limits import FRAME_SIZE_BYTES_MAX
from api.socket.refusals import decode_refused
from api.socket.server import serve_socket
from benchmarks.log_sessions import sessions_on
from controller.asked.asked import version_of
from controller.wire import from_log, from_wire, plain_of, to_wire
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from tests.golden.requests import BATCH, DIRECTORY

RELEASES = sorted(path.name for path in DIRECTORY.iterdir())
LINES = [
    pytest.param(json.loads(line), what, id=f"{release}-{json.loads(line)['command']}-{what}")
    for release in RELEASES
    for line in (DIRECTORY / release / "commands.jsonl").read_text().splitlines()
    for what in ("request", "response")
]
of_each_release = pytest.mark.parametrize("release", RELEASES)


@pytest.mark.parametrize(("line", "what"), LINES)
def test_what_connections_sent_is_understood(line: dict[str, Any], what: str) -> None:
    raw = bytes.fromhex(line[what])
    value = from_wire(raw, getattr(find_command(line["command"]), what))
    # A field that came later has its default.
    _assert_holds(msgspec.msgpack.decode(to_wire(value)), msgspec.msgpack.decode(raw))


def _assert_holds(now: Any, then: Any) -> None:
    if isinstance(then, dict):
        for key, value in then.items():
            _assert_holds(now[key], value)
    elif isinstance(then, list):
        assert len(now) == len(then)
        for one, other in zip(now, then, strict=True):
            _assert_holds(one, other)
    else:
        assert now == then


@pytest.mark.parametrize(("line", "what"), LINES)
def test_what_the_log_holds_is_understood(line: dict[str, Any], what: str) -> None:
    raw = line.get(f"{what}_in_log")
    if raw is None or line["version"] != version_of(line["command"]):
        return  # of before requests were kept, or of a version that is refused as such
    as_type = getattr(find_command(line["command"]), what)
    value = from_log(bytes.fromhex(raw), as_type)
    assert value == from_wire(bytes.fromhex(line[what]), as_type)
    assert msgspec.msgpack.encode(plain_of(value, what)).hex() == raw


@of_each_release
async def test_client_of_the_release_is_served(release: str, tmp_path: Path) -> None:
    sent = json.loads((DIRECTORY / release / "frames.json").read_text())
    create_log(tmp_path / "log", "test")
    log = await MetadataLog.open(tmp_path / "log")
    server = await serve_socket(sessions_on(log), cluster_id="test", host="127.0.0.1", port=0)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"".join(bytes.fromhex(sent[name]) for name in ("hello", "append", "expecting"))
        )
        frames = FrameReader(FRAME_SIZE_BYTES_MAX)
        answers: list[bytes] = []
        while len(answers) < 3:
            frames.feed(await reader.read(65_536))
            while (content := frames.next_frame()) is not None:
                answers.append(content)
        writer.close()
    finally:
        await server.close()
        await log.close()
    assert decode_welcome(answers[0]).version == 1
    appended = decode_appended(next(a for a in answers if a[0] == Kind.APPENDED))
    assert (appended.result.base_offset, appended.result.end_offset) == (1, 3)
    refused = decode_refused(next(a for a in answers if a[0] == Kind.REFUSED))
    assert "expected 1099511627776" in str(refused.error)
    with LogReader.open(tmp_path / "log") as log_reader:
        (batch,) = list(log_reader.batches(1))
    assert tuple(row.payload for row in batch.rows) == BATCH.records
    assert batch.rows[0].origin == BATCH.origin


@of_each_release
def test_frames_of_the_release_are_read(release: str) -> None:
    sent = json.loads((DIRECTORY / release / "frames.json").read_text())
    append = decode_append(bytes.fromhex(sent["append"])[4:])
    assert replace(append.batch, payloads=()) == BATCH
    expecting = decode_append(bytes.fromhex(sent["expecting"])[4:])
    assert expecting.expected_end_offset == 1 << 40
    assert expecting.batch.timestamp == 1_767_225_600_000
