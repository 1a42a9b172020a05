"""Storage of the log: segments, recovery, checkpoints, and Kafka's own log directories."""
