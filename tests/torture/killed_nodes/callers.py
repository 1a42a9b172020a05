"""Clients of each way in: the socket, HTTP, and an unmodified admin client of Kafka at a broker.

A caller makes one named change, repeats it as its protocol allows, and returns what it was told.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

import httpx
import msgspec
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from api.clients.reconnecting_client import ReconnectingClient
from metadata_log.format.batch import NewBatch
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome
from tests.forked_commands import METALOG

Answer = int | Outcome | None
"""The offset of a record; None: it is done, and the protocol does not say where; or the outcome of
an error."""

Ask = Callable[[str], Awaitable[Answer]]
"""Makes the change of a name."""

_HTTP_TIMEOUT_S = 3.0
_HTTP_TRIES = 60
_HTTP_PAUSE_S = 0.1
_KAFKA_TIMEOUT_S = 20
_START_S = 30
_LINES = {"Content-Type": "application/x-ndjson"}


def _note(name: str) -> NoteRecord:
    return NoteRecord(at_offset=0, author="client", text=name)


@contextlib.asynccontextmanager
async def over_the_socket(url: str, *, has_ids: bool) -> AsyncIterator[Ask]:
    """Append notes with the library's client.

    Args:
        url: Of the nodes, such as `socket://A:1,B:2`.
        has_ids: Give each request an id, so that it is repeated until it is answered.
    """
    async with ReconnectingClient(url) as client:

        async def ask(name: str) -> Answer:
            request_id = name if has_ids else None
            origin = Origin(principal="User:client", command="append", request_id=request_id)
            try:
                result = await client.append(NewBatch(records=(_note(name),), origin=origin))
            except MetadataLogError as error:
                return error.outcome
            return result.base_offset

        yield ask


@contextlib.asynccontextmanager
async def over_http(urls: Sequence[str], *, has_ids: bool) -> AsyncIterator[Ask]:
    """Append notes with httpx, which knows nothing of us: it goes where a 307 points.

    Args:
        has_ids: Give each request an `Idempotency-Key`, and repeat it until it is done.
    """
    async with httpx.AsyncClient(timeout=_HTTP_TIMEOUT_S) as client:
        at = urls[0]

        async def post(name: str) -> Answer:
            nonlocal at
            record = {"type": "NoteRecord", "data": msgspec.to_builtins(_note(name))}
            headers = _LINES | ({"Idempotency-Key": name} if has_ids else {})
            try:
                response = await client.post(
                    f"{at}/v1/records/append", content=json.dumps(record), headers=headers
                )
            except httpx.ConnectError:
                at = _next(urls, at)
                return Outcome.NOTHING
            except httpx.TransportError:
                at = _next(urls, at)
                return Outcome.UNKNOWN
            document = response.json()
            if response.status_code == httpx.codes.OK:
                offset: int = document["first_offset"]
                return offset
            location = response.headers.get("Location")
            at = location.partition("/v1/")[0] if location is not None else _next(urls, at)
            return Outcome(document["outcome"])

        async def ask(name: str) -> Answer:
            outcome = Outcome.NOTHING
            for _ in range(_HTTP_TRIES):
                answer = await post(name)
                if isinstance(answer, int):
                    return answer
                assert answer is not None
                outcome = outcome if answer is Outcome.NOTHING else Outcome.UNKNOWN
                if outcome is not Outcome.NOTHING and not has_ids:
                    return outcome
                await asyncio.sleep(_HTTP_PAUSE_S)
            return outcome

        yield ask


@contextlib.asynccontextmanager
async def over_kafka(server: str) -> AsyncIterator[Ask]:
    """Create topics with librdkafka's admin client, at a broker that sends them to the nodes.

    Args:
        server: The nodes, such as `kafka://A:1,B:2`.
    """
    with _broker(server) as address:
        client = AdminClient({"bootstrap.servers": address, "log_level": 0})

        def create(name: str) -> Answer:
            try:
                made = client.create_topics(
                    [NewTopic(name, 1, 1)], request_timeout=_KAFKA_TIMEOUT_S
                )
                made[name].result(_KAFKA_TIMEOUT_S * 2)
            except KafkaException:
                return Outcome.UNKNOWN  # its protocol does not say what became of it
            return None

        async def ask(name: str) -> Answer:
            return await asyncio.to_thread(create, name)

        yield ask


@contextlib.contextmanager
def _broker(server: str) -> Iterator[str]:
    """Run a broker of the nodes; yield its address."""
    with tempfile.TemporaryDirectory(prefix="metalog-broker-") as folder:
        process = subprocess.Popen(
            [
                *(*METALOG, "broker", "--server", server, "--id", "1"),
                *("--log-dir", f"{folder}/data", "--heartbeat-ms", "300", "--json"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["listen"]
            assert process.poll() is None, "the broker has ended"
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_START_S)
            process.kill()
            process.wait()
            process.stdout.close()


def _next(urls: Sequence[str], at: str) -> str:
    return urls[(urls.index(at) + 1) % len(urls)] if at in urls else urls[0]
