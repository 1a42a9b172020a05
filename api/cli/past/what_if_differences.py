"""Prints how a past with changes differs from the log: what lasts first, like partitions as one."""

from collections.abc import Iterable, Sequence
from typing import Any

from api.cli.terminal.output import (
    count_text,
    field_text,
    partition_time_text,
    print_line,
    print_table,
    time_text,
)

SHOWN_MAX = 10
"""Number of lines of each section, unless all are asked for."""

_GONE_FIELDS_MIN = 3

Parting = dict[str, Any]


def decided_text(decided: dict[str, int]) -> str:
    """Return how many decisions were repeated, from what, and how many were copied."""
    repeated = [
        f"{count:,} {how}"
        for count, how in (
            (decided["asked"], "from the requests in the log"),
            (decided["inferred"], "from requests that the log implies"),
        )
        if count
    ]
    parts = [f"repeated {' and '.join(repeated)}"] if repeated else []
    if copied := decided["as recorded"]:
        parts.append(f"{copied:,} copied unchanged")
    return "; ".join(parts) or "no decision"


def print_partings(partings: Sequence[Parting], verbose: bool) -> None:
    """Print the values that differed; what lasts comes first."""
    if not partings:
        return
    clock = _Clock(partings)
    rows = [_row([each], clock) for each in partings] if verbose else list(_rows(partings, clock))
    print_line()
    print_line(f"differences: {len(rows):,}, {clock.told}")
    print_table(
        ("from", "", "to", "", "what", "in the log", "what if"),
        rows if verbose else rows[:SHOWN_MAX],
    )
    print_rest(rows, verbose)


class _Clock:
    """Formats times to the second; without the date, if all are of one day.

    Attributes:
        told: What the times leave out, in words.
    """

    def __init__(self, partings: Iterable[Parting]) -> None:
        days = {
            time_text(time)[:10]
            for each in partings
            for time in (each["from_time"], each["to_time"])
            if time is not None
        }
        self._is_one = len(days) == 1
        day = min(days)
        self.told = f"times of {day} in UTC" if self._is_one else f"times in UTC, from {day} on"

    def __call__(self, time_ms: int | None) -> str:
        if time_ms is None:
            return ""
        text = time_text(time_ms)
        return text[11:19] if self._is_one else text[5:19].replace("T", " ")


def print_rest(items: Sequence[object], verbose: bool) -> None:
    """Print how many items of a section were left out."""
    if len(items) > SHOWN_MAX and not verbose:
        print_line(f"  and {len(items) - SHOWN_MAX:,} more: --verbose")


def print_leaders(only: dict[str, dict[str, int]]) -> None:
    """Print for how long partitions were without a leader in only one of the two pasts."""
    for name, where in (("log", "in the log"), ("fork", "with the change")):
        found = only[name]
        if found["partitions"]:
            lasted = partition_time_text(found["duration_ms"])
            partitions = count_text(found["partitions"], "partition")
            print_line(f"without a leader only {where}: {partitions}, {lasted} in all")


def _rows(partings: Sequence[Parting], clock: _Clock) -> Iterable[tuple[object, ...]]:
    groups: dict[object, list[Parting]] = {}
    moved = {each["object"] for each in partings if each["field"] == "replicas"}
    for each in _with_whole_objects(partings):
        if each["field"] == "directories" and each["object"] in moved:
            continue  # the replicas say it
        kind = each["object"].partition(":")[0]
        values = _values(each)
        key = (each["from_offset"], each["to_offset"], kind, each["field"], values)
        groups.setdefault(key, []).append(each)
    ordered = sorted(groups.values(), key=lambda of: of[0]["to_offset"] is not None)
    return (_row(of, clock) for of in ordered)


def _with_whole_objects(partings: Sequence[Parting]) -> Iterable[Parting]:
    """Yield partings; those of an object that is only in the log are one, without a field."""
    fields: dict[str, list[Parting]] = {}
    for each in partings:
        fields.setdefault(each["object"], []).append(each)
    for name, of in fields.items():
        if len(of) < _GONE_FIELDS_MIN or any(each["after"] is not None for each in of):
            yield from of
            continue
        last = max(of, key=lambda each: (each["to_offset"] is None, each["to_offset"] or 0))
        yield {
            "object": name,
            "field": "",
            "before": "exists",
            "after": None,
            "from_offset": of[0]["from_offset"],
            "from_time": of[0]["from_time"],
            "to_offset": last["to_offset"],
            "to_time": last["to_time"],
        }


def _row(group: Sequence[Parting], clock: _Clock) -> tuple[object, ...]:
    first = group[0]
    kind = first["object"].partition(":")[0]
    what = first["object"] if len(group) == 1 else count_text(len(group), kind)
    return (
        first["from_offset"],
        clock(first["from_time"]),
        "the end" if first["to_offset"] is None else first["to_offset"],
        clock(first["to_time"]),
        f"{what}#{first['field']}" if first["field"] else what,
        *_values(first),
    )


def _values(each: Parting) -> tuple[str, str]:
    name, field = each["object"], each["field"]
    return field_text(name, field, each["before"]), field_text(name, field, each["after"])
