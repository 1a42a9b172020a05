"""Has a writer decide where a log ends, if the last writer was cut off."""

import asyncio
from pathlib import Path

from metadata_log.lock import writer_process
from metadata_log.log import MetadataLog
from metadata_log.log_reader import LogReader
from records.envelope import Asked


async def settle(directory: Path, *, asked: Asked | None = None) -> None:
    """Open and close a log as its writer if complete blocks follow the end that readers see.

    After a crash, acknowledged batches can be among these blocks. To be called before deciding on
    what a reader shows, for example whether a topic exists. A log with a running writer is left
    alone, because its commit mark is exact.

    Args:
        asked: Stored with the announcement, as in `MetadataLog.open`.

    Raises:
        MetadataLogError: the log cannot be read, or cannot be opened by a writer.
    """
    if await asyncio.to_thread(_awaits_writer, directory):
        log = await MetadataLog.open(directory, asked=asked)
        await log.close()


def _awaits_writer(directory: Path) -> bool:
    with LogReader.open(directory) as reader:
        return reader.awaits_writer and writer_process(directory) is None
