-- The times in which a partition had no leader. One that lasts ends with the last change. It is no
-- outage that a partition is taken offline (mode -1) to be removed.
{% if target.type == 'duckdb' %}
with states as (
    select id, field, after, "offset", time as since,
           lead(time) over states as until, lead("offset") over states as to_offset
    from {{ source('export', 'changes') }}
    where kind = 'partitions' and in_effect
          and (field = 'leader' or field = 'mode' and after = '-1')
    window states as (partition by id order by "offset", field)
)
select split_part(id, '/', 1) as topic_id, cast(split_part(id, '/', 2) as integer) as partition_id,
       since, coalesce(until, (select max(time) from {{ source('export', 'changes') }})) as until
from states where field = 'leader' and after = '-1' and to_offset is distinct from "offset"
{% else %}
select id_text(topic_id) as topic_id, partition_id, from_time as since,
       coalesce(to_time, (select max(time) from {{ source('history', 'change') }})) as until
from {{ source('history', 'outages') }} where kind = 'leaderless'
{% endif %}
