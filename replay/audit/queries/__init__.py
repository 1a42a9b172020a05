"""The audit queries, by name."""

from replay.audit.queries.baseline import BASELINE_DRIFT
from replay.audit.queries.brokers import BROKERS
from replay.audit.queries.by_whom import BY_WHOM
from replay.audit.queries.contradictions import CONTRADICTIONS
from replay.audit.queries.partitions import PARTITIONS
from replay.audit.queries.query import Query
from replay.audit.queries.settings_and_rights import SETTINGS_AND_RIGHTS

QUERIES: dict[str, Query] = {
    query.name: query
    for query in (
        *BY_WHOM,
        *PARTITIONS,
        *BROKERS,
        *SETTINGS_AND_RIGHTS,
        BASELINE_DRIFT,
        CONTRADICTIONS,
    )
}
