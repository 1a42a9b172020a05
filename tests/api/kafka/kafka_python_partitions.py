"""kafka-python in a process of its own: python -m tests.api.kafka.kafka_python_partitions H:P.

Adds partitions, moves one, cancels the move, elects a leader; prints the results as JSON.
"""

import json
import sys
from typing import Any

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, NewPartitions
from kafka.errors import KafkaError

FIRST = TopicPartition("orders", 0)


def main(server: str) -> None:
    """Change partitions of the topic `orders`, whose first partition is on brokers 1 and 2."""
    admin = KafkaAdminClient(bootstrap_servers=server)

    def tried(call: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except KafkaError as error:
            return type(error).__name__

    admin.create_partitions({"orders": NewPartitions(2, [[2, 1]])})
    fewer = tried(admin.create_partitions, {"orders": NewPartitions(1)})
    admin.alter_partition_reassignments({FIRST: [3, 1]})
    moving = admin.list_partition_reassignments([FIRST, TopicPartition("none", 0)])
    all_moving = admin.list_partition_reassignments()
    admin.alter_partition_reassignments({FIRST: None})
    nothing = tried(admin.alter_partition_reassignments, {FIRST: None})
    needless = tried(admin.elect_leaders, 0, {"orders": [0]})
    found = [fewer, repr(moving), repr(all_moving), repr(nothing), repr(needless)]
    admin.close()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
