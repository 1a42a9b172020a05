"""Finds the first batch of a committed request, which contains the request and its response."""

import contextlib
from pathlib import Path

from msgspec.structs import replace

from metadata_log.files.fs import ByteStore
from metadata_log.format.batch import Batch
from metadata_log.format.segment_file import read_batch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.request_window import Committed


def first_batch(fs: ByteStore, directory: Path, committed: Committed) -> Batch:
    """Return the first batch of a request.

    Only the request's last batch has its id; `committed` is the place of that batch.

    Raises:
        UnknownHistoryError: the log no longer has the batch.
        CorruptLogError: the batch is damaged.
    """
    with contextlib.suppress(FileNotFoundError):  # the reader knows why
        batch = read_batch(fs, directory, committed.place)
        if batch.rows[0].asked is not None:
            return batch
    with LogReader.open(directory, fs=fs) as reader:
        return _walk_back(reader, committed.result.base_offset)


def _walk_back(reader: LogReader, offset: int) -> Batch:
    """Return the first batch of a request, given the offset of its last batch.

    All batches of a request but the last have BATCH_RECORDS_MAX records.
    """
    batch = _batch_at(reader, offset)
    origin = batch.rows[0].origin
    assert origin is not None, "it was found by it"
    earlier = replace(origin, request_id=None, request_hash=None)
    while batch.rows[0].asked is None:
        base = batch.base_offset - BATCH_RECORDS_MAX
        if base < reader.start_offset:
            break
        before = _batch_at(reader, base)
        if before.end_offset != batch.base_offset or before.rows[0].origin != earlier:
            break
        batch = before
    return batch


def _batch_at(reader: LogReader, offset: int) -> Batch:
    return next(iter(reader.batches(offset)))
