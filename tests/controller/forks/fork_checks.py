"""Makes forks of logs with copying off, and compares them with the log row by row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from api.requests.commands import RECORDED
from controller.decisions.context.context import Settings
from controller.forks.changes import Changes
from controller.forks.fork import Fork
from controller.forks.recorded import settings_before
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.envelope import Envelope
from replay.timeline import Timeline


def fork_at(reader: LogReader, start: int, changes: Changes | None = None) -> Fork:
    """Return a fork of a log from an offset on, with copying off."""
    image = Timeline.of(reader).image(start - 1)
    begin = image.provenance.pending_transaction
    settings = settings_before(reader, start) or Settings(cluster_id=reader.cluster_id)
    start = start if begin is None else begin
    return Fork(image, start, changes or Changes(), RECORDED, settings, copying=False)


def differences(reader: LogReader, start: int, counts: Counter[str]) -> Iterator[str]:
    """Repeat the decisions of a log from an offset on, without changes; yield the differences."""
    fork = fork_at(reader, start)
    begin = fork.past.image.provenance.next_offset
    for step, rows in fork.steps(reader.batches(begin)):
        if _content(rows) != _content(step.rows):
            yield f"offset {step.rows[0].offset}: {step.text}"
    assert fork.comparison.is_equal
    assert not fork.refused and not fork.undecidable and not fork.substituted
    counts.update(fork.counts)


def starts(log: Path) -> list[int]:
    """Return the base offsets of the batches."""
    with LogReader.open(log) as reader:
        return [batch.base_offset for batch in reader.batches()]


def _content(rows: Sequence[Envelope]) -> list[tuple[int, Record]]:
    return [(row.record_version, row.payload) for row in rows]
