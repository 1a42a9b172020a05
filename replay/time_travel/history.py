"""The changes of one object, and which record last set each of its fields."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from records import brokers, configs, control, partitions, security, topics
from records.base import Record
from records.envelope import Envelope, Origin
from records.errors import RequestError
from replay.image.metadata import MetadataDelta, MetadataImage
from replay.image.provenance import Provenance
from replay.loader import BatchSource, load_image
from replay.time_travel.diff import Change, field_changes
from replay.time_travel.objects import ObjectName
from replay.time_travel.steps import effective_rows

_NAMING = (
    topics.TopicRecord,
    topics.RemoveTopicRecord,
    topics.MoveTopicRecord,
    topics.NamespaceRecord,
    topics.RemoveNamespaceRecord,
)
_REMOVALS = (
    partitions.DeleteTopicPartitionsRecord,
    partitions.CancelDeleteTopicPartitionsRecord,
    partitions.RemovePartitionsRecord,
)

# Which records can change an object of a kind. More than needed costs time, fewer costs answers:
# a test replays every record type against every kind.
_TOUCHING: dict[str, tuple[type[Record], ...]] = {
    "topic": (*_NAMING, partitions.PartitionRecord, partitions.RemovePartitionsRecord),
    "partition": (
        *_NAMING,
        partitions.PartitionRecord,
        partitions.PartitionChangeRecord,
        partitions.ClearElrRecord,
        partitions.RemovePartitionsRecord,
    ),
    "broker": (
        brokers.RegisterBrokerRecord,
        brokers.UnregisterBrokerRecord,
        brokers.FenceBrokerRecord,
        brokers.UnfenceBrokerRecord,
        brokers.BrokerRegistrationChangeRecord,
    ),
    "controller": (brokers.RegisterControllerRecord,),
    "namespace": (topics.NamespaceRecord, topics.RemoveNamespaceRecord),
    "config": (configs.ConfigRecord, topics.RemoveTopicRecord, topics.MoveTopicRecord),
    "feature": (configs.FeatureLevelRecord,),
    "acl": (security.AccessControlEntryRecord, security.RemoveAccessControlEntryRecord),
    "quota": (configs.ClientQuotaRecord,),
    "scram": (security.UserScramCredentialRecord, security.RemoveUserScramCredentialRecord),
    "token": (security.DelegationTokenRecord, security.RemoveDelegationTokenRecord),
    "removal": (*_NAMING, *_REMOVALS),
    "deletion": (partitions.ReplicaDeletionRecord,),
    "note": (control.NoteRecord,),
    "cluster": (configs.ProducerIdsRecord, configs.ZkMigrationStateRecord),
}


class Event(msgspec.Struct, frozen=True):
    """One record that changed an object. `row` is the record with its place and origin."""

    row: Envelope
    changes: list[Change]
    removed: bool


class LastSet(msgspec.Struct, frozen=True):
    """Where a field got its value. All but `value` are None when that was before the history."""

    value: Any
    offset: int | None = None
    timestamp: int | None = None
    type: str | None = None
    origin: Origin | None = None

    @property
    def known(self) -> bool:
        """Whether the record that set it is in the kept history."""
        return self.offset is not None


def history(
    source: BatchSource,
    name: ObjectName,
    end_offset: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Event]:
    """Yield the records that changed what is called `name`, oldest first.

    A name may have stood for several objects, one after the other; by id (`topic:@...`) it is one.

    Args:
        end_offset: Exclusive; None is the end of the log.
        progress: Called with the end offset of each batch read.
    """
    end = source.end_offset if end_offset is None else end_offset
    start = source.history_start
    watch = _Watch(load_image(source, start - 1), name)

    def batches() -> Iterator[Any]:
        for batch in source.batches(start, end) if start < end else ():
            yield batch
            if progress is not None:
                progress(batch.end_offset)

    for row in effective_rows(batches(), start, end):
        event = watch.replay(row)
        if event is not None:
            yield event


def blame(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None = None,
) -> dict[str, LastSet]:
    """Return for each field of an object as of offset `at` the record that last set it.

    Raises:
        RequestError: RESOURCE_NOT_FOUND, the object is absent at that offset, or has not the field.
        UnknownHistoryError: the offset lies before the kept history.
    """
    image = load_image(source, at)
    fields = name.fields(image)
    if fields is None:
        raise RequestError(
            "RESOURCE_NOT_FOUND", f"{name.text} is absent at offset {at}; see `metalog history`"
        )
    if not fields and name.field is not None:
        raise RequestError(
            "RESOURCE_NOT_FOUND",
            f"{name.text}: there is no such field at offset {at}; see `metalog blame` without it",
        )
    # By key, so that the lives of other objects of the same name do not count.
    key = name.key(image)
    last: dict[str, Envelope] = {}
    for event in history(source, _by_key(name, key), at + 1, progress):
        for change in event.changes:
            last[change.field] = event.row
        if event.removed:
            last.clear()
    return {
        field: LastSet(value, row.offset, row.timestamp, type(row.payload).__name__, row.origin)
        if (row := last.get(field))
        else LastSet(value)
        for field, value in fields.items()
    }


def _by_key(name: ObjectName, key: Any) -> ObjectName:
    kind = msgspec.structs.replace(name.kind, find=lambda image, _: key)
    return msgspec.structs.replace(name, kind=kind)


class _Watch:
    """Replays a log and looks at one object where a record may have changed it."""

    def __init__(self, image: MetadataImage, name: ObjectName) -> None:
        self._name = name
        self._touching = frozenset(_TOUCHING[name.kind.name])
        self._image = image
        self._delta = MetadataDelta(image)
        self._fields = name.fields(image)

    def replay(self, row: Envelope) -> Event | None:
        """Take a row in; return the event when it changed the object."""
        self._delta.replay(row)
        if type(row.payload) not in self._touching or not self._may_touch(row.payload):
            return None
        self._image = self._delta.apply(Provenance(offset=row.offset))
        self._delta = MetadataDelta(self._image)
        before, self._fields = self._fields, self._name.fields(self._image)
        changes = field_changes(self._name.text.partition("#")[0], before, self._fields)
        if not changes:
            return None
        return Event(row, changes, removed=self._fields is None)

    def _may_touch(self, record: Record) -> bool:
        """Leave out the partition records of other topics: they are most of a log."""
        if not isinstance(record, partitions.PartitionChangeRecord | partitions.PartitionRecord):
            return True
        key = self._name.key(self._image)
        topic_id = key[0] if isinstance(key, tuple) else key
        # A partition that is not there yet has no key: its topic is not known by it either.
        return key is None or bool(topic_id == record.topic_id)
