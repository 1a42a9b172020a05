"""A writer and followers in processes of their own, for tests and benchmarks of following.

`python -m tests.metadata_log.follower_processes write DIRECTORY BATCHES` appends at full speed,
with several callers at once, in small segments. `... follow DIRECTORY FROM` prints each batch that
it receives, until the note that marks the end.
"""

import asyncio
import hashlib
import sys
from contextlib import aclosing
from pathlib import Path

from metadata_log.format.batch import Batch, NewBatch
from metadata_log.reader.follow import follow
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.envelope import Envelope
from tests.metadata_log.conftest import topics

SEGMENT_SIZE_BYTES = 40_000
CALLERS = 8
END = NoteRecord(at_offset=0, author="writer", text="the end")


def line(batch: Batch) -> str:
    """Return a batch and its content as one line."""
    content = hashlib.sha256(repr([_plain(row) for row in batch.rows]).encode()).hexdigest()
    return f"{batch.base_offset} {batch.end_offset} {batch.leader_epoch} {content}"


def _plain(row: Envelope) -> object:
    return row.offset, row.timestamp, row.previous_crc32c, row.payload


async def write(directory: Path, batches: int) -> None:
    """Append that many batches (0: until killed), and the note that marks the end."""
    log = await MetadataLog.open(directory, segment_size_bytes_max=SEGMENT_SIZE_BYTES)
    print("open", flush=True)

    async def caller(number: int) -> None:
        done = 0
        while not batches or done < batches // CALLERS:
            await log.append(topics(number * 1_000_000 + done, 1 + done % 3))
            done += 1

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    await log.append(NewBatch(records=(END,)))
    await log.close()


async def print_followed(directory: Path, from_offset: int) -> None:
    """Print every batch from an offset until the end note."""
    async with aclosing(follow(directory, from_offset)) as batches:
        async for batch in batches:
            print(line(batch), flush=True)
            if batch.rows[-1].payload == END:
                return


if __name__ == "__main__":
    command, where, number = sys.argv[1:]
    run = {"write": write, "follow": print_followed}[command]
    asyncio.run(run(Path(where), int(number)))
