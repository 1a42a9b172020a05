"""States of partitions and brokers over time, accumulated from the relation of changes.

SQL over the views `all_changes` and `period` (one row: the first offset of the range, and the times
of its first and last records).
"""

_ORIGIN = ("principal", "command", "reason")
_RECORD = ("name", "time", "record", *_ORIGIN, "in_range")

_INTS = "array<int>"

_FIELDS = {
    "partitions": {
        "leader": "int",
        "isr": _INTS,
        "replicas": _INTS,
        "adding_replicas": _INTS,
        "removing_replicas": _INTS,
        "eligible_leader_replicas": _INTS,
        "leader_recovery_state": "int",
        "mode": "int",
    },
    "brokers": {"fenced": "boolean", "in_controlled_shutdown": "boolean"},
}


def states_sql(kind: str) -> str:
    """Return SQL for the states of all objects of a kind, one row per record that changed a state.

    Columns: id, name, offset, time, record, principal, command, reason, in_range, the fields (null
    once the object is removed), end_offset and end_time (null: the state has not ended), and ms
    long, the state's duration within the range (null if the state ended before the range).
    """
    fields = _FIELDS[kind]
    names = ", ".join(f"'{name}'" for name in fields)
    # A structure tells a field that was removed from one that this row is not about.
    last = ", ".join(
        f"last(if(field = '{name}', struct(after), null)) IGNORE NULLS OVER object AS {name}"
        for name in fields
    )
    typed = ", ".join(f"{_typed(name, type_)} AS {name}" for name, type_ in fields.items())
    kept = ", ".join(f"any_value({name}) AS {name}" for name in (*_RECORD, *fields))
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
                          FROM all_changes WHERE kind = '{kind}' AND field IN ({names})
                                                 AND in_effect
                          WINDOW object AS (PARTITION BY id ORDER BY offset))
                    GROUP BY id, offset)
              WINDOW object AS (PARTITION BY id ORDER BY offset))
             CROSS JOIN period
    """


def _typed(field: str, type_: str) -> str:
    if type_ == _INTS:
        return f"from_json({field}.after, '{_INTS}')"
    return f"CAST({field}.after AS {type_})"
