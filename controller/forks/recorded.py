"""Decisions as stored in a log: the batches of each, and the settings of their writer."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from controller.asked import ACTIVATE, settings_of
from controller.decisions.context import Settings
from metadata_log.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.log_reader import LogReader
from records.base import Record
from records.envelope import Envelope, Origin


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
        and _anonymous(first.origin) == _anonymous(row.origin)
    )


def _anonymous(origin: Origin | None) -> Origin | None:
    return origin and replace(origin, request_id=None, request_hash=None)


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
