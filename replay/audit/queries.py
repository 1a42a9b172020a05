"""The audit queries: names, descriptions, SQL."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from replay.audit.digest import digest_lines, id_text
from replay.audit.history import History
from replay.audit.log_frame import LogFiles
from replay.audit.parts.topics import names_taken
from replay.audit.session import separate_session
from replay.audit.sql_check import as_frame, check_analyzed, check_parsed, parse_query
from replay.audit.state import state
from replay.audit.views import LOG_VIEW, VIEWS, log_view, member, part_view


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


def _over_log(text: str) -> _Run:
    @contextmanager
    def run(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
        with separate_session(spark) as own:
            log_view(own, files, offsets.first, offsets.last + 1).createOrReplaceTempView(LOG_VIEW)
            yield own.sql(text)

    return run


def _over_topics(text: str) -> _Run:
    """Add the views `names` (that topics took) and `removals` (of topics), with positions.

    Both leave out aborted transactions.
    """

    @contextmanager
    def run(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
        with separate_session(spark) as own, History(own, files, offsets.last) as history:
            topic_id = id_text(F.col("topic_id")).alias("topic_id")
            names = names_taken(history).select(topic_id, "full_name", "position")
            names.createOrReplaceTempView("names")
            removals = history.of("RemoveTopicRecord").select(topic_id, "position")
            removals.createOrReplaceTempView("removals")
            log_view(own, files, offsets.first, offsets.last + 1).createOrReplaceTempView(LOG_VIEW)
            yield own.sql(text)

    return run


@contextmanager
def _state(spark: SparkSession, files: LogFiles, offsets: Range) -> Iterator[DataFrame]:
    with History(spark, files, offsets.last) as history:
        rows = [line.split() for line in digest_lines(state(history))]
    yield spark.createDataFrame(
        [(part, int(count), *lanes) for part, count, *lanes in rows],
        "part string, objects long, lane_0 string, lane_1 string, lane_2 string, lane_3 string",
    )


_CHANGES = """
    SELECT offset, time, type, principal, command, reason, topic_id, partition_id
    FROM log
    WHERE type NOT IN ('NoOpRecord', 'NoOpRunRecord', 'LeaderChangeMessage')
    ORDER BY offset
"""

_BY_PRINCIPAL = """
    SELECT coalesce(principal, '-') AS principal, coalesce(command, '-') AS command,
           count(DISTINCT batch_offset) AS batches, count(*) AS records,
           min(time) AS first, max(time) AS last
    FROM log
    WHERE type NOT IN ('NoOpRecord', 'NoOpRunRecord', 'LeaderChangeMessage')
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

_LEADER_CHURN = f"""
    WITH changes AS (
        SELECT time, topic_id, partition_id,
               {member("PartitionChangeRecord")}.leader <> -2 AS names_leader,
               size({member("PartitionChangeRecord")}.isr) AS isr_size,
               lag(size(coalesce({member("PartitionChangeRecord")}.isr,
                                 {member("PartitionRecord")}.isr))) IGNORE NULLS
                   OVER (PARTITION BY topic_id, partition_id ORDER BY offset) AS isr_size_before,
               type
        FROM log WHERE type IN ('PartitionRecord', 'PartitionChangeRecord')
    )
    SELECT date_trunc('HOUR', time) AS hour, topic_id, partition_id,
           count_if(names_leader) AS leader_changes,
           count_if(isr_size < isr_size_before) AS isr_shrinks
    FROM changes
    WHERE type = 'PartitionChangeRecord'
    GROUP BY ALL
    HAVING leader_changes > 0 OR isr_shrinks > 0
    ORDER BY leader_changes DESC, isr_shrinks DESC, hour, topic_id, partition_id
"""

_ALL = (
    Query("state", "the parts of the state at the end of the range, and their digests", _state),
    Query("changes", "every change with who made it and why", _over_log(_CHANGES)),
    Query("who", "batches and records by principal and command", _over_log(_BY_PRINCIPAL)),
    Query("topic-lives", "when each topic came and went, and by whom", _over_topics(_TOPIC_LIVES)),
    Query("deletions", "who deleted which topic", _over_topics(_DELETIONS)),
    Query(
        "leader-churn",
        "changes of leader and shrunk ISRs by partition and hour",
        _over_log(_LEADER_CHURN),
    ),
)

QUERIES: dict[str, Query] = {query.name: query for query in _ALL}
