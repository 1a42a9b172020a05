"""The fields of partitions that an expression reads.

Most records of a log change one or two fields of a partition. A record that sets none of the fields
that an expression reads cannot change its value.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from lark import Token, Tree

from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.partitions import Partition

# Fields of a partition that are set together with another field of the record, or by any record.
_SET_WITH: dict[str, tuple[str, ...]] = {
    "leader_epoch": ("leader",),
    "directories": ("directories", "replicas"),
    "topic_id": (),
    "partition_id": (),
}
_SET_BY_ALL = "partition_epoch"


def may_set(tree: Tree[Token]) -> Callable[[PartitionChangeRecord], bool]:
    """Return a function: True if a record may change the value of an expression.

    Every record may if the expression compares whole objects.
    """
    fields = _fields_of_partitions(tree)
    if fields is None or _SET_BY_ALL in fields:
        return lambda record: True
    names = sorted({name for field in fields for name in _SET_WITH.get(field, (field,))})
    if not names:
        return lambda record: False
    values: Callable[[Any], Any] = attrgetter(*names)
    unset = values(PartitionChangeRecord(topic_id=Uuid(bytes(16))))
    return lambda record: bool(values(record) != unset)


def fields_of_element(body: Any, variable: str) -> tuple[str, ...]:
    """Return the fields of a partition on which alone the body of a macro depends.

    Empty if the body may also depend on something else, or on nothing.

    Args:
        variable: The macro's variable, which stands for the partition.
    """
    fields: set[str] = set()
    names = 0
    for node in body.iter_subtrees() if isinstance(body, Tree) else ():
        if node.data == "name":
            names += 1
        of = node.children[0] if node.data == "select" else None
        if isinstance(of, Tree) and of.data == "name" and of.children[0] == variable:
            names -= 1
            fields.add(str(node.children[1]))
    return tuple(sorted(fields)) if not names else ()


def _fields_of_partitions(tree: Tree[Token]) -> set[str] | None:
    """Return the names of fields that an expression selects; None if it compares objects."""
    names = set()
    for node in tree.iter_subtrees():
        if node.data in ("compare", "contains") and any(map(_may_be_object, node.children)):
            return None
        if node.data == "select":
            names.add(str(node.children[1]))
    return names & {*Partition.__struct_fields__}


def _may_be_object(operand: Any) -> bool:
    """True if the value of an operand may be an object, or contain one."""
    if not isinstance(operand, Tree):
        return False
    if operand.data == "method":
        return str(operand.children[1]) in ("filter", "map")
    if operand.data in ("list", "arguments", "conditional"):
        return any(map(_may_be_object, operand.children))
    return operand.data in ("name", "index")
