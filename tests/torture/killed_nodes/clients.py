"""Clients that append all the time, and what must be in the log for what they were told."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import NamedTuple

from api.clients.reconnecting_client import ReconnectingClient
from metadata_log.format.batch import Batch, NewBatch
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome


class Told(NamedTuple):
    """A record that a client appended, and the answer: its offset, or the error's outcome."""

    name: str
    answer: int | Outcome


class Clients:
    """Appends one record after the other, over several connections.

    Half of the clients give each request an id, so it is repeated until it is answered.

    Attributes:
        told: The answers, in their order.
        times: When the acknowledged ones came, by the monotonic clock, in seconds.
    """

    def __init__(self, url: str, count: int) -> None:
        """Use the nodes at a URL such as `socket://A:1,B:2`."""
        self._url = url
        self._count = count
        self.told: list[Told] = []
        self.times: list[float] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Append while the body runs; at its end, wait for the last answers."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self._run(number, stop)) for number in range(self._count)]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def _run(self, number: int, stop: asyncio.Event) -> None:
        async with ReconnectingClient(self._url) as client:
            for turn in itertools.count():
                if stop.is_set():
                    return
                name = f"{number}/{turn}"
                record = NoteRecord(at_offset=0, author="client", text=name)
                request_id = name if number % 2 else None
                origin = Origin(principal="User:client", command="append", request_id=request_id)
                try:
                    result = await client.append(NewBatch(records=(record,), origin=origin))
                except MetadataLogError as error:
                    self.told.append(Told(name, error.outcome))
                else:
                    self.told.append(Told(name, result.base_offset))
                    self.times.append(time.monotonic())
                await asyncio.sleep(0.002)

    def longest_pause_s(self, since: float) -> float:
        """Return the longest time between two answers, from the last one before `since` on."""
        first = max((i for i, at in enumerate(self.times) if at <= since), default=0)
        return max(later - at for at, later in itertools.pairwise(self.times[first:]))


def offsets_of(batches: Iterable[Batch]) -> dict[str, list[int]]:
    """Return where the records of clients are in a log, by name."""
    found: dict[str, list[int]] = {}
    for batch in batches:
        for row in batch.rows:
            if isinstance(row.payload, NoteRecord):
                found.setdefault(row.payload.text, []).append(row.offset)
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
        if not offsets and any(kept.get(name) == [answer] for kept in given_up):
            continue
        if len(offsets) > 1:
            problems.append(f"doubled: {name} is at {offsets}")
        elif isinstance(answer, int) and offsets != [answer]:
            problems.append(f"lost: {name} was told to be at {answer}, is at {offsets}")
        elif answer is Outcome.NOTHING and offsets:
            problems.append(f"phantom: {name} had outcome nothing, is at {offsets}")
    return problems + [f"never asked for: {name}" for name in found]
