"""Configs with kafka-python: python -m tests.stories.kafka_python_configs H:P TOPIC.

Prints the results as one JSON document.
"""

import json
import sys
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

_TOPIC, _BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


def main(server: str, topic: str) -> None:
    """Create a topic; describe and change configs with every function of the client for it."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    admin.create_topics([NewTopic(topic, 1, 1)])

    def own() -> dict[str, Any]:
        described = admin.describe_configs([ConfigResource(_TOPIC, topic)])
        return {name: found["value"] for name, found in described["topic"][topic].items()}

    def altered(configs: dict[str, str], **options: Any) -> str:
        told = admin.alter_configs([ConfigResource(_TOPIC, topic, configs)], **options)
        result = str(told["topic"][topic])
        return (
            result
            if result == "OK"
            else "InvalidConfigurationError" * ("InvalidConfigurationError" in result)
        )

    found: dict[str, Any] = {"default": own()}
    found["validated"] = altered({"flush.ms": "5"}, validate_only=True)
    found["set"] = altered({"retention.ms": "1000", "flush.ms": "5"})
    found["own"] = own()
    found["legacy"] = altered({"segment.ms": "7"}, incremental=False)
    found["kept by the client"] = own()  # it reads them first and sends them again
    found["misspelt"] = altered({"segment.mss": "7"}, raise_on_unknown=False)
    admin.reset_configs([ConfigResource(_TOPIC, topic, {"segment.ms": None, "flush.ms": None})])
    found["reset"] = own()
    everything = admin.describe_configs(
        [ConfigResource(_TOPIC, topic, {"retention.ms": ""})], include_synonyms=True
    )
    entry = everything["topic"][topic]["retention.ms"]
    found["sources"] = [entry["config_source"], *(s["source"] for s in entry["synonyms"])]
    found["type"] = entry["config_type"]
    of_broker = admin.describe_configs(
        [ConfigResource(_BROKER, "2", {"num.io.threads": ""})], config_filter="all"
    )
    found["broker"] = of_broker["broker"]["2"]["num.io.threads"]["config_source"]
    admin.delete_topics([topic])
    admin.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
