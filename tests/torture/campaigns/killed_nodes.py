"""Three real nodes over a real PostgreSQL or a bucket, while clients change something all the time.

Nodes, store, network and disks fail (`tests/torture/killed_nodes`). In the end everything that was
acknowledged must be in the log once, at the offset that was told, and nothing of what had outcome
`nothing`; the folders must be equal, and equal to the shared log. What a store has lost must have
been reported, and is put back or kept in a copy. The seed determines the cluster and the order of
its faults; the timing is that of the machine.
"""

import asyncio
import random
import tempfile
import time
import traceback
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from tests.forked_commands import forking
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.killed_nodes.asynchronous import Asynchronous
from tests.torture.killed_nodes.clients import Clients, broken_promises, offsets_of
from tests.torture.killed_nodes.cluster import Cluster
from tests.torture.killed_nodes.in_a_bucket import Moto, SeaweedFs
from tests.torture.killed_nodes.one_server import OneServer
from tests.torture.killed_nodes.replicated import Replicated

NAME = "killed_nodes"
TEST = "three real nodes: nodes, store, network and disks fail"
TARGET = 300
SEEDS_MIN = 60
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "replay", "controller", "api")

CLUSTERS: tuple[type[Cluster], ...] = (OneServer, Replicated, Asynchronous, Moto, SeaweedFs)

_AFTER_S = 1.0


def run(seed: int) -> Outcome:
    """Run the faults of a cluster, in any order."""
    cluster = CLUSTERS[seed % len(CLUSTERS)]
    faults = [name for name, fault in cluster.FAULTS.items() for _ in range(fault.times)]
    random.Random(seed).shuffle(faults)
    return run_faults(cluster, seed, faults)


def reproduce(place: Place) -> Outcome:
    """Run the same faults again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


def run_faults(cluster_type: type[Cluster], seed: int, faults: list[str]) -> Outcome:
    """Run faults on nodes of a new log."""
    scratch = tempfile.TemporaryDirectory(prefix="metalog-nodes-")
    with forking(), scratch as folder, cluster_type.running(Path(folder)) as cluster:
        clients, pauses = Clients(cluster), dict[str, list[float]]()
        try:
            asyncio.run(_run(cluster, clients, pauses, random.Random(seed), faults))
        except (AssertionError, TimeoutError):
            problems = [f"not mended in time: {traceback.format_exc()} {cluster.said()}"]
        else:
            problems = cluster.problems()
            given_up = [_notes(folder) for folder in cluster.given_up]
            with LogReader.open(cluster.nodes[0].folder) as reader:
                problems += broken_promises(clients.told, reader.batches(), given_up)
    place = Place(seed=seed)
    done = sum(map(len, pauses.values()))
    return Outcome(
        done=done,
        distinct=done,
        failures=tuple(Failure(campaign=NAME, place=place, message=text) for text in problems[:20]),
        notes=(f"seed {seed}: {clients.counts()}",),
        times_s=pauses,
    )


def _notes(folder: Path) -> dict[str, list[int]]:
    with LogReader.open(folder) as reader:
        return offsets_of(reader.batches())


async def _run(
    cluster: Cluster,
    clients: Clients,
    pauses: dict[str, list[float]],
    rng: random.Random,
    faults: list[str],
) -> None:
    """Run faults while clients append; collect the longest pauses by fault, in seconds."""
    async with clients.running():
        for name in faults:
            await asyncio.sleep(_AFTER_S)
            began = time.monotonic()
            await asyncio.to_thread(cluster.FAULTS[name].strike, cluster, rng)
            async with asyncio.timeout(60):
                await clients.answered_again()
            await asyncio.sleep(_AFTER_S)
            pauses.setdefault(name, []).append(clients.longest_pause_s(began))
