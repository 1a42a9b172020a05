"""Configs of topics, which follow the topic when it is renamed."""

from pyspark.sql import DataFrame

from replay.audit.history import History
from replay.audit.parts.last_words import TOPIC_RESOURCE
from replay.audit.parts.topics import current_names, name_changes, topic_removals, with_holders


def topic_configs(history: History) -> DataFrame:
    """Return the topic configs, each under the current name of its topic.

    Each config is assigned to a topic's id, so that its key need not change when the topic is
    renamed. A config belongs to the topic that held the name when the config was written. If no
    topic held the name, it belongs to the next topic that takes the name, unless that topic already
    has a value.

    Returns:
        configs struct (resource_type int, resource_name string, name string, value string).
    """
    written = history.sql(f"""
        SELECT ConfigRecord.resource_name AS full_name, position, ConfigRecord AS use
        FROM {{rare}} WHERE ConfigRecord.resource_type = {TOPIC_RESOURCE}
    """)
    return history.sql(
        f"""
        SELECT struct({TOPIC_RESOURCE} AS resource_type,
                      coalesce(full_name, free_name) AS resource_name,
                      name, last.value AS value) AS configs
        FROM (SELECT topic_id, free_name, name,
                     max_by(struct(position, value), struct(is_held, position)) AS last
              FROM (SELECT coalesce(holder, next_holder) AS topic_id,
                           CASE WHEN holder IS null AND next_holder IS null
                                THEN full_name END AS free_name,
                           use.name, use.value, holder IS NOT null AS is_held, position
                    FROM {{written}})
              GROUP BY topic_id, free_name, name)
             LEFT JOIN {{removals}} USING (topic_id) LEFT JOIN {{names}} USING (topic_id)
        WHERE last.value IS NOT null AND (removed_at IS null OR removed_at < last.position)
        """,
        written=with_holders(history, written, name_changes(history)),
        removals=topic_removals(history),
        names=current_names(history),
    )
