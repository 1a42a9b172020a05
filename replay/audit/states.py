"""States of partitions and brokers over time.

Most states are of partitions; workers compute them (fold/partition_states.py). The states of
brokers are accumulated from the relation of changes. Both use the view `period` (one row: the first
offset of the range, and the times of its first and last records).
"""

from functools import partial

from pyspark.sql import DataFrame

from replay.audit.changes import of_topics
from replay.audit.fold.outages import OUTAGES, Period, partition_outages
from replay.audit.fold.packed_rows import columns_sql
from replay.audit.fold.partition_states import FIELDS, OLD, STATES, partition_states
from replay.audit.history import History
from replay.audit.selection import Selection

_ORIGIN = ("principal", "command", "reason")
_RECORD = ("name", "time", "record", *_ORIGIN, "in_range")
_BROKER = {"fenced": "boolean", "in_controlled_shutdown": "boolean"}

_MADE = {
    "time": "timestamp_millis(timestamp)",
    "in_range": "offset >= period.first_offset",
    "end_time": "timestamp_millis(end_timestamp)",
    "ms": """CASE WHEN coalesce(end_offset > period.first_offset, true)
                  THEN greatest(0L, coalesce(end_timestamp, unix_millis(period.last_time))
                                    - if(offset >= period.first_offset, timestamp,
                                         unix_millis(period.first_time)))
             END""",
    "is_first": "is_first OR offset <= period.first_offset",
}
_SOURCES = {
    "time": ("timestamp",),
    "in_range": ("offset",),
    "end_time": ("end_timestamp",),
    "ms": ("offset", "timestamp", "end_offset", "end_timestamp"),
    "is_first": ("is_first", "offset"),
}
"""Columns of `STATES` that those of `_MADE` are made of."""


def partition_states_view(history: History, period: DataFrame, selection: Selection) -> DataFrame:
    """Return the states of all partitions, one row per record that changed a state.

    Columns, as far as they are selected: id, offset, name, time, record, principal, command,
    reason, in_range, the fields (null once the partition is removed), end_offset and end_time
    (null: the state has not ended), ms long, the state's duration within the range (null if the
    state ended before the range), is_first (true if no earlier state reaches into the range), and
    old, a struct with the fields of the state before.

    Args:
        history: A history with the columns `changes.COLUMNS`.
        period: The view `period`.
        selection: The states and the columns that are needed.
    """
    fields = selection.among(FIELDS)
    wanted = selection.among(("id", "offset", *_RECORD, *fields, "end_offset", "end_time", "ms"))
    wanted += selection.among(("is_first",))
    columns = {each for name in wanted for each in _SOURCES.get(name, (name,))}
    sql = [f"{_MADE.get(name, name)} AS {name}" for name in wanted]
    if selection.among((_OLD,)):
        columns |= {f"{OLD}{name}" for name in fields}
        old = ", ".join(f"'{name}', {OLD}{name}" for name in fields)
        sql.append(f"named_struct({old}) AS {_OLD}")
    names = [name for name in STATES.names if name in columns]
    find = partial(partition_states, columns=names)
    states = of_topics(history, find, columns_sql(STATES, names))
    return states.crossJoin(period.alias("period")).selectExpr(*sql)


_OLD = OLD.rstrip("_")


def partition_outages_view(history: History, period: DataFrame) -> DataFrame:
    """Return the partitions that were without a leader or under-replicated, and for how long.

    The columns are name (as of the last record) and id, and outages, unavailable_ms, shortages and
    under_replicated_ms, which are long.

    Args:
        history: A history with the columns `changes.COLUMNS`.
        period: The view `period`.
    """
    row = period.selectExpr(
        "first_offset",
        # Without a record before or in the range, no time is in it.
        f"coalesce(unix_millis(first_time), {_NEVER_MS}L)",
        "coalesce(unix_millis(last_time), 0L)",
    ).first()
    assert row is not None
    find = partial(partition_outages, period=Period(*row))
    return of_topics(history, find, columns_sql(OUTAGES, OUTAGES.names))


_NEVER_MS = 1 << 62


def broker_states_sql() -> str:
    """Return SQL for the states of all brokers, one row per record that changed a state.

    The columns are those of partitions' states, without is_first and old.
    """
    names = ", ".join(f"'{name}'" for name in _BROKER)
    # A structure distinguishes a field that was removed from one that this row is not about.
    last = ", ".join(
        f"last(if(field = '{name}', struct(after), null)) IGNORE NULLS OVER object AS {name}"
        for name in _BROKER
    )
    typed = ", ".join(f"CAST({name}.after AS {type_}) AS {name}" for name, type_ in _BROKER.items())
    kept = ", ".join(f"any_value({name}) AS {name}" for name in (*_RECORD, *_BROKER))
    # Rows of one record are peers in the window, so that each sees all that the record set.
    return f"""
        SELECT id, offset, {", ".join(_RECORD)}, {typed}, end_offset, end_time,
               CASE WHEN coalesce(end_offset > period.first_offset, true)
                    THEN greatest(0L, unix_millis(coalesce(end_time, period.last_time))
                                      - unix_millis(if(in_range, time, period.first_time)))
               END AS ms
        FROM (SELECT *, lead(offset) OVER object AS end_offset, lead(time) OVER object AS end_time
              FROM (SELECT id, offset, {kept}
                    FROM (SELECT *, {last}
                          FROM all_changes WHERE kind = 'brokers' AND field IN ({names})
                                                 AND in_effect
                          WINDOW object AS (PARTITION BY id ORDER BY offset))
                    GROUP BY id, offset)
              WINDOW object AS (PARTITION BY id ORDER BY offset))
             CROSS JOIN period
    """
