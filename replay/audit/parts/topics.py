"""Topic names over time: the topic that has a name at each position."""

from pyspark.sql import DataFrame

from replay.audit.history import History

# Order of events of a name at one position: a move to the same name leaves it first. A base
# checkpoint has a single position, and its configs belong to the topics in it.
_LEFT, _TAKEN, _USED = range(3)


def names_taken(history: History) -> DataFrame:
    """Return one row each time a topic takes a name, when it is created or renamed.

    The columns are (position long, topic_id binary, full_name string, in_default boolean);
    `in_default` is true for names of the default namespace.
    """
    placed = history.sql("""
        SELECT position,
               coalesce(TopicRecord.topic_id, MoveTopicRecord.topic_id) AS topic_id,
               coalesce(TopicRecord.name, MoveTopicRecord.name) AS full_name,
               coalesce(TopicRecord.namespace_id, MoveTopicRecord.namespace_id) AS namespace_id
        FROM {rare} WHERE TopicRecord IS NOT NULL OR MoveTopicRecord IS NOT NULL
    """)
    if not history.has("NamespaceRecord"):
        return placed.selectExpr("position", "topic_id", "full_name", "true AS in_default")
    return history.sql(
        """
        SELECT /*+ BROADCAST(spaces) */ position, topic_id,
               concat_ws(':', max_by(space, named_at), full_name) AS full_name,
               namespace_id IS NULL AS in_default
        FROM {placed} LEFT JOIN (
            SELECT position AS named_at, NamespaceRecord.namespace_id AS space_id,
                   NamespaceRecord.name AS space
            FROM {rare} WHERE NamespaceRecord IS NOT NULL
        ) AS spaces ON space_id = namespace_id AND named_at <= position
        GROUP BY position, topic_id, full_name, namespace_id
        """,
        placed=placed,
    )


def name_changes(history: History) -> DataFrame:
    """Return, for each full name, every change of the topic that holds the name.

    Returns:
        (full_name string, in_default boolean, position long, step int, topic_id binary): at
        `position` the topic took the name; a null `topic_id` means that the name became free.
    """
    return history.sql(
        f"""
        SELECT inline(array(
            struct(old.full_name, old.in_default, position, {_LEFT} AS step,
                   CAST(null AS binary) AS topic_id),
            struct(full_name, in_default, position, {_TAKEN} AS step, topic_id)))
        FROM (SELECT *, lag(struct(full_name, in_default))
                            OVER (PARTITION BY topic_id ORDER BY position) AS old
              FROM (SELECT position, topic_id, full_name, in_default FROM {{taken}}
                    UNION ALL SELECT position, RemoveTopicRecord.topic_id, null, null
                    FROM {{rare}} WHERE RemoveTopicRecord IS NOT NULL))
        """,
        taken=names_taken(history),
    ).where("full_name IS NOT null")
