-- The access rights that hold, each with the record that granted it.
{% if target.type == 'duckdb' %}
{% set fields = ['principal', 'host', 'resource_type', 'resource_name', 'pattern_type', 'operation',
                 'permission_type'] %}
with entries as (
    select id, max("offset") as since_offset, max(time) as since,
           arg_max_null(principal, "offset") as granted_by
           {% for field in fields %}
           , arg_max_null(after, "offset") filter (field = '{{ field }}') as of_{{ field }}
           {% endfor %}
    from {{ source('export', 'changes') }}
    where kind = 'acls' and in_effect
    group by id
)
select id as acl_id, of_principal as principal, of_host as host,
       cast(of_resource_type as integer) as resource_type, of_resource_name as resource_name,
       cast(of_pattern_type as integer) as pattern_type, cast(of_operation as integer) as operation,
       cast(of_permission_type as integer) as permission_type, since_offset, since, granted_by
from entries where of_principal is not null
{% else %}
select id_text(v.id) as acl_id, v.principal, v.host, v.resource_type, v.resource_name, v.pattern_type,
       v.operation, v.permission_type, c."offset" as since_offset, c.time as since,
       c.principal as granted_by
from {{ source('history', 'acl_version') }} v
join {{ source('history', 'change') }} c on c."offset" = v.record_offset
where v.valid_to_offset is null
{% endif %}
