"""The states and outages of partitions as data frames."""

from functools import partial

from pyspark.sql import DataFrame

from replay.audit.changes import of_topics
from replay.audit.fold.outages import OUTAGES, Period, partition_outages
from replay.audit.fold.packed_rows import columns_sql
from replay.audit.fold.partition_states import OLD, STATES, partition_states
from replay.audit.history import History
from replay.audit.selection import Selection
from replay.audit.states import NEVER_MS, state_columns


def partition_states_view(history: History, period: DataFrame, selection: Selection) -> DataFrame:
    """Return the states of all partitions, with the columns that `state_columns` describes.

    Args:
        history: A history with the columns `changes.COLUMNS`.
        period: The view `period`.
        selection: The states and the columns that are needed.
    """
    columns = state_columns(selection)
    sql = columns.sql
    if columns.old is not None:
        old = ", ".join(f"'{name}', {OLD}{name}" for name in columns.old)
        sql = [*sql, f"named_struct({old}) AS {OLD.rstrip('_')}"]
    find = partial(partition_states, columns=columns.sources)
    states = of_topics(history, find, columns_sql(STATES, columns.sources))
    return states.crossJoin(period.alias("period")).selectExpr(*sql)


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
        f"coalesce(unix_millis(first_time), {NEVER_MS}L)",
        "coalesce(unix_millis(last_time), 0L)",
    ).first()
    assert row is not None
    find = partial(partition_outages, period=Period(*row))
    return of_topics(history, find, columns_sql(OUTAGES, OUTAGES.names))
