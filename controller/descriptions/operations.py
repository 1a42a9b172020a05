"""What a caller may do to a topic, or to the cluster.

Every operation that there is: no access is refused to anybody here, as in a Kafka without an
authorizer.

Source: KIP-430 (operations in descriptions), AclOperation of Kafka 4.0.
"""

import enum
from collections.abc import Iterable


class Operation(enum.Enum):
    """Kafka's operations, with their codes."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


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
"""What can be done to a topic."""

CLUSTER_OPERATIONS = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
"""What can be done to the cluster."""


def operation_bits(operations: Iterable[Operation]) -> int:
    """Return operations as Kafka's protocol has them: the bit of each one's code."""
    return sum(1 << operation.value for operation in operations)
