"""kafka-python in a process of its own: python -m tests.api.kafka.kafka_python_features H:P.

Changes feature levels, and prints the results as JSON.
"""

import json
import sys

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError


def main(server: str) -> None:
    """Validate, upgrade, fail to upgrade, and remove a feature."""
    admin = KafkaAdminClient(bootstrap_servers=server)

    def update(level: int, upgrade_type: int, **options: bool) -> str:
        levels = {"namespace.version": (upgrade_type, level)}
        try:
            return str(admin.update_features(levels, **options)["namespace.version"])
        except KafkaError as error:
            return type(error).__name__

    upgrade, downgrade = 1, 2
    found = [
        update(1, upgrade, validate_only=True),
        update(1, upgrade),
        update(9, upgrade),
        update(0, downgrade),
    ]
    admin.close()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
