"""Runs a script of Kafka's tools: python -m tests.api.kafka.kafka_tools H:P SCRIPT.

The tools need Java and Kafka's jars. Instead, each command line is parsed as its tool does, and
sent to the service by an unmodified kafka-python. Prints the commands that kafka-python or the
service does not support.
"""

import argparse
import json
import re
import shlex
import sys
from pathlib import Path

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.structs import TopicPartition

_RESOURCES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
}
_CONFIGS = {"topics": ConfigResourceType.TOPIC, "brokers": ConfigResourceType.BROKER}
# As ConfigCommand of Kafka: commas inside brackets do not separate.
_SEPARATOR = re.compile(r",(?=[^\]]*(?:\[|$))")


def main(server: str, script: str) -> None:
    """Run every command."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    left = []
    for line in Path(script).read_text().splitlines():
        if line.startswith("kafka-"):
            tool, _, _, *arguments = shlex.split(line)
            if tool not in _RUN or not _RUN[tool](admin, arguments):
                left.append(arguments)
    admin.close()
    print(json.dumps(left))


def _topics(admin: KafkaAdminClient, arguments: list[str]) -> bool:
    parser = argparse.ArgumentParser()
    for name in ("create", "alter", "delete"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("topic", "replica-assignment", "partitions"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--config", action="append", default=[])
    given = parser.parse_args(arguments)
    if given.delete:
        admin.delete_topics([given.topic])
        return True
    replicas = [[int(n) for n in each.split(":")] for each in given.replica_assignment.split(",")]
    if given.create:
        configs = dict(each.split("=", 1) for each in given.config)
        assignments = dict(enumerate(replicas))
        admin.create_topics(
            [NewTopic(given.topic, replica_assignments=assignments, topic_configs=configs)]
        )
        return True
    # All partitions are given; TopicCommand sends those that are new.
    (topic,) = admin.describe_topics([given.topic])
    new = replicas[len(topic["partitions"]) :]
    admin.create_partitions({given.topic: {"count": int(given.partitions), "assignments": new}})
    return True


def _reassignments(admin: KafkaAdminClient, arguments: list[str]) -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("--execute", action="store_true")
    # `<(printf %s PLAN)`: the shell passes the path of a file that holds the plan.
    parser.add_argument("--reassignment-json-file", nargs=3)
    _, _, plan = parser.parse_args(arguments).reassignment_json_file
    moves = {
        TopicPartition(each["topic"], each["partition"]): each["replicas"]
        for each in json.loads(plan.removesuffix(")"))["partitions"]
    }
    results = admin.alter_partition_reassignments(moves)
    assert results == dict.fromkeys(moves), results
    return True


def _features(admin: KafkaAdminClient, arguments: list[str]) -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("upgrade", "downgrade"))
    parser.add_argument("--feature")
    given = parser.parse_args(arguments)
    kind = "UPGRADE" if given.verb == "upgrade" else "SAFE_DOWNGRADE"
    name, _, level = given.feature.partition("=")
    assert admin.update_features({name: (kind, int(level))}) == {name: "OK"}
    return True


def _configs(admin: KafkaAdminClient, arguments: list[str]) -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("--alter", action="store_true")
    parser.add_argument("--entity-type", action="append")
    parser.add_argument("--entity-default", action="store_true")
    for name in ("entity-name", "add-config", "delete-config"):
        parser.add_argument(f"--{name}")
    given = parser.parse_args(arguments)
    (kind, *others) = given.entity_type
    if others or kind not in _CONFIGS or given.entity_default:
        return False  # quotas and the cluster's configs, which kafka-python cannot set
    name = given.entity_name or ""
    if given.add_config:
        values = dict(each.split("=", 1) for each in _SEPARATOR.split(given.add_config))
        values = {key: value.strip("[]") for key, value in values.items()}
        admin.alter_configs([ConfigResource(_CONFIGS[kind], name, values)], raise_on_unknown=False)
    if given.delete_config:
        names = dict.fromkeys(given.delete_config.split(","))
        admin.reset_configs([ConfigResource(_CONFIGS[kind], name, names)], raise_on_unknown=False)
    return True


def _acls(admin: KafkaAdminClient, arguments: list[str]) -> bool:
    parser = argparse.ArgumentParser()
    for name in ("add", "remove", "force", "cluster"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("allow-principal", "allow-host", "deny-principal", "deny-host", "operation"):
        parser.add_argument(f"--{name}")
    for name in (*_RESOURCES, "resource-pattern-type"):
        parser.add_argument(f"--{name.replace('_', '-')}")
    given = parser.parse_args(arguments)
    is_allowed = given.allow_principal is not None
    permission = ACLPermissionType.ALLOW if is_allowed else ACLPermissionType.DENY
    (kind, name), *_ = [
        (kind, getattr(given, option))
        for option, kind in _RESOURCES.items()
        if getattr(given, option)
    ] or [(ResourceType.CLUSTER, "kafka-cluster")]
    pattern = ACLResourcePatternType[(given.resource_pattern_type or "literal").upper()]
    words = re.findall("[A-Z][a-z]*", given.operation)
    said = (
        given.allow_principal or given.deny_principal,
        given.allow_host or given.deny_host,
        ACLOperation["_".join(words).upper()],
        permission,
    )
    if given.add:
        created = admin.create_acls([ACL(*said, ResourcePattern(kind, name, pattern))])
        assert not created["failed"], created
    else:
        admin.delete_acls([ACLFilter(*said, ResourcePatternFilter(kind, name, pattern))])
    return True


_RUN = {
    "kafka-topics.sh": _topics,
    "kafka-configs.sh": _configs,
    "kafka-acls.sh": _acls,
    "kafka-reassign-partitions.sh": _reassignments,
    "kafka-features.sh": _features,
}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
