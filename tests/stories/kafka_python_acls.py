"""ACLs with kafka-python, in a separate process: python -m tests.stories.kafka_python_acls H:P.

Prints the results as one JSON document.
"""

import json
import sys

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)


def main(server: str) -> None:
    """Create, describe and delete entries."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    acls = [
        acl(ACLPermissionType.ALLOW, ResourceType.TOPIC, "orders", ACLResourcePatternType.PREFIXED),
        acl(ACLPermissionType.DENY, ResourceType.GROUP, "g", ACLResourcePatternType.LITERAL),
    ]
    no_principal = ACL(
        "bob", "*", ACLOperation.READ, ACLPermissionType.ALLOW, acls[0].resource_pattern
    )
    created = admin.create_acls([*acls, no_principal])
    anything = selecting(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    listed, _ = admin.describe_acls(anything)
    counting, _ = admin.describe_acls(
        selecting(ResourceType.TOPIC, "orders.eu", ACLResourcePatternType.MATCH)
    )
    deleted = admin.delete_acls([anything])
    left, _ = admin.describe_acls(anything)
    admin.close()
    found = {
        "created": len(created["succeeded"]),
        "refused": [error.__name__ for error in created["failed"]],
        "listed": sorted(map(words, listed)),
        "counting": sorted(map(words, counting)),
        "deleted": sorted(words(each) for _, matching, _ in deleted for each in matching),
        "left": len(left),
    }
    print(json.dumps(found))


def acl(
    permission: ACLPermissionType,
    kind: ResourceType,
    name: str,
    pattern: ACLResourcePatternType,
) -> ACL:
    """Return an entry for User:bob to read something."""
    resource = ResourcePattern(kind, name, pattern)
    return ACL("User:bob", "*", ACLOperation.READ, permission, resource)


def selecting(kind: ResourceType, name: str | None, pattern: ACLResourcePatternType) -> ACLFilter:
    """Return a filter for resources."""
    resources = ResourcePatternFilter(kind, name, pattern)
    return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, resources)


def words(entry: ACL) -> str:
    """Return an entry as text."""
    on = entry.resource_pattern
    return (
        f"{entry.permission_type.name} {entry.principal} {entry.operation.name} "
        f"{on.resource_type.name} {on.pattern_type.name} {on.resource_name}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
