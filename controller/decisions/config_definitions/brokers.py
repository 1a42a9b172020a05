"""Names and definitions of the configs that a broker or the cluster may have."""

from collections.abc import Mapping

from msgspec.structs import replace

from controller.authorization.acls import ALLOW_EVERYONE, SUPER_USERS
from controller.decisions.config_definitions.definition import ConfigDefinition, Update
from controller.decisions.config_definitions.tables.broker_groups import BROKER_GROUPS
from controller.decisions.config_definitions.tables.broker_logs import BROKER_LOGS
from controller.decisions.config_definitions.tables.broker_network import BROKER_NETWORK
from controller.decisions.config_definitions.tables.broker_security import BROKER_SECURITY
from controller.decisions.config_definitions.tables.table_parser import parse_table
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS

NUM_PARTITIONS = "num.partitions"
"""Number of partitions of a new topic, unless the request gives one."""

DEFAULT_REPLICATION_FACTOR = "default.replication.factor"
"""Replication factor of a new topic, unless the request gives one."""

DELETE_PARTITIONS_ENABLED = "delete.topic.partition.enable"
"""Allows partition removal; off by default."""

REMOVAL_INTERVAL = "delete.topic.partition.interval.delay.ms"
"""Interval of partition removal checks, in ms."""

DELETE_STALE_DELAY = "delete.stale.topic.delay.ms"
"""How long a broker keeps stale partitions, in ms."""

SESSION_MS_MAX = "connections.max.reauth.ms"
"""Time after which a client has to log in again, in ms; 0 means never."""

OF_EACH_PROCESS = frozenset([SUPER_USERS, ALLOW_EVERYONE, SESSION_MS_MAX])
"""Configs that are set in the static file of each process, with a value for that process only."""

AUTO_CREATE_TOPICS = "auto.create.topics.enable"
BROKER_HEARTBEAT = "broker.heartbeat.interval.ms"
BETWEEN_BROKERS = "inter.broker.listener.name"
LISTENERS = "listeners"
LOG_DIR, LOG_DIRS = "log.dir", "log.dirs"
REPLICA_LAG = "replica.lag.time.max.ms"

OF_BROKERS = frozenset(
    [
        AUTO_CREATE_TOPICS,
        BROKER_HEARTBEAT,
        BETWEEN_BROKERS,
        LISTENERS,
        LOG_DIR,
        LOG_DIRS,
        REPLICA_LAG,
    ]
)
"""Configs that each broker has as options of its own process, which no other node knows."""

_LISTENER_PREFIX = "listener.name."

_OF_TOPICS = frozenset(
    name for definition in TOPIC_CONFIGS.values() for name, _ in definition.server_names
)


def _definition(definition: ConfigDefinition) -> ConfigDefinition:
    """Return the definition of a config for the BROKER resource type.

    A broker may set the config under its own name, which takes precedence over its server names.
    Configs that are defaults of topic configs can always be changed in the log, because the
    controller reads their values from the log.
    """
    names = ((definition.name, 1), *definition.server_names)
    update = Update.CLUSTER if definition.name in _OF_TOPICS else definition.update
    return replace(definition, server_names=names, update=update)


BROKER_CONFIGS: Mapping[str, ConfigDefinition] = {
    definition.name: _definition(definition)
    for table in (BROKER_LOGS, BROKER_NETWORK, BROKER_SECURITY, BROKER_GROUPS)
    for definition in parse_table(table).values()
}


def broker_config(name: str) -> ConfigDefinition | None:
    """Return the definition of a broker's config, or None.

    The config may be for a single listener; it is then named `listener.name.LISTENER.NAME` or
    `listener.name.LISTENER.MECHANISM.NAME`.
    """
    found = BROKER_CONFIGS.get(name)
    if found is not None or not name.startswith(_LISTENER_PREFIX):
        return found
    parts = name.removeprefix(_LISTENER_PREFIX).split(".")
    for start in range(1, len(parts)):
        found = BROKER_CONFIGS.get(".".join(parts[start:]))
        if found is not None and found.update is not Update.FILE:
            return replace(found, name=name, server_names=((name, 1),), update=Update.BROKER)
    return None
