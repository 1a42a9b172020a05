"""One row of the log as JSON and as a line of text."""

from typing import Any

import typer

from api.cli.asked_json import asked_json
from api.cli.output import time_text, value_text
from api.redaction import redact_record
from records import registry
from records.envelope import Envelope, Origin
from records.json import fields_json, to_json


def check_types(names: list[str]) -> None:
    """Check names of record types."""
    for name in names:
        if name not in registry.BY_NAME:
            raise typer.BadParameter(f"{name!r} is no record type", param_hint="--type")


def row_json(row: Envelope, *, show_secrets: bool, show_asked: bool = False) -> dict[str, Any]:
    """Return a row in the form of `dump --json`."""
    document = {
        "offset": row.offset,
        "leader_epoch": row.leader_epoch,
        "timestamp": row.timestamp,
        "batch_offset": row.batch_offset,
        "record_version": row.record_version,
        "origin": origin_json(row.origin),
        "type": type(row.payload).__name__,
        "data": _fields(row, show_secrets=show_secrets),
    }
    if row.extra is not None and show_secrets:
        document["extra"] = fields_json(row.extra)
    if row.asked is not None and show_asked:
        document["asked"] = asked_json(row.asked)
    return document


def origin_json(origin: Origin | None) -> dict[str, Any] | None:
    """Return an origin without empty fields."""
    if origin is None:
        return None
    return {name: value for name, value in fields_json(origin).items() if value is not None}


def origin_text(origin: Origin | None) -> str:
    """Return an origin in a few words."""
    if origin is None:
        return "-"
    parts = [origin.principal, origin.command, f"({origin.reason})" if origin.reason else None]
    return " ".join(part for part in parts if part) or "-"


def row_text(row: Envelope, *, show_secrets: bool, show_asked: bool = False) -> str:
    """Return a row as one line: offset, time, type, and fields that are not the default."""
    defaults = type(row.payload).__struct_defaults__
    names = type(row.payload).__struct_fields__
    fields = _fields(row, show_secrets=show_secrets)
    plain = {
        name: value
        for name, value in fields.items()
        if not _is_default(getattr(row.payload, name), names.index(name), names, defaults)
    }
    parts = [f"{name}={value_text(value)}" for name, value in plain.items()]
    if row.origin:
        parts.append(f" by {origin_text(row.origin)}")
    if row.asked is not None and show_asked:
        parts.append(f" asked {value_text(asked_json(row.asked))}")
    where = f"{row.offset:>8} {row.leader_epoch:>4} {time_text(row.timestamp)}"
    return " ".join([where, type(row.payload).__name__, *parts])


def _is_default(
    value: object, index: int, names: tuple[str, ...], defaults: tuple[object, ...]
) -> bool:
    from_end = index - len(names)
    return -from_end <= len(defaults) and defaults[from_end] == value


def _fields(row: Envelope, *, show_secrets: bool) -> dict[str, Any]:
    fields = to_json(row.payload)
    return fields if show_secrets else redact_record(type(row.payload).__name__, fields)
