"""Kafka's own metadata log directories: read as they are."""
