"""The process that is killed: many callers append at full speed, and each answer is printed.

It prints a line `opened`, and then for each acknowledged append the caller, the caller's count and
the offset, at once and unbuffered: every line printed before the kill was acknowledged.

    python -m tests.torture.killed.writer LOG ROUND
"""

import asyncio
import os
import sys
from pathlib import Path

from metadata_log.format.batch import NewBatch
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.topics import TopicRecord

CALLERS = 64
# Small enough that a run of a few seconds rolls.
SEGMENT_SIZE_BYTES_MAX = 256 * 1024


async def append_until_killed(directory: Path, round_number: int) -> None:
    """Append from all callers; each waits for its answer before its next append."""
    log = await MetadataLog.open(directory, segment_size_bytes_max=SEGMENT_SIZE_BYTES_MAX)
    _tell("opened")
    await asyncio.gather(*(_call(log, round_number, caller) for caller in range(CALLERS)))


async def _call(log: MetadataLog, round_number: int, caller: int) -> None:
    count = 0
    while True:
        result = await log.append(NewBatch(records=(record(round_number, caller, count),)))
        _tell(f"{caller} {count} {result.base_offset}")
        count += 1


def record(round_number: int, caller: int, count: int) -> TopicRecord:
    """Return the record of an append: its name has the caller and the number of its append."""
    return TopicRecord(
        name=f"{round_number}/{caller}/{count}",
        topic_id=Uuid((round_number << 96 | caller << 64 | count).to_bytes(16, "big")),
    )


def _tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    asyncio.run(append_until_killed(Path(sys.argv[1]), int(sys.argv[2])))
