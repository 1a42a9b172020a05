"""Summary of a history in a few clauses: leaderless times, the end state, who changed what."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.questions.address_words import of_addresses, of_listeners
from api.questions.change_words import Actor, of_changes
from api.questions.clauses import Clause, Clock, Scope
from api.questions.end_words import of_ends
from api.questions.leaderless_words import of_leaderless, of_unclean
from api.questions.parts import Stretch, about_across, stretches
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.restart_words import of_restarts
from api.questions.summary_words import (
    of_controllers,
    of_gaps,
    of_range,
    of_tail,
    scope_of,
)
from replay.about import About
from replay.incidents.addresses import ListenerChange, SharedAddress
from replay.incidents.leaderless_times import LeaderlessTime
from replay.incidents.node_restarts import NodeRestarts, restarts_of
from replay.incidents.overview import Overview, OverviewReader, joined
from replay.incidents.single_replicas import SingleReplicas
from replay.incidents.topic_changes import TopicChanges
from replay.incidents.under_replicated import ShortOfReplicas


class ShowSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the summary of a history from a point on; `until` as of `ShowOutages`."""

    first: str = "start"
    until: str = "end"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a history.

    Attributes:
        from_time, to_time: Append times of the first and the last record, ms since 1970; None if
            there are no records.
        from_time_max, to_time_max: The latest possible times, if the record is in a sequence of
            NoOps whose times are not kept; `from_time` and `to_time` are then the earliest.
        asked_from, asked_to: The range's bounds, if times were asked for, ms since 1970.
        leaderless: The times in which any partition had no leader, in order.
        longest: Index in `leaderless` of the longest time; None if there is none.
        partitions, leaderless_partitions, under_replicated: Numbers of partitions at the end.
        short: The partitions that are under-replicated at the end, by when that began.
        single: The partitions that have only one replica at the end.
        brokers, fenced, shut_down: Numbers of brokers at the end: all, those that are fenced, and
            those in or after a controlled shutdown.
        controllers: The node of each term as the active controller that overlaps the range, in
            order.
        restarts: The restarts of brokers and controllers, by the nodes that restarted together;
            those with most restarts first.
        shared_addresses: The addresses that several brokers advertised, by when that began.
        listener_changes: The registrations of known brokers with other listeners, in order.
        topics: How topics were changed, with some of their names.
        actors: Principals that made changes, those with most changes first.
        clauses: The summary in words.
    """

    from_time: int | None
    to_time: int | None
    from_time_max: int | UnsetType = UNSET
    to_time_max: int | UnsetType = UNSET
    asked_from: int | UnsetType = UNSET
    asked_to: int | UnsetType = UNSET
    leaderless: tuple[LeaderlessTime, ...]
    longest: int | None
    partitions: int
    leaderless_partitions: int
    under_replicated: int
    short: tuple[ShortOfReplicas, ...]
    single: SingleReplicas
    brokers: int
    fenced: int
    shut_down: int
    controllers: tuple[int, ...]
    restarts: tuple[NodeRestarts, ...]
    shared_addresses: tuple[SharedAddress, ...]
    listener_changes: tuple[ListenerChange, ...]
    topics: TopicChanges
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

    return Computed(answer=summary_of(parts, found, request), about=about)


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


def summary_of(parts: Sequence[Stretch], found: Overview, request: ShowSummary) -> Summary:
    """Return the summary of a range.

    Args:
        parts: The range's offsets in each log of the recording, oldest first.
        found: The overview of all of them.
    """
    times, health = found.leaderless, found.health
    actors, restarts = _actors(found.changes), restarts_of(found.restarts)
    before = () if found.controller_before is None else (found.controller_before,)
    controllers = (*before, *found.controllers)
    longest = max(range(len(times)), key=lambda number: times[number].duration_ms, default=None)
    (from_time, from_max), (to_time, to_max) = _times(parts)
    scope = scope_of(parts, found, (from_time, to_time))
    return Summary(
        from_time=from_time,
        to_time=to_time,
        from_time_max=from_max,
        to_time_max=to_max,
        asked_from=_asked_time(parts, request.first, is_first=True),
        asked_to=_asked_time(parts, request.until),
        leaderless=tuple(times),
        longest=longest,
        partitions=health.partitions,
        leaderless_partitions=health.leaderless,
        under_replicated=health.under_replicated,
        short=found.short,
        brokers=found.brokers,
        fenced=found.fenced,
        shut_down=found.shut_down,
        controllers=controllers,
        restarts=restarts,
        shared_addresses=found.shared,
        listener_changes=found.listeners,
        topics=found.topics,
        actors=actors,
        single=found.single,
        clauses=_shortened(_clauses(parts, scope, restarts, controllers, actors), scope.clock),
    )


def _shortened(clauses: Sequence[Clause], clock: Clock) -> tuple[Clause, ...]:
    texts = clock.shortened([each.text for each in clauses])
    return tuple([replace(each, text=text) for each, text in zip(clauses, texts, strict=True)])


def _clauses(
    parts: Sequence[Stretch],
    scope: Scope,
    restarts: Sequence[NodeRestarts],
    controllers: Sequence[int],
    actors: Sequence[Actor],
) -> tuple[Clause, ...]:
    newest = parts[-1]
    reading = of_range(parts)
    end = tuple(of_ends(scope))
    if reading is not None:
        found = scope.found
        is_known = newest.at >= newest.past.reader.history_start - 1 and bool(found.brokers)
        down = of_leaderless(scope) if found.leaderless else ()
        state = (*down, *of_addresses(scope), *end) if is_known else ()
        return (reading, *state, *of_gaps(parts))
    return (
        *of_leaderless(scope),
        *of_unclean(scope),
        *of_addresses(scope),
        *end,
        *of_restarts(scope, restarts),
        of_controllers(controllers, restarts),
        *of_listeners(scope),
        of_changes(newest.past, actors, scope),
        *of_gaps(parts),
        *of_tail(newest.past, newest.at),
    )


def _asked_time(parts: Sequence[Stretch], point: str, *, is_first: bool = False) -> int | UnsetType:
    asked = parts[-1].past.asked_time(point, is_first=is_first)
    return UNSET if asked is None else asked


_Time = tuple[int | None, int | UnsetType]


def _times(parts: Sequence[Stretch]) -> tuple[_Time, _Time]:
    """Return the times of the first and the last record, each with its latest possible time."""
    oldest, newest = parts[0], parts[-1]
    if oldest.first > newest.at:
        return (None, UNSET), (None, UNSET)
    return oldest.past.times_at(oldest.first), newest.past.times_at(newest.at)


def _actors(counts: Mapping[str | None, int]) -> tuple[Actor, ...]:
    # Who is not known comes last: there may be many of them.
    ordered = sorted(counts, key=lambda who: (who is None, -counts[who], who or ""))
    return tuple([Actor(principal=who, changes=counts[who]) for who in ordered])


SUMMARY = Question(name="summary", request=ShowSummary, answer=Summary, tell=summary_shown)
