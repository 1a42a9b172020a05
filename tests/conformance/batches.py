"""Each batch of a Kafka log, decided anew from inferred triggers and compared."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from controller.decisions.context.context import Settings
from controller.decisions.levels import METADATA_VERSION
from controller.forks.branch import Applied
from controller.forks.inference import in_recorded_order
from controller.forks.redecisions import different_record
from controller.pipeline.latest import State
from metadata_log.reader.log_reader import LogReader
from records.brokers import RegisterBrokerRecord
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline
from tests.conformance.candidates import NOT_COMPARED, triggers_of

Rows = Sequence[Envelope]

_LEVEL_OF_3_6 = 12


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one batch.

    Attributes:
        kind: The types of its records, each once, in their order.
        is_inferred: True if a trigger was inferred for every record.
        difference: The first decision that differs from the log; None if there is none.
    """

    offset: int
    kind: str
    is_inferred: bool
    difference: str | None

    @property
    def is_equal(self) -> bool:
        """True if every record was decided as in the log, with the same version."""
        return self.is_inferred and self.difference is None


def decided_batches(reader: LogReader) -> Iterator[Outcome]:
    """Decide each batch of a log that has records other than NoOps and control records.

    Raises:
        CorruptLogError: the log is damaged.
    """
    start = reader.history_start
    image = Timeline.of(reader).image(start - 1) if start else MetadataImage.EMPTY
    state = State.of(image)
    settings = Settings(cluster_id=reader.cluster_id, accepts_unknown_configs=True)
    written_end = start
    for batch in reader.batches(start):
        rest = tuple(row for row in batch.rows if type(row.payload) not in NOT_COMPARED)
        steps, kind = [], _kind(rest)
        while rest:
            step = first_step(_as_counted(rest, batch.base_offset - written_end), state, settings)
            steps.append(step)
            state = Applied(state, rest[: step.count]).after
            rest = rest[step.count :]
        if steps:
            yield _outcome(batch.base_offset, kind, steps)
        if not isinstance(batch.rows[-1].payload, LeaderChangeMessage):
            written_end = batch.end_offset


def _as_counted(rows: Rows, not_counted: int) -> Rows:
    """Return rows at the offset that the controller expected for the first one.

    Before 3.6 it did not count the record of its own election, so that the epoch of a broker that
    registered first is one below its offset (QuorumController of 3.5, `writeOffset + 1`). Brokers
    before 3.3 name no metadata.version (KIP-778).

    Args:
        not_counted: Number of records written by elections since the last other batch.
    """
    record = rows[0].payload
    if not isinstance(record, RegisterBrokerRecord):
        return rows
    levels = [f.max_supported_version for f in record.features if f.name == METADATA_VERSION]
    if max(levels, default=0) >= _LEVEL_OF_3_6:
        return rows
    return (replace(rows[0], offset=rows[0].offset - not_counted), *rows[1:])


class Step(msgspec.Struct, frozen=True):
    """The first `count` rows of the remaining ones, as one decision."""

    count: int
    is_inferred: bool
    difference: str | None = None

    @property
    def is_equal(self) -> bool:
        """True if a trigger writes exactly these rows."""
        return self.is_inferred and self.difference is None


def first_step(rows: Rows, state: State, settings: Settings) -> Step:
    """Find the trigger that writes the first rows; if there is none, return the step of the first
    trigger, with its difference.
    """
    records = [row.payload for row in rows]
    differences = []
    for trigger in triggers_of(records, state.image):
        decided = trigger.decided(rows, state, settings)
        written = in_recorded_order(decided.records, rows)
        count = len(written)
        difference = different_record(written, decided.context, rows[:count])
        if written and difference is None:
            return Step(count, is_inferred=True)
        refused = [f"{name} {refusal.message}".strip() for name, refusal in decided.refusals]
        what = decided.failure or "; ".join(refused) or difference or "nothing is written"
        differences.append(f"{trigger.text}: {what}")
    same = list(takewhile(lambda record: type(record) is type(records[0]), records))
    found = differences[0] if differences else None
    return Step(len(same), is_inferred=bool(differences), difference=found)


def _outcome(offset: int, kind: str, steps: Sequence[Step]) -> Outcome:
    differences = [step.difference for step in steps if step.difference is not None]
    return Outcome(
        offset=offset,
        kind=kind,
        is_inferred=all(step.is_inferred for step in steps),
        difference=differences[0] if differences else None,
    )


def _kind(rows: Rows) -> str:
    return ", ".join(dict.fromkeys(type(row.payload).__name__ for row in rows))
