"""The form of a record from which the folds compute changes."""

from typing import NamedTuple

from replay.audit.fold.topic_names import Fields


class Said(NamedTuple):
    """A record: its position, time, type, fields, and the origin of its request."""

    position: int
    timestamp: int
    principal: str | None
    command: str | None
    reason: str | None
    name: str
    fields: Fields
