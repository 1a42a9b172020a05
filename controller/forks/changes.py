"""Changes to a fork's past: decisions to drop, replace or add, and records to edit or drop."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.forks.trigger import Step
from records.envelope import Envelope
from records.errors import RequestError
from records.json import from_json, to_json
from replay.image.metadata import MetadataImage
from replay.time_travel.objects import ObjectName, parse_object


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """A command to decide after an offset, or at the start of the fork (`after` is None).

    `request` is encoded as over connections.
    """

    after: int | None = None
    command: str
    request: bytes


class Replaced(msgspec.Struct, frozen=True, kw_only=True):
    """A command to decide instead of the decision that wrote the record at an offset."""

    offset: int
    command: str
    request: bytes


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """New values for fields of the record at an offset, as a JSON object."""

    offset: int
    fields: bytes

    @classmethod
    def of(cls, offset: int, fields: dict[str, Any]) -> "Edited":
        """Return the edit of a record's fields, given as values from JSON."""
        return cls(offset=offset, fields=msgspec.json.encode(fields))


_BORN = frozenset({"topic", "partition", "broker", "controller", "namespace"})
"""Kinds of objects that a record creates with the first values of their fields."""


class Without(msgspec.Struct, frozen=True):
    """An object or field that must not change, or must not be set to `value` (text or JSON).

    The creation of an object changes none of its fields: a broker registers as fenced.
    """

    name: ObjectName
    value: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Without":
        """Parse `OBJECT`, `OBJECT#FIELD` or `OBJECT#FIELD=VALUE`.

        Raises:
            RequestError: INVALID_REQUEST, the text has none of these forms.
        """
        object_, hash_, rest = text.partition("#")
        field, equals, value = rest.partition("=")
        return cls(parse_object(f"{object_}{hash_}{field}"), value if equals else None)

    def is_touched(self, before: MetadataImage, after: MetadataImage) -> bool:
        """True if the object or field changed between two images and now has `value`, if given."""
        old, new = self.name.fields(before), self.name.fields(after)
        if old == new or (self.name.field and old is None and self.name.kind.name in _BORN):
            return False
        return self.value is None or self.value in map(_text, (new or {}).values())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """All changes to the past of a fork.

    Attributes:
        drop: Offsets; the decisions that wrote the records at these offsets are left out.
        drop_records: Offsets; only the records at these offsets are left out.
        drop_commands: Command names; all decisions of these commands are left out.
        without: Objects, fields or values; decisions that changed or set one of them are left out.
    """

    drop: frozenset[int] = frozenset()
    drop_records: frozenset[int] = frozenset()
    drop_commands: frozenset[str] = frozenset()
    without: tuple[Without, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    edited: tuple[Edited, ...] = ()
    added: tuple[Added, ...] = ()

    @property
    def needs_point(self) -> bool:
        """True if the changes do not say where the fork begins."""
        return self.first_offset is None and not (self.without or self.drop_commands)

    @property
    def first_offset(self) -> int | None:
        """The lowest offset that can be changed; None if any can, or there are no changes."""
        if self.without or self.drop_commands:
            return None
        changed = [*[e.offset for e in self.replaced], *[e.offset for e in self.edited]]
        after = [each.after + 1 for each in self.added if each.after is not None]
        return min([*self.drop, *self.drop_records, *changed, *after], default=None)

    def check_range(self, start: int, end: int) -> None:
        """Check that all offsets are in [start, end).

        Raises:
            RequestError: OFFSET_OUT_OF_RANGE, an offset is outside the range.
        """
        changed = [*[e.offset for e in self.replaced], *[e.offset for e in self.edited]]
        named = {*self.drop, *self.drop_records, *changed}
        for offset in sorted(named):
            if not start <= offset < end:
                raise _outside(offset, start, end)
        for added in self.added:
            if added.after is not None and not start - 1 <= added.after < end:
                raise _outside(added.after, start, end)

    def drops(self, step: Step, before: MetadataImage, after: MetadataImage) -> bool:
        """True if a whole step is left out.

        If a step has no trigger, `drop` does not leave out the whole step; `rows_of` then removes
        its single records.

        Args:
            before: The image before the step in the log.
            after: The image after the step in the log.
        """
        if step.trigger is not None:
            if step.trigger.bound.command in self.drop_commands:
                return True
            if not self.drop.isdisjoint([row.offset for row in step.rows]):
                return True
        return any(each.is_touched(before, after) for each in self.without)

    def instead_of(self, step: Step) -> Replaced | None:
        """Return the command that replaces a step's decision, or None."""
        if not self.replaced:
            return None
        offsets = {row.offset for row in step.rows}
        return next((each for each in self.replaced if each.offset in offsets), None)

    def rows_of(self, step: Step) -> Sequence[Envelope]:
        """Return a step's rows without the dropped records, and with the new values of edited
        fields.

        Raises:
            RequestError: INVALID_RECORD, a record does not have the edited fields.
        """
        dropped = self.drop_records if step.trigger else self.drop_records | self.drop
        if not dropped and not self.edited:
            return step.rows
        fields = {each.offset: each.fields for each in self.edited}
        rows = tuple(
            [
                row if row.offset not in fields else _with_fields(row, fields[row.offset])
                for row in step.rows
                if row.offset not in dropped
            ]
        )
        return step.rows if rows == step.rows else rows


def _with_fields(row: Envelope, raw: bytes) -> Envelope:
    name = type(row.payload).__name__
    try:
        fields = msgspec.json.decode(raw, type=dict[str, Any])
        record = from_json(name, {**to_json(row.payload), **fields})
    except ValueError as error:
        raise RequestError("INVALID_RECORD", f"offset {row.offset}: {error}") from error
    return replace(row, payload=record)


def _outside(offset: int, start: int, end: int) -> RequestError:
    where = f"before its first offset, {start}" if offset < start else f"after its last, {end - 1}"
    return RequestError("OFFSET_OUT_OF_RANGE", f"offset {offset} is outside the range, {where}")
