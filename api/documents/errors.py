"""JSON form of errors, as printed with `--json`."""

from typing import Any

import msgspec

from records.errors import ContradictionError, Outcome, RecordPlace


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """The reason for an error, and the outcome of the request.

    `outcome` is a `records.errors.Outcome`; `done_to` is the offset of the last committed record if
    the outcome is partial.
    """

    code: str
    message: str
    outcome: str = Outcome.NOTHING.value
    done_to: int | None = None


class NamedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that an error refers to; `time` is its append time, ms since 1970."""

    offset: int
    type: str
    time: int
    origin: dict[str, Any] | None

    @classmethod
    def of(cls, place: RecordPlace) -> "NamedRecord":
        """Return the JSON form of a record's place."""
        origin = None if place.origin is None else msgspec.to_builtins(place.origin)
        return cls(offset=place.offset, type=place.type, time=place.time, origin=origin)


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A record that contradicts the state before it.

    Attributes:
        type, time, origin: Those of the record, as in `NamedRecord`.
        text: Description of the contradiction.
        earlier: The record that set the contradicted state; null if there is none.
        image_before: The command that shows the image just before the record.
    """

    offset: int
    type: str
    time: int
    origin: dict[str, Any] | None
    text: str
    earlier: NamedRecord | None
    image_before: str | None

    @classmethod
    def of(cls, error: ContradictionError) -> "Contradiction":
        """Return the JSON form of a contradiction."""
        assert error.record is not None, "replay named the record"
        record = NamedRecord.of(error.record)
        return cls(
            offset=record.offset,
            type=record.type,
            time=record.time,
            origin=record.origin,
            text=error.text,
            earlier=None if error.earlier is None else NamedRecord.of(error.earlier),
            image_before=error.image_before,
        )
