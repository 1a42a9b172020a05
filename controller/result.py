"""What a decision gives back: records to write, and what to answer once they are committed."""

from typing import Generic, TypeVar

import msgspec

from records.base import Record

T = TypeVar("T")


class ControllerResult(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Records and a response; nothing has changed yet.

    `atomic`: the records must become visible together, so they must fit one batch. Otherwise a
    long list is cut into several batches, and a reader may see a state between two of them.
    """

    response: T
    records: tuple[Record, ...] = ()
    atomic: bool = True
