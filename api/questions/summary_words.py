"""Clauses of a summary about the range, the controllers, gaps and what is not known."""

from collections.abc import Iterator, Sequence

from api.questions.clauses import Clause, Clock, Scope, often
from api.questions.parts import Stretch
from api.questions.past import Past
from api.questions.ranges import without_records
from records.text import time_text
from replay.incidents.node_restarts import NodeRestarts
from replay.incidents.overview import Overview


def scope_of(
    parts: Sequence[Stretch], found: Overview, times: tuple[int | None, int | None]
) -> Scope:
    """Return the scope of a summary, given times of its range's first and last record."""
    oldest, newest = parts[0], parts[-1]
    is_whole = oldest.first <= oldest.past.reader.history_start and _is_all(newest)
    is_silent = is_whole and not found.has_noops
    begin, end = times
    whole_ms = None if begin is None or end is None else end - begin
    return Scope(found, Clock.of(times), oldest.first, whole_ms, is_silent, end_of(parts))


def of_range(parts: Sequence[Stretch]) -> Clause | None:
    """Return the clause about a range without records; None if it has any."""
    text = without_records(parts)
    return None if text is None else Clause(about="range", text=text)


def end_of(parts: Sequence[Stretch]) -> str:
    """Return what a range ends with, in words."""
    return "the end of the log" if _is_all(parts[-1]) else "the end of the range"


def _is_all(newest: Stretch) -> bool:
    return newest.at + 1 >= newest.past.reader.end_offset


def of_controllers(nodes: Sequence[int], restarts: Sequence[NodeRestarts]) -> Clause:
    """Return the clause about the active controllers, given the node of each term."""
    if not nodes:
        return Clause(about="controllers", text="no controller is known")
    changes = sum(nodes[i] != nodes[i + 1] for i in range(len(nodes) - 1))
    again = len(nodes) - 1 - changes
    if not changes:
        text = f"node {nodes[-1]} was the controller"
        if again:
            times = sum(each.times for each in restarts if each.nodes == (nodes[-1],))
            how = (
                "again after each restart"
                if times == again
                else (f"and took over again {often(again)}")
            )
            text += f", {how}"
    else:
        last = f" to node {nodes[-1]}" if changes == 1 else f", last to node {nodes[-1]}"
        text = f"the controller changed {often(changes)}{last}"
        if again:
            text += f"; {often(again)} the same node took over again"
    return Clause(about="controllers", text=text)


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
            "that",
            from_offset=confirmed,
        )
