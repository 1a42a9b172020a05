"""Mirrors, several logs, damaged logs, and logs that are not there."""

import asyncio
import importlib.util
import shutil
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from mcp import Client

from metadata_log.reader.log_reader import LogReader
from tests.api.assistants.conftest import Serving, Told, over_http, over_stdio, told
from tests.api.conftest import Metalog
from tests.api.viewer.test_view import LONGEST_S, state
from tests.forked_commands import METALOG
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, partition, topic


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path / "node")
    node.append(broker(1, fenced=False), topic("t"), partition("t", 0))
    return node


@pytest.fixture
def mirror(metalog: Metalog, node: Node, tmp_path: Path) -> Path:
    mirror = tmp_path / "mirror"
    assert metalog("import", "kraft", node.directory, mirror).code == 0
    return mirror


def damage(log: Path) -> None:
    """Flip a bit in the last segment of a log, below its mark."""
    with LogReader.open(log) as reader:
        segment = max(path for path in Path(reader.directory).glob("*.avro"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)


async def until(client: Client, topics: int) -> Told:
    """Ask until the log has so many topics."""
    async with asyncio.timeout(LONGEST_S):
        while len((found := await told(client, "topics_list")).json.get("topics", ())) != topics:
            await asyncio.sleep(0.1)
    return found


async def test_a_mirror_that_grows_is_followed(metalog: Metalog, node: Node, mirror: Path) -> None:
    async with over_stdio(mirror) as client:
        before = state(mirror)
        await until(client, 1)
        assert state(mirror) == before
        node.append(topic("u"))
        assert metalog("import", "kraft", node.directory, mirror).code == 0
        assert (await until(client, 2)).json["log_end"] > 3


async def test_one_of_several_logs_is_named_in_each_call_also_a_damaged_one(
    serving: Serving, log: Path, mirror: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(log, damaged)
    damage(damaged)
    before = state(damaged), state(mirror)
    logs = (log, mirror, damaged)
    async with over_stdio(*logs) as local, over_http(await serving(*logs)) as far:
        for client in (local, far):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            names = [log.name, "mirror", "damaged"]
            assert tools["why"].input_schema["properties"]["log"]["enum"] == names
            assert "log" in tools["why"].input_schema["required"]
            listed = (await told(client, "logs")).json["logs"]
            assert [each["name"] for each in listed] == names
            assert listed[0]["log_end"] > 100
            (one,) = (await told(client, "topics_list", log="mirror")).json["topics"]
            assert one["name"] == "t"
            found = await told(client, "topics_list", log="damaged")
            assert found.is_error
            assert f"{damaged} cannot be read: " in found.json["detail"]
            assert ".avro byte " in found.json["detail"]
            unnamed = await told(client, "topics_list")
            assert "there is no log None; there are a log, mirror, " in unnamed.json["detail"]
    assert (state(damaged), state(mirror)) == before


@pytest.mark.parametrize("transport", [(), ("--http", "127.0.0.1:0")])
async def test_a_single_log_that_cannot_be_read_is_an_error_of_the_command(
    log: Path, tmp_path: Path, transport: tuple[str, ...]
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(log, damaged)
    damage(damaged)
    for place, code, words in (
        (tmp_path / "nothing", 3, "is not a log"),
        (damaged, 5, ".avro byte "),
    ):
        # A client keeps standard input open.
        process = await asyncio.create_subprocess_exec(
            *METALOG, "mcp", str(place), *transport, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        assert process.stderr is not None
        errors = (await process.stderr.read()).decode()
        assert await process.wait() == code
        assert words in errors


def test_the_extra_is_named_where_it_is_not_installed(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "mcp" else find(name, *more),
    )
    found = metalog("mcp", log)
    assert found.code == 3
    assert "this command needs mcp: pip install 'metadata-log[mcp]'" in found.err


async def test_it_ends_when_standard_input_does_and_on_a_signal(log: Path) -> None:
    for is_signal in (False, True):
        process = await asyncio.create_subprocess_exec(
            *METALOG, "mcp", str(log), stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        assert b'"id":1' in await process.stdout.readline()
        process.terminate() if is_signal else process.stdin.close()
        assert await process.wait() == 0
