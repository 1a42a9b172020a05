"""The view `broker_moves` in DuckDB's SQL dialect; replay/audit/views.py has Spark's version."""

# Equal changes are counted before their lists are parsed. The hour of a change has a row in any
# case: one without a broker.
BROKER_MOVES_SQL = """
    SELECT hour, bool_or(in_range) AS in_range, move.broker AS broker,
           CAST(sum(if(field = 'replicas', move.count, 0)) AS bigint) AS replicas,
           CAST(sum(if(field = 'leader', move.count, 0)) AS bigint) AS leaders
    FROM (SELECT hour, in_range, field, unnest(list_concat(
                     [{'broker': CAST(null AS int), 'count': CAST(0 AS bigint)}],
                     list_transform(coalesce(before, []),
                                    lambda each: {'broker': each, 'count': -count}),
                     list_transform(coalesce(after, []),
                                    lambda each: {'broker': each, 'count': count}))) AS move
          FROM (SELECT hour, in_range, field,
                       CAST(if(field = 'leader', '[' || before || ']', before) AS int[]) AS before,
                       CAST(if(field = 'leader', '[' || after || ']', after) AS int[]) AS after,
                       count(*) AS count
                FROM all_changes
                WHERE kind = 'partitions' AND field IN ('replicas', 'leader') AND in_effect
                GROUP BY ALL))
    GROUP BY hour, move.broker
"""
