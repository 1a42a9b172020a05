"""Registered brokers: the registration, then the last value of each changeable field."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from replay.audit.history import History


def brokers(history: History) -> DataFrame:
    """Return the registered brokers.

    Returns:
        (broker_id int, incarnation_id binary, broker_epoch long, end_points, features, rack
        string, is_migrating_zk_broker boolean, fenced boolean, in_controlled_shutdown boolean,
        log_dirs array of binary), the lists as written.
    """
    set_fields = ("registered", "fenced", "in_controlled_shutdown", "log_dirs")
    # A registration sets every field, so the last value never comes from an older registration.
    last = (
        _events(history)
        .groupBy("broker_id")
        .agg(
            *(
                F.expr(f"max_by({name}, position) FILTER (WHERE {name} IS NOT null) AS {name}")
                for name in set_fields
            ),
            F.expr("max(position) FILTER (WHERE registered IS NOT null) AS born"),
            F.expr("max(position) FILTER (WHERE gone) AS died"),
        )
    )
    return last.where("died IS null OR died < born").select(
        "broker_id",
        "registered.incarnation_id",
        "registered.broker_epoch",
        "registered.end_points",
        "registered.features",
        "registered.rack",
        "registered.is_migrating_zk_broker",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
    )


def _events(history: History) -> DataFrame:
    """Return the records about brokers with the fields that each sets, null where unset."""
    events = history.rare.withColumnsRenamed(
        {
            "RegisterBrokerRecord": "registered",
            "UnregisterBrokerRecord": "removal",
            "FenceBrokerRecord": "fence",
            "UnfenceBrokerRecord": "unfence",
            "BrokerRegistrationChangeRecord": "change",
        }
    ).selectExpr(
        "position",
        """coalesce(registered.broker_id, removal.broker_id, fence.id, unfence.id,
                    change.broker_id) AS broker_id""",
        "registered",
        "removal IS NOT null AS gone",
        """CASE WHEN registered IS NOT null THEN registered.fenced
                WHEN fence IS NOT null OR change.fenced = 1 THEN true
                WHEN unfence IS NOT null OR change.fenced = -1 THEN false END AS fenced""",
        """CASE WHEN registered IS NOT null THEN registered.in_controlled_shutdown
                WHEN change.in_controlled_shutdown = 1 THEN true END AS in_controlled_shutdown""",
        """CASE WHEN registered IS NOT null THEN registered.log_dirs
                WHEN cardinality(change.log_dirs) > 0 THEN change.log_dirs END AS log_dirs""",
    )
    return events.where("broker_id IS NOT null")
