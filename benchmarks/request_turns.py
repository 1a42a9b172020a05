"""The longest turn of a service's event loop, for the largest request of every key and command.

While a turn lasts, nothing else is received, decided or answered. Every key of Kafka's protocol and
every command over HTTP is sent with as many items as the limits allow, to the service and to a
broker, by a caller with all rights and by one without any. Turns are measured in the CPU time of
the loop's thread, so a busy machine does not count.
"""

import asyncio
import contextlib
import gc
import itertools
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from api.broker.broker import running_broker
from api.broker.controller_link import ControllerLink
from api.broker.disk import Disk
from api.broker.options import BrokerOptions
from api.garbage import collect_beside_image
from api.http.limits import BODY_SIZE_BYTES_MAX
from api.http.options import HttpOptions
from api.http.questions import path_of
from api.http.request import JSON
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.fields import Message
from api.kafka.layouts import message_layout
from api.kafka.messages.topics import CreatableTopic, CreateTopicsRequest
from api.requests import commands
from api.server import ServeOptions, Serving, serving
from api.transport.descriptors import raise_descriptor_limit
from api.transport.renewal import Renewal
from benchmarks.harness import Result
from benchmarks.own_log import CLUSTER_ID
from controller.authorization.acls import AclAuthorizer
from controller.authorization.authorizer import ALLOW_ALL, Authorizer
from controller.decisions.context.context import Settings
from controller.wire import ITEMS_MAX
from metadata_log.writer.creation import create_log
from records.base import Record
from records.kafka.layout import ArrayOf, FieldType, Layout

TURN_MS_MAX = 50
SHOWN = 8
"""Requests shown of each caller: those with the longest turns."""
_LARGE_CREATIONS = ((2_000, 1), (1_875, 4), (1, 9_990))
"""Numbers of topics and of partitions of each: as many as one request may have."""
_ANSWER_S = 10.0
"""Some requests, such as those of brokers, get no answer."""
_COUNTS = sorted(
    {frames.ITEMS_MAX // arrays for arrays in (1, 2, 3)}
    | {command.items_max for command in commands.COMMANDS.values() if command.items_max}
)
"""The limits of items; a request that is refused for one of them may be allowed by the next."""
_LENGTH = struct.Struct(">i")
_SCALARS: dict[str, Any] = {"bool": False, "float64": 0.0, "bytes": b""}


class LargeValues:
    """Creates values of message types, with a number of items in each outermost array."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._number = 0

    def structure(self, layout: Layout, *, is_inner: bool = False) -> Record:
        """Return a structure; nested arrays have one item."""
        count = 1 if is_inner else self._count
        values = {field.name: self._value(field.type, count) for field in layout.fields}
        absent = {field.name: field.default for field in layout.absent}
        tagged = {field.name: field.default for field in layout.tagged}
        return layout.cls(**(absent | tagged | values))

    def _value(self, of: FieldType, count: int) -> Any:
        match of:
            case Layout():
                return self.structure(of, is_inner=True)
            case ArrayOf(item):
                return tuple([self._value(item, 1) for _ in range(count)])
            case "uuid":
                return bytes(range(16))
            case "string":
                self._number += 1
                return f"invented-{self._number}"
        return _SCALARS.get(str(of), 1)


def is_counted(of: FieldType) -> bool:
    """True for an array whose items are counted; those of numbers are decoded at once."""
    return isinstance(of, ArrayOf) and of.item not in ("int8", "int16", "int32", "int64", "uuid")


def request_frame(api: Api, version: int, count: int) -> bytes:
    """Return a request with that many items in each array."""
    layout = message_layout(api.request, version, flexible=api.is_flexible(version))
    body = LargeValues(count).structure(layout)
    assert isinstance(body, Message)
    return frames.encode_raw_request(api, version, 1, frames.encode_body(api, version, body), "me")


def has_items(api: Api, version: int) -> bool:
    """True if a request has an array with counted items."""
    layout = message_layout(api.request, version, flexible=api.is_flexible(version))
    return any(is_counted(field.type) for field in layout.fields)


def _bodies() -> Iterator[tuple[str, bytes]]:
    """Yield each command with a list, with as many items as its body may have."""
    for name, command in commands.COMMANDS.items():
        example = command.example or {}
        lists = [key for key, value in example.items() if isinstance(value, list)]
        if not lists:
            continue
        (item, *_) = example[lists[0]]
        text = msgspec.json.encode(item).decode()
        size = len(text) + 8
        limit = commands.COMMANDS[name].items_max or ITEMS_MAX
        count = min(limit, BODY_SIZE_BYTES_MAX // size - 10)
        items = [_numbered(item, number) for number in range(count)]
        yield name, msgspec.json.encode(example | {lists[0]: items})


def _numbered(item: Any, number: int) -> Any:
    """Return an item whose first text has a number, so that all items differ."""
    if isinstance(item, str):
        return f"{item}{number}"
    if isinstance(item, list):
        return [_numbered(item[0], number), *item[1:]]
    for key in ("name", "topic", "resource_name", "user"):
        if isinstance(item.get(key), str):
            return item | {key: f"{item[key]}{number}"}
    return item


class LargeRequest(NamedTuple):
    """A request, and the port to which it is sent."""

    name: str
    port: int
    sent: bytes
    is_kafka: bool = True


class Turns:
    """Measures the longest turn while a `with` block runs, in what `now` counts."""

    def __init__(self, now: Callable[[], float] = time.thread_time) -> None:
        self._now = now
        self.longest = 0.0

    @contextlib.asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch())
        await asyncio.sleep(0)  # it begins
        try:
            yield
            await asyncio.sleep(0)  # and sees the end of the last turn
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            start = self._now()
            await asyncio.sleep(0)
            self.longest = max(self.longest, self._now() - start)


async def exchange(request: LargeRequest) -> None:
    """Send a request; read its answer, or the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", request.port)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        async with asyncio.timeout(_ANSWER_S):
            writer.write(request.sent)
            await writer.drain()
            if request.is_kafka:
                (left,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            else:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                left = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            while left > 0 and (part := await reader.read(left)):
                left -= len(part)
    writer.close()


def kafka_requests(port: int, at: str = "") -> Iterator[LargeRequest]:
    """Yield the largest requests of each key for a listener; `at` ends their names."""
    for api in apis.ALL:
        version = api.max_version
        if has_items(api, version):
            # Topics have partitions: half of the items each.
            for count in _COUNTS:
                yield LargeRequest(
                    f"{api.name} {count}{at}", port, request_frame(api, version, count)
                )


def http_requests(address: str) -> Iterator[LargeRequest]:
    """Yield the largest request of each command that has a list, for HTTP at an address."""
    port = int(address.rpartition(":")[2])
    for name, body in _bodies():
        head = (
            f"POST {path_of(name)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\n"
            f"Idempotency-Key: turns of {name}\r\n"
        )
        sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        yield LargeRequest(name, port, sent, is_kafka=False)


def creations(port: int) -> Iterator[LargeRequest]:
    """Yield the CreateTopics that make the most records, for a listener with a broker behind it."""
    for topics, partitions in _LARGE_CREATIONS:
        named = [
            CreatableTopic(
                name=f"made-{partitions}-{number}",
                num_partitions=partitions,
                replication_factor=1,
                assignments=(),
                configs=(),
            )
            for number in range(topics)
        ]
        body = CreateTopicsRequest(topics=tuple(named), timeout_ms=30_000, validate_only=False)
        api, version = apis.CREATE_TOPICS, apis.CREATE_TOPICS.max_version
        frame = frames.encode_raw_request(
            api, version, 1, frames.encode_body(api, version, body), "me"
        )
        yield LargeRequest(f"{topics} topics of {partitions} partitions", port, frame)


@contextlib.asynccontextmanager
async def cluster(scratch: Path, *, allowed: bool) -> AsyncIterator[Iterator[LargeRequest]]:
    """Run a service and a broker in this process; yield the largest requests for both.

    The broker belongs to another service, which lets it register.
    """
    authorizer = ALLOW_ALL if allowed else AclAuthorizer(super_users=frozenset({"User:root"}))
    http = HttpOptions(host="127.0.0.1", port=0)
    async with (
        _service(scratch / f"turns-{allowed}", authorizer, http) as running,
        _service(scratch / f"turns-{allowed}-brokers", ALLOW_ALL, None) as brokers,
        _broker(scratch / f"turns-{allowed}-broker", brokers.kafka.port, authorizer) as port,
    ):
        assert running.http is not None
        yield itertools.chain(
            kafka_requests(running.kafka.port),
            http_requests(running.http.address),
            kafka_requests(port, " at a broker"),
            creations(brokers.kafka.port),
        )


@contextlib.asynccontextmanager
async def _service(
    log: Path, authorizer: Authorizer, http: HttpOptions | None
) -> AsyncIterator[Serving]:
    create_log(log, CLUSTER_ID)
    options = ServeOptions(log=log, settings=Settings(authorizer=authorizer), http=http)
    async with serving(options) as running:
        yield running


@contextlib.asynccontextmanager
async def _broker(directory: Path, server_port: int, authorizer: Authorizer) -> AsyncIterator[int]:
    """Run a broker; yield the port of its listener once it is part of the cluster."""
    options = BrokerOptions(
        server=f"kafka://127.0.0.1:{server_port}",
        broker_id=1,
        log_dirs=(directory,),
        authorizer=authorizer,
    )
    joined: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    disk = Disk(raise_descriptor_limit())

    def has_joined(ports: list[int], _: ControllerLink) -> None:
        if not joined.done():
            joined.set_result(ports)

    async with running_broker(options, CLUSTER_ID, disk, has_joined, Renewal()) as (link, _):
        following = asyncio.create_task(link.run())
        yield (await joined)[0]
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _measured(scratch: Path, *, allowed: bool) -> list[Result]:
    found: dict[str, int] = {}
    async with cluster(scratch, allowed=allowed) as requests:
        collect_beside_image()  # as a service does; else what the process has loaded counts, too
        for request in requests:
            turns = Turns()
            async with turns.measured():
                await exchange(request)
            found[request.name] = round(turns.longest * 1_000)
    gc.unfreeze()
    who = "all rights" if allowed else "no rights"
    longest = sorted(found.items(), key=lambda each: -each[1])[:SHOWN]
    return [
        Result(
            name=f"longest turn: {name}, {who}",
            ours=f"{turn_ms} ms",
            peer=f"{TURN_MS_MAX} ms",
            ratio=turn_ms / TURN_MS_MAX,
        )
        for name, turn_ms in longest
    ]


def run(scratch: Path) -> list[Result]:
    """Measure all requests, with and without rights."""
    return [
        result
        for allowed in (False, True)
        for result in asyncio.run(_measured(scratch, allowed=allowed))
    ]
