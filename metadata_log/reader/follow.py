"""Following a live log: yields batches as they are committed, without a lock."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.batch import Batch
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.wakeup import Polling, Wakeup, watch
from records.errors import UnavailableError

_VANISHED_S = (0.05, 0.2, 0.5)
"""Pauses, in seconds, before retries to read a log that vanished. When a mirror continues in a new
part, it is renamed, and for an instant its directory does not exist."""


async def follow(
    directory: Path | str, from_offset: int | None = None, *, fs: Fs | None = None
) -> AsyncGenerator[Batch, None]:
    """Yield every committed batch from an offset on, then each new one as it is committed, forever.

    Yields whole batches, each once and in order, also across new segments and new writers. Disk
    reads run in a thread; only a few batches are in memory, however far behind the caller is. To
    stop, cancel the caller or leave the loop (with `contextlib.aclosing` the file watch is released
    immediately).

    Args:
        from_offset: The first batch is the one that contains this offset; None means the first
            batch kept. Pass the log's end to get only new batches.

    Raises:
        RequestError: the directory is not a log; or OFFSET_OUT_OF_RANGE: `from_offset` is past the
            end, or the log's end went back while it was followed (the log was restored, or the
            unconfirmed end of a mirror was replaced).
        UnknownHistoryError: the next batch is before the kept history.
        UnavailableError: the log was removed.
        CorruptLogError: damage; names file, byte, and the offset below which everything is intact.
    """
    directory, fs = Path(directory).absolute(), fs or OsFs()
    cursor = await asyncio.to_thread(LogCursor, directory, from_offset, fs=fs)
    # Start watching before reading the mark, so that no change is missed between the two.
    with _watch(directory, fs) as wakeup:
        while True:
            while batches := await _read(cursor):
                for batch in batches:
                    yield batch
            await wakeup.wait()


async def _read(cursor: LogCursor) -> list[Batch]:
    """Read the next batches; wait for a log that vanished, because it may only be renamed."""
    for pause_s in _VANISHED_S:
        try:
            return await asyncio.to_thread(cursor.read)
        except UnavailableError:
            await asyncio.sleep(pause_s)
    return await asyncio.to_thread(cursor.read)


def _watch(directory: Path, fs: Fs) -> AbstractContextManager[Wakeup]:
    if isinstance(fs, OsFs):
        return watch(directory / COMMIT_MARK)
    return nullcontext(Polling())  # a simulated disk sends no notifications
