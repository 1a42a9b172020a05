"""Mutated requests of every key and version, to a service, a broker, and a broker's controller
stream.

Each is answered as Kafka's protocol says, or its connection is closed. A valid request follows
each: it must be answered, unless the connection was closed or the mutated request waits, as a Fetch
may. An answered FollowLog gets no further request, because it reverses the direction of the
connection. Nothing may be logged as an error, the service must answer other clients, and a replay
of the log must give the state of the service.
"""

import asyncio
import contextlib
import logging
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from api.kafka import apis, frames
from api.kafka.frames import LENGTH
from api.kafka.messages.api_versions import ApiVersionsRequest
from records.errors import MetadataLogError
from tests.torture.campaign import Failure, Outcome, Place
from tests.torture.frame_mutations import mutated
from tests.torture.frame_targets import Target, targets_in

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


class Tally(msgspec.Struct):
    """The numbers of requests by outcome."""

    answered: int = 0
    closed: int = 0
    waiting: int = 0
    broken: list[str] = []


def run(seed: int, count: int = FRAMES_A_PIECE) -> Outcome:
    """Send some mutated requests to each kind of listener."""
    return asyncio.run(_run(seed, count))


def reproduce(place: Place) -> Outcome:
    """Send the same requests again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: earlier requests may be part of its cause."""
    return failure


async def _run(seed: int, count: int) -> Outcome:
    tally = Tally()
    sent: set[bytes] = set()
    with (
        _errors_logged(tally.broken),
        tempfile.TemporaryDirectory(prefix="metalog-frames-") as folder,
    ):
        async with targets_in(Path(folder), tally.broken) as targets:
            share = count // (len(targets) * _CLIENTS)
            await asyncio.gather(
                *[
                    _attack(target, f"{seed}/{target.name}/{number}", share, tally, sent)
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
    """Collect all lines logged as an error, or with a traceback."""

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


async def _attack(target: Target, seed: str, count: int, tally: Tally, sent: set[bytes]) -> None:
    """Send some requests, on a new connection whenever one is closed."""
    rng = random.Random(seed)
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    try:
        for _ in range(count):
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
    """Send a mutated request and a valid one.

    Returns:
        None if the connection can still be used, "" if not; otherwise a description of the failure.
    """
    key = _key_of(frame[LENGTH.size :])
    may_wait = key in _MAY_WAIT
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
                if key == apis.FOLLOW_LOG.key:
                    tally.answered += 1
                    return ""
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
    """Return what is wrong with the answer to a request; "" if it is valid."""
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
