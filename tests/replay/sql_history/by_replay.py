"""The view `outages`, compared with the outages that `metalog outages` finds by replay."""

from collections import defaultdict
from typing import Any

from sqlalchemy import text

from records.text import uuid_text
from replay.incidents.health import LEADERLESS, UNDER_REPLICATED
from replay.incidents.outage import Outage
from replay.incidents.outages import find_outages
from replay.sql_history.store import HistoryStore
from replay.time_travel.labels import unescaped
from tests.replay.builders import FakeLog

Interval = tuple[Any, ...]
"""Topic id, full name, partition, kind, begin and end as offsets, the same as times, duration."""


def outages_of_view(store: HistoryStore) -> set[Interval]:
    """Return the outages in the view."""
    query = (
        "SELECT topic_id, topic, partition_id, kind, from_offset, to_offset, from_time, to_time, "
        "duration_ms "
        "FROM outages"
    )
    with store.engine.connect() as connection:
        return {tuple(row) for row in connection.execute(text(query))}


def outages_by_replay(store: HistoryStore, log: FakeLog, end_offset: int) -> set[Interval]:
    """Return the same outages by a replay of the log.

    In the tables a record takes effect at the end of its transaction. So an outage that begins and
    ends in one transaction does not count, and one that ends and begins again in one continues.
    """
    found = find_outages(log, end_offset, assumed_min_isr=0).intervals
    times: dict[int | None, int] = {
        row.offset: row.timestamp for batch in log.batches() for row in batch.rows
    }
    effective = _effective_offsets(store)
    of_object: dict[tuple[Any, ...], list[Outage]] = defaultdict(list)
    for each in sorted(found, key=lambda outage: outage.from_offset or -1):
        if each.kind in (LEADERLESS, UNDER_REPLICATED):
            number = int(each.object.rpartition("/")[2])
            of_object[each.topic_id, number, each.kind].append(each)
    intervals: set[Interval] = set()
    (last,) = log.batches(end_offset - 1, end_offset)
    end_ms = last.times_at(end_offset - 1)[0]

    def spans(begin: int, end: int | None) -> tuple[int | None, int | None, int | None]:
        from_ms, to_ms = times.get(begin), times.get(end)
        until_ms = end_ms if end is None else to_ms
        if from_ms is None or until_ms is None:
            return from_ms, to_ms, None
        return from_ms, to_ms, max(0, until_ms - from_ms)

    for (topic_id, number, kind), outages in of_object.items():
        merged: list[tuple[str, int, int | None]] = []
        for each in outages:
            begin = log.history_start - 1
            begin = begin if each.from_offset is None else effective[each.from_offset]
            end = None if each.to_offset is None else effective[each.to_offset]
            name = unescaped(each.object.removeprefix("partition:").rpartition("/")[0])
            if merged and merged[-1][2] == begin:
                merged[-1] = (*merged[-1][:2], end)
            else:
                merged.append((name, begin, end))
        intervals |= {
            (uuid_text(topic_id), name, number, kind, begin, end, *spans(begin, end))
            for name, begin, end in merged
            if begin != end
        }
    return intervals


def _effective_offsets(store: HistoryStore) -> dict[int, int]:
    with store.engine.connect() as connection:
        rows = connection.execute(text('SELECT "offset", effective_offset FROM change'))
        return {row.offset: row.effective_offset for row in rows}
