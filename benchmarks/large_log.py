"""Logs of a given size on disk, written fast: configs whose values hardly compress."""

import itertools
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.own_log import CLUSTER_ID
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord

MB = 1_000_000
_SEED = 20_261_121
# About 4 KB on disk each: hexadecimal digits take half a byte when compressed.
_VALUE_DIGITS = 8_000
_BATCH_RECORDS = 50
_NAMES = 100


def settings() -> Iterator[NewBatch]:
    """Yield batches without end; they set the same configs to new random values again and again."""
    rng = random.Random(_SEED)
    for number in itertools.count():
        yield NewBatch(
            records=tuple(
                ConfigRecord(
                    resource_type=2,
                    resource_name=f"topic-{(number + index) % _NAMES}",
                    name="benchmark.value",
                    value=rng.randbytes(_VALUE_DIGITS // 2).hex(),
                )
                for index in range(_BATCH_RECORDS)
            )
        )


def log_size_bytes(directory: Path) -> int:
    """Return the total size of the files of a log."""
    return sum(path.stat().st_size for path in directory.iterdir())


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[MetadataLog]:
    """Open a log as its writer; close it cleanly when the block ends."""
    log = await MetadataLog.open(directory)
    try:
        yield log
    finally:
        await log.close()


async def make_large_log(directory: Path, size_bytes: int) -> None:
    """Make a log of at least this size, closed cleanly."""
    create_log(directory, CLUSTER_ID)
    async with opened(directory) as log:
        for batch in settings():
            await log.append(batch)
            if log_size_bytes(directory) >= size_bytes:
                return
