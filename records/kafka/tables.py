"""Tables that describe records unknown to this release, in the JSON format of Kafka's message
files.

A fork of Kafka, or a later release, has record types of its own. Its files in
`metadata/src/main/resources/common/metadata` give the names and fields of these types. The tables
are used for display only: a record of such a type stays raw in the log and has no effect on the
image.

Source: clients/src/main/resources/common/message/README.md of Kafka (the form of the files).
"""

import base64
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from records.base import Record, Uuid
from records.control import UnknownRecord
from records.envelope import UnknownTag
from records.kafka import reference
from records.kafka.layout import ArrayOf, Field, FieldType, Layout, contains, metadata_types
from records.varint import decode_unsigned

_NEVER = "none"
_NO_TAGS = b"\0"
_KEY_MAX = 32_767
_RANGE = re.compile(r"none|\d+(\+|-\d+)?")
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RAW = {"bytes", "records"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class TableError(ValueError):
    """Raised for a file that is not a valid table; the message gives the place in the file."""


class _FieldSpec(msgspec.Struct, rename="camel", kw_only=True):
    name: str
    type: str
    versions: str
    nullable_versions: str = _NEVER
    tagged_versions: str = _NEVER
    flexible_versions: str | None = None
    tag: int | None = None
    fields: "list[_FieldSpec] | None" = None


class _StructSpec(msgspec.Struct, rename="camel", kw_only=True):
    name: str
    versions: str
    fields: list[_FieldSpec]


class _Kind(msgspec.Struct):
    type: str


class Table(msgspec.Struct, rename="camel", kw_only=True):
    """A record type: its key, name, versions and fields."""

    api_key: int
    name: str
    valid_versions: str
    flexible_versions: str = _NEVER
    fields: list[_FieldSpec]
    common_structs: list[_StructSpec] = []


class NamedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record of an unknown type, decoded with the field table that was given for the type.

    Attributes:
        fields: Values by field name in snake case.
        unknown_tags: Tagged fields that are not in the table either.
    """

    name: str
    version: int
    fields: dict[str, Any]
    unknown_tags: tuple[UnknownTag, ...] = ()


class NamedTag(msgspec.Struct, frozen=True, kw_only=True):
    """An unknown tagged field decoded with the table of its record; `path` is its path in the
    record.
    """

    path: str
    value: Any


class Tables:
    """Record tables from Kafka's message files, by API key."""

    def __init__(self, tables: Iterable[Table] = ()) -> None:
        self._by_key = {table.api_key: table for table in tables}
        self._layouts: dict[tuple[int, int], Layout] = {}

    def __bool__(self) -> bool:
        """True if there is at least one table."""
        return bool(self._by_key)

    def name(self, record: UnknownRecord) -> str | None:
        """Return the name of the type of an unknown record; None if no table has its key and
        version.
        """
        table = self._by_key.get(record.api_key)
        if table is None or record.control_key is not None:
            return None
        return table.name if _contains(table.valid_versions, record.record_version) else None

    def decoded(self, record: UnknownRecord) -> NamedRecord | None:
        """Decode an unknown record with its table; return None if no table has its key and version.

        Raises:
            CorruptLogError: the table does not fit the bytes; names the byte and the field.
        """
        name = self.name(record)
        if name is None:
            return None
        position = 0
        for _ in range(3):  # frame version, key, version
            _, position = decode_unsigned(record.value, position)
        layout = self._layout(record.api_key, record.record_version)
        fields, tags = reference.decode(layout, record.value, position)
        return NamedRecord(
            name=name,
            version=record.record_version,
            fields=cast(dict[str, Any], fields),
            unknown_tags=tags,
        )

    def has_tag(self, record: type[Record], version: int, unknown: UnknownTag) -> bool:
        """True if the table of a known record type has the tagged field `unknown`."""
        return self._tagged(record, version, unknown) is not None

    def tag(self, record: type[Record], version: int, unknown: UnknownTag) -> NamedTag | None:
        """Decode a tagged field of a known record type; return None if the type's table lacks the
        field.

        Raises:
            CorruptLogError: the table does not fit the bytes; names the byte and the field.
        """
        field = self._tagged(record, version, unknown)
        if field is None:
            return None
        # The field alone, as a structure without tags of its own.
        alone = Layout(
            cls=cast(type[Record], _values_of([field])),
            version=version,
            fields=(field,),
            tagged=(),
            absent=(),
            flexible=True,
        )
        values, _ = reference.decode(alone, unknown.value + _NO_TAGS, 0)
        path = "/".join(filter(None, [unknown.path, field.name]))
        return NamedTag(path=path, value=cast(dict[str, Any], values)[field.name])

    def _tagged(self, record: type[Record], version: int, unknown: UnknownTag) -> Field | None:
        table = self._by_key.get(_keys().get(record, -1))
        if table is None or not _contains(table.valid_versions, version):
            return None
        layout = _structure_at(self._layout(table.api_key, version), unknown.path)
        return next((each for each in layout.tagged if each.tag == unknown.tag), None)

    def _layout(self, api_key: int, version: int) -> Layout:
        if (api_key, version) not in self._layouts:
            self._layouts[api_key, version] = _layout(self._by_key[api_key], version)
        return self._layouts[api_key, version]


@functools.cache
def _keys() -> dict[type[Record], int]:
    return {record: key for key, record in metadata_types().items()}


def _structure_at(layout: Layout, path: str) -> Layout:
    """Return the structure at a path of field names and indexes; an empty structure if there is
    none.
    """
    for name in filter(None, path.split("/")):
        if name.isdecimal():
            continue
        fields = (*layout.fields, *layout.tagged)
        found: FieldType | None = next((each.type for each in fields if each.name == name), None)
        while isinstance(found, ArrayOf):
            found = found.item
        if not isinstance(found, Layout):
            return msgspec.structs.replace(layout, fields=(), tagged=())
        layout = found
    return layout


def parse_table(text: str) -> Table | None:
    """Parse a message file of Kafka, with `//` comments.

    Returns None if the file does not describe a metadata record.

    Raises:
        TableError: the text does not have the form of a message file, or contradicts itself; names
            the place.
    """
    plain = _COMMENT.sub(_blanked, text)
    try:
        if msgspec.json.decode(plain, type=_Kind).type != "metadata":
            return None
        table = msgspec.json.decode(plain, type=Table)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TableError(_with_line(str(error), plain)) from error
    if not 0 <= table.api_key <= _KEY_MAX:
        raise TableError(f"apiKey {table.api_key} is not from 0 to {_KEY_MAX}")
    _check_name(table.name, "name")
    if _RANGE.fullmatch(table.valid_versions) is None or table.valid_versions == _NEVER:
        raise TableError(f"validVersions {table.valid_versions!r} is not a range such as 0-3")
    for version in _versions(table.valid_versions):
        _layout(table, version)
    return table


def _versions(range_: str) -> Iterable[int]:
    """Return the versions of a range; for an open range such as `3+`, only the first version."""
    first, _, last = range_.rstrip("+").partition("-")
    return range(int(first), min(int(last or first), int(first) + 100) + 1)


def _blanked(match: re.Match[str]) -> str:
    """Replace a comment by the same number of spaces, so that error positions stay right.

    A match that is a string literal is returned unchanged.
    """
    return match[0] if match[0].startswith('"') else " " * len(match[0])


def _with_line(error: str, text: str) -> str:
    """Return an error message with its byte position replaced by line and column."""
    match = re.search(r"\(byte (\d+)\)", error)
    if match is None:
        return error
    start = text.encode()[: int(match[1])]
    line, column = start.count(b"\n") + 1, len(start) - start.rfind(b"\n")
    return f"line {line}, column {column}: {error[: match.start()].rstrip()}"


def _contains(range_: str, version: int) -> bool:
    if _RANGE.fullmatch(range_) is None:
        raise TableError(f"{range_!r} is not a range of versions such as 0-3")
    return range_ != _NEVER and contains(range_, version)


def _check_name(name: str, where: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise TableError(f"{where}: {name!r} is not a name")


def _layout(table: Table, version: int) -> Layout:
    builder = _Builder(table, version)
    return builder.structure(table.fields, table.name, 0)


class _Builder:
    """Builds the layout of one version of a table."""

    _DEPTH_MAX = 16

    def __init__(self, table: Table, version: int) -> None:
        self._version = version
        self._flexible = _contains(table.flexible_versions, version)
        self._structures = {each.name: each.fields for each in table.common_structs}

    def structure(self, specs: list[_FieldSpec], where: str, depth: int) -> Layout:
        if depth > self._DEPTH_MAX:
            raise TableError(f"{where}: structures are nested too deeply")
        fields = [
            self._field(spec, f"{where}.{spec.name}", depth)
            for spec in specs
            if _contains(spec.versions, self._version)
        ]
        return Layout(
            cls=cast(type[Record], _values_of(fields)),
            version=self._version,
            fields=tuple(field for field in fields if field.tag is None),
            tagged=tuple(field for field in fields if field.tag is not None),
            absent=(),
            flexible=self._flexible,
        )

    def _field(self, spec: _FieldSpec, where: str, depth: int) -> Field:
        _check_name(spec.name, where)
        is_tagged = _contains(spec.tagged_versions, self._version)
        if is_tagged and spec.tag is None:
            raise TableError(f"{where}: the field is tagged, but has no tag")
        return Field(
            name=_WORD.sub("_", spec.name).lower(),
            type=self._type(spec.type, spec.fields, where, depth),
            nullable=_contains(spec.nullable_versions, self._version),
            tag=spec.tag if is_tagged else None,
        )

    def _type(
        self, name: str, fields: list[_FieldSpec] | None, where: str, depth: int
    ) -> FieldType:
        if name.startswith("[]"):
            return ArrayOf(self._type(name[2:], fields, where, depth + 1))
        if name in reference.SCALARS or name == "string":
            return name
        if name in _RAW:
            return "bytes"
        found = self._structures.get(name) if fields is None else fields
        if found is None:
            raise TableError(f"{where}: there is no type {name!r}")
        return self.structure(found, where, depth + 1)


def _values_of(fields: list[Field]) -> Callable[..., Mapping[str, Any]]:
    """Return a factory that makes a dictionary, to be shown as JSON, from a structure's decoded
    field values.
    """
    types = {field.name: field.type for field in fields}
    return lambda **values: {name: _shown(types[name], value) for name, value in values.items()}


def _shown(type_: FieldType, value: Any) -> Any:
    if value is None or isinstance(type_, Layout):
        return value
    if isinstance(type_, ArrayOf):
        return [_shown(type_.item, item) for item in value]
    if type_ == "uuid":
        return str(Uuid(value))
    return base64.b64encode(value).decode() if type_ == "bytes" else value
