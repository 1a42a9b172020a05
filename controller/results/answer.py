"""The answer to a decision: what its caller gets once the records are committed."""

from typing import Generic, TypeVar

import msgspec

from controller.results.changed_versions import ObjectVersion

T = TypeVar("T")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A response, valid once all records before `end_offset` are committed.

    Attributes:
        wrote: True if the request wrote records, False if nothing had to change.
        versions: Versions of the objects that a client's command changed, right after the command;
            the caller can expect them in its next conditional change. None: not known, because
            there are too many, or because the request is repeated.
    """

    response: T
    end_offset: int
    wrote: bool = True
    versions: tuple[ObjectVersion, ...] | None = ()
