"""Field types and versions of messages, as annotations on their classes.

Each field has the integer type of its encoding, and `since`, `until` or `tagged` if not every
version has it. With several of them, the first one that a version has counts. `layouts` reads the
annotations.

    class Topic(Message, frozen=True, kw_only=True):
        name: str
        partition: Int32
        leader_epoch: Annotated[Int32, since(7)] = -1
        mode: Annotated[Int8, tagged(MODE_TAG)] = READ_WRITE
"""

from typing import Annotated

import msgspec

from records.base import Record


class Kind(msgspec.Struct, frozen=True):
    """Kafka's name of a scalar type."""

    name: str


class Presence(msgspec.Struct, frozen=True):
    """The versions that have a field, both inclusive, and its tag if it is tagged."""

    first: int = 0
    last: int | None = None
    tag: int | None = None

    def has(self, version: int) -> bool:
        """True if a version has the field."""
        return self.first <= version and (self.last is None or version <= self.last)


def since(first: int, last: int | None = None) -> Presence:
    """The field exists from version `first` on, up to `last`, inclusive."""
    return Presence(first, last)


def until(last: int) -> Presence:
    """The field exists up to version `last`, inclusive."""
    return Presence(0, last)


def tagged(tag: int, first: int = 0, last: int | None = None) -> Presence:
    """The field is left out if it has its default; only flexible versions have it."""
    return Presence(first, last, tag)


Int8 = Annotated[int, Kind("int8")]
Int16 = Annotated[int, Kind("int16")]
UInt16 = Annotated[int, Kind("uint16")]
Int32 = Annotated[int, Kind("int32")]
Int64 = Annotated[int, Kind("int64")]
Float64 = Annotated[float, Kind("float64")]


class Message(Record, frozen=True, gc=False):
    """Base of the structures in requests and responses."""


class Request(Message, frozen=True, gc=False):
    """Base of requests. Encoding fails if the version cannot express all of it."""


class Response(Message, frozen=True, gc=False):
    """Base of responses. What the version cannot express is left out."""


# Kafka's own tags count from 0, a few per structure. Tag 106 was in early releases.
TOPIC_ID_TAG = 100
MODE_TAG = 101
KNOWS_MODES_TAG = 102
REQUEST_TYPE_TAG = 103
METADATA_OFFSET_TAG = 104
CREATE_OFFSET_TAG = 105
LAG_TAG = 107
REQUEST_ID_TAG = 108
WROTE_TAG = 109
OUTCOME_TAG = 110
DONE_TO_TAG = 111
BROKER_CONFIGS_TAG = 112
TRACE_PARENT_TAG = 113
PRINCIPAL_TAG = 114
POINT_TAG = 115
CURSOR_TAG = 116
ABOUT_TAG = 117
VERSION_OBJECT_TAG = 118
EXPECTED_VERSION_TAG = 119
CURRENT_VERSION_TAG = 120
RIGHTS_TAG = 121
VERSIONS_TAG = 122
WANTS_USERS_TAG = 123
MIN_OFFSET_TAG = 124
"""Tags of our own fields."""
