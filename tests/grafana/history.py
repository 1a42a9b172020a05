"""The dashboard of a cluster's history: the tables of `metalog sql sync` in PostgreSQL."""

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from tests.grafana.panels import (
    POSTGRESQL,
    WIDTH,
    bars,
    chosen_values,
    dashboard,
    lines,
    number,
    rows,
    sql,
    states,
)

_FENCED = {"1": ("fenced", "red"), "0": ("active", "green")}
_LEADERLESS = {"-1": ("no leader", "red")}

_IN_RANGE = "valid_from_time <= $__timeTo() AND COALESCE(valid_to_time, 'infinity') > $__timeFrom()"
"""True for a state of an object that held during a part of the range."""

_AT_END = "valid_from_time <= $__timeTo() AND COALESCE(valid_to_time, 'infinity') > $__timeTo()"
"""True for the state of an object at the end of the range."""

_FROM = "GREATEST(valid_from_time, $__timeFrom()) AS time"

_TROUBLE = """\
WITH edge AS (
  SELECT kind, GREATEST(from_time, $__timeFrom()) AS time, 1 AS step
  FROM outages WHERE from_time <= $__timeTo()
  UNION ALL
  SELECT kind, GREATEST(to_time, $__timeFrom()), -1
  FROM outages WHERE to_time <= $__timeTo()
)
SELECT time, kind AS metric, SUM(SUM(step)) OVER (PARTITION BY kind ORDER BY time) AS value
FROM edge GROUP BY kind, time ORDER BY time"""

_CHANGES = """\
SELECT date_bin('$__interval', time, '2000-01-01Z') AS time,
  COALESCE(principal, 'unknown') AS metric, COUNT(*) AS value
FROM change WHERE $__timeFilter(time) GROUP BY 1, 2 ORDER BY 1"""

_OUTAGES = """\
SELECT from_time AS began, to_time AS ended, kind, topic, partition_id AS partition,
  duration_ms, from_offset AS offset
FROM outages
WHERE from_time <= $__timeTo() AND COALESCE(to_time, 'infinity') > $__timeFrom()
ORDER BY kind, from_time LIMIT 500"""

_COMMANDS = """\
SELECT MIN(time) AS time, principal, command, reason, COUNT(*) AS records,
  MIN("offset") AS from_offset, MAX("offset") AS to_offset
FROM change WHERE $__timeFilter(time) AND command IS NOT NULL
GROUP BY principal, command, reason, request_id, time ORDER BY 1 DESC LIMIT 500"""

_CONFIGS = """\
SELECT c.time, s.resource_name, s.name, s.value, c.principal, c.reason
FROM config_states s JOIN change c ON c."offset" = s.record_offset
WHERE $__timeFilter(c.time) ORDER BY c."offset" DESC LIMIT 500"""

_TOPICS = """\
SELECT c.time, 'created' AS what, s.topic, c.principal, c.reason
FROM topic_states s JOIN change c ON c."offset" = s.record_offset
WHERE $__timeFilter(c.time) AND c.record = 'TopicRecord'
UNION ALL
SELECT c.time, 'deleted', s.topic, c.principal, c.reason
FROM topic_states s JOIN change c ON c."offset" = s.valid_to_offset
WHERE $__timeFilter(c.time) AND c.record = 'RemoveTopicRecord'
ORDER BY 1 DESC LIMIT 500"""


def history_dashboard() -> Dashboard:
    """Return the dashboard."""
    found = dashboard(
        "metalog-history",
        "metalog: history of a cluster",
        "The tables that metalog sql sync or serve --sql-history keeps in PostgreSQL.",
        POSTGRESQL,
    )
    found = found.time("now-24h", "now").with_variable(
        chosen_values(
            "topic", "Topic", "SELECT DISTINCT topic FROM topic_states ORDER BY 1", POSTGRESQL
        )
    )
    return _who(_brokers(_trouble(found)))


def _trouble(found: Dashboard) -> Dashboard:
    found = found.with_row(Row("The cluster at the end of the range, and on the way there"))
    counts = (
        ("Topics", "topic_states", "", None),
        ("Partitions", "partition_states", "", None),
        ("Without a leader", "partition_states", " AND leaderless = 1", 1),
        ("Under-replicated", "partition_states", " AND under_replicated = 1", 1),
        ("Brokers", "broker_version", "", None),
        ("Fenced brokers", "broker_version", " AND fenced", 1),
    )
    for title, table, condition, bad in counts:
        query = sql(f"SELECT COUNT(*) AS value FROM {table} WHERE {_AT_END}{condition}")
        found = found.with_panel(number(title, "At the end of the range.", query, bad=bad))
    return found.with_panel(
        lines(
            "Partitions in trouble",
            "Outages that last, by kind.",
            sql(_TROUBLE, is_series=True),
            is_stepped=True,
        )
    ).with_panel(
        states(
            "Leaders",
            "The leader of each partition of the chosen topics; -1: none.",
            sql(
                f"SELECT {_FROM}, topic || '/' || partition_id AS metric, leader AS value\n"
                f"FROM partition_states WHERE topic IN (${{topic:sqlstring}})\n"
                f"  AND {_IN_RANGE}\nORDER BY 1",
                is_series=True,
            ),
            _LEADERLESS,
        )
    )


def _brokers(found: Dashboard) -> Dashboard:
    return (
        found.with_row(Row("Brokers and outages"))
        .with_panel(
            states(
                "Brokers",
                "A fenced broker has no session and leads nothing.",
                sql(
                    f"SELECT {_FROM}, 'broker ' || broker_id AS metric, fenced::int AS value\n"
                    f"FROM broker_version WHERE {_IN_RANGE}\nORDER BY 1",
                    is_series=True,
                ),
                _FENCED,
                width=WIDTH,
            )
        )
        .with_panel(
            rows("Outages", "Outages that overlap the range, as metalog outages.", _OUTAGES)
        )
    )


def _who(found: Dashboard) -> Dashboard:
    return (
        found.with_row(Row("Who changed what"))
        .with_panel(
            bars("Records by principal", "Records of each interval.", sql(_CHANGES, is_series=True))
        )
        .with_panel(rows("Commands", "The newest first, each with its reason.", _COMMANDS))
        .with_panel(rows("Configs", "Values that were set; secrets are not shown.", _CONFIGS))
        .with_panel(rows("Topics", "Topics that were created or deleted.", _TOPICS))
    )
