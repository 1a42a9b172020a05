"""Following a live log: batches as they commit, without a lock."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from metadata_log.batch import Batch
from metadata_log.cursor import LogCursor
from metadata_log.fs import Fs, OsFs
from metadata_log.names import COMMIT_MARK
from metadata_log.wakeup import Polling, Wakeup, watch


async def follow(
    directory: Path | str, from_offset: int | None = None, *, fs: Fs | None = None
) -> AsyncGenerator[Batch, None]:
    """Yield every committed batch from an offset on, and then each one as it commits, for ever.

    Whole batches, each once and in order, through rolls and changes of the writer. Disk reads run
    in a thread; a few batches are in memory at a time, however far behind the caller is. Cancel
    the caller to stop, or leave the loop (`contextlib.aclosing` then frees the watch at once).

    Args:
        from_offset: The first batch is the one that holds it; None is the first one kept. May be
            the log's end, to see only what is new.

    Raises:
        RequestError: the directory is no log; or OFFSET_OUT_OF_RANGE: `from_offset` is past the
            end, or the log went back while it was followed (restored, or the unconfirmed end of a
            mirror was replaced).
        UnknownHistoryError: the place lies before the kept history.
        UnavailableError: the log vanished.
        CorruptLogError: damage; names file, byte, and the offsets below which all is intact.
    """
    directory, fs = Path(directory).absolute(), fs or OsFs()
    cursor = await asyncio.to_thread(LogCursor, directory, from_offset, fs=fs)
    # The watch begins before the mark is read, so no change falls between the two.
    with _watch(directory, fs) as wakeup:
        while True:
            while batches := await asyncio.to_thread(cursor.read):
                for batch in batches:
                    yield batch
            await wakeup.wait()


def _watch(directory: Path, fs: Fs) -> AbstractContextManager[Wakeup]:
    if isinstance(fs, OsFs):
        return watch(directory / COMMIT_MARK)
    return nullcontext(Polling())  # the operating system knows nothing of a simulated disk
