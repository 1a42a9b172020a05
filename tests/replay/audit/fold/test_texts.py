"""Digest sums of objects are equal whether the objects are given one by one or as columns."""

from typing import Any

import pyarrow

from replay.audit.fold.partitions import PARTITION
from replay.audit.fold.texts import Sums


def test_sums_of_a_batch_equal_those_of_its_objects() -> None:
    ids = [bytes([n]) * 16 for n in (0, 62, 255)]
    rows = [{field.name: _value(field.type, n, ids) for field in PARTITION} for n in range(7)]
    rows[3] |= dict.fromkeys(("eligible_leader_replicas", "mode"))
    batch = pyarrow.RecordBatch.from_pylist(rows, schema=PARTITION)
    one_by_one, at_once = Sums("partitions"), Sums("partitions")
    for row in rows[2:]:
        one_by_one.add(row)
    at_once.add_batch(batch.slice(2))
    assert at_once.numbers() == one_by_one.numbers()
    assert at_once.numbers()[0] == 5


def test_sums_of_nothing_are_zero() -> None:
    assert Sums("topics").numbers() == [0, 0, 0, 0, 0]


def _value(type_: pyarrow.DataType, n: int, ids: list[bytes]) -> Any:
    if pyarrow.types.is_list(type_):
        return [_value(type_.value_type, each, ids) for each in range(n % 3)]
    return ids[n % 3] if type_ == pyarrow.binary() else (-1, 0, 2**31 - 1)[n % 3]
