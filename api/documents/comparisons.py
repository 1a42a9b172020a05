"""JSON form of the differences between two points: listed, or only counted."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from api.documents.document import Document
from api.questions.changes import PASSED_UNKNOWN, ObjectChange
from api.questions.differences import ShowDiff


class PassedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object that the record at `from_offset` created and the record at `to_offset` removed."""

    object: str
    from_offset: int
    to_offset: int


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Every field that differs between two points, and the objects that lived only between them.

    `passed` is null if these objects were not searched for, as in a range of too many records.
    """

    changes: Sequence[ObjectChange]
    passed: Sequence[PassedObject] | None

    @classmethod
    def of(cls, request: ShowDiff, found: Iterable[ObjectChange]) -> Self:
        """Return the document of the answer to a request."""
        changes, passed = [], []
        looked_for = request.passed and request.object is None
        for each in found:
            if isinstance(each.from_offset, int) and isinstance(each.to_offset, int):
                passed.append(
                    PassedObject(
                        object=each.object,
                        from_offset=each.from_offset,
                        to_offset=each.to_offset,
                    )
                )
            elif each == PASSED_UNKNOWN:
                looked_for = False
            else:
                changes.append(each)
        return cls(changes=changes, passed=passed if looked_for else None)


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


DIFF = Document(type=Differences, of=Differences.of, list_field="changes")
