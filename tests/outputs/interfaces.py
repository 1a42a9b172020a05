"""What a service answers over HTTP, Kafka's protocol and the socket."""

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx

from api.clients.client import MetadataClient
from api.kafka import apis
from api.kafka.frames import LENGTH
from api.questions.table import EXAMPLES
from api.requests.commands import COMMANDS
from api.requests.json_requests import request_class, request_from_json
from api.requests.record_lines import EXAMPLE
from api.socket.client import SocketClient
from records.errors import MetadataLogError
from tests.api.guarded import guarded
from tests.outputs.fixed_sources import fixed_sources
from tests.outputs.logs import write_log
from tests.torture.frame_targets import Target, targets_in

_SILENCE_S = 0.5
"""After which an answer that goes on is cut."""

# Ports, processes and the difference from the machine's clock are new in each run.
_NEW = re.compile(
    r"(?<=127\.0\.0\.1:)\d+|(?<=\"writer_process\":)\d+|(?<=\"clock_difference_ms\":)-?\d+"
)

_HEADERS_LEFT_OUT = {"date", "content-length"}


def _bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an example of each command."""
    for name, command in COMMANDS.items():
        if command.example is not None:
            yield name, command.example


def interfaces(directory: Path) -> None:
    """Write the answers of all interfaces into a directory."""
    asyncio.run(_interfaces(directory))


async def _interfaces(directory: Path) -> None:
    for write in (_http, _kafka, _clients):
        # Each on a log of its own: what one changes, another does not see.
        with tempfile.TemporaryDirectory() as folder, fixed_sources():
            await write(Path(folder), directory)


async def _http(folder: Path, directory: Path) -> None:
    """Ask each operation of the OpenAPI document with its example."""
    lines = []
    async with (
        guarded(folder) as (at, _),
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as client,
    ):
        document = (await client.get("/openapi.json")).json()
        for path, method, query, body in _operations(document):
            sent: dict[str, Any] = {"params": query}
            if body:
                sent["content"] = body if isinstance(body, str) else json.dumps(body)
                kind = "x-ndjson" if isinstance(body, str) else "json"
                sent["headers"] = {"content-type": f"application/{kind}"}
            async with client.stream(method, path, **sent) as response:
                content = await _read(response)
                headers = {
                    name: value
                    for name, value in response.headers.items()
                    if name not in _HEADERS_LEFT_OUT
                }
            lines.append(f"{method} {path} {json.dumps(query)} {json.dumps(body)}")
            lines.append(f"{response.status_code} {json.dumps(headers)}\n{content}\n")
    write_log(folder / "log", directory / "log_of_commands.txt")
    text = _NEW.sub("NEW", "\n".join(lines)).replace(str(folder), "FOLDER")
    (directory / "http.txt").write_text(text)
    (directory / "openapi.json").write_text(json.dumps(document, indent=1))


def _operations(document: Any) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    """Yield path, method, parameters and body of each operation: first those that only read."""
    paths = document["paths"]
    for path, methods in paths.items():
        if "get" in methods and path != "/metrics":
            yield path, "GET", {}, None
            required = _examples(methods["get"])
            if required:
                yield path, "GET", required, None
    for name, body in _bodies():
        yield f"/v1/{name.replace(' ', '/')}", "POST", {}, body
    yield "/v1/records/append", "POST", {}, EXAMPLE


def _examples(operation: Any) -> dict[str, Any]:
    return {
        parameter["name"]: EXAMPLES[parameter["name"]]
        for parameter in operation.get("parameters", ())
        if parameter.get("in") == "query" and parameter["name"] in EXAMPLES
    }


async def _read(response: httpx.Response) -> str:
    parts = []
    chunks = response.aiter_text()
    with contextlib.suppress(StopAsyncIteration, TimeoutError):
        while True:
            parts.append(await asyncio.wait_for(anext(chunks), _SILENCE_S))
    return "".join(parts)


async def _kafka(folder: Path, directory: Path) -> None:
    """Send a request of each key and version to each kind of listener, each on a connection of
    its own.
    """
    broken: list[str] = []
    async with targets_in(folder, broken) as targets:
        hidden = [LENGTH.pack(target.port) for target in targets] + [str(folder).encode()]
        for target in targets:
            lines = [line async for line in _frames(target, hidden)]
            (directory / f"kafka_{target.name}.txt").write_text("\n".join(lines))
    assert not broken


async def _frames(target: Target, hidden: list[bytes]) -> AsyncIterator[str]:
    """Yield each request and its answer.

    Args:
        hidden: Bytes that are new in each run.
    """
    for sample in dict.fromkeys(target.samples):
        key, version = [int.from_bytes(sample[at : at + 2], "big") for at in (4, 6)]
        if key == apis.DESCRIBE_LOG_DIRS.key:
            continue  # It tells how much room the disk has.
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(sample)
        answer = b""
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            async with asyncio.timeout(_SILENCE_S):
                answer = await reader.readexactly(LENGTH.size)
                answer += await reader.readexactly(*LENGTH.unpack(answer))
        writer.close()
        texts = [_without(hidden, content).hex() for content in (sample, answer)]
        yield f"{key} {version} {texts[0]}\n{texts[1]}"


def _without(hidden: list[bytes], content: bytes) -> bytes:
    for part in hidden:
        content = content.replace(part, b"*" * len(part))
    return content


async def _clients(folder: Path, directory: Path) -> None:
    """Run each command with its example by both clients, and keep the bytes in both directions."""
    async with guarded(folder) as (at, _):
        host, _, port = at.socket_url.removeprefix("socket://").rpartition(":")
        async with _recorded(host, int(port)) as (near, log):
            async with await SocketClient.connect(host, near) as socket_client:
                await _run_all(socket_client)
            (directory / "client_socket.txt").write_text(_lines(log))
        async with _recorded("127.0.0.1", at.port) as (near, log):
            async with await MetadataClient.connect(f"kafka://127.0.0.1:{near}") as client:
                await _run_all(client)
            (directory / "client_kafka.txt").write_text(_lines(log))


async def _run_all(client: SocketClient | MetadataClient) -> None:
    for name, body in _bodies():
        if name in COMMANDS and request_class(name) is COMMANDS[name].request:
            with contextlib.suppress(MetadataLogError):
                await client.run(name, request_from_json(body, request_class(name)))


def _lines(log: list[tuple[str, bytes]]) -> str:
    """Return what was sent in turn: how it was cut into pieces does not count."""
    merged: list[tuple[str, bytes]] = []
    for side, part in log:
        if merged and merged[-1][0] == side:
            part = merged.pop()[1] + part
        merged.append((side, part))
    return "\n".join([f"{side} {part.hex()}" for side, part in merged])


@contextlib.asynccontextmanager
async def _recorded(host: str, port: int) -> AsyncIterator[tuple[int, list[tuple[str, bytes]]]]:
    """Listen, and pass all bytes on to an address.

    Yields:
        The port, and what has passed, with its direction.
    """
    log: list[tuple[str, bytes]] = []

    async def passes(side: str, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 20):
                log.append((side, data))
                target.write(data)
        target.close()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(passes(">", reader, far_writer), passes("<", far_reader, writer))

    listening = await asyncio.start_server(accepted, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1], log
