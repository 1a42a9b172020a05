"""Exports an image in the JSON format of other tools that read Kafka's metadata logs.

Concepts that Kafka lacks are left out: namespaces and their topics, modes, removals, notes. Secrets
are in clear text; the caller redacts them.
"""

import base64
import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from records import registry
from records.base import Uuid
from records.text import uuid_text
from replay.image.cluster import Endpoint, SupportedFeature
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage
from replay.image.topics import Partition, Topic

# TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS and GROUP.
_KAFKA_CONFIG_RESOURCE_TYPES = frozenset({TOPIC, 4, 8, 16, 32})
# ACL resource types go up to USER.
_ACL_RESOURCE_TYPE_MAX = 7
_NO_PRODUCER_ID = -1


def kraft_json(image: MetadataImage) -> dict[str, Any]:
    """Return the image as JSON values.

    Returns:
        endOffset (exclusive); features, topics, parts, configs, brokers, controllers, scram, acls,
        quotas and tokens as lists of [key, value] sorted by key, but parts sorted by the JSON text
        of the key ("10" before "2"); producer, the next producer id or -1; zk, the migration state
        or null.
    """
    topics = {
        uuid_text(topic.topic_id): topic for topic in image.topics() if topic.namespace_id is None
    }
    block = image.producer_ids
    return {
        "endOffset": image.provenance.next_offset,
        "features": _pairs(image.features()),
        "topics": _pairs({topic_id: topic.name for topic_id, topic in topics.items()}),
        "parts": _parts(image, topics),
        "configs": _pairs(
            {
                key: dict(sorted(values.items()))
                for key, values in image.configs()
                if _is_kafka_resource(*key)
            }
        ),
        "brokers": _pairs(dict(_brokers(image))),
        "controllers": _pairs(dict(_controllers(image))),
        "producer": _NO_PRODUCER_ID if block is None else block.next_producer_id,
        "scram": _pairs(dict(_scram(image))),
        "acls": _pairs(dict(_acls(image))),
        "quotas": _quotas(image),
        "zk": image.zk_migration,
        "tokens": _pairs(dict(_tokens(image))),
    }


def _pairs(items: Mapping[Any, Any]) -> list[list[Any]]:
    """Return a mapping as a sorted list of pairs, since JSON's keys can only be strings."""
    return [[list(key) if isinstance(key, tuple) else key, items[key]] for key in sorted(items)]


def _is_kafka_resource(resource_type: int, resource_name: str) -> bool:
    in_namespace = resource_type == TOPIC and NAMESPACE_SEPARATOR in resource_name
    return resource_type in _KAFKA_CONFIG_RESOURCE_TYPES and not in_namespace


def _parts(image: MetadataImage, topics: dict[str, Topic]) -> list[list[Any]]:
    parts = {
        json.dumps([text, partition.partition_id]): [
            [text, partition.partition_id],
            _partition(partition),
        ]
        for text, topic in topics.items()
        for partition in image.partitions(topic.topic_id)
    }
    return [parts[key] for key in sorted(parts)]


def _partition(partition: Partition) -> dict[str, Any]:
    optional = {
        "directories": _ids(partition.directories),
        "eligibleLeaderReplicas": list(partition.eligible_leader_replicas),
        "lastKnownElr": list(partition.last_known_elr),
    }
    return {
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "removingReplicas": list(partition.removing_replicas),
        "addingReplicas": list(partition.adding_replicas),
        "leader": partition.leader,
        "leaderRecoveryState": partition.leader_recovery_state,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
    } | {name: values for name, values in optional.items() if values}


def _brokers(image: MetadataImage) -> Iterator[tuple[int, dict[str, Any]]]:
    for broker in image.brokers():
        fields = {
            "brokerId": broker.broker_id,
            "isMigratingZkBroker": broker.is_migrating_zk_broker,
            "incarnationId": uuid_text(broker.incarnation_id),
            "brokerEpoch": broker.broker_epoch,
            "endPoints": _end_points(broker.end_points),
            "features": _features(broker.features),
            "rack": broker.rack,
            "fenced": broker.fenced,
            "inControlledShutdown": broker.in_controlled_shutdown,
            "logDirs": _ids(broker.log_dirs),
        }
        since = _broker_field_versions()
        yield (
            broker.broker_id,
            {name: fields[name] for name in fields if since[name] <= broker.record_version},
        )


@functools.cache
def _broker_field_versions() -> dict[str, int]:
    """Return the version that introduced each field of a broker registration."""
    fields = registry.schema("RegisterBrokerRecord")["fields"]
    return {
        _camel_case(field["name"]): int(field["kafka"]["versions"].rstrip("+")) for field in fields
    }


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _controllers(image: MetadataImage) -> Iterator[tuple[int, dict[str, Any]]]:
    for controller in image.controllers():
        yield (
            controller.controller_id,
            {
                "controllerId": controller.controller_id,
                "incarnationId": uuid_text(controller.incarnation_id),
                "zkMigrationReady": controller.zk_migration_ready,
                "endPoints": _end_points(controller.end_points),
                "features": _features(controller.features),
            },
        )


def _end_points(
    end_points: tuple[Endpoint, ...],
) -> list[dict[str, Any]]:
    return [
        {
            "name": end_point.name,
            "host": end_point.host,
            "port": end_point.port,
            "securityProtocol": end_point.security_protocol,
        }
        for end_point in sorted(end_points, key=lambda end_point: end_point.name)
    ]


def _features(
    features: tuple[SupportedFeature, ...],
) -> list[dict[str, Any]]:
    return [
        {
            "name": feature.name,
            "minSupportedVersion": feature.min_supported_version,
            "maxSupportedVersion": feature.max_supported_version,
        }
        for feature in sorted(features, key=lambda feature: feature.name)
    ]


def _scram(image: MetadataImage) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    for credential in image.scram():
        yield (
            (credential.name, credential.mechanism),
            {
                "salt": _base64(credential.salt),
                "storedKey": _base64(credential.stored_key),
                "serverKey": _base64(credential.server_key),
                "iterations": credential.iterations,
            },
        )


def _acls(image: MetadataImage) -> Iterator[tuple[str, dict[str, Any]]]:
    for acl in image.acls():
        if acl.resource_type <= _ACL_RESOURCE_TYPE_MAX:
            yield (
                uuid_text(acl.id),
                {
                    "id": uuid_text(acl.id),
                    "resourceType": acl.resource_type,
                    "resourceName": acl.resource_name,
                    "patternType": acl.pattern_type,
                    "principal": acl.principal,
                    "host": acl.host,
                    "operation": acl.operation,
                    "permissionType": acl.permission_type,
                },
            )


def _quotas(image: MetadataImage) -> list[list[Any]]:
    # A null name cannot be compared with others, so sort by the JSON texts.
    quotas = {
        json.dumps([quota.entity, quota.key]): [
            [[list(pair) for pair in quota.entity], quota.key],
            quota.value,
        ]
        for quota in image.quotas()
    }
    return [quotas[key] for key in sorted(quotas)]


def _tokens(image: MetadataImage) -> Iterator[tuple[str, dict[str, Any]]]:
    for token in image.delegation_tokens():
        yield (
            token.token_id,
            {
                "owner": token.owner,
                "requester": token.requester,
                "renewers": sorted(token.renewers),
                "issueTimestamp": token.issue_timestamp,
                "maxTimestamp": token.max_timestamp,
                "expirationTimestamp": token.expiration_timestamp,
                "tokenId": token.token_id,
            },
        )


def _ids(ids: tuple[Uuid, ...]) -> list[str]:
    return [uuid_text(value) for value in ids]


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
