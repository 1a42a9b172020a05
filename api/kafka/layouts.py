"""Derives the layout of one version of a message from the annotations of its class."""

import functools
import typing
from types import NoneType, UnionType
from typing import Annotated, Any

import msgspec

from api.kafka.fields import Kind, Message, Presence, Response
from records.base import Uuid
from records.kafka.layout import AbsentField, ArrayOf, Field, FieldType, Layout

_KINDS: dict[Any, str] = {bool: "bool", str: "string", bytes: "bytes", Uuid: "uuid"}
_ALWAYS = Presence()


@functools.cache
def message_layout(cls: type[Message], version: int, *, flexible: bool) -> Layout:
    """Return the layout of a request or response, including all nested messages."""
    builder = _Builder(version, flexible, strict=not issubclass(cls, Response))
    return builder.layout(cls)


class _Builder:
    """Builds layouts. If `strict`, fields that the version lacks must have their default value."""

    def __init__(self, version: int, flexible: bool, *, strict: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._strict = strict

    def layout(self, cls: type[Message]) -> Layout:
        hints = typing.get_type_hints(cls, include_extras=True)
        present: list[Field] = []
        absent: list[AbsentField] = []
        for field in msgspec.structs.fields(cls):
            hint, presence = _taken_apart(hints[field.name], self._version)
            if presence.has(self._version) and (presence.tag is None or self._flexible):
                present.append(self._field(field.name, hint, presence, field.default))
            else:
                assert field.default is not msgspec.NODEFAULT, (cls, field.name)
                absent.append(AbsentField(name=field.name, default=field.default))
        return Layout(
            cls=cls,
            version=self._version,
            fields=tuple([field for field in present if field.tag is None]),
            tagged=tuple(sorted((f for f in present if f.tag is not None), key=_tag)),
            absent=tuple(absent) if self._strict else (),
            flexible=self._flexible,
        )

    def _field(self, name: str, hint: Any, presence: Presence, default: Any) -> Field:
        inner, nullable = _without_none(hint)
        is_tagged = presence.tag is not None
        return Field(
            name=name,
            type=self._type(inner),
            nullable=nullable,
            tag=presence.tag,
            default=default if is_tagged else None,
        )

    def _type(self, hint: Any) -> FieldType:
        if typing.get_origin(hint) is tuple:
            return ArrayOf(self._type(typing.get_args(hint)[0]))
        if typing.get_origin(hint) is Annotated:
            (kind,) = [extra for extra in hint.__metadata__ if isinstance(extra, Kind)]
            return kind.name
        if hint in _KINDS:
            return _KINDS[hint]
        assert issubclass(hint, Message), hint
        return self.layout(hint)


def _taken_apart(hint: Any, version: int) -> tuple[Any, Presence]:
    """Split a field's annotation into the type, with its `Kind` if any, and the presence."""
    if typing.get_origin(hint) is not Annotated:
        return hint, _ALWAYS
    extras = hint.__metadata__
    presences = [extra for extra in extras if isinstance(extra, Presence)] or [_ALWAYS]
    presence = next((each for each in presences if each.has(version)), presences[0])
    kind = next((extra for extra in extras if isinstance(extra, Kind)), None)
    inner = hint.__origin__
    return (inner if kind is None else Annotated[inner, kind]), presence


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (inner,) = [arg for arg in typing.get_args(hint) if arg is not NoneType]
        return inner, True
    return hint, False


def _tag(field: Field) -> int:
    assert field.tag is not None
    return field.tag
