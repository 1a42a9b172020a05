"""Decisions as stored in a log: the batches of each, and the settings of their writer."""

from collections.abc import Iterable, Iterator, Sequence

from controller.asked.asked import ACTIVATE, settings_of
from controller.decisions.context.context import Settings
from metadata_log.format.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.control import BeginTransactionRecord
from records.envelope import Envelope, without_id
from replay.transactions import Transactions


def recorded_decisions(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Group the batches by decision.

    A decision continues in the next batch only if the batch is full, and the next one has the same
    origin and no logged inputs.
    """
    group: list[Batch] = []
    for batch in batches:
        if group and not _goes_on(group[-1], batch):
            yield group
            group = []
        group.append(batch)
    if group:
        yield group


def _goes_on(before: Batch, batch: Batch) -> bool:
    first, row = before.rows[0], batch.rows[0]
    return (
        len(before.rows) == BATCH_RECORDS_MAX
        and row.asked is None
        and without_id(first.origin) == without_id(row.origin)
    )


def whole_decisions(batches: Iterable[Batch]) -> Iterator[tuple[Sequence[Envelope], bool]]:
    """Yield the rows of each decision; the rows of a transaction together, once it has ended.

    The second value is True if the rows come from several decisions that cannot be told apart,
    because they were made in one transaction or because the transaction has no logged request.
    """
    transactions, held, count = Transactions(), list[Envelope](), 0
    for group in recorded_decisions(batches):
        rows = [row for batch in group for row in batch.rows]
        for _ in transactions.effective(rows):
            pass
        held += rows
        count += 1
        if transactions.begin_offset is None:
            yield held, count > 1 or _is_unexplained(held)
            held, count = [], 0


def _is_unexplained(rows: Sequence[Envelope]) -> bool:
    """True for a transaction for which the log has no request."""
    begins = any(isinstance(row.payload, BeginTransactionRecord) for row in rows)
    return begins and rows[0].asked is None


def payloads(rows: Sequence[Envelope]) -> tuple[Record, ...]:
    """Return the records of rows."""
    return tuple([row.payload for row in rows])


def settings_before(reader: LogReader, offset: int) -> Settings | None:
    """Return the settings of the writer at an offset; None if the log does not have them.

    The settings are in the first batch of the writer's epoch, which starts a segment.

    Raises:
        CorruptLogError: the log is damaged.
    """
    for path in reversed(reader.segment_paths):
        start = reader.header(path).base_offset
        if start <= offset:
            batch = next(iter(reader.batches(start)), None)
            asked = None if batch is None else batch.rows[0].asked
            if asked is not None and asked.command == ACTIVATE:
                return settings_of(asked, reader.cluster_id)
    return None
