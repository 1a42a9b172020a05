"""Like `kafka_python_acls`, with librdkafka: python -m tests.stories.librdkafka_acls H:P."""

import json
import sys

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

_TIMEOUT_S = 60


def main(server: str) -> None:
    """Create, describe and delete entries."""
    admin = AdminClient({"bootstrap.servers": server})
    acls = [
        acl("User:bob", AclPermissionType.ALLOW, ResourceType.TOPIC, "orders", PREFIXED),
        acl("User:bob", AclPermissionType.DENY, ResourceType.GROUP, "g", LITERAL),
        acl("bob", AclPermissionType.ALLOW, ResourceType.TOPIC, "orders", PREFIXED),
    ]
    created, refused = 0, []
    for future in admin.create_acls(acls).values():
        try:
            future.result(_TIMEOUT_S)
            created += 1
        except KafkaException as error:
            refused.append(error.args[0].name())
    anything = selecting(ResourceType.ANY, None, ResourcePatternType.ANY)
    listed = admin.describe_acls(anything).result(_TIMEOUT_S)
    counting = admin.describe_acls(
        selecting(ResourceType.TOPIC, "orders.eu", ResourcePatternType.MATCH)
    ).result(_TIMEOUT_S)
    (deleted,) = admin.delete_acls([anything]).values()
    gone = deleted.result(_TIMEOUT_S)
    left = admin.describe_acls(anything).result(_TIMEOUT_S)
    found = {
        "created": created,
        "refused": refused,
        "listed": sorted(map(words, listed)),
        "counting": sorted(map(words, counting)),
        "deleted": sorted(map(words, gone)),
        "left": len(left),
    }
    print(json.dumps(found))


PREFIXED, LITERAL = ResourcePatternType.PREFIXED, ResourcePatternType.LITERAL


def acl(
    principal: str,
    permission: AclPermissionType,
    kind: ResourceType,
    name: str,
    pattern: ResourcePatternType,
) -> AclBinding:
    """Return an entry to read something."""
    return AclBinding(kind, name, pattern, principal, "*", AclOperation.READ, permission)


def selecting(
    kind: ResourceType, name: str | None, pattern: ResourcePatternType
) -> AclBindingFilter:
    """Return a filter for resources."""
    return AclBindingFilter(
        kind, name, pattern, None, None, AclOperation.ANY, AclPermissionType.ANY
    )


def words(entry: AclBinding) -> str:
    """Return an entry as text."""
    return (
        f"{entry.permission_type.name} {entry.principal} {entry.operation.name} "
        f"{entry.restype.name} {entry.resource_pattern_type.name} {entry.name}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
