"""Audit queries about partitions: leaders, ISRs, outages, reassignments, modes, placement."""

from replay.audit.queries.query import HOUR, ID, OBJECT, ORIGIN, RECORD, Column, Query

_LAST_NAME = Column("string", "topic/partition, by the topic's last name in the range")
_NOT_OVER = "it is not over"

LEADER_CHURN = Query(
    "leader-churn",
    "changes of leader and shrunk ISRs by partition and hour",
    """
    SELECT hour, name, id, leader_changes, isr_shrinks
    FROM (SELECT /*+ REPARTITION(1) */ * FROM partition_churn)
    ORDER BY leader_changes DESC, isr_shrinks DESC, hour, name, id
    """,
    {
        "hour": HOUR,
        "name": _LAST_NAME,
        "id": ID,
        "leader_changes": Column("bigint", "changes of the leader, also to and from none"),
        "isr_shrinks": Column("bigint", "changes that left fewer replicas in sync"),
    },
    reads=("partition_churn",),
)

# Kafka marks an unclean election with the recovery state RECOVERING (1) since 3.2. Before, a leader
# from outside the ISR is clean only where the same record completes a reassignment.
UNCLEAN_ELECTIONS = Query(
    "unclean-elections",
    "leaders elected from outside the ISR",
    """
    SELECT offset, time, name, id, old.leader AS leader_before, old.isr AS isr_before,
           old.eligible_leader_replicas AS eligible_before, leader, principal, command, reason
    FROM (SELECT /*+ REPARTITION(1) */ *
          FROM partition_states
          WHERE in_range AND leader >= 0 AND leader <> old.leader
                AND NOT array_contains(old.isr, leader)
                AND (leader_recovery_state > old.leader_recovery_state
                     OR NOT array_contains(old.eligible_leader_replicas, leader)
                        AND (leader_recovery_state = 1 OR replicas = old.replicas)))
    ORDER BY offset, name
    """,
    {
        **RECORD,
        **OBJECT,
        "leader_before": Column("int", "broker; -1 is none"),
        "isr_before": Column("array<int>", "replicas that were in sync"),
        "eligible_before": Column("array<int>", "eligible leader replicas"),
        "leader": Column("int", "the broker that was elected"),
        **ORIGIN,
    },
    reads=("partition_states",),
)

AVAILABILITY = Query(
    "availability",
    "time without a leader, and under-replicated, by partition",
    """
    SELECT name, id, outages, unavailable_ms, shortages, under_replicated_ms
    FROM (SELECT /*+ REPARTITION(1) */ * FROM partition_outages)
    ORDER BY unavailable_ms DESC, under_replicated_ms DESC, name, id
    """,
    {
        "name": _LAST_NAME,
        "id": ID,
        "outages": Column("bigint", "times without a leader, planned removals left out"),
        "unavailable_ms": Column("bigint", "their length within the range", "ms"),
        "shortages": Column("bigint", "times with fewer replicas in sync than assigned, likewise"),
        "under_replicated_ms": Column("bigint", "their length within the range", "ms"),
    },
    reads=("partition_outages",),
)

REASSIGNMENTS = Query(
    "reassignments",
    "reassignments over several records, and how long they took",
    """
    SELECT max_by(name, offset) AS name, id, min(offset) AS from_offset,
           min_by(time, offset) AS from_time, max_by(end_offset, offset) AS to_offset,
           max_by(end_time, offset) AS to_time,
           unix_millis(max_by(end_time, offset)) - unix_millis(min_by(time, offset))
               AS duration_ms,
           min_by(source, offset) AS from_replicas, max_by(target, offset) AS to_replicas,
           CASE WHEN max_by(end_offset, offset) IS null THEN 'running'
                WHEN max_by(next_replicas, offset) IS null THEN 'removed'
                WHEN max_by(next_replicas, offset) = sort_array(max_by(target, offset))
                THEN 'completed'
                WHEN max_by(next_replicas, offset) = sort_array(min_by(source, offset))
                THEN 'cancelled' ELSE 'changed' END AS outcome,
           min_by(principal, offset) AS principal, min_by(command, offset) AS command,
           min_by(reason, offset) AS reason
    FROM (SELECT *, array_except(replicas, adding_replicas) AS source,
                 array_except(replicas, removing_replicas) AS target,
                 sort_array(lead(replicas) OVER object) AS next_replicas,
                 count_if(NOT is_moving) OVER object AS moves_before
          FROM (SELECT *, coalesce(size(adding_replicas) + size(removing_replicas) > 0, false)
                              AS is_moving,
                       coalesce(size(old.adding_replicas) + size(old.removing_replicas) > 0, false)
                           AS was_moving
                FROM partition_states)
          WHERE is_moving OR was_moving
          WINDOW object AS (PARTITION BY id ORDER BY offset))
    WHERE is_moving
    GROUP BY id, moves_before
    HAVING bool_or(ms IS NOT null)
    ORDER BY from_offset, name
    """,
    {
        "name": _LAST_NAME,
        "id": ID,
        "from_offset": Column("bigint", "of the record that began it"),
        "from_time": Column("timestamp", "time of that record"),
        "to_offset": Column("bigint", "of the record that ended it", null="it is running"),
        "to_time": Column("timestamp", "time of that record", null="it is running"),
        "duration_ms": Column("bigint", "from its begin to its end", "ms", "it is running"),
        "from_replicas": Column("array<int>", "replicas before"),
        "to_replicas": Column("array<int>", "replicas that it aimed at last"),
        "outcome": Column(
            "string",
            "completed, cancelled, running, removed (the partition was), or changed (to other "
            "replicas at once)",
        ),
        **ORIGIN,
    },
    reads=("partition_states",),
)

MODES = Query(
    "modes",
    "partitions' changes of mode, and how long each lasted",
    """
    SELECT offset, time, name, id, CAST(before AS int) AS before, CAST(after AS int) AS mode,
           to_offset, to_time, unix_millis(to_time) - unix_millis(time) AS duration_ms,
           principal, command, reason
    FROM (SELECT *, lead(offset) OVER object AS to_offset, lead(time) OVER object AS to_time
          FROM changes WHERE kind = 'partitions' AND field = 'mode' AND in_effect
          WINDOW object AS (PARTITION BY id ORDER BY offset))
    WHERE after IS NOT null AND (before IS NOT null OR after <> '0')
    ORDER BY name, id, offset
    """,
    {
        **RECORD,
        **OBJECT,
        "before": Column("int", "mode before", null="the partition was created"),
        "mode": Column("int", "mode from then on"),
        "to_offset": Column("bigint", "where it changed or the partition went", null=_NOT_OVER),
        "to_time": Column("timestamp", "time of that record", null=_NOT_OVER),
        "duration_ms": Column("bigint", "how long the mode lasted", "ms", _NOT_OVER),
        **ORIGIN,
    },
    kinds=("partitions",),
    fields=("mode",),
)

PLACEMENT = Query(
    "placement",
    "replicas and leaders of each broker, by hour of change",
    """
    SELECT hour, broker, replicas, leaders,
           replicas / nullif(sum(replicas) OVER (PARTITION BY hour), 0) AS share
    FROM (SELECT hour, in_range, broker, sum(coalesce(replicas, 0)) OVER so_far AS replicas,
                 sum(coalesce(leaders, 0)) OVER so_far AS leaders
          FROM (SELECT hour, in_range FROM broker_moves WHERE broker IS null)
               CROSS JOIN (SELECT DISTINCT broker FROM broker_moves WHERE broker >= 0)
               LEFT JOIN (SELECT hour, broker, replicas, leaders FROM broker_moves)
               USING (hour, broker)
          WINDOW so_far AS (PARTITION BY broker ORDER BY hour))
    WHERE in_range
    ORDER BY hour, broker
    """,
    {
        "hour": HOUR,
        "broker": Column("int", "a broker that held a replica up to the end of the range"),
        "replicas": Column("bigint", "replicas assigned to it"),
        "leaders": Column("bigint", "partitions that it leads"),
        "share": Column("double", "of all replicas", null="there are none"),
    },
    reads=("broker_moves",),
)

PARTITIONS = (LEADER_CHURN, UNCLEAN_ELECTIONS, AVAILABILITY, REASSIGNMENTS, MODES, PLACEMENT)
