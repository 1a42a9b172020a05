"""Partition removals, pending and completed."""

from pyspark.sql import DataFrame

from replay.audit.history import History
from replay.audit.parts.topics import topic_removals


def pending_partition_removals(history: History) -> DataFrame:
    """Return the removals that have begun but not ended.

    Returns:
        pending_partition_removals struct (topic_id binary, partition_id int, delay_ms long,
        create_time_ms long).
    """
    return history.sql(
        """
        SELECT struct(topic_id, partition_id, begun.delay_ms, begun.create_time_ms)
                   AS pending_partition_removals
        FROM (SELECT topic_id, partition_id,
                     max_by(begun, position) FILTER (WHERE begun IS NOT null) AS begun,
                     max(position) FILTER (WHERE begun IS NOT null) AS begun_at,
                     max(position) FILTER (WHERE begun IS null) AS ended_at
              FROM (SELECT position, topic_id, explode(partition_ids) AS partition_id, begun
                    FROM (SELECT position,
                              coalesce(DeleteTopicPartitionsRecord.topic_id,
                                       CancelDeleteTopicPartitionsRecord.topic_id,
                                       RemovePartitionsRecord.topic_id) AS topic_id,
                              coalesce(DeleteTopicPartitionsRecord.partition_ids,
                                       CancelDeleteTopicPartitionsRecord.partition_ids,
                                       RemovePartitionsRecord.partition_ids) AS partition_ids,
                              DeleteTopicPartitionsRecord AS begun
                          FROM {rare}))
              GROUP BY topic_id, partition_id)
             LEFT JOIN {removals} USING (topic_id)
        WHERE begun_at > coalesce(greatest(ended_at, removed_at), -2)
        """,
        removals=topic_removals(history),
    )


def partition_removals(history: History) -> DataFrame:
    """Return (topic_id binary, partition_id int, position long) of each partition removal."""
    return history.sql("""
        SELECT RemovePartitionsRecord.topic_id,
               explode(RemovePartitionsRecord.partition_ids) AS partition_id, position
        FROM {rare} WHERE RemovePartitionsRecord IS NOT null
    """)
