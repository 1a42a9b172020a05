-- The partitions that exist.
{% if target.type == 'duckdb' %}
select split_part(id, '/', 1) as topic_id, cast(split_part(id, '/', 2) as integer) as partition_id
from {{ source('export', 'changes') }}
where kind = 'partitions' and field = 'leader' and in_effect
group by id
having arg_max_null(after, "offset") is not null
{% else %}
select id_text(topic_id) as topic_id, partition_id from {{ source('history', 'partitions_now') }}
{% endif %}
