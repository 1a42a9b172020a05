"""The audit queries: names, descriptions, SQL."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from pyspark.sql import DataFrame, SparkSession

from replay.audit import settings
from replay.audit.changes import changes
from replay.audit.digest import digest_lines, id_text
from replay.audit.history import History
from replay.audit.log_frame import LogFiles
from replay.audit.parts.topics import names_taken
from replay.audit.session import separate_session
from replay.audit.sql_check import as_frame, check_analyzed, check_parsed, parse_query
from replay.audit.state import state
from replay.audit.views import LOG_VIEW, VIEWS, log_view, part_view


@dataclasses.dataclass(frozen=True)
class Range:
    """The offsets of a query: first and last, both inclusive."""

    first: int
    last: int


_Run = Callable[[SparkSession, LogFiles, Range], AbstractContextManager[DataFrame]]


@dataclasses.dataclass(frozen=True)
class Query:
    """An audit query."""

    name: str
    description: str
    run: _Run
    """Context manager with the answer; on exit its cached frames are freed."""


@contextmanager
def run_sql(
    spark: SparkSession,
    files: LogFiles,
    text: str,
    offsets: Range,
    *,
    show_secrets: bool = False,
) -> Iterator[DataFrame]:
    """Yield the answer to a query over the views: `log`, and the parts of the state at its end.

    Cached frames are freed on exit. The text is untrusted: it is checked (sql_check.py) before
    Spark resolves or runs any of it. It runs in a separate session, without the caller's views and
    functions. Only the views named in the text are created, because a part of the state costs two
    more scans.

    Raises:
        RequestError: INVALID_REQUEST: the query would do more than read the views.
        UnavailableError: `spark` is a session of Spark Connect, whose parser is not accessible.
        ParseException, AnalysisException: Spark does not understand the query.
    """
    with separate_session(spark) as own, ExitStack() as cached:
        plan = parse_query(own, text)
        named = check_parsed(plan, VIEWS)
        if LOG_VIEW in named:
            end = offsets.last + 1
            log = log_view(own, files, offsets.first, end, show_secrets=show_secrets)
            log.createOrReplaceTempView(LOG_VIEW)
        if parts := sorted(named - {LOG_VIEW}):
            history = cached.enter_context(History(own, files, offsets.last))
            for name in parts:
                view = part_view(history, name, show_secrets=show_secrets)
                view.createOrReplaceTempView(name)
        frame = as_frame(own, plan)
        check_analyzed(frame)
        yield frame


def _over_changes(text: str) -> _Run:
    """Run a query over the relation `changes`, and the rows that took effect as `effects`."""

    @contextmanager
    def run(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
        columns = (*settings.COLUMNS, "batch_offset")
        with History(spark, files, offsets.last, columns=columns) as history:
            yield history.sql(
                text,
                changes=changes(history, offsets.first),
                effects=history.effects().where(f"position >= {offsets.first}"),
            )

    return run


def _over_topics(text: str) -> _Run:
    """Add the views `names` (that topics took) and `removals` (of topics), with positions.

    Both leave out aborted transactions.
    """

    @contextmanager
    def run(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
        with separate_session(spark) as own, History(own, files, offsets.last) as history:
            topic_id = id_text("topic_id")
            names = names_taken(history).selectExpr(
                f"{topic_id} AS topic_id", "full_name", "position"
            )
            names.createOrReplaceTempView("names")
            removals = history.sql(f"""
                SELECT {id_text("RemoveTopicRecord.topic_id")} AS topic_id, position
                FROM {{rare}} WHERE RemoveTopicRecord IS NOT null
            """)
            removals.createOrReplaceTempView("removals")
            log_view(own, files, offsets.first, offsets.last + 1).createOrReplaceTempView(LOG_VIEW)
            yield own.sql(text)

    return run


_STATE_COLUMNS = "part, objects, lane_0, lane_1, lane_2, lane_3"


@contextmanager
def _state(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
    with History(spark, files, offsets.last) as history:
        lines = [line.split() for line in digest_lines(state(history))]
    rows = (f"('{part}', {count}L, {str(lanes)[1:-1]})" for part, count, *lanes in lines)
    # VALUES stay in Java; rows of Python would start its workers.
    yield spark.sql(f"VALUES {', '.join(rows)} AS parts({_STATE_COLUMNS})")


_CHANGES = """
    SELECT offset, time, kind, name, field, before, after, record, principal, command, reason,
           in_effect
    FROM {changes}
    ORDER BY offset, kind, name, field
"""

_BY_PRINCIPAL = """
    SELECT coalesce(origin.principal, '-') AS principal, coalesce(origin.command, '-') AS command,
           count(DISTINCT batch_offset) AS batches, count(*) AS records,
           timestamp_millis(min(timestamp)) AS first, timestamp_millis(max(timestamp)) AS last
    FROM {effects}
    GROUP BY 1, 2
    ORDER BY batches DESC, principal, command
"""

# A topic created before the range has no creation here; its name is the last one known.
_TOPIC_LIVES = """
    WITH created AS (
        SELECT names.full_name AS name, log.topic_id, offset, time, principal
        FROM log JOIN names ON names.position = offset AND names.topic_id = log.topic_id
        WHERE type = 'TopicRecord'
    ), removed AS (
        SELECT topic_id, offset, time, principal, reason FROM log
        WHERE type = 'RemoveTopicRecord' AND offset IN (SELECT position FROM removals)
    ), last_names AS (
        SELECT topic_id, max_by(full_name, position) AS name FROM names GROUP BY topic_id
    )
    SELECT coalesce(created.name, last_names.name) AS name, topic_id,
           created.offset AS created_offset, created.time AS created_time,
           created.principal AS created_by, removed.offset AS removed_offset,
           removed.time AS removed_time, removed.principal AS removed_by, removed.reason AS reason
    FROM created FULL JOIN removed USING (topic_id) LEFT JOIN last_names USING (topic_id)
    ORDER BY name, created_offset
"""

_DELETIONS = """
    SELECT offset, time, coalesce(principal, '-') AS principal, reason,
           max_by(names.full_name, names.position) AS name, log.topic_id
    FROM log LEFT JOIN names ON names.topic_id = log.topic_id AND names.position < offset
    WHERE type = 'RemoveTopicRecord' AND offset IN (SELECT position FROM removals)
    GROUP BY offset, time, principal, reason, log.topic_id
    ORDER BY offset
"""

# A partition that is new, or gone, has no leader before, or after.
_LEADER_CHURN = """
    SELECT hour, name, id,
           count_if(field = 'leader') AS leader_changes,
           count_if(field = 'isr' AND size(from_json(after, 'array<int>'))
                                      < size(from_json(before, 'array<int>'))) AS isr_shrinks
    FROM {changes}
    WHERE kind = 'partitions' AND field IN ('leader', 'isr') AND in_effect
          AND before IS NOT null AND after IS NOT null
    GROUP BY hour, name, id
    HAVING leader_changes > 0 OR isr_shrinks > 0
    ORDER BY leader_changes DESC, isr_shrinks DESC, hour, name, id
"""

_ALL = (
    Query("state", "the parts of the state at the end of the range, and their digests", _state),
    Query(
        "changes", "every field that changed, with who changed it and why", _over_changes(_CHANGES)
    ),
    Query(
        "who",
        "batches and records that took effect by principal and command",
        _over_changes(_BY_PRINCIPAL),
    ),
    Query("topic-lives", "when each topic came and went, and by whom", _over_topics(_TOPIC_LIVES)),
    Query("deletions", "who deleted which topic", _over_topics(_DELETIONS)),
    Query(
        "leader-churn",
        "changes of leader and shrunk ISRs by partition and hour",
        _over_changes(_LEADER_CHURN),
    ),
)

QUERIES: dict[str, Query] = {query.name: query for query in _ALL}
