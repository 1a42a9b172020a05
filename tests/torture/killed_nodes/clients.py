"""Clients that change something all the time, and what the log must have for it."""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from metadata_log.format.batch import Batch
from records.control import NoteRecord
from records.errors import Outcome
from records.topics import TopicRecord
from tests.torture.killed_nodes.callers import Answer, Ask, over_http, over_kafka, over_the_socket
from tests.torture.killed_nodes.cluster import Cluster

SOCKET, HTTP, KAFKA = "socket", "http", "kafka"

_PAUSE_S = {SOCKET: 0.002, HTTP: 0.02, KAFKA: 0.1}
"""Between two changes of a caller."""


class Told(NamedTuple):
    """A change of a client, and the answer."""

    name: str
    answer: Answer

    @property
    def way(self) -> str:
        return self.name.partition("-")[0]

    @property
    def is_acknowledged(self) -> bool:
        return not isinstance(self.answer, Outcome)


class Clients:
    """Makes one change after the other, over several connections, by each way in.

    Half of the callers give each request an id, so it is repeated until it is answered; a name
    says by which way it was asked, such as `http-1-17`.

    Attributes:
        told: The answers, in their order.
        times: When the acknowledged ones came, by the monotonic clock, in seconds, by way.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Use the nodes of a cluster."""
        self._callers: list[tuple[str, AbstractAsyncContextManager[Ask]]] = [
            *((SOCKET, over_the_socket(cluster.url, has_ids=n % 2 > 0)) for n in range(8)),
            *((HTTP, over_http(cluster.http, has_ids=n % 2 > 0)) for n in range(2)),
            (KAFKA, over_kafka(cluster.kafka)),
        ]
        self.told: list[Told] = []
        self.times: dict[str, list[float]] = {SOCKET: [], HTTP: [], KAFKA: []}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Make changes while the body runs; at its end, wait for the last answers."""
        stop = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            tasks = [
                asyncio.create_task(
                    self._run(f"{way}-{number}", await stack.enter_async_context(caller), stop)
                )
                for number, (way, caller) in enumerate(self._callers)
            ]
            try:
                yield
            finally:
                stop.set()
                await asyncio.gather(*tasks)

    async def _run(self, caller: str, ask: Ask, stop: asyncio.Event) -> None:
        for turn in itertools.count():
            if stop.is_set():
                return
            told = Told(name := f"{caller}-{turn}", await ask(name))
            self.told.append(told)
            if told.is_acknowledged:
                self.times[told.way].append(time.monotonic())
            await asyncio.sleep(_PAUSE_S[told.way])

    async def answered_again(self) -> None:
        """Wait until a change of each way is acknowledged."""
        before = {way: len(times) for way, times in self.times.items()}
        while any(len(self.times[way]) == count for way, count in before.items()):
            await asyncio.sleep(0.01)

    def longest_pause_s(self, since: float) -> float:
        """Return the longest time without an answer to an append, from the last before `since`."""
        times = self.times[SOCKET]
        first = max((i for i, at in enumerate(times) if at <= since), default=0)
        return max(later - at for at, later in itertools.pairwise(times[first:]))

    def counts(self) -> str:
        """Return how many changes of each way were acknowledged, and how many were not."""
        done = Counter(told.way for told in self.told if told.is_acknowledged)
        asked = Counter(told.way for told in self.told)
        return "; ".join(
            f"{way} {done[way]} acknowledged, {asked[way] - done[way]} not" for way in self.times
        )


def offsets_of(batches: Iterable[Batch]) -> dict[str, list[int]]:
    """Return where the changes of clients are in a log, by name: notes, and topics."""
    found: dict[str, list[int]] = {}
    for batch in batches:
        for row in batch.rows:
            match row.payload:
                case NoteRecord():
                    found.setdefault(row.payload.text, []).append(row.offset)
                case TopicRecord():
                    found.setdefault(row.payload.name, []).append(row.offset)
    return found


def broken_promises(
    told: Iterable[Told],
    batches: Iterable[Batch],
    given_up: Iterable[Mapping[str, list[int]]] = (),
) -> list[str]:
    """Return what a log contradicts of what clients were told.

    Args:
        given_up: Where records are in folders that were kept when the store had lost records.
    """
    found = offsets_of(batches)
    problems = []
    for name, answer in told:
        offsets = found.pop(name, [])
        if not offsets and any(_is_told(answer, kept.get(name, [])) for kept in given_up):
            continue
        if len(offsets) > 1:
            problems.append(f"doubled: {name} is at {offsets}")
        elif answer is Outcome.NOTHING and offsets:
            problems.append(f"phantom: {name} had outcome nothing, is at {offsets}")
        elif not isinstance(answer, Outcome) and not _is_told(answer, offsets):
            where = "be there" if answer is None else f"be at {answer}"
            problems.append(f"lost: {name} was told to {where}, is at {offsets}")
    return problems + [f"never asked for: {name}" for name in found]


def _is_told(answer: Answer, offsets: list[int]) -> bool:
    """True if a change is where its client was told; one without an offset, anywhere."""
    return offsets == [answer] if isinstance(answer, int) else answer is None and bool(offsets)
