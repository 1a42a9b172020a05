"""The configs that a topic may have.

Source: LogConfig and ServerTopicConfigSynonyms of Kafka 4.0.
"""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from controller.decisions.config_definitions import ConfigDefinition, ConfigType
from controller.refusals import invalid_config

CLEANUP_POLICY = "cleanup.policy"
MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"

DELETE_PARTITIONS_ENABLED = "delete.topic.partition.enable"
"""Server-level config that allows partition removal; off by default."""

REMOVAL_INTERVAL = "delete.topic.partition.interval.delay.ms"
"""Server-level config: interval of partition removal checks, in ms."""

DELETE_STALE_DELAY = "delete.stale.topic.delay.ms"
"""Server-level config: how long a broker keeps stale partitions, in ms."""

_BOOLEAN, _INT, _LONG = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG
_DOUBLE, _STRING, _LIST = ConfigType.DOUBLE, ConfigType.STRING, ConfigType.LIST

_LONG_MAX = str(2**63 - 1)
_MINUTE_MS = 60 * 1_000
_HOUR_MS = 60 * _MINUTE_MS
_WEEK_MS = str(7 * 24 * _HOUR_MS)

# Throttled replicas, as partition:broker, or all of them.
_THROTTLED = re.compile(r"\*|\d+:\d+")


def _config(
    name: str,
    type_: ConfigType,
    default: str,
    *server_names: str | tuple[str, int],
    minimum: float | None = None,
    maximum: float | None = None,
    allowed: str = "",
    form: re.Pattern[str] | None = None,
) -> ConfigDefinition:
    return ConfigDefinition(
        name=name,
        type=type_,
        default=default,
        server_names=tuple([(n, 1) if isinstance(n, str) else n for n in server_names]),
        minimum=minimum,
        maximum=maximum,
        allowed=frozenset(allowed.split()),
        form=form,
    )


_DEFINITIONS = (
    _config(CLEANUP_POLICY, _LIST, "delete", "log.cleanup.policy", allowed="compact delete"),
    _config(
        "compression.type",
        _STRING,
        "producer",
        "compression.type",
        allowed="uncompressed gzip snappy lz4 zstd producer",
    ),
    _config("compression.gzip.level", _INT, "-1", "compression.gzip.level", minimum=-1, maximum=9),
    _config("compression.lz4.level", _INT, "9", "compression.lz4.level", minimum=1, maximum=17),
    _config("compression.zstd.level", _INT, "3", "compression.zstd.level", maximum=22),
    _config("delete.retention.ms", _LONG, "86400000", "log.cleaner.delete.retention.ms", minimum=0),
    _config("file.delete.delay.ms", _LONG, "60000", "log.segment.delete.delay.ms", minimum=0),
    _config("flush.messages", _LONG, _LONG_MAX, "log.flush.interval.messages", minimum=1),
    _config("flush.ms", _LONG, _LONG_MAX, "log.flush.interval.ms", minimum=0),
    _config("follower.replication.throttled.replicas", _LIST, "", form=_THROTTLED),
    _config("index.interval.bytes", _INT, "4096", "log.index.interval.bytes", minimum=0),
    _config("leader.replication.throttled.replicas", _LIST, "", form=_THROTTLED),
    _config("local.retention.bytes", _LONG, "-2", "log.local.retention.bytes", minimum=-2),
    _config("local.retention.ms", _LONG, "-2", "log.local.retention.ms", minimum=-2),
    _config(
        "max.compaction.lag.ms", _LONG, _LONG_MAX, "log.cleaner.max.compaction.lag.ms", minimum=1
    ),
    _config("max.message.bytes", _INT, "1048588", "message.max.bytes", minimum=0),
    _config(
        "message.timestamp.after.max.ms",
        _LONG,
        "3600000",
        "log.message.timestamp.after.max.ms",
        minimum=0,
    ),
    _config(
        "message.timestamp.before.max.ms",
        _LONG,
        _LONG_MAX,
        "log.message.timestamp.before.max.ms",
        minimum=0,
    ),
    _config(
        "message.timestamp.type",
        _STRING,
        "CreateTime",
        "log.message.timestamp.type",
        allowed="CreateTime LogAppendTime",
    ),
    _config(
        "min.cleanable.dirty.ratio",
        _DOUBLE,
        "0.5",
        "log.cleaner.min.cleanable.ratio",
        minimum=0,
        maximum=1,
    ),
    _config("min.compaction.lag.ms", _LONG, "0", "log.cleaner.min.compaction.lag.ms", minimum=0),
    _config(MIN_ISR, _INT, "1", MIN_ISR, minimum=1),
    _config("preallocate", _BOOLEAN, "false", "log.preallocate"),
    _config("remote.log.copy.disable", _BOOLEAN, "false"),
    _config("remote.log.delete.on.disable", _BOOLEAN, "false"),
    _config("remote.storage.enable", _BOOLEAN, "false"),
    _config("retention.bytes", _LONG, "-1", "log.retention.bytes"),
    _config(
        "retention.ms",
        _LONG,
        _WEEK_MS,
        "log.retention.ms",
        ("log.retention.minutes", _MINUTE_MS),
        ("log.retention.hours", _HOUR_MS),
        minimum=-1,
    ),
    _config("segment.bytes", _INT, str(1024**3), "log.segment.bytes", minimum=14),
    _config("segment.index.bytes", _INT, str(10 * 1024**2), "log.index.size.max.bytes", minimum=4),
    _config(
        "segment.jitter.ms",
        _LONG,
        "0",
        "log.roll.jitter.ms",
        ("log.roll.jitter.hours", _HOUR_MS),
        minimum=0,
    ),
    _config("segment.ms", _LONG, _WEEK_MS, "log.roll.ms", ("log.roll.hours", _HOUR_MS), minimum=1),
    _config(UNCLEAN_ELECTION, _BOOLEAN, "false", UNCLEAN_ELECTION),
)

TOPIC_CONFIGS: Mapping[str, ConfigDefinition] = {d.name: d for d in _DEFINITIONS}

# Configs of the controller and the brokers themselves, which no topic has (KIP-516, KIP-694).
_NODE_CONFIGS = (
    _config(DELETE_PARTITIONS_ENABLED, _BOOLEAN, "false", DELETE_PARTITIONS_ENABLED),
    _config(REMOVAL_INTERVAL, _LONG, "300000", REMOVAL_INTERVAL, minimum=1),
    _config(DELETE_STALE_DELAY, _LONG, "14400000", DELETE_STALE_DELAY, minimum=0),
)

_SERVER_CONFIGS = {
    name: (definition, factor)
    for definition in (*_DEFINITIONS, *_NODE_CONFIGS)
    for name, factor in definition.server_names
}


def check_topic_configs(values: Mapping[str, str]) -> None:
    """Check a topic's configs, each and together.

    Args:
        values: All values that would be set on the topic.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    for name, value in values.items():
        definition = TOPIC_CONFIGS.get(name)
        if definition is None:
            raise invalid_config(f"a topic has no config {name!r}")
        definition.check(value)
    check_together(values)


def check_together(values: Mapping[str, str]) -> None:
    """Check valid configs that depend on each other; those that are not set have their defaults.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    if not values:
        return  # the defaults go together
    shortest, longest = (
        int(values.get(name, TOPIC_CONFIGS[name].default))
        for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if shortest > longest:
        raise invalid_config(
            f"min.compaction.lag.ms ({shortest}) is above max.compaction.lag.ms ({longest})"
        )


def check_server_configs(values: Mapping[str, str]) -> None:
    """Check server-level values that concern topics, the controller or our broker.

    Other names belong to the brokers and are accepted as they are.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    for name, value in values.items():
        definition, factor = _SERVER_CONFIGS.get(name, (None, 1))
        if definition is not None:
            # Bounds are in the topic config's unit; in a larger unit only the type is checked.
            plain = definition if factor == 1 else replace(definition, minimum=-1)
            replace(plain, name=name).check(value)


def is_list(name: str) -> bool:
    """True if a config, of a topic or of the server level, is a list."""
    definition = TOPIC_CONFIGS.get(name) or _SERVER_CONFIGS.get(name, (None, 1))[0]
    return definition is not None and definition.type is ConfigType.LIST


def default_value(name: str) -> str:
    """Return the built-in default of a config; "" for a name that topics do not have."""
    definition = TOPIC_CONFIGS.get(name) or _SERVER_CONFIGS.get(name, (None, 1))[0]
    return "" if definition is None else definition.default
