"""Audit queries about brokers: when they were fenced."""

from replay.audit.queries.query import HOUR, ORIGIN, RECORD, RECORD_TYPE, Column, Query

_BROKER = Column("int", "the broker")

FENCING = Query(
    "fencing",
    "when each broker was fenced or shutting down, and how long",
    """
    SELECT CAST(id AS int) AS broker, offset, time, record,
           CASE WHEN fenced IS null THEN 'unregistered' WHEN fenced THEN 'fenced'
                WHEN in_controlled_shutdown THEN 'shutting down' ELSE 'active' END AS state,
           end_offset AS to_offset, end_time AS to_time, ms, principal, command, reason
    FROM broker_states
    WHERE ms IS NOT null
    ORDER BY broker, offset
    """,
    {
        "broker": _BROKER,
        **RECORD,
        "record": RECORD_TYPE,
        "state": Column("string", "active, fenced, shutting down, or unregistered"),
        "to_offset": Column("bigint", "where the next state began", null="it lasts"),
        "to_time": Column("timestamp", "time of that record", null="it lasts"),
        "ms": Column("bigint", "how long it lasted within the range", "ms"),
        **ORIGIN,
    },
    reads=("broker_states",),
)

FLAPPING = Query(
    "flapping",
    "how often each broker was fenced and unfenced, by hour",
    """
    SELECT hour, CAST(id AS int) AS broker, count_if(after = 'true') AS fenced,
           count_if(after = 'false') AS unfenced
    FROM changes
    WHERE kind = 'brokers' AND field = 'fenced' AND in_effect
          AND before IS NOT null AND after IS NOT null
    GROUP BY hour, id
    ORDER BY fenced + unfenced DESC, hour, broker
    """,
    {
        "hour": HOUR,
        "broker": _BROKER,
        "fenced": Column("bigint", "times it was fenced, also by registering again"),
        "unfenced": Column("bigint", "times it was unfenced"),
    },
    kinds=("brokers",),
)

BROKERS = (FENCING, FLAPPING)
