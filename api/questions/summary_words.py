"""Clauses of a summary: what happened, in words."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from api.questions.parts import Stretch
from api.questions.past import Past
from api.questions.restart_words import ON_PURPOSE, ids_text, node_names, restart_text
from metadata_log.format.manifest import Kind
from records.text import duration_text, time_text
from replay.incidents.leaderless_times import LeaderlessTime
from replay.incidents.overview import Overview, Silence
from replay.incidents.restarts import NodeRestarts, Together
from replay.incidents.under_replicated import ShortOfReplicas

_ACTORS_MAX = 3
"""Number of principals named in the summary; others are only counted."""

_RESTARTS_MAX = 3
"""Number of clauses about restarts; other restarts are only counted."""

_SHORT_MAX = 3
"""Number of times at which partitions became under-replicated; others are only counted."""

_UNCLEAN_MAX = 3
"""Number of partitions named that had an unclean election; others are only counted."""

_AFTER_SILENCE_MS_MAX = 60_000
"""Maximum time after a silence in which what failed meanwhile is found: brokers have missed their
heartbeats by then."""


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a summary.

    Attributes:
        about: `range`, `leaderless`, `unclean`, `end`, `brokers`, `restarts`, `controllers`,
            `changes`, `gap` or `tail`.
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


def of_range(parts: Sequence[Stretch]) -> Clause | None:
    """Return the clause about a range without records; None if it has any."""
    newest = parts[-1]
    if parts[0].first <= newest.at or newest.before is not None:
        return None
    reader = newest.past.reader
    start, end = reader.history_start, reader.end_offset
    if start == end:
        text = (
            f"the log holds no records: only the state at offset {start - 1:,} is known"
            if start
            else "the log is empty"
        )
    elif newest.at < start:
        begin, _ = newest.past.times_at(start)
        text = f"no records in this range: the log begins at {_time(begin)}"
    elif newest.first >= end:
        text = f"no records in this range: the log ends at {_time(reader.end_timestamp())}"
    else:
        text = "no records in this range"
    return Clause(about="range", text=text)


def _time(time_ms: int | None) -> str:
    return "an unknown time" if time_ms is None else time_text(time_ms)


def end_of(parts: Sequence[Stretch]) -> str:
    """Return what a range ends with, in words."""
    newest = parts[-1]
    is_all = newest.at + 1 >= newest.past.reader.end_offset
    return "the end of the log" if is_all else "the end of the range"


def of_leaderless(found: Overview, end: str) -> Clause:
    """Return the clause about the times without a leader.

    Args:
        end: What the range ends with, as `end_of`.
    """
    times = found.leaderless
    if not times:
        return Clause(about="leaderless", text="never without a leader")
    planned = [each for each in times if each.is_planned]
    others = [each for each in times if not each.is_planned]
    if planned and others:
        text = (
            f"{len(times):,} times without a leader, {_sum(times)} in all: {len(planned):,} by "
            f"{ON_PURPOSE}; {_told(_times(len(others), 'other'), others, found, end)}"
        )
    else:
        text = _told(f"{_often(len(times))} without a leader", times, found, end)
    chosen = _longest(others or times)
    return Clause(
        about="leaderless",
        text=text,
        # A single node that is stopped on purpose takes all partitions with it.
        is_bad=bool(others) or found.brokers != 1,
        from_offset=chosen.from_offset,
        to_offset=chosen.to_offset,
    )


def _longest(times: Sequence[LeaderlessTime]) -> LeaderlessTime:
    return max(times, key=lambda each: each.duration_ms)


def _sum(times: Sequence[LeaderlessTime]) -> str:
    return duration_text(sum(each.duration_ms for each in times))


def _told(often: str, times: Sequence[LeaderlessTime], found: Overview, end: str) -> str:
    """Return the text about times without a leader: how many, how long, and the longest.

    Args:
        often: How many, in words.
    """
    longest = _longest(times)
    silences = [each for each in (_silence_before(time, found) for time in times) if each]
    at_least = "at least " if silences else ""
    lasted = f"{duration_text(longest.duration_ms)} {_bounds(longest, end)}"
    if len(times) == 1:
        what = f", for {at_least}{lasted}"
    else:
        total = _sum(times)
        same = total == duration_text(longest.duration_ms)
        what = f"{'' if same and not at_least else f', {at_least}{total} in all'}, longest {lasted}"
    return f"{often}{what} ({_down(longest, found)}){_last(times, longest, end)}{_silent(silences)}"


def _bounds(found: LeaderlessTime, range_end: str) -> str:
    since = _since(found.from_time)
    if found.found_at is not UNSET:
        since = f"offset {found.found_at:,} on, where it was found after a gap"
    if found.last_seen_at is not UNSET:
        return f"from {since}, last seen at offset {found.last_seen_at:,} before a gap"
    end = range_end if found.to_time is None else time_text(found.to_time)
    return f"from {since} to {end}"


def _last(times: Sequence[LeaderlessTime], longest: LeaderlessTime, end: str) -> str:
    """Return the text about the last time, if that is not the longest."""
    last = times[-1]
    if last is longest:
        return ""
    lasted = duration_text(last.duration_ms)
    if last.to_time is None and last.last_seen_at is UNSET:
        return f"; the last, of {lasted}, still open at {end}"
    return f"; the last for {lasted}"


def _silence_before(time: LeaderlessTime, found: Overview) -> Silence | None:
    """Return the silence in which a time without a leader may have begun; None if there is none."""
    if time.is_planned or time.from_offset is None or time.from_time is None:
        return None
    before = [each for each in found.silences if each.offset < time.from_offset]
    if before and time.from_time - before[-1].time <= _AFTER_SILENCE_MS_MAX:
        return before[-1]
    return None


def _silent(silences: Sequence[Silence]) -> str:
    if not silences:
        return ""
    each = " and ".join(duration_text(silence.duration_ms) for silence in silences[:2])
    more = f" and {len(silences) - 2:,} more times" if len(silences) > 2 else ""
    return f"; the log is silent before, for {each}{more}"


def _down(time: LeaderlessTime, found: Overview) -> str:
    """Return how many partitions had no leader, and the cause that was the first or only one."""
    together = _restart_in(time, found.restarts)
    if together is not None:
        clean = f" after a {ON_PURPOSE}" if time.is_planned else ""
        cause = f": {node_names(together.nodes, is_broker=True, is_all=together.is_all)} restarted"
        return f"{_partitions(time.partitions)}{cause} together{clean}"
    if time.cause is None:
        return _partitions(time.partitions)
    first = ": " if time.partitions == 1 else "; it began with: "
    purpose = ", on purpose" if time.is_planned else ""
    return f"{_partitions(time.partitions)}{first}{time.cause}{purpose}"


def _partitions(count: int) -> str:
    return f"{count:,} partition{'' if count == 1 else 's'}"


def _restart_in(time: LeaderlessTime, restarts: Sequence[Together]) -> Together | None:
    """Return the restart of several brokers together that overlaps a time without a leader."""
    for each in restarts:
        if len(each.restarts) > 1 and each.is_broker:
            is_after = time.to_offset is not None and each.down_offset > time.to_offset
            if not is_after and each.restarts[-1].offset >= (time.from_offset or 0):
                return each
    return None


def of_end(found: Overview) -> Clause:
    """Return the clause about the partitions at the end."""
    health = found.health
    if not health.partitions:
        return Clause(about="end", text="ends without partitions")
    is_bad = bool(health.leaderless + health.under_replicated)
    if health.leaderless:
        text = (
            f"ends with {health.leaderless:,} of {health.partitions:,} partitions without a leader"
        )
        is_bad = not _is_shut_down(found)
    elif health.under_replicated:
        short = f"{health.under_replicated:,} of {health.partitions:,}"
        text = f"ends with {short} partitions under-replicated{_short(found.short)}"
    elif health.partitions == 1:
        text = "ends with its only partition healthy"
    else:
        text = f"ends with all {health.partitions:,} partitions healthy"
    return Clause(about="end", text=text, is_bad=is_bad)


def _is_shut_down(found: Overview) -> bool:
    """True if the cluster has a single node, which was stopped on purpose."""
    return found.brokers == found.shut_down == 1


def _short(groups: Sequence[ShortOfReplicas]) -> str:
    if not groups:
        return ""
    told = [_group(each) for each in groups[:_SHORT_MAX]]
    others = sum(each.partitions for each in groups[_SHORT_MAX:])
    if others:
        told.append(f"{others:,} later")
    return f": {', '.join(told)}"


def _group(each: ShortOfReplicas) -> str:
    led = f"led by {ids_text(each.leaders)}" if each.leaders else "without a leader"
    cause = "" if each.cause is None else f"; {each.cause}"
    since = "since before the log" if each.from_time is None else f"since {_since(each.from_time)}"
    if each.to_time != each.from_time:
        since += f" to {_since(each.to_time)}"
    return f"{each.partitions:,} {since} ({led}{cause})"


def of_brokers(found: Overview) -> Clause:
    """Return the clause about the brokers at the end."""
    brokers, fenced = found.brokers, found.fenced
    if not brokers:
        return Clause(about="brokers", text="no broker is registered")
    if _is_shut_down(found):
        now = "off" if fenced else "shutting down"
        return Clause(about="brokers", text=f"the only broker is {now} ({ON_PURPOSE})")
    if brokers == 1:
        text = "the only broker is fenced" if fenced else "the only broker is up"
    elif fenced:
        off = found.shut_down - found.shutting_down
        clean = f", {off:,} by {ON_PURPOSE}" if off else ""
        more = f"; {found.shutting_down:,} shutting down" if found.shutting_down else ""
        text = f"{fenced:,} of {brokers:,} brokers fenced{clean}{more}"
    elif found.shutting_down:
        text = f"{found.shutting_down:,} of {brokers:,} brokers shutting down"
    else:
        text = f"all {brokers:,} brokers up"
    return Clause(about="brokers", text=text, is_bad=bool(fenced or found.shutting_down))


def of_unclean(found: Overview) -> Iterator[Clause]:
    """Yield the clause about the unclean elections, if there were any."""
    if not found.unclean:
        return
    first, last = found.unclean[0], found.unclean[-1]
    count = len(found.unclean)
    if count == 1:
        text = f"1 unclean election at {time_text(first.time)}"
    else:
        when = f"from {time_text(first.time)} to {time_text(last.time)}"
        text = f"{count:,} unclean elections {when}"
    names = list(dict.fromkeys(each.object for each in found.unclean))
    more = f" and {len(names) - _UNCLEAN_MAX:,} more" if len(names) > _UNCLEAN_MAX else ""
    yield Clause(
        about="unclean",
        text=f"{text}: records may be lost ({', '.join(names[:_UNCLEAN_MAX])}{more})",
        is_bad=True,
        from_offset=first.offset,
        to_offset=last.offset,
    )


def of_restarts(restarts: Sequence[NodeRestarts]) -> Iterator[Clause]:
    """Yield the clauses about restarts, those of nodes that restarted most often first."""
    for each in restarts[:_RESTARTS_MAX]:
        yield Clause(
            about="restarts",
            text=restart_text(each),
            is_bad=each.clean < each.times if each.is_broker else each.times > 1,
            from_offset=each.from_offset,
            to_offset=each.to_offset,
        )
    others = sum(each.times for each in restarts[_RESTARTS_MAX:])
    if others:
        yield Clause(about="restarts", text=f"{_times(others, 'more restart')} of other nodes")


def _times(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def of_controllers(nodes: Sequence[int]) -> Clause:
    """Return the clause about the active controllers, given the node of each term."""
    if not nodes:
        return Clause(about="controllers", text="no controller is known")
    changes = sum(nodes[i] != nodes[i + 1] for i in range(len(nodes) - 1))
    again = len(nodes) - 1 - changes
    if not changes:
        text = f"node {nodes[-1]} was the controller"
        if again:
            text += f", and took over again {_often(again)}"
    else:
        last = f" to node {nodes[-1]}" if changes == 1 else f", last to node {nodes[-1]}"
        text = f"the controller changed {_often(changes)}{last}"
        if again:
            text += f"; {_often(again)} the same node took over again"
    return Clause(about="controllers", text=text)


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def of_changes(past: Past, actors: Sequence[Actor]) -> Clause:
    """Return the clause about who changed topics, configs and rights."""
    known = [each for each in actors if each.principal is not None]
    unknown = sum(each.changes for each in actors if each.principal is None)
    if not actors:
        return Clause(about="changes", text="nobody changed topics, configs or rights")
    log = "Kafka's log" if past.reader.kind is Kind.MIRROR else "the log"
    if not known:
        text = f"{_times(unknown, 'change')} of topics or configs; {log} does not say by whom"
        return Clause(about="changes", text=text)
    said = [f"{each.principal} ({each.changes:,})" for each in known[:_ACTORS_MAX]]
    if len(known) > _ACTORS_MAX:
        others = len(known) - _ACTORS_MAX
        said.append(f"{others:,} other{'' if others == 1 else 's'}")
    if unknown:
        said.append(f"principals that {log} does not name ({unknown:,})")
    text = f"topics, configs and rights changed by {', '.join(said)}"
    return Clause(about="changes", text=text)


def of_gaps(parts: Sequence[Stretch]) -> Iterator[Clause]:
    """Yield a clause for each gap in the recording."""
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


def of_tail(past: Past, at: int) -> Iterator[Clause]:
    """Yield a clause if the end of a mirror is not known to be committed."""
    confirmed = past.reader.confirmed_end
    if at >= confirmed:
        yield Clause(
            about="tail",
            text=f"not known to be committed from offset {confirmed:,} on: no checkpoint covers "
            "these records, so Kafka may still replace them",
            from_offset=confirmed,
        )
