"""States of partitions and brokers over time: the SQL that both engines share.

Most states are of partitions; workers compute them (fold/partition_states.py). The states of
brokers are accumulated from the relation of changes. Both use the view `period` (one row: the first
offset of the range, and the times of its first and last records).
"""

from typing import NamedTuple

from replay.audit.fold.partition_states import FIELDS, OLD, STATES
from replay.audit.selection import Selection

_ORIGIN = ("principal", "command", "reason")
_RECORD = ("name", "time", "record", *_ORIGIN, "in_range")
_BROKER = {"fenced": "boolean", "in_controlled_shutdown": "boolean"}

_MADE = {
    "time": "timestamp_millis(timestamp)",
    "in_range": "offset >= period.first_offset",
    "end_time": "timestamp_millis(end_timestamp)",
    "ms": """CASE WHEN coalesce(end_offset > period.first_offset, true)
                  THEN greatest(0, coalesce(end_timestamp, unix_millis(period.last_time))
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
"""For each column in `_MADE`, the columns of `STATES` that it is computed from."""


class StateColumns(NamedTuple):
    """The columns of the view `partition_states` that a selection needs.

    Attributes:
        sources: The columns of `STATES` that the needed columns are computed from.
        sql: The SQL of each needed column except `old`, over the sources and the view `period`.
        old: The fields of the struct `old`; None if the struct is not needed.
    """

    sources: list[str]
    sql: list[str]
    old: list[str] | None


def state_columns(selection: Selection) -> StateColumns:
    """Return the selected columns of the view `partition_states`.

    The view has a row for each record that changed a state, and these columns: id, offset, name,
    time, record, principal, command,
    reason, in_range, the fields (null once the partition is removed), end_offset and end_time
    (null: the state has not ended), ms long, the state's duration within the range (null if the
    state ended before the range), is_first (true if no earlier state reaches into the range), and
    old, a struct with the fields of the state before.
    """
    fields = selection.among(FIELDS)
    wanted = selection.among(("id", "offset", *_RECORD, *fields, "end_offset", "end_time", "ms"))
    wanted += selection.among(("is_first",))
    columns = {each for name in wanted for each in _SOURCES.get(name, (name,))}
    has_old = bool(selection.among((OLD.rstrip("_"),)))
    if has_old:
        columns |= {f"{OLD}{name}" for name in fields}
    sql = [f"{_MADE.get(name, name)} AS {name}" for name in wanted]
    sources = [name for name in STATES.names if name in columns]
    return StateColumns(sources, sql, fields if has_old else None)


NEVER_MS = 1 << 62
"""Stands for the time of the range's start if there is no record before or in the range."""


def broker_states_sql() -> str:
    """Return SQL for the states of all brokers, one row per record that changed a state.

    The columns are those of `partition_states`, without is_first and old.
    """
    names = ", ".join(f"'{name}'" for name in _BROKER)
    # By max_by, and not `last ... IGNORE NULLS`, because null is the value of a field removed.
    last = ", ".join(
        f"max_by(after, if(field = '{name}', offset, null)) OVER object AS {name}"
        for name in _BROKER
    )
    typed = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in _BROKER.items())
    kept = ", ".join(f"any_value({name}) AS {name}" for name in (*_RECORD, *_BROKER))
    # Rows of one record are peers in the window, so that each sees all that the record set.
    return f"""
        SELECT id, offset, {", ".join(_RECORD)}, {typed}, end_offset, end_time,
               CASE WHEN coalesce(end_offset > period.first_offset, true)
                    THEN greatest(0, unix_millis(coalesce(end_time, period.last_time))
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
