"""Like `kafka_python_configs`, with librdkafka."""

import json
import sys
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

_TIMEOUT_S = 60
_SET, _DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE


def main(server: str, topic: str) -> None:
    """Create a topic; describe and change configs with every function of the client for it."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(_TIMEOUT_S)

    def described(kind: ResourceType, name: str) -> dict[str, Any]:
        resource = ConfigResource(kind, name)
        result: dict[str, Any] = admin.describe_configs([resource])[resource].result(_TIMEOUT_S)
        return result

    def own() -> dict[str, Any]:
        configs = described(ResourceType.TOPIC, topic)
        set_ = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {name: c.value for name, c in configs.items() if c.source == set_}

    def altered(changes: dict[str, tuple[str | None, AlterConfigOpType]], **options: Any) -> str:
        entries = [
            ConfigEntry(name, value, incremental_operation=operation)
            for name, (value, operation) in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        return _told(admin.incremental_alter_configs([resource], **options)[resource])

    found: dict[str, Any] = {"default": own()}
    found["validated"] = altered({"flush.ms": ("5", _SET)}, validate_only=True)
    found["set"] = altered({"retention.ms": ("1000", _SET), "flush.ms": ("5", _SET)})
    found["own"] = own()
    legacy = ConfigResource(
        ResourceType.TOPIC, topic, set_config={"segment.ms": "7", "retention.ms": "1000"}
    )
    found["legacy"] = _told(admin.alter_configs([legacy])[legacy])
    found["replaced"] = own()
    found["misspelt"] = altered({"segment.mss": ("7", _SET)})
    altered({"segment.ms": (None, _DELETE)})
    found["reset"] = own()
    entry = described(ResourceType.TOPIC, topic)["retention.ms"]
    found["sources"] = [
        ConfigSource(code).name
        for code in (entry.source, *(s.source for s in entry.synonyms.values()))
    ]
    of_broker = described(ResourceType.BROKER, "2")
    found["broker"] = ConfigSource(of_broker["num.io.threads"].source).name
    admin.delete_topics([topic])[topic].result(_TIMEOUT_S)
    print(json.dumps(found))


def _told(future: Any) -> str:
    try:
        future.result(_TIMEOUT_S)
    except KafkaException as error:
        return str(error.args[0].name())
    return "OK"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
