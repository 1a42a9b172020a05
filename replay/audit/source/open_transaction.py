"""Finds the transaction that is open at an offset."""

import pyarrow.compute as pc

from replay.audit.decoding.log_scan import POSITION, LogScan, tasks
from replay.audit.fold.objects import BEGIN
from replay.audit.log_files import LogFiles
from replay.audit.record_types import MARKERS, wanted_records


def open_transaction(files: LogFiles, first: int, end: int) -> int | None:
    """Return the offset of the record that begins the transaction open at `end`.

    Only the records at offsets in [first, end) are read.

    Returns:
        None if no transaction is open, or one that began before `first`.
    """
    parts = tasks([files.place(path) for path in files.in_range(first, end)])
    scan = LogScan(parts, wanted_records(MARKERS, with_origin=False), first, end)
    begin: int | None = None
    for number in range(len(parts)):
        for batch in scan.batches(number):
            if batch.num_rows:
                is_begin = pc.starts_with(batch["record"][-1], f'{{"{BEGIN}"').as_py()
                begin = batch[POSITION][-1].as_py() if is_begin else None
    return begin
