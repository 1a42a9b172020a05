-- The topics that exist, each with its full name and its team.
{% if target.type == 'duckdb' %}
with topics as (
    select id as topic_id, arg_max(name, "offset") as topic
    from {{ source('export', 'changes') }}
    where kind = 'topics' and in_effect
    group by id
    having arg_max_null(after, "offset") filter (field = 'name') is not null
)
{% else %}
with topics as (
    select id_text(topic_id) as topic_id, topic from {{ source('history', 'topics_now') }}
)
{% endif %}
-- A team owns a namespace; outside of all namespaces, the topics whose names begin with its name.
select topic_id, topic, split_part(split_part(topic, ':', 1), '.', 1) as team from topics
