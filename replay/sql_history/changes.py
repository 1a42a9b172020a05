"""Follows a log and yields the states of all objects, in runs of some thousand records."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, cast

import msgspec

from records.configs import ConfigRecord
from records.envelope import Envelope
from records.topics import TopicRecord
from replay.image.configs import ConfigValue
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from replay.loader import BatchSource
from replay.time_travel.contradictions import explains
from replay.time_travel.effects import OF_A_PARTITION, WITHOUT_EFFECT, Effects, Touched
from replay.transactions import Resolved, Transactions, rows_within

Key = Hashable

RUN_ROWS_MAX = 2_000


class ChangeRow(msgspec.Struct, frozen=True, gc=False):
    """A record that can change objects.

    Attributes:
        closed_by: The record that ended or aborted the transaction of this record; None outside a
            transaction.
    """

    row: Envelope
    in_effect: bool = True
    closed_by: Envelope | None = None

    @property
    def effective(self) -> Envelope:
        """The record at whose offset this record takes effect."""
        return self.closed_by or self.row


class NewState(msgspec.Struct, frozen=True, gc=False):
    """An object's state before and after a record; None where the object does not exist.

    `part` is a part of the image, as in `PARTS`. In the part `configs`, each key of a resource has
    its own state.
    """

    part: str
    key: Key
    before: Any
    after: Any
    cause: ChangeRow


class Run(msgspec.Struct, frozen=True, gc=False):
    """A run of consecutive records, and the changes of object states that they caused.

    Attributes:
        end_offset: Offset from which the log can be continued after this run.
        image: The state after the run.
    """

    rows: list[ChangeRow]
    states: list[NewState]
    end_offset: int
    image: MetadataImage


@explains
def follow(source: BatchSource, image: MetadataImage, to_offset: int) -> Iterator[Run]:
    """Yield the changes that records after an image made, up to `to_offset` (exclusive), in runs.

    The last run ends at `to_offset`, or at the start of an open transaction.

    Raises:
        CorruptLogError: a record contradicts the state before it; names the offset.
    """
    from_offset = max(image.provenance.next_offset, source.start_offset)
    run, transactions = _Run(image), Transactions()
    for batch in source.batches(from_offset, to_offset):
        for found in transactions.resolved(rows_within(batch, from_offset, to_offset)):
            run.add(found)
        if len(run.rows) >= RUN_ROWS_MAX and transactions.begin_offset is None:
            yield run.ended(min(batch.end_offset, to_offset))
    open_at = transactions.begin_offset
    yield run.ended(max(from_offset, to_offset) if open_at is None else open_at)


class _Run:
    """Collects the records of one run after the other."""

    def __init__(self, image: MetadataImage) -> None:
        self._effects = Effects(image)
        self.rows: list[ChangeRow] = []
        self._states: list[NewState] = []

    def add(self, found: Resolved) -> None:
        """Add records and the changes that they made."""
        effects, states = self._effects, self._states
        in_effect, closed_by = found.in_effect, found.closed_by
        for row in found.rows:
            change = ChangeRow(row, in_effect, closed_by)
            record_type = type(row.payload)
            if in_effect and record_type in OF_A_PARTITION:
                old, new = effects.of_partition(row)
                if old != new:
                    key = new.topic_id, new.partition_id
                    states.append(NewState("partitions", key, old, new, change))
            elif in_effect and record_type is ConfigRecord:
                states += _new_config(change, *effects.of_config(row))
            elif in_effect and record_type is TopicRecord:
                topic = effects.of_new_topic(row)
                states.append(NewState("topics", topic.topic_id, None, topic, change))
            elif in_effect:
                for touched in effects.of(row).touched:
                    states += _new_states(touched, change)
            if record_type not in WITHOUT_EFFECT:
                self.rows.append(change)

    def ended(self, end_offset: int) -> Run:
        """End the run at an offset outside a transaction, and return it."""
        image = self._effects.image
        place = msgspec.structs.replace(
            image.provenance, offset=end_offset - 1 if end_offset else None
        )
        image = msgspec.structs.replace(image, provenance=place)
        run = Run(self.rows, self._states, end_offset, image)
        self.rows, self._states = [], []
        return run


def _new_states(touched: Touched, cause: ChangeRow) -> list[NewState]:
    return [
        NewState(part, key, old, new, cause)
        for part, key, old, new in _states(touched)
        # 0.0 equals -0.0, and is another value nevertheless.
        if old != new or repr(old) != repr(new)
    ]


def _states(touched: Touched) -> Iterator[tuple[str, Key, Any, Any]]:
    kind, key, old, new = touched
    match kind.name:
        case "topic":
            before, after = (None if each is None else each.topic for each in (old, new))
            yield "topics", key, before, after
        case "config":
            was, now = old or {}, new or {}
            for name in {**was, **now}:
                if was.get(name) != now.get(name):
                    before, after = (
                        _config_value(key[0], key[1], name, each) for each in (was, now)
                    )
                    yield "configs", (*key, name), before, after
        case "cluster":
            yield key, None, old, new
        case _:
            yield kind.parts[0], key, old, new


def _new_config(cause: ChangeRow, old: str | None, new: str | None) -> list[NewState]:
    if old == new:
        return []
    record = cast(ConfigRecord, cause.row.payload)
    key = record.resource_type, record.resource_name, record.name
    before, after = (None if each is None else ConfigValue(*key, each) for each in (old, new))
    return [NewState("configs", key, before, after, cause)]


def _config_value(
    resource_type: int, resource: str, name: str, values: Mapping[str, str]
) -> ConfigValue | None:
    value = values.get(name)
    return None if value is None else ConfigValue(resource_type, resource, name, value)


def state_key(part: str, value: Any) -> Key:
    """Return the key of an object's state, in the form used in `NewState`."""
    if part == "configs":
        return value.resource_type, value.resource_name, value.name
    key: Key = PARTS[part].key_of(value)
    return key
