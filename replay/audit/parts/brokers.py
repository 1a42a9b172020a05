"""Registered brokers: the fields of the registration, updated by later changes."""

from pyspark.sql import DataFrame

from replay.audit.history import History

# Value that an event sets, null where unset. A registration sets every field.
_FIELDS = {
    "fenced": """
        CASE WHEN registered IS NOT null THEN registered.fenced
             WHEN fence IS NOT null OR change.fenced = 1 THEN true
             WHEN unfence IS NOT null OR change.fenced = -1 THEN false END""",
    "in_controlled_shutdown": """
        CASE WHEN registered IS NOT null THEN registered.in_controlled_shutdown
             WHEN change.in_controlled_shutdown = 1 THEN true END""",
    "log_dirs": """
        CASE WHEN registered IS NOT null THEN registered.log_dirs
             WHEN cardinality(change.log_dirs) > 0 THEN change.log_dirs END""",
    "cordoned_log_dirs": """
        CASE WHEN registered IS NOT null
             THEN coalesce(registered.cordoned_log_dirs, CAST(array() AS array<binary>))
             ELSE change.cordoned_log_dirs END""",
}


def brokers(history: History) -> DataFrame:
    """Return the registered brokers.

    Returns:
        brokers struct (broker_id int, incarnation_id binary, broker_epoch long, end_points,
        features, rack string, is_migrating_zk_broker boolean, fenced boolean,
        in_controlled_shutdown boolean, log_dirs and cordoned_log_dirs arrays of binary), the lists
        as written.
    """
    # The last value never comes from an older registration.
    last = ", ".join(
        f"max_by({name}, position) FILTER (WHERE {name} IS NOT null) AS {name}"
        for name in ("registered", *_FIELDS)
    )
    fields = ", ".join(f"{value} AS {name}" for name, value in _FIELDS.items())
    return history.sql(f"""
        SELECT struct(broker_id, registered.incarnation_id, registered.broker_epoch,
                      registered.end_points, registered.features, registered.rack,
                      registered.is_migrating_zk_broker, fenced, in_controlled_shutdown, log_dirs,
                      cordoned_log_dirs
               ) AS brokers
        FROM (SELECT broker_id, {last},
                     max(position) FILTER (WHERE registered IS NOT null) AS born,
                     max(position) FILTER (WHERE removal IS NOT null) AS died
              FROM (SELECT position, registered, removal, {fields},
                           coalesce(registered.broker_id, removal.broker_id, fence.id, unfence.id,
                                    change.broker_id) AS broker_id
                    FROM (SELECT position, RegisterBrokerRecord AS registered,
                                 UnregisterBrokerRecord AS removal, FenceBrokerRecord AS fence,
                                 UnfenceBrokerRecord AS unfence,
                                 BrokerRegistrationChangeRecord AS change
                          FROM {{rare}}))
              WHERE broker_id IS NOT null GROUP BY broker_id)
        WHERE died IS null OR died < born
    """)
