"""Finds the transaction that is open at an offset."""

import pyarrow.compute as pc

from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import readable_files
from replay.audit.decoding.log_scan import POSITION, LogScan
from replay.audit.fold.objects import BEGIN
from replay.audit.record_types import MARKERS, wanted_records
from replay.audit.source.placed_scan import task_between


def open_transaction(reader: LogReader, first: int, end: int) -> int | None:
    """Return the offset of the record that begins the transaction open at `end`.

    Only the records at offsets in [first, end) are read.

    Returns:
        None if no transaction is open, or one that began before `first`.
    """
    files = readable_files(reader, None, lambda path, size: None)
    task = task_between(reader, files, first, end)
    scan = LogScan((task,), wanted_records(MARKERS, with_origin=False), first, end)
    begin: int | None = None
    for batch in scan.batches(0):
        if batch.num_rows:
            is_begin = pc.starts_with(batch["record"][-1], f'{{"{BEGIN}"').as_py()
            begin = batch[POSITION][-1].as_py() if is_begin else None
    return begin
