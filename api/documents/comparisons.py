"""JSON form of the differences between two points: listed, or only counted."""

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from api.questions.changes import ObjectChange


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Every field that differs between two points."""

    changes: Sequence[ObjectChange]


class KindStat(msgspec.Struct, kw_only=True):
    """Counts for one kind of object: new, gone and changed objects, and fields that differ."""

    kind: str
    new: int = 0
    gone: int = 0
    changed: int = 0
    fields: int = 0


class DiffStat(msgspec.Struct, frozen=True, kw_only=True):
    """The number of differences, by kind of object."""

    stat: Sequence[KindStat]


def diff_stat(changes: Iterable[ObjectChange]) -> DiffStat:
    """Count differences by kind of object; the differences must be grouped by object."""
    found: dict[str, KindStat] = {}
    for name, of_object in itertools.groupby(changes, key=lambda change: change.object):
        fields = list(of_object)
        kind = name.partition(":")[0]
        row, fate = found.setdefault(kind, KindStat(kind=kind)), str(fields[0].fate)
        setattr(row, fate, getattr(row, fate) + 1)
        row.fields += len(fields)
    return DiffStat(stat=list(found.values()))
