"""Mutated requests of every key and version, to a service's listeners and to a broker's.

Each is answered as Kafka's protocol says, or its connection is closed. After each comes a request
that is whole: it must be answered, unless the connection was closed or the mutated request waits,
as a Fetch may. Nothing may be logged as an error, the service must answer others, and the log must
give the state that the service has.
"""

import asyncio
import contextlib
import logging
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from api.broker.answering import broker_answering
from api.broker.disk import Disk
from api.broker.log_dirs import LogDirsRequests
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.fields import Request
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.listener import Listener
from api.kafka.messages.api_versions import ApiVersionsRequest
from api.kafka.messages.log_dirs import DescribeLogDirsRequest
from api.kafka.messages.records_io import (
    EpochPartition,
    EpochTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
)
from api.kafka.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from controller.authorization.caller import Caller
from metadata_log.log_reader import LogReader
from records.errors import MetadataLogError, RequestError
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.api.broker.leader import ID, Broker
from tests.api.broker.records import batch
from tests.api.guarded import guarded
from tests.api.kafka.test_authorization import REQUESTS
from tests.api.kafka.test_sasl import secured
from tests.torture.campaign import Failure, Outcome, Place
from tests.torture.frame_mutations import mutated

NAME = "frames"
TEST = "mutated requests of all keys and versions"
TARGET = 2_000_000
SEEDS_MIN = 1
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = ("api", "tests/api", "tests/torture")

FRAMES_A_PIECE = 6_000
_CLIENTS = 8
_PROBE_ID = 0x7F0F0F0F
_PROBE = frames.encode_request(apis.API_VERSIONS, 0, _PROBE_ID, ApiVersionsRequest(), "probe")
_MAY_WAIT = {apis.PRODUCE.key, apis.FETCH.key}
_WAIT_S = 2.0
"""How long these are waited for: they may ask for more."""
_ANSWER_S_MAX = 60.0
_FAILURES_MAX = 5


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A listener, and the whole requests that are mutated for it."""

    name: str
    port: int
    samples: tuple[bytes, ...]


class Tally(msgspec.Struct):
    """What became of the requests."""

    answered: int = 0
    closed: int = 0
    waiting: int = 0
    broken: list[str] = []


def run(seed: int, count: int = FRAMES_A_PIECE) -> Outcome:
    """Send some mutated requests to each kind of listener."""
    return asyncio.run(_run(seed, count))


def reproduce(place: Place) -> Outcome:
    """Send the same again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure: what came before may matter."""
    return failure


async def _run(seed: int, count: int) -> Outcome:
    tally = Tally()
    sent: set[bytes] = set()
    with (
        _errors_logged(tally.broken),
        tempfile.TemporaryDirectory(prefix="metalog-frames-") as folder,
    ):
        async with listeners(Path(folder), tally.broken) as targets:
            await asyncio.gather(
                *[
                    _attack(target, f"{seed}/{target.name}/{number}", count, tally, sent)
                    for target in targets
                    for number in range(_CLIENTS)
                ]
            )
    done = tally.answered + tally.closed + tally.waiting
    place = Place(seed=seed)
    failures = [
        Failure(campaign=NAME, place=place, message=text) for text in tally.broken[:_FAILURES_MAX]
    ]
    note = f"{tally.answered} answered, {tally.closed} closed, {tally.waiting} waiting"
    return Outcome(
        done=done, distinct=len(sent), failures=tuple(failures), notes=(f"seed {seed}: {note}",)
    )


@contextlib.contextmanager
def _errors_logged(broken: list[str]) -> Iterator[None]:
    """Collect what is logged as an error, or with a traceback."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR or record.exc_info:
                broken.append(f"logged: {self.format(record)}")

    collector = Collector()
    logging.getLogger().addHandler(collector)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(collector)


@contextlib.asynccontextmanager
async def listeners(folder: Path, broken: list[str]) -> AsyncIterator[list[Target]]:
    """Run a service, one with SASL, and a broker that leads partitions."""
    for name in ("plain", "sasl", "broker"):
        (folder / name).mkdir()
    async with (
        guarded(folder / "plain") as (at, _),
        secured(folder / "sasl", "SASL_PLAINTEXT://127.0.0.1:0") as asking,
        _broker(folder / "broker") as broker_port,
    ):
        whole = {api: request(at) for api, request in REQUESTS.items() if api != apis.FOLLOW_LOG}
        login = {
            apis.SASL_HANDSHAKE: SaslHandshakeRequest(mechanism="SCRAM-SHA-256"),
            apis.SASL_AUTHENTICATE: SaslAuthenticateRequest(auth_bytes=b"n,,n=ann,r=nonce"),
            apis.METADATA: whole[apis.METADATA],
        }
        yield [
            Target(name="service", port=at.port, samples=_samples(whole)),
            Target(name="login", port=asking.kafka.port, samples=_samples(login)),
            Target(name="broker", port=broker_port, samples=_samples(_broker_requests())),
        ]
        await at.client.metadata(())
        with LogReader.open(folder / "plain" / "log") as reader:
            if image_digest(load_image(reader)) != image_digest(at.service.image):
                broken.append("replay gives another image than the service has")


@contextlib.asynccontextmanager
async def _broker(folder: Path) -> AsyncIterator[int]:
    broker = Broker(folder)
    await broker.lead()
    log_dirs = LogDirsRequests(
        [broker.directory], broker.replicas, Disk(16), broker.authorization.access
    )
    answering = broker_answering(
        "c",
        broker.cluster,
        broker.authorization,
        {**broker.requests.handlers(), **log_dirs.handlers()},
        _no_controller,
    )
    listener = await Listener.start(answering, "127.0.0.1", 0)
    try:
        yield listener.port
    finally:
        await listener.close()


async def _no_controller(_: RequestFrame, __: Caller) -> bytes:
    raise RequestError("NOT_CONTROLLER", "there is no controller")


def _broker_requests() -> dict[Api, Request]:
    produced = ProducedPartition(index=0, records=batch(b"one", b"two"))
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    timed = ListOffsetsPartition(partition_index=0, timestamp=-1)
    epoch = EpochPartition(partition=0, leader_epoch=5)
    return {
        apis.PRODUCE: ProduceRequest(
            acks=1,
            timeout_ms=0,
            topic_data=(ProducedTopic(name="a", topic_id=ID, partition_data=(produced,)),),
        ),
        apis.FETCH: FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            topics=(FetchTopic(topic="a", topic_id=ID, partitions=(wanted,)),),
        ),
        apis.LIST_OFFSETS: ListOffsetsRequest(
            topics=(ListOffsetsTopic(name="a", partitions=(timed,)),)
        ),
        apis.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochRequest(
            topics=(EpochTopic(topic="a", partitions=(epoch,)),)
        ),
        apis.DESCRIBE_LOG_DIRS: DescribeLogDirsRequest(),
    }


def _samples(requests: dict[Api, Request]) -> tuple[bytes, ...]:
    """Return each request in every version that can say it."""
    samples = []
    for api, request in requests.items():
        for version in range(api.min_version, api.max_version + 1):
            with contextlib.suppress(RequestError):
                samples.append(frames.encode_request(api, version, version + 1, request, "mutant"))
    return tuple(samples)


async def _attack(target: Target, seed: str, count: int, tally: Tally, sent: set[bytes]) -> None:
    """Send a share of the requests, on as many connections as it takes."""
    rng = random.Random(seed)
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    try:
        for _ in range(count // (3 * _CLIENTS)):
            frame, is_framed = mutated(rng, rng.choice(target.samples), target.samples)
            sent.add(frame)
            if streams is None:
                streams = await asyncio.open_connection("127.0.0.1", target.port)
            problem = await exchange(*streams, frame, tally, is_framed=is_framed)
            if problem is None:
                continue
            await hang_up(streams[1])
            streams = None
            if problem:
                tally.broken.append(f"{target.name}: {problem}; request {frame.hex()}")
    except OSError as error:
        tally.broken.append(f"{target.name}: {error}")
    finally:
        if streams is not None:
            await hang_up(streams[1])


async def exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    frame: bytes,
    tally: Tally,
    *,
    is_framed: bool,
) -> str | None:
    """Send a mutated request and a whole one.

    Returns:
        None: the connection goes on. "": it does not. Else: what is wrong.
    """
    may_wait = _key_of(frame[LENGTH.size :]) in _MAY_WAIT
    try:
        writer.write(frame + _PROBE)
        await writer.drain()
        if not is_framed:
            tally.closed += 1
            return ""
        async with asyncio.timeout(_WAIT_S if may_wait else _ANSWER_S_MAX):
            while True:
                answer = await _frame(reader)
                if frames.correlation_id_of(answer) == _PROBE_ID:
                    tally.answered += 1
                    return None
                problem = wrong_in(frame[LENGTH.size :], answer)
                if problem:
                    return problem
    except (asyncio.IncompleteReadError, ConnectionError):
        tally.closed += 1
        return ""
    except TimeoutError:
        tally.waiting += 1
        return "" if may_wait else f"no answer in {_ANSWER_S_MAX} s"


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return await reader.readexactly(size)


def _key_of(request: bytes) -> int:
    return int.from_bytes(request[:2], "big", signed=True)


def wrong_in(request: bytes, answer: bytes) -> str:
    """Return what is wrong with an answer, "" if it is one to the request."""
    if answer[:4] != request[4:8]:
        return f"an answer to another request: {answer.hex()}"
    key = _key_of(request)
    version = int.from_bytes(request[2:4], "big", signed=True)
    api = apis.by_key(apis.ALL).get(key)
    if api is None:
        return f"an answer to a key that nobody knows: {answer.hex()}"
    if not api.min_version <= version <= api.max_version:
        version = 0
        if api != apis.API_VERSIONS:
            return f"an answer in a version that nobody knows: {answer.hex()}"
    try:
        frames.decode_response(answer, api, version)
    except MetadataLogError as error:
        return f"an answer that cannot be read: {error}"
    return ""


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
