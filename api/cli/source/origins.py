"""Formats the requester of a change, as part of a line."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from api.cli.terminal.output import print_line

if TYPE_CHECKING:
    from api.questions.blame import FieldSetter
    from api.questions.history import ObjectEvent
    from replay.time_travel.asked_for import Asker

_ASKERS_MAX = 3
"""Number of requesters that a line names; others are only counted."""


def origin_text(origin: dict[str, Any] | None, *, verbose: bool = False) -> str:
    """Return a batch's origin in a few words; `verbose`: with the client and its address."""
    if origin is None:
        return "-"
    reason = origin.get("reason")
    parts = [origin.get("principal"), origin.get("command"), f"({reason})" if reason else None]
    if verbose and (client := origin.get("client")):
        parts.append(f"client {client}")
    return " ".join(part for part in parts if part) or "-"


def by_text(origin: dict[str, Any] | None, *, verbose: bool = False) -> str:
    """Return ` by ` and the origin of a batch; empty if the origin is unknown."""
    return "" if origin is None else f" by {origin_text(origin, verbose=verbose)}"


def asked_text(done: "ObjectEvent | FieldSetter", *, verbose: bool = False) -> str:
    """Return who requested a record's change, and at which offset; empty if the origin says it."""
    if not (asked := done.asked) or (done.origin and asked.origin == done.origin):
        return ""
    whom = f"by {origin_text(asked.origin, verbose=verbose)}" if asked.origin else "for"
    return f"asked {whom} at offset {asked.offset}"


def askers_text(askers: "Iterable[Asker]", by: str | None) -> str:
    """Return the offsets and principals of requests that later records carried out, as text.

    Args:
        by: Principal that the caller has printed already; it is not repeated.
    """
    parts = [
        f"{f'by {each.principal}' if each.principal else 'for'} at offset {each.offset}"
        for each in askers
        if by is None or each.principal != by
    ]
    more = f", and {len(parts) - _ASKERS_MAX:,} more" if len(parts) > _ASKERS_MAX else ""
    return f"asked {', '.join(parts[:_ASKERS_MAX])}{more}" if parts else ""


def print_unknown_origin(origins: Iterable[object | None]) -> None:
    """Print a remark if none of the changes shown has a known origin."""
    known = [origin is not None for origin in origins]
    if known and not any(known):
        print_line("the log does not say who asked for a change")
