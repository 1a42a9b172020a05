"""Every config of a topic: default, limits and server-level names, as in Kafka 4.0.

The expected table was written from Kafka's documentation of topic configs, apart from the code.
"""

import pytest

from controller.decisions.config_definitions.brokers import BROKER_CONFIGS
from controller.decisions.config_definitions.definition import ConfigType
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.checks import check_configs
from controller.decisions.configs.effective import (
    ConfigSource,
    effective_config,
    server_levels,
)
from controller.decisions.context.context import Settings
from records.errors import RequestError
from replay.image.configs import BROKER, TOPIC
from tests.controller.cluster import Cluster

INT_MIN, INT_MAX = -2_147_483_648, 2_147_483_647
LONG_MIN, LONG_MAX = -9_223_372_036_854_775_808, 9_223_372_036_854_775_807

# Name, default, least and greatest value, server-level name.
NUMBERS = [
    ("compression.gzip.level", "-1", -1, 9, "compression.gzip.level"),
    ("compression.lz4.level", "9", 1, 17, "compression.lz4.level"),
    ("compression.zstd.level", "3", INT_MIN, 22, "compression.zstd.level"),
    ("delete.retention.ms", "86400000", 0, LONG_MAX, "log.cleaner.delete.retention.ms"),
    ("file.delete.delay.ms", "60000", 0, LONG_MAX, "log.segment.delete.delay.ms"),
    ("flush.messages", "9223372036854775807", 1, LONG_MAX, "log.flush.interval.messages"),
    ("flush.ms", "9223372036854775807", 0, LONG_MAX, "log.flush.interval.ms"),
    ("index.interval.bytes", "4096", 0, INT_MAX, "log.index.interval.bytes"),
    ("local.retention.bytes", "-2", -2, LONG_MAX, "log.local.retention.bytes"),
    ("local.retention.ms", "-2", -2, LONG_MAX, "log.local.retention.ms"),
    (
        "max.compaction.lag.ms",
        "9223372036854775807",
        1,
        LONG_MAX,
        "log.cleaner.max.compaction.lag.ms",
    ),
    ("max.message.bytes", "1048588", 0, INT_MAX, "message.max.bytes"),
    (
        "message.timestamp.after.max.ms",
        "3600000",
        0,
        LONG_MAX,
        "log.message.timestamp.after.max.ms",
    ),
    (
        "message.timestamp.before.max.ms",
        "9223372036854775807",
        0,
        LONG_MAX,
        "log.message.timestamp.before.max.ms",
    ),
    ("min.compaction.lag.ms", "0", 0, LONG_MAX, "log.cleaner.min.compaction.lag.ms"),
    ("min.insync.replicas", "1", 1, INT_MAX, "min.insync.replicas"),
    ("retention.bytes", "-1", LONG_MIN, LONG_MAX, "log.retention.bytes"),
    ("retention.ms", "604800000", -1, LONG_MAX, "log.retention.ms"),
    ("segment.bytes", "1073741824", 14, INT_MAX, "log.segment.bytes"),
    ("segment.index.bytes", "10485760", 4, INT_MAX, "log.index.size.max.bytes"),
    ("segment.jitter.ms", "0", 0, LONG_MAX, "log.roll.jitter.ms"),
    ("segment.ms", "604800000", 1, LONG_MAX, "log.roll.ms"),
]

# Name, default, valid values, values that are not, server-level name.
TEXTS = [
    (
        "cleanup.policy",
        "delete",
        ["delete", "compact", "compact,delete", "delete, compact"],
        ["Delete", "none", "delete,none"],
        "log.cleanup.policy",
    ),
    (
        "compression.type",
        "producer",
        ["uncompressed", "gzip", "snappy", "lz4", "zstd", "producer"],
        ["none", "gzip,lz4", ""],
        "compression.type",
    ),
    (
        "follower.replication.throttled.replicas",
        "",
        ["", "*", "0:1", "0:1,12:34"],
        ["0", "0:", ":1", "a:1", "0:1:2", "**"],
        None,
    ),
    (
        "leader.replication.throttled.replicas",
        "",
        ["", "*", "0:1", "0:1,12:34"],
        ["0", "0:", ":1", "a:1", "0:1:2", "**"],
        None,
    ),
    (
        "message.timestamp.type",
        "CreateTime",
        ["CreateTime", "LogAppendTime"],
        ["createtime", "none"],
        "log.message.timestamp.type",
    ),
    (
        "min.cleanable.dirty.ratio",
        "0.5",
        ["0", "0.0", "0.99", "1"],
        ["-0.01", "1.01", "2", "half"],
        "log.cleaner.min.cleanable.ratio",
    ),
    ("preallocate", "false", ["true", "FALSE", " true "], ["1", "yes", ""], "log.preallocate"),
    ("remote.log.copy.disable", "false", ["true", "false"], ["1"], None),
    ("remote.log.delete.on.disable", "false", ["true", "false"], ["1"], None),
    ("remote.storage.enable", "false", ["true", "false"], ["1"], None),
    (
        "unclean.leader.election.enable",
        "false",
        ["true", "false"],
        ["1"],
        "unclean.leader.election.enable",
    ),
]


def check(values: dict[str, str], resource: tuple[int, str] = (TOPIC, "t")) -> None:
    check_configs(Cluster().context(), resource, values, values)


def refused(name: str, value: object) -> bool:
    return _refused((TOPIC, "t"), name, value)


def refused_of_server(name: str, value: object) -> bool:
    return _refused((BROKER, "1"), name, value)


def _refused(resource: tuple[int, str], name: str, value: object) -> bool:
    try:
        check({name: str(value)}, resource)
    except RequestError as error:
        return error.code == "INVALID_CONFIG"
    return False


def value_from(server_name: str, value: str, name: str) -> tuple[str, ConfigSource]:
    """Return a config's value and source if only the static file sets a server-level name."""
    settings = Settings(cluster_id="test", static_configs={server_name: value})
    levels = server_levels(Cluster(settings=settings).context())
    found = effective_config(levels, TOPIC_CONFIGS[name])
    return found.effective, found.source


def test_table_names_every_config_once() -> None:
    assert sorted([row[0] for row in [*NUMBERS, *TEXTS]]) == sorted(TOPIC_CONFIGS)


@pytest.mark.parametrize(("name", "default", "least", "most", "server"), NUMBERS)
def test_number_has_its_default_bounds_and_server_level_name(
    name: str, default: str, least: int, most: int, server: str
) -> None:
    assert TOPIC_CONFIGS[name].default == default
    assert TOPIC_CONFIGS[name].type is not ConfigType.LIST
    assert not refused(name, least)
    assert refused(name, least - 1)
    assert not refused(name, most)
    assert refused(name, most + 1)
    assert refused(name, "many")
    assert refused(name, "1.5")
    assert not refused_of_server(server, least)
    assert refused_of_server(server, least - 1)
    assert value_from(server, "77", name) == ("77", ConfigSource.STATIC)


@pytest.mark.parametrize(("name", "default", "valid", "invalid", "server"), TEXTS)
def test_text_has_its_default_values_and_server_level_name(
    name: str, default: str, valid: list[str], invalid: list[str], server: str | None
) -> None:
    assert TOPIC_CONFIGS[name].default == default
    is_list = TOPIC_CONFIGS[name].type is ConfigType.LIST
    assert is_list == (name == "cleanup.policy" or "throttled" in name)
    for value in valid:
        assert not refused(name, value), value
    for value in invalid:
        assert refused(name, value), value
        assert server is None or refused_of_server(server, value), value
    if server is not None:
        assert value_from(server, valid[-1], name) == (valid[-1], ConfigSource.STATIC)


@pytest.mark.parametrize(
    ("server", "value", "name", "milliseconds"),
    [
        ("log.retention.minutes", "3", "retention.ms", 180_000),
        ("log.retention.hours", "3", "retention.ms", 10_800_000),
        ("log.roll.hours", "3", "segment.ms", 10_800_000),
        ("log.roll.jitter.hours", "3", "segment.jitter.ms", 10_800_000),
        ("log.retention.hours", "-1", "retention.ms", -1),
        ("log.retention.hours", "0", "retention.ms", 0),
    ],
)
def test_larger_unit_of_a_server_level_name_is_converted(
    server: str, value: str, name: str, milliseconds: int
) -> None:
    assert value_from(server, value, name) == (str(milliseconds), ConfigSource.STATIC)
    assert not refused_of_server(server, value)
    assert refused_of_server(server, "-2")
    assert refused_of_server(server, "soon")


def test_least_lag_is_not_above_the_greatest() -> None:
    name, other = "min.compaction.lag.ms", "max.compaction.lag.ms"
    check({name: "5", other: "5"})
    for values in ({name: "6", other: "5"}, {name: "5", other: "4"}):
        with pytest.raises(RequestError, match="is above max"):
            check(values)
    check({name: str(LONG_MAX)})
    check({other: "1"})
    check({})


@pytest.mark.parametrize("value", ["1_000", "1e3", "", "0x10", "²"])
def test_number_is_written_as_brokers_read_it(value: str) -> None:
    assert refused("retention.ms", value)


def test_infinite_ratio_is_refused() -> None:
    assert refused("min.cleanable.dirty.ratio", "inf")
    assert refused("min.cleanable.dirty.ratio", "nan")


def test_configs_of_the_controller_itself() -> None:
    assert BROKER_CONFIGS["delete.topic.partition.enable"].default == "false"
    assert BROKER_CONFIGS["delete.topic.partition.interval.delay.ms"].default == "300000"
    assert refused_of_server("delete.topic.partition.enable", "1")
    assert refused_of_server("delete.topic.partition.interval.delay.ms", "0")
    assert not refused_of_server("delete.topic.partition.interval.delay.ms", "1")
