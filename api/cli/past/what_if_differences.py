"""Prints how a past with changes differs from the log: what lasts first, like partitions as one."""

from collections.abc import Iterable, Sequence
from typing import Any

from api.cli.terminal.output import count_text, print_line, print_table, value_text

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
    rows = [_row([each]) for each in partings] if verbose else list(_rows(partings))
    print_line()
    print_table(
        ("from", "to", "what", "in the log", "what if"), rows if verbose else rows[:SHOWN_MAX]
    )
    print_rest(rows, verbose)


def print_rest(items: Sequence[object], verbose: bool) -> None:
    """Print how many items of a section were left out."""
    if len(items) > SHOWN_MAX and not verbose:
        print_line(f"  and {len(items) - SHOWN_MAX:,} more: --verbose")


def print_leaders(partings: Iterable[Parting]) -> None:
    """Print how many partitions were without a leader in only one of the two pasts."""
    of_leaders = [
        each
        for each in partings
        if each["field"] == "leader" and None not in (each["before"], each["after"])
    ]
    log = {each["object"] for each in of_leaders if each["before"] == -1}
    fork = {each["object"] for each in of_leaders if each["after"] == -1}
    for only, others, where in (
        (log, fork, "only in the log"),
        (fork, log, "only with the change"),
    ):
        if count := len(only - others):
            print_line(f"{count_text(count, 'partition')} without a leader {where}")


def _rows(partings: Sequence[Parting]) -> Iterable[tuple[object, ...]]:
    groups: dict[object, list[Parting]] = {}
    moved = {each["object"] for each in partings if each["field"] == "replicas"}
    for each in _with_whole_objects(partings):
        if each["field"] == "directories" and each["object"] in moved:
            continue  # the replicas say it
        kind = each["object"].partition(":")[0]
        values = value_text(each["before"]), value_text(each["after"])
        key = (each["from_offset"], each["to_offset"], kind, each["field"], values)
        groups.setdefault(key, []).append(each)
    ordered = sorted(groups.values(), key=lambda of: of[0]["to_offset"] is not None)
    return map(_row, ordered)


def _with_whole_objects(partings: Sequence[Parting]) -> Iterable[Parting]:
    """Yield partings; those of an object that is only in the log are one, without a field."""
    fields: dict[str, list[Parting]] = {}
    for each in partings:
        fields.setdefault(each["object"], []).append(each)
    for name, of in fields.items():
        if len(of) < _GONE_FIELDS_MIN or any(each["after"] is not None for each in of):
            yield from of
            continue
        lasts = any(each["to_offset"] is None for each in of)
        yield {
            "object": name,
            "field": "",
            "before": "exists",
            "after": None,
            "from_offset": of[0]["from_offset"],
            "to_offset": None if lasts else max(each["to_offset"] for each in of),
        }


def _row(group: Sequence[Parting]) -> tuple[object, ...]:
    first = group[0]
    kind = first["object"].partition(":")[0]
    what = first["object"] if len(group) == 1 else count_text(len(group), kind)
    return (
        first["from_offset"],
        "the end" if first["to_offset"] is None else first["to_offset"],
        f"{what}#{first['field']}" if first["field"] else what,
        value_text(first["before"]),
        value_text(first["after"]),
    )
