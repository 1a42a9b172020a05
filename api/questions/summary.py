"""Summary of a history in a few clauses: leaderless times, the end state, who changed what."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.parts import Stretch, about_across, stretches
from api.questions.past import Past
from api.questions.question import Computed, Question
from metadata_log.format.manifest import Kind
from records.text import duration_text, time_text
from replay.about import About
from replay.incidents.health import Health
from replay.incidents.leaderless_times import LeaderlessTime
from replay.incidents.overview import Overview, OverviewReader, joined
from replay.incidents.restarts import RestartLoop

_ACTORS_MAX = 3
"""Number of principals named in the summary; others are only counted."""

_LOOPS_MAX = 3
"""Number of restart loops told in the summary; others are only counted."""


class ShowSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the summary of a history from a point on; `until` as of `ShowOutages`."""

    first: str = "start"
    until: str = "end"


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a summary.

    Attributes:
        about: `leaderless`, `end`, `brokers`, `restarts`, `controllers`, `changes`, `gap` or
            `tail`.
        is_bad: True if the statement says that something is wrong.
        from_offset, to_offset: Offsets of the first and last record that the statement is about;
            None: the first or last record of the summary's range.
    """

    about: str
    text: str
    is_bad: bool = False
    from_offset: int | None = None
    to_offset: int | None = None


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed topics, configs, rights and the like, and how often.

    Attributes:
        principal: None if unknown; then only changes of topics and configs are counted, because a
            controller makes other changes by itself.
    """

    principal: str | None
    changes: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a history.

    Attributes:
        from_time, to_time: Append times of the first and the last record, ms since 1970; None if
            there are no records.
        from_time_max, to_time_max: The latest possible times, if the record is in a sequence of
            NoOps whose times are not kept; `from_time` and `to_time` are then the earliest.
        leaderless: The times in which any partition had no leader, in order.
        longest: Index in `leaderless` of the longest time; None if there is none.
        partitions, leaderless_partitions, under_replicated: Numbers of partitions at the end.
        brokers, fenced: Numbers of brokers at the end.
        controllers: The node of each term as the active controller, in order.
        restart_loops: The nodes that restarted at least three times within an hour, those with most
            restarts first.
        actors: Principals that made changes, those with most changes first.
        clauses: The summary in words.
    """

    from_time: int | None
    to_time: int | None
    from_time_max: int | UnsetType = UNSET
    to_time_max: int | UnsetType = UNSET
    leaderless: tuple[LeaderlessTime, ...]
    longest: int | None
    partitions: int
    leaderless_partitions: int
    under_replicated: int
    brokers: int
    fenced: int
    controllers: tuple[int, ...]
    restart_loops: tuple[RestartLoop, ...]
    actors: tuple[Actor, ...]
    clauses: tuple[Clause, ...]


def summary_shown(past: Past, at: int, request: ShowSummary) -> Computed:
    """Return the summary of a range.

    Raises:
        RequestError, UnknownHistoryError: as `Past.first_offset`.
    """
    parts = stretches(past, request.first, at)
    reading = past.timeline.overview_reader(parts[-1].first, at + 1)
    with past.progress("reading", at + 1) as advance:
        reading.read(advance)
    return summary_read(parts, reading, request)


def summary_read(
    parts: Sequence[Stretch], reading: OverviewReader, request: ShowSummary
) -> Computed:
    """Return the summary of a range whose newest part was read; arguments as `overview_across`."""
    newest = parts[-1]
    found = overview_across(parts, reading, request.until)

    def about() -> About:
        place = newest.past.about_provenance(found.provenance, newest.at)
        return place if newest.before is None else about_across(place)

    return Computed(answer=summary_of(parts, found), about=about)


def overview_across(parts: Sequence[Stretch], newest: OverviewReader, until: str) -> Overview:
    """Return the overview of all parts of a range, given the reader of the newest part.

    Args:
        until: As of `ShowSummary`.
    """
    *earlier, last = parts
    found = [
        *(_overview_before(each) for each in earlier),
        newest.overview(last.past.counted_until(last.at, until)),
    ]
    return joined(found, [part.before.gap for part in parts[1:] if part.before is not None])


def _overview_before(stretch: Stretch) -> Overview:
    reading = stretch.past.timeline.overview_reader(stretch.first, stretch.at + 1)
    reading.read()
    return reading.overview()


def summary_of(parts: Sequence[Stretch], found: Overview) -> Summary:
    """Return the summary of a range.

    Args:
        parts: The range's offsets in each log of the recording, oldest first.
        found: The overview of all of them.
    """
    newest = parts[-1]
    past, at = newest.past, newest.at
    times, health, controllers = found.leaderless, found.health, found.controllers
    actors = _actors(found.changes)
    longest = max(range(len(times)), key=lambda number: times[number].duration_ms, default=None)
    (from_time, from_max), (to_time, to_max) = (
        of.past.times_at(offset) for of, offset in ((parts[0], parts[0].first), (newest, at))
    )
    return Summary(
        from_time=from_time,
        to_time=to_time,
        from_time_max=from_max,
        to_time_max=to_max,
        leaderless=tuple(times),
        longest=longest,
        partitions=health.partitions,
        leaderless_partitions=health.leaderless,
        under_replicated=health.under_replicated,
        brokers=found.brokers,
        fenced=found.fenced,
        controllers=controllers,
        restart_loops=found.restart_loops,
        actors=actors,
        clauses=(
            _of_leaderless(times, longest),
            _of_end(health),
            _of_brokers(found.brokers, found.fenced),
            *_of_restarts(found.restart_loops),
            _of_controllers(controllers),
            _of_changes(past, actors),
            *_of_gaps(parts),
            *_of_tail(past, at),
        ),
    )


def _actors(counts: Mapping[str | None, int]) -> tuple[Actor, ...]:
    # Who is not known comes last: there may be many of them.
    ordered = sorted(counts, key=lambda who: (who is None, -counts[who], who or ""))
    return tuple([Actor(principal=who, changes=counts[who]) for who in ordered])


def _of_leaderless(times: Sequence[LeaderlessTime], longest: int | None) -> Clause:
    if longest is None:
        return Clause(about="leaderless", text="never without a leader")
    found = times[longest]
    since = _since(found.from_time)
    if found.found_at is not UNSET:
        since = f"offset {found.found_at:,} on, where it was found after a gap"
    lasted = f"{duration_text(found.duration_ms)} from {since}"
    if found.last_seen_at is not UNSET:
        lasted += f", last seen at offset {found.last_seen_at:,} before a gap"
    elif found.to_time is None:
        lasted += " to the end"
    else:
        lasted += f" to {time_text(found.to_time)}"
    if len(times) == 1:
        text = f"once without a leader, for {lasted}"
    else:
        total = duration_text(sum(each.duration_ms for each in times))
        in_all = "" if total == duration_text(found.duration_ms) else f", {total} in all"
        text = f"{len(times):,} times without a leader{in_all}, longest {lasted}"
    last = times[-1]
    newest = "" if last is found else f"; the last for {duration_text(last.duration_ms)}"
    if newest and last.to_time is None and last.last_seen_at is UNSET:
        newest += " until the records end"
    return Clause(
        about="leaderless",
        text=f"{text} ({_down(found)}){newest}",
        is_bad=True,
        from_offset=found.from_offset,
        to_offset=found.to_offset,
    )


def _down(found: LeaderlessTime) -> str:
    """Return how many partitions had no leader, and the cause that was the first or only one."""
    if found.partitions == 1:
        return "1 partition" if found.cause is None else f"1 partition: {found.cause}"
    cause = "" if found.cause is None else f"; it began with: {found.cause}"
    return f"{found.partitions:,} partitions{cause}"


def _of_end(health: Health) -> Clause:
    if not health.partitions:
        return Clause(about="end", text="ends without partitions")
    if health.leaderless:
        down = f"{health.leaderless:,} of {health.partitions:,}"
        text = f"ends with {down} partitions without a leader"
    elif health.under_replicated:
        text = (
            f"ends with {health.under_replicated:,} of {health.partitions:,} partitions "
            "under-replicated"
        )
    else:
        of = (
            "its only partition"
            if health.partitions == 1
            else f"all {health.partitions:,} partitions"
        )
        text = f"ends with {of} healthy"
    return Clause(about="end", text=text, is_bad=bool(health.leaderless + health.under_replicated))


def _of_brokers(brokers: int, fenced: int) -> Clause:
    if not brokers:
        return Clause(about="brokers", text="no broker is registered")
    if brokers == 1:
        text = "the only broker is fenced" if fenced else "the only broker is up"
    else:
        text = (
            f"{fenced:,} of {brokers:,} brokers fenced" if fenced else f"all {brokers:,} brokers up"
        )
    return Clause(about="brokers", text=text, is_bad=bool(fenced))


def _of_restarts(loops: Sequence[RestartLoop]) -> Iterator[Clause]:
    told = _at_once(loops)
    for together in told[:_LOOPS_MAX]:
        from_, to = (
            min(together, key=lambda each: each.from_offset),
            max(together, key=lambda each: each.to_offset),
        )
        each = " each" if len(together) > 1 else ""
        yield Clause(
            about="restarts",
            text=f"{_nodes(together)} restarted {from_.restarts:,} times{each} between "
            f"{time_text(from_.from_time)} and {time_text(to.to_time)} (restart loop)",
            is_bad=True,
            from_offset=from_.from_offset,
            to_offset=to.to_offset,
        )
    if len(told) > _LOOPS_MAX:
        others = len(told) - _LOOPS_MAX
        text = f"{others:,} more restart loop{'' if others == 1 else 's'}"
        yield Clause(about="restarts", text=text, is_bad=True)


def _at_once(loops: Sequence[RestartLoop]) -> list[list[RestartLoop]]:
    """Group the loops of nodes that restarted equally often at the same time."""
    found: list[list[RestartLoop]] = []
    for loop in loops:
        for others in found:
            first = others[0]
            if (loop.restarts, loop.is_broker) == (first.restarts, first.is_broker) and (
                loop.from_offset < first.to_offset and first.from_offset < loop.to_offset
            ):
                others.append(loop)
                break
        else:
            found.append([loop])
    return found


def _nodes(loops: Sequence[RestartLoop]) -> str:
    kind = "broker" if loops[0].is_broker else "controller"
    *before, last = map(str, sorted(each.node_id for each in loops))
    return f"{kind}s {', '.join(before)} and {last}" if before else f"{kind} {last}"


def _of_controllers(nodes: Sequence[int]) -> Clause:
    if not nodes:
        return Clause(about="controllers", text="the controller did not change")
    if len(nodes) == 1:
        return Clause(about="controllers", text=f"node {nodes[0]} was the controller")
    changes = len(nodes) - 1
    if len(set(nodes)) == 1:
        often = "once" if changes == 1 else f"{changes:,} times"
        text = f"node {nodes[0]} was the controller, and took over again {often}"
        return Clause(about="controllers", text=text)
    often = "once" if changes == 1 else f"{changes:,} times, last"
    text = f"the controller changed {often} to node {nodes[-1]}"
    return Clause(about="controllers", text=text)


def _of_changes(past: Past, actors: Sequence[Actor]) -> Clause:
    known = [each for each in actors if each.principal is not None]
    unknown = sum(each.changes for each in actors if each.principal is None)
    if not actors:
        return Clause(about="changes", text="nobody changed topics, configs or rights")
    said = [f"{each.principal} ({each.changes:,})" for each in known[:_ACTORS_MAX]]
    if len(known) > _ACTORS_MAX:
        others = len(known) - _ACTORS_MAX
        said.append(f"{others:,} other{'' if others == 1 else 's'}")
    if unknown:
        log = "Kafka's log" if past.reader.kind is Kind.MIRROR else "the log"
        said.append(f"principals that {log} does not name ({unknown:,})")
    text = f"topics, configs and rights changed by {', '.join(said)}"
    return Clause(about="changes", text=text)


def _of_gaps(parts: Sequence[Stretch]) -> Iterator[Clause]:
    for part in parts:
        if part.before is not None:
            gap = part.before.gap
            yield Clause(
                about="gap",
                text=f"offsets {gap.from_offset:,} to {gap.to_offset - 1:,} were not recorded "
                f"({_since(gap.from_time)} to {time_text(gap.to_time)}): what happened there "
                "is not known",
                from_offset=gap.from_offset,
                to_offset=gap.to_offset - 1,
            )


def _since(time_ms: int | None) -> str:
    return "before the kept history" if time_ms is None else time_text(time_ms)


def _of_tail(past: Past, at: int) -> Iterator[Clause]:
    confirmed = past.reader.confirmed_end
    if at >= confirmed:
        yield Clause(
            about="tail",
            text=f"Kafka may still replace the records from offset {confirmed:,} on",
            from_offset=confirmed,
        )


SUMMARY = Question(name="summary", request=ShowSummary, answer=Summary, tell=summary_shown)
