"""DescribeConfigs for this broker: adds the values that only the broker's process knows.

The controller answers from the log, the broker's registration and its own static configs. As in
Kafka, clients send DescribeConfigs for a broker to that broker, which has its options.

Source: ConfigHelper of Kafka 4.0.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from api.broker.log_directory import LogDirectory
from api.broker.options import BrokerOptions
from api.kafka import apis
from api.kafka.dispatch import Handler
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame, decode_response_body
from api.kafka.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from api.security.listeners import ListenerAddress
from controller.authorization.caller import Caller
from controller.decisions.config_definitions.brokers import (
    AUTO_CREATE_TOPICS,
    BETWEEN_BROKERS,
    BROKER_CONFIGS,
    BROKER_HEARTBEAT,
    LISTENERS,
    LOG_DIR,
    LOG_DIRS,
    REPLICA_LAG,
)
from controller.decisions.configs.effective import BROKER, ConfigSource

_SET_IN_THE_LOG = {ConfigSource.BROKER.code, ConfigSource.CLUSTER.code}


def own_configs(
    options: BrokerOptions,
    between_brokers: ListenerAddress,
    ports: Sequence[int],
    directories: Sequence[LogDirectory],
) -> dict[str, str]:
    """Return the values of OF_BROKERS for this process.

    Args:
        ports: The actual ports of the listeners.
    """
    paths = [str(directory.path) for directory in directories]
    listeners = zip(options.listeners, ports, strict=True)
    return {
        AUTO_CREATE_TOPICS: "true" if options.auto_create_topics else "false",
        BETWEEN_BROKERS: between_brokers.name,
        BROKER_HEARTBEAT: str(options.heartbeat_ms),
        LISTENERS: ",".join([f"{at.name}://{_host(at.host)}:{port}" for at, port in listeners]),
        LOG_DIR: paths[0],
        LOG_DIRS: ",".join(paths),
        REPLICA_LAG: str(options.replica_lag_ms),
    }


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def with_own_configs(
    forwarded: Handler, broker_id: int, own: Callable[[], Mapping[str, str]]
) -> Handler:
    """Return a handler that forwards DescribeConfigs, and adds values to this broker's result.

    Args:
        own: Returns the values by the names of their configs.
    """

    async def handle(frame: RequestFrame, caller: Caller) -> Response | bytes | None:
        answer = await forwarded(frame, caller)
        request = frame.body
        assert isinstance(request, DescribeConfigsRequest)
        names = [(each.resource_type, each.resource_name) for each in request.resources]
        if not isinstance(answer, bytes) or (BROKER, str(broker_id)) not in names:
            return answer
        described = decode_response_body(answer, apis.DESCRIBE_CONFIGS, frame.version)
        assert isinstance(described, DescribeConfigsResponse)
        return replace(
            described,
            results=tuple(
                [
                    _with_own(result, own(), request.include_synonyms)
                    if (result.resource_type, result.resource_name) == (BROKER, str(broker_id))
                    else result
                    for result in described.results
                ]
            ),
        )

    return handle


def _with_own(
    result: DescribeConfigsResult, own: Mapping[str, str], with_synonyms: bool
) -> DescribeConfigsResult:
    configs = [
        _replaced(each, own[each.name], with_synonyms) if each.name in own else each
        for each in result.configs
    ]
    return replace(result, configs=tuple(configs))


def _replaced(
    config: DescribeConfigsResourceResult, value: str, with_synonyms: bool
) -> DescribeConfigsResourceResult:
    """Return a config with the broker's own value, which a value in the log overrides."""
    default = BROKER_CONFIGS[config.name].default
    source = ConfigSource.DEFAULT if value == default else ConfigSource.STATIC
    levels = [each for each in config.synonyms if each.source in _SET_IN_THE_LOG]
    if with_synonyms and source is ConfigSource.STATIC:
        levels.append(DescribeConfigsSynonym(name=config.name, value=value, source=source.code))
    levels += [each for each in config.synonyms if each.source == ConfigSource.DEFAULT.code]
    if config.config_source in _SET_IN_THE_LOG:
        return replace(config, synonyms=tuple(levels))
    return replace(config, value=value, config_source=source.code, synonyms=tuple(levels))
