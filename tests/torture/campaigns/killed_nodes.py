"""Three real nodes over one PostgreSQL, while clients append all the time.

The leader is killed with SIGKILL, or suspended for longer than its lease; PostgreSQL crashes. In
the end everything that was acknowledged must be in the log once, at the offset that was told, and
nothing of what had outcome `nothing`; the folders must be equal, and equal to the shared log. The
seed determines the order of the faults; the timing is that of the machine.
"""

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.killed_nodes.clients import Clients, broken_promises
from tests.torture.killed_nodes.cluster import FAULTS, Cluster, running_cluster

NAME = "killed_nodes"
TEST = "three real nodes over PostgreSQL: leader killed or suspended, store crashed"
TARGET = 180
SEEDS_MIN = 10
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "replay", "controller", "api")

_CLIENTS = 8
_EACH = 2
"""Of each fault in a piece."""

_AFTER_S = 1.0


def run(seed: int) -> Outcome:
    """Run each fault some times, in any order."""
    faults = [name for name in FAULTS for _ in range(_EACH)]
    random.Random(seed).shuffle(faults)
    return run_faults(seed, faults)


def reproduce(place: Place) -> Outcome:
    """Run the same faults again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


def run_faults(seed: int, faults: list[str]) -> Outcome:
    """Run faults on nodes of a new log."""
    scratch = tempfile.TemporaryDirectory(prefix="metalog-nodes-")
    with scratch as folder, running_cluster(Path(folder)) as cluster:
        clients, pauses = asyncio.run(_run(cluster, random.Random(seed), faults))
        problems = cluster.problems()
        with LogReader.open(cluster.nodes[0].folder) as reader:
            problems += broken_promises(clients.told, reader.batches())
    place = Place(seed=seed)
    shown = "; ".join(
        f"{name} {statistics.median(found):.2f} s, worst {max(found):.2f}"
        for name, found in pauses.items()
    )
    unanswered = sum(not isinstance(told.answer, int) for told in clients.told)
    return Outcome(
        done=len(faults),
        distinct=len(faults),
        failures=tuple(Failure(campaign=NAME, place=place, message=text) for text in problems[:20]),
        notes=(
            f"seed {seed}: {len(clients.times)} appends acknowledged, {unanswered} not; longest "
            f"pause, median: {shown}",
        ),
    )


async def _run(
    cluster: Cluster, rng: random.Random, faults: list[str]
) -> tuple[Clients, dict[str, list[float]]]:
    """Run faults while clients append; return the longest pauses by fault, in seconds."""
    clients = Clients(cluster.url, _CLIENTS)
    pauses: dict[str, list[float]] = {}
    async with clients.running():
        for name in faults:
            await asyncio.sleep(_AFTER_S)
            began = time.monotonic()
            await asyncio.to_thread(FAULTS[name], cluster, rng)
            before = len(clients.times)
            async with asyncio.timeout(60):
                while len(clients.times) == before:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(_AFTER_S)
            pauses.setdefault(name, []).append(clients.longest_pause_s(began))
    return clients, pauses
