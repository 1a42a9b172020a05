"""Our log, as the benchmarks use it."""

import asyncio
import itertools
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Protocol, Self

from benchmarks.changes import batches, partition_changes
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog

CLUSTER_ID = "benchmark"


class Appendable(Protocol):
    """A log or a socket client."""

    def append(self, batch: NewBatch) -> Awaitable[AppendResult]: ...


async def append_all(log: Appendable, source: Iterator[NewBatch], callers: int) -> None:
    """Append all batches by `callers` concurrent callers; each has one append in flight at a
    time.
    """

    async def caller() -> None:
        for batch in source:
            await log.append(batch)

    await asyncio.gather(*[caller() for _ in range(callers)])


class OwnLog:
    """A new log in a directory, open during the `with` block."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runner = asyncio.Runner()
        self._changes = partition_changes()

    def __enter__(self) -> Self:
        create_log(self._directory, CLUSTER_ID)
        self._log = self._runner.run(MetadataLog.open(self._directory))
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._log.close())
        self._runner.close()

    def append(self, count: int, *, callers: int, batch_records: int) -> None:
        """Append `count` records in batches of `batch_records`, by `callers` concurrent callers."""
        source = batches(self._changes, batch_records)
        chosen = itertools.islice(source, count // batch_records)
        self._runner.run(append_all(self._log, chosen, callers))
