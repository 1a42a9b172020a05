"""Field types and versions of messages, as annotations on their classes.

Each field is annotated with the integer type of its encoding. A field that does not exist in
every version also gets `since`, `until` or `tagged`. If a field has several of these, the first one
that includes the version applies. `layouts` reads the annotations.

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
    """The type of a scalar field, named as in Kafka."""

    name: str


class Presence(msgspec.Struct, frozen=True):
    """The versions in which a field exists, both bounds inclusive, and the tag if it is tagged."""

    first: int = 0
    last: int | None = None
    tag: int | None = None

    def has(self, version: int) -> bool:
        """True if a version has the field."""
        return self.first <= version and (self.last is None or version <= self.last)


def since(first: int, last: int | None = None) -> Presence:
    """Mark a field that exists from version `first` on, or only up to `last` (inclusive)."""
    return Presence(first, last)


def until(last: int) -> Presence:
    """Mark a field that exists up to version `last`, inclusive."""
    return Presence(0, last)


def tagged(tag: int, first: int = 0, last: int | None = None) -> Presence:
    """Mark a tagged field: only in flexible versions, and omitted if it has its default value."""
    return Presence(first, last, tag)


Int8 = Annotated[int, Kind("int8")]
Int16 = Annotated[int, Kind("int16")]
UInt16 = Annotated[int, Kind("uint16")]
Int32 = Annotated[int, Kind("int32")]
Int64 = Annotated[int, Kind("int64")]
Float64 = Annotated[float, Kind("float64")]


class Message(Record, frozen=True, gc=False):
    """Base class of the structures in requests and responses."""


class Request(Message, frozen=True, gc=False):
    """Base class of requests.

    Encoding a request fails if it has a non-default value in a field that the version lacks.
    """


class Response(Message, frozen=True, gc=False):
    """Base class of responses. Encoding omits fields that the version lacks."""


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
COMMITTED_OFFSET_TAG = 125
TOPIC_CONFIGS_TAG = 126
CONSISTENT_TAG = 127
"""Tag of a field that Kafka does not have, like the tags above."""
