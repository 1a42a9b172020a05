"""What a rule raises when a record cannot follow the state before it."""


class ContradictionError(Exception):
    """No controller can have written this record here.

    A rule knows what is wrong but not where; `MetadataDelta.replay` adds the offset and raises
    `CorruptLogError`.
    """
