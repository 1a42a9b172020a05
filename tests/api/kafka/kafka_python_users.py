"""kafka-python in a process of its own: python -m tests.api.kafka.kafka_python_users H:P PASSWORD.

Sets a credential and prints its description.
"""

import sys

from kafka.admin import KafkaAdminClient, UserScramCredentialUpsertion


def main(server: str, password: str) -> None:
    """Set a credential of zoe, and describe her."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    upsertion = UserScramCredentialUpsertion("zoe", "SCRAM-SHA-512", password, iterations=4096)
    admin.alter_user_scram_credentials([upsertion])
    sys.stdout.write(f"{admin.describe_user_scram_credentials(['zoe'])}\n")
    admin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
