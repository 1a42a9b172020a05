select cast(time at time zone 'UTC' as date) as day, coalesce(principal, 'unknown') as principal,
       count(*) as records
from {{ ref('stg_settings_changes') }}
group by 1, 2
