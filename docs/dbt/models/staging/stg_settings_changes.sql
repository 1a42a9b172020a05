-- The records that changed topics, configs or access rights.
{% if target.type == 'duckdb' %}
select distinct "offset" as record_offset, time, principal, record
from {{ source('export', 'changes') }}
where in_effect and kind in ('topics', 'configs', 'acls')
{% else %}
with changed as (
    {% for table in ['topic_version', 'config_version', 'acl_version'] %}
    select record_offset from {{ source('history', table) }}
    union
    select valid_to_offset from {{ source('history', table) }}
    {% if not loop.last %}union{% endif %}
    {% endfor %}
)
select c."offset" as record_offset, c.time, c.principal, c.record
from {{ source('history', 'change') }} c join changed on changed.record_offset = c."offset"
{% endif %}
