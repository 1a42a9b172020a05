"""Raised when a record contradicts the state it is applied to."""


class ContradictionError(Exception):
    """No controller can have written this record here.

    A rule knows what is wrong but not where; `MetadataDelta.replay` adds the offset and raises
    `CorruptLogError`.
    """
