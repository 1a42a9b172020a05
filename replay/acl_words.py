"""Converts ACLs to readable text; lists the names of Kafka's ACL codes."""

from typing import Protocol

RESOURCE_TYPES = {
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
    100: "NAMESPACE",
}
PATTERN_TYPES = {3: "LITERAL", 4: "PREFIXED"}
OPERATIONS = {
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
PERMISSIONS = {2: "DENY", 3: "ALLOW"}


class AclFields(Protocol):
    """The fields of an ACL that are shown, with Kafka's codes."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def pattern_type(self) -> int: ...
    @property
    def principal(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...


def acl_text(acl: AclFields) -> str:
    """Return an ACL as readable text, such as `allow User:ann READ on topic:orders`.

    A code without a known name is shown as a number.
    """
    permission = PERMISSIONS.get(acl.permission_type, str(acl.permission_type)).lower()
    operation = OPERATIONS.get(acl.operation, str(acl.operation))
    resource = resource_text(
        RESOURCE_TYPES.get(acl.resource_type, str(acl.resource_type)),
        PATTERN_TYPES.get(acl.pattern_type, str(acl.pattern_type)),
        acl.resource_name,
    )
    host = "" if acl.host == "*" else f" from {acl.host}"
    return f"{permission} {acl.principal} {operation} on {resource}{host}"


def resource_text(resource_type: str, pattern_type: str, name: str) -> str:
    """Return an ACL's resource as text, such as `topic:orders` or `cluster`.

    Args:
        resource_type, pattern_type: Kafka's names, such as `TOPIC` and `PREFIXED`.
    """
    kind = resource_type.lower().replace("_", "-")
    if resource_type == "CLUSTER":
        return kind
    if pattern_type == "PREFIXED":
        return f"{kind}s beginning with {name!r}"
    return f"every {kind}" if name == "*" else f"{kind}:{name}"
