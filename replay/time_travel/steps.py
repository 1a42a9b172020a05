"""Going through a log record by record, in the order in which records take effect."""

from collections.abc import Iterable, Iterator

from metadata_log.batch import Batch
from records.control import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from records.envelope import Envelope


def effective_rows(
    batches: Iterable[Batch], from_offset: int, end_offset: int
) -> Iterator[Envelope]:
    """Yield the rows in [from_offset, end_offset) that take effect, when they do.

    The rows of a transaction come when it ends, those of an aborted or open one never do. The log
    is taken to be sound: replay reports what is not.
    """
    held: list[Envelope] | None = None
    for batch in batches:
        for row in batch.rows:
            if not from_offset <= row.offset < end_offset:
                continue
            match row.payload:
                case BeginTransactionRecord():
                    held = []
                case EndTransactionRecord():
                    yield from held or []
                    held = None
                case AbortTransactionRecord():
                    held = None
                case _ if held is not None:
                    held.append(row)
                case _:
                    yield row
