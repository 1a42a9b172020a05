"""Finds the first record that contradicts the state before it, without replay.

Kafka's rules for a record are conditions on earlier records: objects that must exist or must not
exist, and the epochs that they must have. Each condition relies on all earlier records having taken
effect. After the first contradiction the state is undefined, so the search ends there. Our own
record types (namespaces, partition removals) are not checked; a mirror contains none.
"""

from pyspark.sql import DataFrame

from replay.audit.digest import id_text
from replay.audit.history import History
from replay.audit.parts.topics import name_changes

_MAKE, _SET, _NEED, _END = "make", "set", "need", "end"
"""Effect of a record on its object: create it, create or replace it, require it, remove it."""

_OBJECTS = (
    ("RegisterBrokerRecord", "broker", "CAST({0}.broker_id AS string)", _SET, "{0}.broker_epoch"),
    ("UnregisterBrokerRecord", "broker", "CAST({0}.broker_id AS string)", _END, "{0}.broker_epoch"),
    ("FenceBrokerRecord", "broker", "CAST({0}.id AS string)", _NEED, "{0}.epoch"),
    ("UnfenceBrokerRecord", "broker", "CAST({0}.id AS string)", _NEED, "{0}.epoch"),
    (
        "BrokerRegistrationChangeRecord",
        "broker",
        "CAST({0}.broker_id AS string)",
        _NEED,
        "{0}.broker_epoch",
    ),
    ("TopicRecord", "topic", id_text("{0}.topic_id"), _MAKE, "null"),
    ("RemoveTopicRecord", "topic", id_text("{0}.topic_id"), _END, "null"),
    ("AccessControlEntryRecord", "acl", id_text("{0}.id"), _SET, "null"),
    ("RemoveAccessControlEntryRecord", "acl", id_text("{0}.id"), _END, "null"),
    ("UserScramCredentialRecord", "scram", "{0}.name || '/' || {0}.mechanism", _SET, "null"),
    ("RemoveUserScramCredentialRecord", "scram", "{0}.name || '/' || {0}.mechanism", _END, "null"),
    # A token's id is a secret; a hash distinguishes tokens.
    ("DelegationTokenRecord", "token", "left(sha2({0}.token_id, 256), 16)", _SET, "null"),
    ("RemoveDelegationTokenRecord", "token", "left(sha2({0}.token_id, 256), 16)", _END, "null"),
)
"""Record type, kind of its object, SQL of the object's key, effect, and SQL of the broker epoch."""


def first_contradiction(history: History) -> DataFrame:
    """Return the first record of a history that contradicts the state before it.

    Args:
        history: A history with the column `timestamp`.

    Returns:
        One row, or none: (offset long, time timestamp, record string, object string, what string).
    """
    found = [_of_objects(history), _of_partitions(history), _of_markers(history)]
    if history.has("TopicRecord"):
        found.append(_of_names(history))
    if history.has("ProducerIdsRecord"):
        found.append(_of_producer_ids(history))
    every = found[0]
    for more in found[1:]:
        every = every.union(more)
    return history.sql(
        f"""
        SELECT position AS offset, timestamp_millis(timestamp) AS time, record, object, what
        FROM {{every}} WHERE position >= {history.replayed_from}L
        ORDER BY position, what LIMIT 1
        """,
        every=every,
    )


def _of_objects(history: History) -> DataFrame:
    """Return the records that contradict the state of their object.

    Such a record creates an object that already exists, or changes or removes an object that is
    missing or has another epoch.
    """
    # One scan: a union would plan and read the rare records once for each type.
    events = " ".join(
        f"WHEN {name} IS NOT null THEN named_struct('record', '{name}', 'kind', '{kind}', "
        f"'key', {key.format(name)}, 'action', '{action}', "
        f"'epoch', CAST({epoch.format(name)} AS long))"
        for name, kind, key, action, epoch in _OBJECTS
    )
    return history.sql(f"""
        SELECT position, timestamp, record, kind || ':' || key AS object,
               CASE WHEN before.is_there AND action <> '{_MAKE}'
                    THEN 'its epoch is ' || before.epoch || ', not ' || epoch
                    WHEN before.is_there THEN 'it exists'
                    ELSE 'it does not exist' END AS what
        FROM (SELECT *,
                     last(CASE WHEN action <> '{_NEED}'
                               THEN struct(action <> '{_END}' AS is_there, epoch) END) IGNORE NULLS
                         OVER (PARTITION BY kind, key ORDER BY position
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
              FROM (SELECT position, timestamp, event.*
                    FROM (SELECT position, timestamp, CASE {events} END AS event FROM {{rare}})
                    WHERE event IS NOT null))
        WHERE CASE action
                  WHEN '{_SET}' THEN false
                  WHEN '{_MAKE}' THEN coalesce(before.is_there, false)
                  ELSE NOT coalesce(before.is_there AND before.epoch <=> epoch, false) END
    """)


def _of_partitions(history: History) -> DataFrame:
    """Return partition records whose topic does not exist, and changes to missing partitions."""
    return history.sql(
        f"""
        SELECT position, timestamp, record,
               'partition:@' || {id_text("topic_id")} || '/' || partition_id AS object,
               if(born IS null, 'its topic does not exist', 'it does not exist') AS what
        FROM (SELECT *, min(CASE WHEN record = 'PartitionRecord' THEN position END)
                            OVER (PARTITION BY topic_id, born, partition_id) AS made_at
              FROM (SELECT *, last(lives) IGNORE NULLS
                                  OVER (PARTITION BY topic_id ORDER BY position).born AS born
                    FROM (SELECT position, timestamp,
                                 if(PartitionRecord IS null, 'PartitionChangeRecord',
                                    'PartitionRecord') AS record,
                                 coalesce(PartitionRecord.topic_id,
                                          PartitionChangeRecord.topic_id) AS topic_id,
                                 coalesce(PartitionRecord.partition_id,
                                          PartitionChangeRecord.partition_id) AS partition_id,
                                 CAST(null AS struct<born: long>) AS lives
                          FROM {{partitions}}
                          UNION ALL
                          SELECT position, timestamp,
                                 if(TopicRecord IS null, 'RemoveTopicRecord', 'TopicRecord'),
                                 coalesce(TopicRecord.topic_id, RemoveTopicRecord.topic_id), null,
                                 struct(if(TopicRecord IS null, null, position))
                          FROM {{rare}}
                          WHERE TopicRecord IS NOT null OR RemoveTopicRecord IS NOT null)))
        WHERE partition_id IS NOT null
              AND (born IS null OR made_at IS null OR made_at > position)
        """,
        partitions=history.partitions,
    )


def _of_names(history: History) -> DataFrame:
    """Return the records that give a topic a name that belongs to another topic at that time."""
    return history.sql(
        """
        SELECT position, timestamp, record, 'topic:' || full_name AS object,
               'another topic has this name' AS what
        FROM (SELECT full_name, position, step, topic_id,
                     lag(topic_id) OVER (PARTITION BY full_name ORDER BY position, step) AS holder
              FROM {changes})
             JOIN (SELECT position AS at, timestamp, if(TopicRecord IS null, 'MoveTopicRecord',
                                                        'TopicRecord') AS record
                   FROM {rare} WHERE TopicRecord IS NOT null OR MoveTopicRecord IS NOT null)
             ON at = position
        WHERE topic_id IS NOT null AND holder IS NOT null
        """,
        changes=name_changes(history),
    )


def _of_producer_ids(history: History) -> DataFrame:
    """Return the producer id records whose next id is lower than in the previous such record."""
    return history.sql("""
        SELECT position, timestamp, 'ProducerIdsRecord' AS record, 'producer_ids' AS object,
               'the next id ' || next_id || ' is below ' || before AS what
        FROM (SELECT position, timestamp, next_id, lag(next_id) OVER (ORDER BY position) AS before
              FROM (SELECT position, timestamp, ProducerIdsRecord.next_producer_id AS next_id
                    FROM {rare} WHERE ProducerIdsRecord IS NOT null))
        WHERE next_id < before
    """)


def _of_markers(history: History) -> DataFrame:
    """Return the first misplaced transaction marker, even if it had no effect, or no rows."""
    at = history.misplaced_marker
    wanted = "false" if at is None else f"position = {at}L"
    # Not by `history.sql`: dropping a view of the frame would drop its cache too.
    return history.rare_written.where(wanted).selectExpr(
        "position",
        "timestamp",
        """CASE WHEN BeginTransactionRecord IS NOT null THEN 'BeginTransactionRecord'
                WHEN EndTransactionRecord IS NOT null THEN 'EndTransactionRecord'
                ELSE 'AbortTransactionRecord' END AS record""",
        "'transaction' AS object",
        """if(BeginTransactionRecord IS NOT null, 'inside a transaction',
              'outside a transaction') AS what""",
    )
