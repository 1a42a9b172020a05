"""The command `outages`: partitions and brokers that were down, how long, and why."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Annotated, Any

from api.cli.options.during import During, range_of
from api.cli.options.parameters import Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import (
    From,
    Json,
    LogOrServer,
    Server,
    Until,
)
from api.cli.source.gaps import gap_text
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    Unit,
    count_text,
    duration_text,
    partition_time_text,
    print_json_pieces,
    print_line,
    print_table,
    time_text,
    unit_of,
)

if TYPE_CHECKING:
    from replay.about import About

Interval = dict[str, Any]

_MIN_ISR = "min.insync.replicas"

_OF_PARTITIONS = ("leaderless", "under_replicated", "under_min_isr")
"""Kinds of outages of partitions; the others are of brokers."""


@command()
@reads_only
def outages(
    log: LogOrServer,
    from_: From = "start",
    to: Until = None,
    during: During = None,
    broker: Annotated[
        int | None,
        Option(
            "--broker",
            metavar="N",
            help="Only outages of this broker, and of partitions that waited for it, or that it "
            "led during the outage or until then.",
        ),
    ] = None,
    topic: Annotated[
        str | None,
        Option("--topic", metavar="TOPIC", help="Only this topic: its name, a pattern, or @ID."),
    ] = None,
    objects: Annotated[
        list[str] | None,
        Option(
            "--object",
            metavar="OBJECT",
            help="Only this partition or broker: its name, or a pattern such as "
            "partition:orders*/0; "
            "repeatable.",
        ),
    ] = None,
    assume: Annotated[
        str | None,
        Option(
            metavar=f"{_MIN_ISR}=N",
            help="Assume this value for topics whose value is not in the log.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        Option("--verbose", help="Print a line per partition, even if many went down together."),
    ] = False,
    json: Json = False,
    server: Server = None,
) -> None:
    """Show the partitions and brokers that were down, longest first, with times and causes."""
    from api.questions.objects import joined
    from api.questions.outages import OUTAGES, ShowOutages

    from_, to = range_of(during, from_, to)
    until = to or ("end" if log.server is None else "now")
    request = ShowOutages(
        first=log.point(from_),
        until=log.point(until, is_first=False),
        broker=broker,
        topic=topic,
        objects=tuple(objects or ()),
        min_insync_replicas=None if assume is None else _assumed(assume),
    )
    result = log.ask(OUTAGES, request, at=until)
    if json:
        print_json_pieces(result.items, lambda: place_of(result.about()))
    else:
        found = joined(result.items)
        about = result.about()
        _print(found, about, verbose)
        print_remark(about)


def _assumed(text: str) -> int:
    name, _, value = text.partition("=")
    if name != _MIN_ISR or not value.isdecimal():
        raise bad_parameter(f"write {_MIN_ISR}=N", param_hint="--assume")
    return int(value)


def _print(found: dict[str, Any], about: "About", verbose: bool) -> None:
    from msgspec import convert

    from metadata_log.format.parts import Gap

    intervals = found["intervals"]
    if about.no_records:
        print_line(about.no_records)
        if about.as_of < max(about.history_start - 1, 0):
            return  # nothing is known about the time before the log
    print_line(_count_text(len(intervals), about))
    unit = unit_of(found["totals"][kind]["duration_ms"] for kind in _OF_PARTITIONS)
    for kind, total in found["totals"].items():
        if total["intervals"]:
            lasting = f", {total['lasting']:,} of them still open at the end" * bool(
                total["lasting"]
            )
            of = [each for each in intervals if each["kind"] == kind]
            print_line(
                f"  {kind}: {total['intervals']:,}, {_sum_text(kind, of, unit)} in all{lasting}"
            )
    for each in found.get("gaps", ()):
        print_line(f"  ! {gap_text(convert(each['gap'], Gap))}")
    used = found["min_insync_replicas"]
    if used["known_topics"] or used["unknown_topics"]:
        print_line(_min_isr_text(used))
    if not intervals:
        return
    print_line()
    groups = [[each] for each in intervals] if verbose else _grouped(intervals)
    print_table(
        ("lasted", "kind", "object", "from", "", "to", "", "cause"),
        [_row(group) for group in sorted(groups, key=lambda group: -_least_ms(group[0]))],
    )
    if any("on_both_sides" in it for it in intervals):
        print_line(
            "an outage on both sides of a gap is listed on each: it is not known whether it ended "
            "in between"
        )
    _print_sums("topic", _OF_PARTITIONS, intervals)
    _print_sums("broker", {"fenced", "shutting_down"}, intervals)


def _count_text(count: int, about: "About") -> str:
    if not about.no_records:
        until = f"up to offset {about.as_of}" if about.as_of >= 0 else "before the first record"
        return f"{count_text(count, 'outage')} {until}"
    before = ", the last before the range" if about.log_end > about.history_start else ""
    last = f"at offset {about.as_of}{before}"
    return f"{count_text(count, 'outage')} open {last}" if count else f"nothing was down {last}"


def _min_isr_text(used: dict[str, Any]) -> str:
    unknown = used["unknown_topics"]
    if not unknown:
        return f"  {_MIN_ISR} of every topic is in the log"
    topics = count_text(unknown, "topic")
    if used["assumed"] is None:
        return f"  {_MIN_ISR} of {topics} is not in the log: unknown; see --assume"
    return f"  {_MIN_ISR} of {topics} is not in the log: {used['assumed']} was assumed"


def _grouped(intervals: list[Interval]) -> Iterable[list[Interval]]:
    """Group outages with the same kind, cause, start and end."""
    groups: dict[tuple[Any, ...], list[Interval]] = {}
    for it in intervals:
        cause = it["cause"] and it["cause"]["offset"]
        key = (
            it["kind"],
            cause,
            it["from_time"],
            it["to_time"],
            it["topic_id"] is None,
            it.get("found_at"),
            it.get("last_seen_at"),
            "on_both_sides" in it,
        )
        groups.setdefault(key, []).append(it)
    return groups.values()


def _row(group: list[Interval]) -> tuple[object, ...]:
    first = group[0]
    began = [it["from_offset"] for it in group]
    ended = [it["to_offset"] for it in group]
    return (
        _bounded(first) or _lasted(group, duration_text(first["duration_ms"])),
        first["kind"],
        first["object"] if len(group) == 1 else f"{len(group):,} partitions",
        _beginning(first) if first["from_time"] is None else time_text(first["from_time"]),
        first.get("found_at", "") if first["from_time"] is None else min(began),
        _ending(first) if first["to_time"] is None else time_text(first["to_time"]),
        first.get("last_seen_at", "") if first["to_time"] is None else max(ended),
        _cause(first),
    )


def _bounded(interval: Interval) -> str | None:
    """Return how long an outage lasted, if other records than its own say more about that."""
    least, most = interval.get("least_ms"), interval.get("most_ms")
    if least is None:
        return None
    if most is None:
        return f"at least {duration_text(least)}"
    return f"{duration_text(least)} to {duration_text(most)}"


def _lasted(intervals: Iterable[Interval], text: str) -> str:
    """Return a duration: a lower bound if an outage may have begun earlier or ended later."""
    if not any("at_least" in it for it in intervals):
        return text
    return f"at least {text}" if any(it["duration_ms"] for it in intervals) else "unknown"


def _cause(interval: Interval) -> str:
    cause = interval["cause"]
    if cause is None:
        return _beginning(interval)
    silent = interval.get("silence_ms")
    before = f"; no record for {duration_text(silent)} before" if silent else ""
    return f"{cause['offset']}: {cause['text']}{before}"


def _beginning(interval: Interval) -> str:
    if "found_at" not in interval:
        return "before the kept history"
    return "before or in the gap" if "on_both_sides" in interval else "in the gap"


def _ending(interval: Interval) -> str:
    if "last_seen_at" not in interval:
        return "still open"
    return "in or after the gap" if "on_both_sides" in interval else "in the gap"


def _least_ms(interval: Interval) -> int:
    duration_ms: int = interval["duration_ms"]
    least_ms: int | None = interval.get("least_ms")
    return duration_ms if least_ms is None else least_ms


def _sum_text(kind: str, intervals: Collection[Interval], unit: Unit) -> str:
    """Return the sum of the durations of outages of a kind.

    Outages of partitions overlap, so their sum is in partition-hours: 50 partitions down for an
    hour are 50 partition-hours, not two days.
    """
    duration_ms = sum(map(_least_ms, intervals))
    if kind not in _OF_PARTITIONS:
        return _lasted(intervals, duration_text(duration_ms))
    return _lasted(intervals, partition_time_text(duration_ms, unit))


def _print_sums(what: str, kinds: Collection[str], intervals: list[Interval]) -> None:
    """Print the number and total duration of outages of some kinds, per topic or broker."""
    sums: dict[tuple[str, str], list[Interval]] = {}
    for it in intervals:
        if it["kind"] in kinds:
            name = it["object"].partition(":")[2]
            name = name.rpartition("/")[0] if what == "topic" else name
            sums.setdefault((name, it["kind"]), []).append(it)
    if not sums:
        return
    print_line()
    rows = [(sum(map(_least_ms, of)), *key, of) for key, of in sums.items()]
    rows.sort(key=lambda row: (-row[0], row[1], row[2]))
    unit = unit_of(row[0] for row in rows)
    print_table(
        (what, "kind", "times", "in all"),
        [(name, kind, f"{len(of):,}", _sum_text(kind, of, unit)) for _, name, kind, of in rows],
    )
