-- The times in which a partition had no leader. One that lasts ends with the last change.
{% if target.type == 'duckdb' %}
with states as (
    select id, after as leader, time as since,
           lead(time) over (partition by id order by "offset") as until
    from {{ source('export', 'changes') }}
    where kind = 'partitions' and field = 'leader' and in_effect
)
select split_part(id, '/', 1) as topic_id, cast(split_part(id, '/', 2) as integer) as partition_id,
       since, coalesce(until, (select max(time) from {{ source('export', 'changes') }})) as until
from states where leader = '-1'
{% else %}
select id_text(topic_id) as topic_id, partition_id, from_time as since,
       coalesce(to_time, (select max(time) from {{ source('history', 'change') }})) as until
from {{ source('history', 'outages') }} where kind = 'leaderless'
{% endif %}
