"""JSON form of errors, as printed with `--json`."""

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from records.errors import ContradictionError, Outcome, RecordPlace

if TYPE_CHECKING:
    from controller.decisions.outcome import Refusal


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """The reason for an error, and the outcome of the request.

    `outcome` is a `records.errors.Outcome`; `done_to` is the offset of the last committed record if
    the outcome is partial. `retry_ms` is there only if waiting helps: when to retry, in ms.
    """

    code: str
    message: str
    outcome: str = Outcome.NOTHING.value
    done_to: int | None = None
    retry_ms: int | UnsetType = UNSET

    @classmethod
    def of_refusal(cls, refusal: "Refusal", message: str | None = None) -> "Error":
        """Return the JSON form of a refusal, with another message if one is given."""
        return cls(
            code=refusal.code,
            message=refusal.message if message is None else message,
            retry_ms=refusal.retry_ms or UNSET,
        )


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
