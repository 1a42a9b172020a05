"""Schemas of the rows in an append that this release reads and writes.

Record types are only added at the end, so each older schema is a prefix of today's. Any other
change, such as a new field of a record, requires the older layout to be kept here.
"""

import functools
import hashlib
import json

from records.avro import codec
from records.avro.codec import AS_APPENDED, Layout
from records.base import Record
from records.errors import RequestError
from records.registry import RECORD_TYPES

_FIRST_TYPE_COUNT = 41


@functools.cache
def layouts() -> dict[str, Layout]:
    """Return the layouts of rows by schema fingerprint, newest first."""
    counts = range(AS_APPENDED.type_count, _FIRST_TYPE_COUNT - 1, -1)
    found = [Layout(has_added_fields=False, type_count=count) for count in counts]
    return {_fingerprint(layout): layout for layout in found}


def newest_schema() -> str:
    """Return the fingerprint of the schema with all of this release's record types."""
    return next(iter(layouts()))


def first_schema() -> str:
    """Return the fingerprint of the only schema in version 1 of the protocol."""
    return list(layouts())[-1]


def check_known(records: tuple[Record, ...], layout: Layout) -> None:
    """Check that a schema has the types of all records.

    Raises:
        RequestError: UNSUPPORTED_VERSION.
    """
    if layout.type_count == len(RECORD_TYPES):
        return
    known = frozenset(RECORD_TYPES[: layout.type_count])
    for record in records:
        if type(record) not in known:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the server's release has no {type(record).__name__}; upgrade it first",
            )


def _fingerprint(layout: Layout) -> str:
    schema = json.dumps(codec.schema_of(layout), separators=(",", ":"))
    return hashlib.sha256(schema.encode()).hexdigest()[:16]
