"""A real service and clients that exhaust its resources: more connections than it has descriptors,
and frames whose last bytes never come.

Meanwhile an ordinary client appends over the socket and another one sends Kafka requests. Each must
be answered, every answered append must be in the log once, the service may log one line a second
and no traceback, and its memory is limited. Even seeds exhaust the descriptors, odd seeds send half
frames.
"""

import asyncio
import random
import tempfile
from pathlib import Path

from api.clients.client import MetadataClient
from api.socket.client import SocketClient
from api.socket.handshake import encode_hello, hello_of_client
from api.transport.descriptors import raise_descriptor_limit
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from records.control import NoteRecord
from records.errors import MetadataLogError
from tests.api.limited_service import Peers, Served, closing_peers, half_frame, served
from tests.torture.campaign import Failure, Outcome, Place

NAME = "clients"
TEST = "real service: no descriptors left, half frames"
TARGET = 40
SEEDS_MIN = 40
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = ("api", "tests/api", "tests/torture")

_MIB = 1024 * 1024
# The budget for large frames twice, as a frame is copied when it is whole, and small ones.
_MEMORY_BYTES_MAX = 160 * _MIB
_ANSWER_S_MAX = 60.0
_LINES_BEYOND_SECONDS = 5


def run(seed: int) -> Outcome:
    """Run one service and all its clients."""
    return asyncio.run(_run(seed))


def reproduce(place: Place) -> Outcome:
    """Run the same piece again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


class Honest:
    """The ordinary clients, which must not be affected."""

    def __init__(self, service: Served, kafka: MetadataClient, appends: SocketClient) -> None:
        self._service = service
        self._kafka = kafka
        self._appends = appends
        self.answered: list[str] = []
        self.memory_bytes_max = 0

    async def work(self, size_bytes: int = 10) -> None:
        """Append, and ask for the cluster's metadata."""
        text = f"{len(self.answered):0>{size_bytes}}"
        record = NoteRecord(at_offset=0, author="honest", text=text)
        async with asyncio.timeout(_ANSWER_S_MAX):
            await self._appends.append(NewBatch(records=(record,)))
            self.answered.append(text)
            await self._kafka.metadata(())
        self.memory_bytes_max = max(self.memory_bytes_max, self._service.memory_bytes)


async def _run(seed: int) -> Outcome:
    raise_descriptor_limit()
    rng = random.Random(seed)
    descriptors = None if seed % 2 else rng.choice((128, 256, 512, 1_024))
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="metalog-clients-") as folder:
        started = asyncio.get_running_loop().time()
        try:
            async with served(Path(folder), descriptors) as service:
                note = await _attack(service, rng, descriptors, broken)
        except (AssertionError, MetadataLogError, TimeoutError) as error:
            broken.append(f"{type(error).__name__}: {error}")
            note = "not finished"
        seconds = asyncio.get_running_loop().time() - started
        broken += complaints((Path(folder) / "errors.txt").read_text(), seconds)
    place = Place(seed=seed)
    return Outcome(
        done=1,
        distinct=1,
        failures=tuple([Failure(campaign=NAME, place=place, message=text) for text in broken]),
        notes=(f"seed {seed}: {note}",),
    )


async def _attack(
    service: Served, rng: random.Random, descriptors: int | None, broken: list[str]
) -> str:
    url = f"kafka://127.0.0.1:{service.kafka}"
    async with (
        await MetadataClient.connect(url) as kafka,
        await SocketClient.connect("127.0.0.1", service.socket) as appends,
    ):
        honest = Honest(service, kafka, appends)
        before = service.memory_bytes
        with closing_peers() as peers:
            if descriptors is None:
                note = await _hold_frames_back(service, rng, peers, honest)
            else:
                note = await _connect_too_often(service, rng, peers, honest, descriptors)
        await honest.work()
    grown = honest.memory_bytes_max - before
    if grown > _MEMORY_BYTES_MAX:
        broken.append(f"{grown // _MIB} MiB more memory, at most {_MEMORY_BYTES_MAX // _MIB}")
    with LogReader.open(service.log) as log:
        payloads = [row.payload for batch in log.batches(1) for row in batch.rows]
    found = [payload.text for payload in payloads if isinstance(payload, NoteRecord)]
    if found != honest.answered:
        broken.append(f"{len(honest.answered)} appends were answered, {len(found)} are there")
    return f"{note}, {len(found)} appends answered, {grown // _MIB} MiB more memory"


async def _connect_too_often(
    service: Served, rng: random.Random, peers: Peers, honest: Honest, descriptors: int
) -> str:
    count = descriptors + rng.randrange(descriptors // 4)
    for number in range(count):
        await peers.connect(service.socket if rng.random() < 0.15 else service.kafka)
        if number % 5 == 0:
            await honest.work()
    return f"{count} connections to a process with {descriptors} descriptors"


async def _hold_frames_back(
    service: Served, rng: random.Random, peers: Peers, honest: Honest
) -> str:
    loop = asyncio.get_running_loop()
    count = rng.randrange(40, 61)
    sending: list[asyncio.Future[None]] = []
    for _ in range(count):
        to_socket = rng.random() < 0.5
        peer = await peers.connect(service.socket if to_socket else service.kafka)
        size_max = (8 if to_socket else 16) * _MIB
        size = rng.randrange(size_max // 2, size_max)
        hello = encode_hello(hello_of_client()) if to_socket else b""
        sent = rng.choice((size // 2, size - 1))
        data = hello + half_frame(size, sent)
        sending.append(asyncio.ensure_future(loop.sock_sendall(peer, data)))
    for number in range(50):
        # Large ones of its own wait for memory, until the held ones have lost it.
        await honest.work(size_bytes=200_000 if number % 10 == 9 else 10)
        await asyncio.sleep(0.02)
    for task in sending:
        task.cancel()
    await asyncio.gather(*sending, return_exceptions=True)
    return f"{count} half frames"


def complaints(errors: str, seconds: float) -> list[str]:
    """Return the problems in the lines that a service logged."""
    broken = []
    if "Traceback" in errors:
        broken.append("a traceback: " + errors[errors.index("Traceback") :][:500])
    lines = errors.count("\n")
    kinds = 3  # descriptors at the start, connections closed, connections refused
    if lines > kinds * (seconds + _LINES_BEYOND_SECONDS):
        broken.append(f"{lines} lines in {seconds:.0f} s")
    return broken
