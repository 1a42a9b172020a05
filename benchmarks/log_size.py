"""Bytes per record on disk: partition changes in batches of several sizes."""

import itertools
from pathlib import Path

from benchmarks.changes import partition_changes, stored_bytes
from benchmarks.harness import Result
from benchmarks.own_log import OwnLog

_RECORDS = 100_000
# Batches of a commit each, so that many callers share its sync.
_CALLERS = 256
_TARGETS = {1: None, 10: None, 100: None, 1_000: 20.0}


def run(scratch: Path) -> list[Result]:
    """Compare the size of all files of a log with the size of its rows before compression."""
    plain = sum(
        len(stored_bytes(offset, change, 1_763_700_000_000))
        for offset, change in enumerate(itertools.islice(partition_changes(), _RECORDS))
    )
    return [_measure(scratch / f"log-{size}", size, plain / _RECORDS) for size in _TARGETS]


def _measure(directory: Path, batch_records: int, plain_bytes: float) -> Result:
    with OwnLog(directory) as log:
        log.append(
            _RECORDS, callers=min(_CALLERS, 10_000 // batch_records), batch_records=batch_records
        )
    stored = sum(path.stat().st_size for path in directory.iterdir()) / _RECORDS
    return Result(
        name=f"bytes a record on disk, batches of {batch_records:,} / rows in Avro",
        ours=f"{stored:.1f} B",
        peer=f"{plain_bytes:.1f} B",
        ratio=stored,
        target=_TARGETS[batch_records],
        at_most=True,
    )
