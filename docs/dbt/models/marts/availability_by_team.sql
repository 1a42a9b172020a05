with size as (
    select t.team, count(distinct t.topic_id) as topics, count(*) as partitions
    from {{ ref('stg_topics') }} t join {{ ref('stg_partitions') }} p on p.topic_id = t.topic_id
    group by t.team
),
down as (
    select t.team, count(*) as outages,
           sum(greatest(round(extract(epoch from o.until - o.since) * 1000), 0)) as ms
    from {{ ref('stg_topics') }} t join {{ ref('stg_outages') }} o on o.topic_id = t.topic_id
    group by t.team
)
select size.team, size.topics, size.partitions, coalesce(down.outages, 0) as outages,
       cast(coalesce(down.ms, 0) as bigint) as unavailable_ms
from size left join down on down.team = size.team
