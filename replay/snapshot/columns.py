"""Partitions of a topic in columns: each field's values together, most in one string of octets.

Takes a tenth of the octets of partitions with their fields by name. A column is empty, or has one
value, where partitions are as they usually are: led by their first replica, all replicas in sync,
and created together.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Annotated, TypeAlias, TypeVar

import msgspec

from records.base import Uuid
from replay.image.partitions import NO_LEADER, READ_WRITE, Partition
from replay.image.placement import Placement
from replay.snapshot.shared_values import SharedValues

V = TypeVar("V")

_Brokers: TypeAlias = tuple[int, ...]

_Indexes: TypeAlias = bytes | tuple[int, ...]
"""Indexes into another column; octets, unless one of them does not fit."""

_OCTET_MAX = 255
_ID_SIZE = 16


class PartitionColumns(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Columns of the partitions that `in_columns` selects, ordered by id.

    Fields may only be added at the end, with a default. A column of epochs that has one value has
    it for all partitions.

    Attributes:
        factor: Number of replicas of each partition.
        brokers: The ids of all brokers with a replica.
        replicas: Indexes into `brokers`, `factor` for each partition.
        ids: Partition ids; empty: 0, 1, 2 and so on.
        isrs: By place, where the ISR is not all replicas in the same order.
        leaders: By place, where the leader is not the first replica.
        directory_ids: Log directories, 16 octets each; empty: all are unknown.
        directories: Indexes of the directories, as `replicas`; empty: each broker has only one, and
            they are in the order of `brokers`.
    """

    factor: Annotated[int, msgspec.Meta(ge=1)] = 1
    brokers: _Brokers = ()
    replicas: _Indexes = b""
    ids: tuple[int, ...] = ()
    isrs: dict[int, _Brokers] = {}
    leaders: dict[int, int] = {}
    leader_epochs: tuple[int, ...] = ()
    partition_epochs: tuple[int, ...] = ()
    directory_ids: bytes = b""
    directories: _Indexes = b""

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> "PartitionColumns":
        """Return the columns of partitions selected by `in_columns`, in order of id."""
        if not partitions:
            return NO_COLUMNS
        brokers, replicas = _indexed([each.replicas for each in partitions])
        held, directories = _indexed([each.directories for each in partitions])
        ids = tuple([each.partition_id for each in partitions])
        places = list(enumerate(partitions))
        return cls(
            len(partitions[0].replicas),
            brokers,
            replicas,
            () if ids[0] == 0 and ids[-1] == len(ids) - 1 else ids,
            {at: each.isr for at, each in places if each.isr != each.replicas},
            {at: each.leader for at, each in places if each.leader != each.replicas[0]},
            _once(tuple([each.leader_epoch for each in partitions])),
            _once(tuple([each.partition_epoch for each in partitions])),
            b"".join(held),
            b"" if directories == replicas else directories,
        )

    @property
    def partition_count(self) -> int:
        """Number of partitions."""
        return len(self.replicas) // self.factor

    def partitions(
        self, topic_id: Uuid, shared: SharedValues, places: Sequence[int] | None = None
    ) -> list[Partition]:
        """Make the partitions, or those at some places; equal values are the objects of `shared`.

        Raises:
            ValueError, LookupError: the columns do not fit together.
        """
        count = self.partition_count
        ids = self._partition_ids()
        leader_epochs = _each(self.leader_epochs, count)
        partition_epochs = _each(self.partition_epochs, count)
        chosen = range(count) if places is None else places
        held = zip(chosen, self._replicas(places), self._directories(places), strict=True)
        made = []
        for at, replicas, directories in held:
            brokers, directory_ids = shared.replicas(replicas, directories)
            isr = self.isrs.get(at)
            made.append(
                Partition(
                    topic_id,
                    ids[at],
                    brokers,
                    brokers if isr is None else shared.value(isr),
                    (),
                    (),
                    self.leaders.get(at, brokers[0]),
                    0,
                    leader_epochs[at],
                    partition_epochs[at],
                    directory_ids,
                )
            )
        return made

    def degraded(self, min_isr: int) -> Sequence[int] | None:
        """Return the places of the partitions in `DeferredEntry.degraded`; None: all of them."""
        if self.factor < min_isr:
            return None
        lacking = {at for at, isr in self.isrs.items() if len(isr) < self.factor}
        return sorted(lacking | {at for at, each in self.leaders.items() if each == NO_LEADER})

    def values(self, fields: Iterable[str]) -> set[tuple[object, ...]] | None:
        """Return the different values that partitions have in some fields, in any order.

        Returns None for fields whose values columns do not have as they are.

        Raises:
            ValueError, LookupError: the columns do not fit together.
        """
        columns = []
        for field in fields:
            column = self._column(field)
            if column is None:
                return None
            columns.append(column)
        return set(zip(*columns, strict=True))

    def _column(self, field: str) -> Sequence[object] | None:
        count = self.partition_count
        match field:
            case "replicas":
                return self._replicas(None)
            case "isr":
                return [self.isrs.get(at, all_) for at, all_ in enumerate(self._replicas(None))]
            case "leader":
                first = [self.brokers[index] for index in self.replicas[:: self.factor]]
                return [self.leaders.get(at, leader) for at, leader in enumerate(first)]
            case "leader_epoch":
                return _each(self.leader_epochs, count)
            case "partition_epoch":
                return _each(self.partition_epochs, count)
        return None

    def placement(self, topic_id: Uuid, shared: SharedValues) -> Placement:
        """Return where the partitions are; only those that are not settled are made.

        Raises:
            ValueError, LookupError: the columns do not fit together.
        """
        factor, brokers, replicas = self.factor, self.brokers, self.replicas
        held, firsts = Counter(replicas), list(replicas[::factor])
        in_doubt = {at for at, isr in self.isrs.items() if len(isr) != factor} | self.leaders.keys()
        others: list[Partition] = []
        if in_doubt:
            others = self.partitions(topic_id, shared, sorted(in_doubt))
            held -= Counter(self._at(replicas, in_doubt))
            firsts = [first for at, first in enumerate(firsts) if at not in in_doubt]
        return Placement(
            {brokers[index]: count for index, count in held.items()},
            [brokers[index] for index in firsts],
            others,
        )

    def _partition_ids(self) -> Sequence[int]:
        count = self.partition_count
        return _each(self.ids, count) if self.ids else range(count)

    def _replicas(self, places: Sequence[int] | None) -> list[_Brokers]:
        return _rows(self._at(self.replicas, places), self.brokers, self.factor)

    def _directories(self, places: Sequence[int] | None) -> Sequence[tuple[Uuid, ...]]:
        octets = self.directory_ids
        if not octets:
            return ((),) * (self.partition_count if places is None else len(places))
        if len(octets) % _ID_SIZE:
            raise ValueError(f"{len(octets)} octets are no ids of {_ID_SIZE} each")
        starts = range(0, len(octets), _ID_SIZE)
        ids = [Uuid(octets[start : start + _ID_SIZE]) for start in starts]
        return _rows(self._at(self.directories or self.replicas, places), ids, self.factor)

    def _at(self, indexes: _Indexes, places: Iterable[int] | None) -> Sequence[int]:
        """Return the indexes of the partitions at some places, or all."""
        if places is None:
            return indexes
        size = self.factor
        return list(chain(*[indexes[size * at : size * at + size] for at in places]))


NO_COLUMNS = PartitionColumns()


def in_columns(partitions: Sequence[Partition]) -> tuple[list[Partition], list[Partition]]:
    """Return the partitions that columns can hold, and all others; both in the given order.

    In columns, all have the same number of replicas, and either the directories of all of them are
    known or none: as most of the topic's partitions.
    """
    shapes = [_shape(each) for each in partitions]
    if shapes and shapes[0] and shapes.count(shapes[0]) == len(shapes):
        return list(partitions), []
    counts = Counter(filter(None, shapes))
    usual = max(counts, key=lambda shape: (counts[shape], shape)) if counts else -1
    plain = [each for each, shape in zip(partitions, shapes, strict=True) if shape == usual]
    others = [each for each, shape in zip(partitions, shapes, strict=True) if shape != usual]
    return plain, others


def _shape(partition: Partition) -> int:
    """Return what a topic's columns need in common: twice the replicas, 1 more with directories.

    Returns 0 if a field without a column has an unusual value.
    """
    replicas, directories = partition.replicas, partition.directories
    if (
        partition.removing_replicas
        or partition.adding_replicas
        or partition.leader_recovery_state
        or partition.eligible_leader_replicas
        or partition.last_known_elr
        or partition.mode != READ_WRITE
    ):
        return 0
    if not directories:
        return 2 * len(replicas)
    return 2 * len(replicas) + 1 if len(directories) == len(replicas) else 0


def _indexed(rows: Iterable[tuple[V, ...]]) -> tuple[tuple[V, ...], _Indexes]:
    """Return the different values of all rows, and the rows as indexes of them."""
    known: dict[V, int] = {}
    indexes = [known.setdefault(each, len(known)) for each in chain.from_iterable(rows)]
    values = tuple(known)
    return values, bytes(indexes) if len(values) <= _OCTET_MAX + 1 else tuple(indexes)


def _rows(indexes: Sequence[int], values: Sequence[V], size: int) -> list[tuple[V, ...]]:
    found = [values[index] for index in indexes]
    return list(zip(*[iter(found)] * size, strict=True))


def _once(values: tuple[V, ...]) -> tuple[V, ...]:
    """Return a column without its repetitions if all values are equal."""
    return values[:1] if values.count(values[0]) == len(values) else values


def _each(values: tuple[V, ...], count: int) -> tuple[V, ...]:
    if len(values) not in (1, count):
        raise ValueError(f"a column has {len(values)} values for {count} partitions")
    return values * count if len(values) == 1 else values
