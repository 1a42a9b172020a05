"""Recovery of a log whose last writer was cut off, before a decision depends on the log's end."""

import asyncio
from pathlib import Path

from metadata_log.files.fs import OsFs, missing_as_unavailable
from metadata_log.files.lock import writer_process
from metadata_log.format.manifest import read_manifest
from metadata_log.recovery.committed_end import ProvenEnd, find_end
from metadata_log.writer.log import MetadataLog
from records.envelope import Asked


async def settle(directory: Path, *, asked: Asked | None = None) -> None:
    """Open and close a log as its writer if complete blocks follow the end that readers see.

    After a crash, acknowledged batches can be among these blocks. Call this before a decision that
    depends on what a reader shows, such as whether a topic exists. A log with a running writer is
    left alone, because its commit mark is exact.

    Args:
        asked: Stored with the announcement, as in `MetadataLog.open`.

    Raises:
        MetadataLogError: the log cannot be read, or cannot be opened by a writer.
    """
    if await asyncio.to_thread(_awaits_writer, directory):
        log = await MetadataLog.open(directory, asked=asked)
        await log.close()


def seen_end(directory: Path) -> ProvenEnd:
    """Return the end of a log that readers see, without a warning about a damaged commit mark.

    For a writer that opens the log next and repairs the mark.

    Raises:
        RequestError, CorruptLogError, UnavailableError: as `LogReader.open`.
    """
    fs, directory = OsFs(), directory.absolute()
    with missing_as_unavailable(directory):
        return find_end(fs, directory, read_manifest(fs, directory))


def _awaits_writer(directory: Path) -> bool:
    return seen_end(directory).has_more and writer_process(directory) is None
