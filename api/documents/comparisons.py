"""Differences between two points, and how many there are."""

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from api.questions.changes import ObjectChange


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Every field that differs."""

    changes: Sequence[ObjectChange]


class KindStat(msgspec.Struct, kw_only=True):
    """How many objects of a kind are new, gone or changed, and in how many fields."""

    kind: str
    new: int = 0
    gone: int = 0
    changed: int = 0
    fields: int = 0


class DiffStat(msgspec.Struct, frozen=True, kw_only=True):
    """The number of differences, by kind of object."""

    stat: Sequence[KindStat]


def diff_stat(changes: Iterable[ObjectChange]) -> DiffStat:
    """Count differences that are in the order of their objects."""
    found: dict[str, KindStat] = {}
    for name, of_object in itertools.groupby(changes, key=lambda change: change.object):
        fields = list(of_object)
        kind = name.partition(":")[0]
        row, fate = found.setdefault(kind, KindStat(kind=kind)), str(fields[0].fate)
        setattr(row, fate, getattr(row, fate) + 1)
        row.fields += len(fields)
    return DiffStat(stat=list(found.values()))
