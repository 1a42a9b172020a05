select a.acl_id, a.principal, a.host, a.resource_type, a.resource_name,
       case a.pattern_type when 4 then 'prefixed' else 'literal' end as pattern,
       o.operation, case a.permission_type when 3 then 'allow' else 'deny' end as permission,
       a.since, a.granted_by
from {{ ref('stg_acls') }} a join {{ ref('acl_operations') }} o on o.code = a.operation
