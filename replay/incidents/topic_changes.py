"""Topics that were created and deleted in a range, by name, and how often others were changed."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from records.base import Uuid
from records.configs import ConfigRecord, FeatureLevelRecord
from records.envelope import Envelope
from records.metadata_versions import METADATA_VERSION
from records.partitions import PartitionRecord, RemovePartitionsRecord
from records.topics import RemoveTopicRecord, TopicRecord
from replay.incidents.partition_count import PartitionCount
from replay.incidents.replay_state import ReplayState

NAMED_MAX = 10
"""Number of topics whose names are kept; others are only counted."""

_INTERNAL = "_"
"""Beginning of the names of topics that Kafka and its tools create for themselves."""


class TopicLife(msgspec.Struct, frozen=True, kw_only=True):
    """When topics of a name were created and deleted in the range, ms since 1970, in order.

    Attributes:
        existed: True if there was a topic of the name before: its deletion comes first.
    """

    name: str
    created: tuple[int, ...]
    deleted: tuple[int, ...]
    existed: bool = False

    def in_order(self) -> list[tuple[int, bool]]:
        """Return each time, with True if it is of a creation; at one time, they alternate."""
        created, deleted, exists = [*self.created], [*self.deleted], self.existed
        found: list[tuple[int, bool]] = []
        while created and deleted:
            is_deleted = (deleted[0], not exists) <= (created[0], False)
            exists = not is_deleted
            found.append(((deleted if is_deleted else created).pop(0), exists))
        return [*found, *((time, True) for time in created), *((time, False) for time in deleted)]


class TopicChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How topics were changed in a range.

    Attributes:
        created, deleted: Numbers of topics.
        named: Some of them: those that were deleted first, those of Kafka and its
            tools last.
        configured: Number of changes of configs; those set as a topic is created do not count, nor
            what a format of the storage has set.
        resized: Number of changes of the number of partitions of a topic; the partitions with which
            a topic is created do not count.
        from_offset, from_time: Offset and append time of the creation of a topic before which
            there was none; None if there is no such creation.
    """

    created: int = 0
    deleted: int = 0
    named: tuple[TopicLife, ...] = ()
    configured: int = 0
    resized: int = 0
    from_offset: int | None = None
    from_time: int | None = None


class TopicLog:
    """Collects how topics are changed."""

    def __init__(self, state: ReplayState) -> None:
        """Use a state, in which a batch's records are applied before they are added here."""
        self._state = state
        # True if there are no topics before the range; None until that begins.
        self._is_empty: bool | None = None
        self._count = PartitionCount(())
        self._created: list[tuple[str, int, int]] = []
        self._deleted: list[tuple[str, int, int]] = []
        # The topics that are created and resized by the rows that take effect now.
        self._new, self._resizing = set[Uuid](), set[Uuid]()
        self._resized = 0
        # The batches that changed configs.
        self._configs: set[int] = set()

    def begin(self) -> None:
        """Begin the range, if it has not begun: its first batch is the next one applied."""
        if self._is_empty is None:
            self._count = PartitionCount(self._state.all_partitions())
            self._is_empty = self._count.is_empty

    def together(self, rows: Iterable[Envelope]) -> None:
        """Begin rows that take effect together."""
        self._resizing.clear()
        self._new = {row.payload.topic_id for row in rows if isinstance(row.payload, TopicRecord)}

    def know(self, rows: Iterable[Envelope]) -> None:
        """See rows before the range that take effect with rows of the range, or before those."""
        if self._is_empty is None:
            return
        for row in rows:
            self._count.add(row)
            if isinstance(row.payload, TopicRecord):
                self._is_empty = False

    def add(self, row: Envelope) -> None:
        """Add a row about a topic or a config."""
        self._count.add(row)
        match row.payload:
            case PartitionRecord(topic_id=topic_id, partition_id=partition_id):
                # Without a transaction, the partitions may come later than their topic.
                if partition_id > 0 and topic_id not in self._new:
                    self._resize(topic_id)
            case TopicRecord() as record:
                self._created.append((self._name(record), row.offset, row.timestamp))
            case RemoveTopicRecord(topic_id=topic_id):
                name = self._state.former_name(topic_id)
                self._deleted.append((name, row.offset, row.timestamp))
            case ConfigRecord() if not self._new:
                self._configs.add(row.batch_offset)
            case RemovePartitionsRecord(topic_id=topic_id):
                self._resize(topic_id)

    def _resize(self, topic_id: Uuid) -> None:
        if topic_id not in self._resizing:
            self._resizing.add(topic_id)
            self._resized += 1

    def partitions_at(self, offset: int) -> int:
        """Return the number of partitions at an offset of the range."""
        return self._count.at(offset)

    def changes(self) -> TopicChanges:
        """Return the changes so far."""
        first = self._created[0] if self._created and self._is_empty else None
        return TopicChanges(
            created=len(self._created),
            deleted=len(self._deleted),
            named=named([*self._lives()]),
            configured=len(self._configs),
            resized=self._resized,
            from_offset=None if first is None else first[1],
            from_time=None if first is None else first[2],
        )

    def _name(self, record: TopicRecord) -> str:
        name = self._state.topic_name(record.topic_id)
        # It may be gone again in the same batch.
        return record.name if name.startswith("@") else name

    def _lives(self) -> Iterable[TopicLife]:
        found: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for index, changes in enumerate((self._created, self._deleted)):
            for name, offset, time in changes:
                found.setdefault(name, ([], []))[index].append((offset, time))
        for name, (created, deleted) in found.items():
            yield TopicLife(
                name=name,
                created=tuple([time for _, time in created]),
                deleted=tuple([time for _, time in deleted]),
                existed=bool(deleted) and not (created and created[0] < deleted[0]),
            )


def named(lives: Sequence[TopicLife]) -> tuple[TopicLife, ...]:
    """Return the topics that are named, in the order of `TopicChanges.named`."""
    ordered = sorted(lives, key=lambda each: (not each.deleted, each.name.startswith(_INTERNAL)))
    return tuple(ordered[:NAMED_MAX])


def joined_changes(parts: Sequence[TopicChanges]) -> TopicChanges:
    """Return the changes of a recording, given those of its parts, oldest first."""
    lives: dict[str, TopicLife] = {}
    for each in (life for part in parts for life in part.named):
        known = lives.get(each.name)
        lives[each.name] = (
            each
            if known is None
            else replace(
                known, created=known.created + each.created, deleted=known.deleted + each.deleted
            )
        )
    return TopicChanges(
        created=sum(each.created for each in parts),
        deleted=sum(each.deleted for each in parts),
        named=named([*lives.values()]),
        configured=sum(each.configured for each in parts),
        resized=sum(each.resized for each in parts),
        from_offset=parts[0].from_offset,
        from_time=parts[0].from_time,
    )


def is_format(rows: Iterable[Envelope]) -> bool:
    """True if rows that take effect together set metadata.version, as a format of the storage does.

    Only the rows before the first broker's registration are asked about.
    """
    return any(
        isinstance(row.payload, FeatureLevelRecord) and row.payload.name == METADATA_VERSION
        for row in rows
    )
