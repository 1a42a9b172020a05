"""Own logs on disk, written by the writer in several epochs.

`python -m tests.own_logs LOG` writes one whose writer was started five times, for the documents.
"""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

import msgspec

from api.cli.log.demo_run import write_demo
from controller.demo.options import DemoOptions
from metadata_log.format.batch import Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.configs import FeatureLevelRecord
from records.control import LeaderChangeMessage
from records.envelope import Envelope, Origin
from records.metadata_versions import METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL
from tests.histories import START_TIME_MS, random_history


class SteadyClock:
    """A clock that only advances when a history sets it."""

    def now_ms(self) -> int:
        return 1_700_000_000_000


async def write_history(
    directory: Path,
    seed: int,
    batches: int,
    *,
    batches_an_epoch: int = 8,
    create: bool = True,
    as_by_controller: bool = False,
) -> Path:
    """Write a random history; the log is reopened every few batches, so each epoch has a
    segment.

    Args:
        as_by_controller: Leave out what no controller writes: LeaderChangeMessages inside epochs
            that begin with the writer's, and levels of metadata.version that lack its records.
    """
    if create:
        create_log(directory, "test-cluster")
    history = random_history(random.Random(seed), batches, times_go_back=False, noop_runs=False)
    if as_by_controller:
        history = [_LEVEL, *filter(None, map(_by_controller, history))]
    await _append(directory, history, seed, batches_an_epoch)
    return directory


_LEVEL = Batch.of(
    [
        Envelope(
            offset=0,
            leader_epoch=0,
            timestamp=START_TIME_MS,
            batch_offset=0,
            record_version=0,
            payload=FeatureLevelRecord(
                name=METADATA_VERSION, feature_level=UNREGISTER_CONTROLLER_LEVEL
            ),
        )
    ]
)


def _by_controller(batch: Batch) -> Batch | None:
    rows = [row for row in batch.rows if not _is_by_nobody(row.payload)]
    return Batch.of(rows) if rows else None


def _is_by_nobody(record: Record) -> bool:
    if isinstance(record, FeatureLevelRecord):
        return record.name == METADATA_VERSION
    return isinstance(record, LeaderChangeMessage)


async def write_demo_in_epochs(directory: Path, *, batches_an_epoch: int = 14) -> None:
    """Write the history of a small demo, in several epochs.

    Documents print its digests: no type or field that the random histories get changes them.
    """
    with tempfile.TemporaryDirectory() as folder:
        await write_demo(Path(folder) / "log", DemoOptions(topics=6, changes=40))
        with LogReader.open(Path(folder) / "log") as reader:
            history = [*reader.batches()]
    create_log(directory, "test-cluster")
    await _append(directory, history, 0, batches_an_epoch)


async def _append(directory: Path, history: list[Batch], seed: int, batches_an_epoch: int) -> None:
    for first in range(0, len(history), batches_an_epoch):
        log = await MetadataLog.open(directory, clock=SteadyClock())
        for batch in history[first : first + batches_an_epoch]:
            await log.append(
                NewBatch(
                    records=tuple(row.payload for row in batch.rows),
                    record_versions=tuple(row.record_version for row in batch.rows),
                    origin=_of_seed(batch.rows[0].origin, seed),
                    timestamp=batch.timestamp,
                )
            )
        await log.close()


def _of_seed(origin: Origin | None, seed: int) -> Origin | None:
    """Give a request an id that is unique to the seed of its history."""
    if origin is None or origin.request_id is None:
        return origin
    return msgspec.structs.replace(origin, request_id=f"{seed}-{origin.request_id}")


def content(directory: Path) -> dict[str, bytes]:
    """Return every file of a directory."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


if __name__ == "__main__":
    asyncio.run(write_demo_in_epochs(Path(sys.argv[1])))
