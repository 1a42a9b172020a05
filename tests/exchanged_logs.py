"""Logs that can be confused with each other: of different clusters, or forks of one history.

All end at the same offsets with the same epochs, so that only their content differs.
"""

import asyncio
import shutil
from pathlib import Path

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.topics import TopicRecord
from tests.own_logs import SteadyClock

CLUSTER = "test-cluster"


def write_epoch(directory: Path, salt: str, batches: int = 3) -> None:
    """Append to a log in a new epoch; `salt` makes its records different from those of other
    logs.
    """
    asyncio.run(_write_epoch(directory, salt, batches))


async def _write_epoch(directory: Path, salt: str, batches: int) -> None:
    log = await MetadataLog.open(directory, clock=SteadyClock())
    for _ in range(batches):
        # Names of one length, ids of one size: only content differs, never a length.
        name = f"{salt}-{log.end_offset:04d}"
        topic = TopicRecord(name=name, topic_id=Uuid(name.encode().rjust(16, b"-")))
        await log.append(NewBatch(records=(topic,)))
    await log.close()


def new_log(directory: Path, salt: str, *, cluster_id: str = CLUSTER) -> Path:
    """Write a log of three epochs."""
    create_log(directory, cluster_id)
    for _ in range(3):
        write_epoch(directory, salt)
    return directory


def forks(directory: Path) -> tuple[Path, Path]:
    """Write one epoch, copy the log, and continue each copy for two epochs with other records."""
    common = directory / "common"
    create_log(common, CLUSTER)
    write_epoch(common, "both")
    logs = directory / "one", directory / "two"
    for log in logs:
        shutil.copytree(common, log)
        for _ in range(2):
            write_epoch(log, log.name)
    return logs
