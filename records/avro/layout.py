"""Layouts of rows: the schemas that this release and earlier ones write.

Schemas only grow: releases add fields to the envelope, record types at the end of the payload
union, and fields with defaults at the end of a record. So an older schema is identified by the
number of today's types and fields that it has. Every layout ever released must stay readable and
writable.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from records import registry
from records.avro.schema import envelope_schema
from records.base import Record

# Fields that later releases added to the envelope, in the order of the schema.
_ADDED_TO_ENVELOPE = ("asked", "kept")
FIRST_TYPE_COUNT = 41
"""How many record types the first release had."""

ADDED_FIELDS: tuple[tuple[int, str, str], ...] = (
    (42, "RegisterBrokerRecord", "cordoned_log_dirs"),
    (42, "BrokerRegistrationChangeRecord", "cordoned_log_dirs"),
)
"""Fields added to released record types, oldest first: the number of record types at that time, the
record type, the field. Append a line for each new field of a released record type."""


class Layout(msgspec.Struct, frozen=True):
    """The fields and record types that a schema's rows have, compared with the newest schema.

    Attributes:
        has_added_fields: True if rows have the fields `asked` and `kept`.
        type_count: Number of today's record types that the payload union has.
        field_count: Number of fields in ADDED_FIELDS, counted from the first, that the records
            have.
    """

    has_added_fields: bool = True
    type_count: int = len(registry.RECORD_TYPES)
    field_count: int = len(ADDED_FIELDS)

    @property
    def is_complete(self) -> bool:
        """True if the layout can hold every record."""
        return self.type_count == len(registry.RECORD_TYPES) and self.field_count == len(
            ADDED_FIELDS
        )

    def lacks(self, record: Record) -> str | None:
        """Return the type or field of `record` that the layout cannot hold; None if it can hold the
        record.
        """
        if self.is_complete:
            return None
        cls = type(record)
        if cls in registry.RECORD_TYPES[self.type_count :]:
            return cls.__name__
        for field in self.missing_fields(cls.__name__):
            if getattr(record, field) != _default(cls, field):
                return f"{field} of {cls.__name__}"
        return None

    def missing_fields(self, type_name: str) -> list[str]:
        """Return the fields of a record type that the layout lacks."""
        return _missing(self.field_count).get(type_name, [])


NEWEST = Layout()
AS_APPENDED = Layout(has_added_fields=False)
"""Layout of rows as clients send them; the log adds the missing fields."""


def schema_of(layout: Layout) -> dict[str, Any]:
    """Return the schema stored in segments whose rows have this layout."""
    newest = envelope_schema()
    *fields, payload = newest["fields"]
    if not layout.has_added_fields:
        fields = [field for field in fields if field["name"] not in _ADDED_TO_ENVELOPE]
    types = [record_schema(schema, layout) for schema in payload["type"][: layout.type_count]]
    return {**newest, "fields": [*fields, {**payload, "type": types}]}


def record_schema(newest: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Return the schema of a record type without the fields that `layout` lacks."""
    missing = layout.missing_fields(newest["name"])
    if not missing:
        return newest
    fields = [field for field in newest["fields"] if field["name"] not in missing]
    return {**newest, "fields": fields}


def layout_of(schema: dict[str, Any]) -> Layout | None:
    """Return the layout of a stored schema; None if no layout matches.

    Without a layout, only fastavro can read the rows.
    """
    type_count = len(schema["fields"][-1]["type"])
    for field_count in _field_counts(type_count):
        for has_added_fields in (True, False):
            layout = Layout(has_added_fields, type_count, field_count)
            if schema == schema_of(layout):
                return layout
    return None


@functools.cache
def appended_layouts() -> Mapping[str, Layout]:
    """Return the row layouts that clients of any release may send, by fingerprint, newest first.

    Includes layouts between two releases, which have only some of the later release's additions.
    """
    return {fingerprint(layout): layout for layout in _appended()}


def first_appended() -> Layout:
    """Return the layout of the rows that clients of the first release send."""
    return _appended()[-1]


def oldest_for(records: Iterable[Record]) -> Layout:
    """Return the oldest layout of appended rows that can hold all of `records`.

    The older the layout of a request, the more servers can read the request.
    """
    found = _appended()
    for record in records:
        while found[-1].lacks(record) is not None:
            found.pop()
    return found[-1]


def fingerprint(layout: Layout) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a layout's schema."""
    schema = json.dumps(schema_of(layout), separators=(",", ":"))
    return hashlib.sha256(schema.encode()).hexdigest()[:16]


def _appended() -> list[Layout]:
    return [
        Layout(has_added_fields=False, type_count=type_count, field_count=field_count)
        for type_count in range(AS_APPENDED.type_count, FIRST_TYPE_COUNT - 1, -1)
        for field_count in _field_counts(type_count)
    ]


def _field_counts(type_count: int) -> list[int]:
    """Return the possible numbers of added fields in a schema with `type_count` record types,
    highest first.
    """
    before = sum(types < type_count for types, _, _ in ADDED_FIELDS)
    by_then = sum(types <= type_count for types, _, _ in ADDED_FIELDS)
    return list(range(by_then, before - 1, -1))


@functools.cache
def _missing(field_count: int) -> dict[str, list[str]]:
    missing: dict[str, list[str]] = {}
    for _, type_name, field in ADDED_FIELDS[field_count:]:
        missing.setdefault(type_name, []).append(field)
    return missing


@functools.cache
def _default(cls: type[Record], field: str) -> Any:
    (found,) = [each for each in msgspec.structs.fields(cls) if each.name == field]
    assert found.default is not msgspec.NODEFAULT, f"{cls.__name__}.{field} has no default"
    return found.default
