"""The configs that a namespace may have: configs that its topics inherit, and its limits.

A topic config set on a namespace applies to all topics in and below it, except those that set it
themselves. A limit applies to everything in and below its namespace; a nested namespace can lower
it for itself, but not raise it.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from controller.decisions.config_definitions.definition import ConfigDefinition
from controller.decisions.config_definitions.tables.table_parser import parse_table
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS

MAX_TOPICS = "namespace.max.topics"
"""Maximum number of topics in and below a namespace."""

MAX_PARTITIONS = "namespace.max.partitions"
"""Maximum number of partitions in and below a namespace."""

MAX_MUTATIONS = "namespace.max.mutations.per.second"
"""Maximum rate of partitions created and deleted in and below a namespace."""

_LIMITS = """
namespace.max.topics | int | -1 | -1..
    Topics in and below the namespace; -1 is no limit. (ours)
namespace.max.partitions | int | -1 | -1..
    Partitions in and below the namespace; -1 is no limit. (ours)
namespace.max.mutations.per.second | double | -1 | -1..
    Partitions created and deleted a second in and below the namespace; -1 is no limit. (ours)
"""

NAMESPACE_CONFIGS: Mapping[str, ConfigDefinition] = {
    **TOPIC_CONFIGS,
    **{limit.name: replace(limit, is_inherited=False) for limit in parse_table(_LIMITS).values()},
}
