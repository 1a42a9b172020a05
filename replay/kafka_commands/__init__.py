"""Exports states, and differences between states, as commands of Kafka's own tools."""
