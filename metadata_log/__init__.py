"""Where it is kept: segments, recovery, checkpoints, and Kafka's own log directories."""
