"""A change of a partition is left out only if it cannot change an expression's value."""

from typing import Any

import pytest

from records.partitions import PartitionChangeRecord
from replay.expressions.fields_read import may_set
from replay.expressions.grammar import parse
from replay.image.partitions import Partition, changed
from tests.replay.builders import uid

_OLD = Partition(
    uid("orders"), 0, (1, 2), (1, 2), (), (), 1, 0, 5, 7, (uid("a"), uid("b")), (), (), 0
)
_SET: dict[str, Any] = {
    "isr": (1,),
    "leader": 2,
    "replicas": (1, 2, 3),
    "removing_replicas": (1,),
    "adding_replicas": (3,),
    "leader_recovery_state": 1,
    "directories": (uid("c"), uid("d")),
    "eligible_leader_replicas": (2,),
    "last_known_elr": (2,),
    "mode": 1,
}
_CHANGES = {
    name: PartitionChangeRecord(topic_id=uid("orders"), partition_id=0, **{name: value})
    for name, value in _SET.items()
}


def test_the_changes_set_each_field_of_the_record() -> None:
    names = {*PartitionChangeRecord.__struct_fields__} - {"topic_id", "partition_id"}
    assert _SET.keys() == names


@pytest.mark.parametrize("field", Partition.__struct_fields__)
def test_a_record_that_sets_a_field_matters_to_expressions_that_read_it(field: str) -> None:
    matters = may_set(parse(f"partitions.exists(p, p.{field} == 1)"))
    for name, record in _CHANGES.items():
        new = changed(_OLD, record)
        if getattr(new, field) != getattr(_OLD, field):
            assert matters(record), name


def test_only_records_that_set_what_is_read_matter() -> None:
    matters = may_set(parse("partitions.exists(p, p.leader == -1 || size(p.isr) < 2)"))
    assert {name for name, record in _CHANGES.items() if matters(record)} == {"leader", "isr"}


@pytest.mark.parametrize(
    "text",
    [
        "partitions.exists(p, p == topics.orders.partitions[0])",
        "partitions.exists(p, p in [topics.orders.partitions[0]])",
        "partitions.filter(p, p.leader == 1) == []",
        "partitions.exists(p, (p.leader == 1 ? p : p) != p)",
    ],
)
def test_every_record_matters_where_whole_objects_are_compared(text: str) -> None:
    assert all(map(may_set(parse(text)), _CHANGES.values()))


def test_no_record_matters_to_an_expression_without_fields_that_change() -> None:
    matters = may_set(parse("size(partitions) > 7 || partitions.exists(p, p.partition_id > 9)"))
    assert not any(map(matters, _CHANGES.values()))
