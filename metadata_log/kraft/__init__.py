"""Reads Kafka's own metadata log directories."""
