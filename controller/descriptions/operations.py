"""Operations that can be authorized, as listed in descriptions and Kafka's protocol.

Source: KIP-430 (operations in descriptions).
"""

from collections.abc import Iterable

from controller.authorization.authorizer import Operation

TOPIC_OPERATIONS = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
"""Operations on a topic."""

CLUSTER_OPERATIONS = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
"""Operations on the cluster."""


def operation_bits(operations: Iterable[Operation]) -> int:
    """Return operations as Kafka's bit field: bit number N is the operation with code N."""
    return sum(1 << operation.value for operation in operations)
