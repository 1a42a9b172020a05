"""A real service with clients of every interface, killed with SIGKILL and restarted.

Commands, transactions, raw appends, and Kafka's own requests, over Kafka's protocol, the socket and
HTTP, some with the expected version of an object or the expected end offset of the log. Requests
with an id are repeated until they are answered. Afterwards each acknowledged request must be in the
log once, at the offset in its answer, and there must be an order of all calls in which every answer
is right (`tests/torture/mixed_load/promises.py`). The seed determines the times of the kills; the
timing between them is that of the machine.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from api.clients.reconnecting_client import ReconnectingClient
from metadata_log.writer.creation import create_log
from tests.torture.campaign import Failure, Outcome, Place
from tests.torture.mixed_load.history import Result
from tests.torture.mixed_load.promises import broken_promises
from tests.torture.mixed_load.recorded_calls import RecordedCalls
from tests.torture.mixed_load.service import Killable
from tests.torture.mixed_load.ways_by_client import Appends, Commands, KafkaKeys, Way
from tests.torture.mixed_load.ways_by_http import Http
from tests.torture.mixed_load.written import batches

NAME = "mixed_load"
TEST = "real service: all ways in, kill -9, linearizable"
TARGET = 40
SEEDS_MIN = 4
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (
    "records",
    "metadata_log",
    "replay",
    "controller",
    "api",
    "tests/torture",
)

ROOT = Path(__file__).parents[3]
_KILLS_A_PIECE = 10
_START_S_MAX = 2.0
"""From the start of a process to a kill that comes before it takes requests; every fourth does."""


class Load(msgspec.Struct, frozen=True):
    """The load before a kill: a duration, and a least number of calls."""

    seconds_min: float
    seconds_max: float
    calls: int


_LOAD = Load(5.0, 18.0, 0)


def run(seed: int) -> Outcome:
    """Kill a service some times."""
    return kill_some_times(seed, _KILLS_A_PIECE, _LOAD, ROOT)


def reproduce(place: Place) -> Outcome:
    """Kill at the same times again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


def kill_some_times(seed: int, kills: int, load: Load, sources: Path = ROOT) -> Outcome:
    """Kill a service under load, and check the answers that its clients got.

    Args:
        sources: The folder with the packages that the service runs.
    """
    recording = RecordedCalls(seed)
    with tempfile.TemporaryDirectory(prefix="metalog-mixed-") as name:
        folder = Path(name)
        create_log(folder / "log", "mixed-load")
        broken = asyncio.run(_run(recording, kills, load, folder, sources))
        broken += broken_promises(recording.calls, list(batches(folder / "log")))
    place = Place(seed=seed)
    return Outcome(
        done=kills,
        distinct=kills,
        failures=tuple([Failure(campaign=NAME, place=place, message=text) for text in broken[:20]]),
        notes=(f"seed {seed}: {_counts(recording)}",),
    )


async def _run(
    recording: RecordedCalls, kills: int, load: Load, folder: Path, sources: Path
) -> list[str]:
    """Run clients and service until its clean shutdown; return problems of the shutdown."""
    rng, errors = recording.rng, folder / "errors.txt"
    service = Killable(folder / "log", errors, sources)
    try:
        await service.start()
        await service.ready()
        async with _clients(service, recording):
            for number in range(kills):
                await _loaded(recording, load)
                await service.kill()
                await service.start()
                if number % 4 == 3:
                    await asyncio.sleep(rng.uniform(0, _START_S_MAX))
                    await service.kill()
                    await service.start()
                await service.ready()
    finally:
        code = await service.stop()
    said = errors.read_text()
    return [f"it ended with {code}: {said[-500:]}"] if code or "Traceback" in said else []


async def _loaded(recording: RecordedCalls, load: Load) -> None:
    enough = len(recording.calls) + load.calls
    await asyncio.sleep(recording.rng.uniform(load.seconds_min, load.seconds_max))
    while len(recording.calls) < enough:
        await asyncio.sleep(0.01)


@asynccontextmanager
async def _clients(service: Killable, recording: RecordedCalls) -> AsyncIterator[None]:
    """Run clients while the body runs; they end once they are answered."""
    async with AsyncExitStack() as closing, asyncio.TaskGroup() as running:
        for way in await _ways(service, closing):
            running.create_task(_repeated(way, recording))
        try:
            yield
        finally:
            recording.is_over = True


async def _ways(service: Killable, closing: AsyncExitStack) -> list[Way]:
    at = service.addresses

    def client(scheme: str) -> ReconnectingClient:
        connected = ReconnectingClient(f"{scheme}://{at[scheme]}")
        closing.push_async_callback(connected.close)
        return connected

    kafka, socket = Commands("kafka", client("kafka")), Appends("socket", client("socket"))
    writer, reader = (KafkaKeys(f"kafka://{at['kafka']}") for _ in range(2))
    http = Http(f"http://{at['http']}")
    for each in (writer, reader, http):
        closing.push_async_callback(each.close)
    return [
        *(kafka.write, kafka.read, kafka.write_pair),
        *(socket.write, socket.read, socket.write_pair),
        *(socket.note, socket.note_at_the_end, socket.compare_and_write, socket.compare_and_write),
        *(writer.write, reader.read),
        *(http.write, http.read, http.note, http.note_at_the_end),
        *(http.compare_and_write, http.compare_and_write),
    ]


async def _repeated(
    way: Callable[[RecordedCalls], Awaitable[None]], recording: RecordedCalls
) -> None:
    while not recording.is_over:
        await way(recording)
        # So that one way does not keep the others out.
        await asyncio.sleep(0.02 * recording.rng.random())


def _counts(recording: RecordedCalls) -> str:
    """Return, for each interface, how many calls were done, refused, failed, and not answered."""
    counted = Counter((call.way, call.result) for call in recording.calls)
    ways = dict.fromkeys(call.way for call in recording.calls)
    return ", ".join(
        f"{way} {'/'.join(str(counted[way, result]) for result in Result)}" for way in sorted(ways)
    )
